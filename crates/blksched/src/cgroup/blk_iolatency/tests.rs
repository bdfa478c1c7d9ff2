//! io.latency in simulated time: a device with one server, a group with a target beside one that floods it.

use super::*;

const VICTIM: GroupId = GroupId(1);
const FLOOD: GroupId = GroupId(2);
const SERVICE: Span = Span::from_ms(1);

/// Both groups keep `depths` bios on their way for 60 s; answers the depth that the flood is held to in the end, how
/// many bios each completed in the last 20 s, and the victim's mean latency in them \[ms\].
fn run(mut latency: IoLatency, depths: [u32; 2]) -> (Option<u32>, [u64; 2], f64) {
    let (mut now, mut device) = (Instant::ZERO, VecDeque::new());
    let (mut woken, mut waits) = (Vec::new(), [0u32; 2]);
    let (mut done, mut sum) = ([0u64; 2], 0.0);
    let groups = [VICTIM, FLOOD];
    let mut sleeping: std::collections::BTreeMap<Task, (usize, Instant)> = std::collections::BTreeMap::new();
    let mut tasks = 0;
    while now < Instant::ZERO + Span::from_secs(60) {
        for nth in 0..2 {
            while waits[nth] < depths[nth] {
                waits[nth] += 1;
                tasks += 1;
                let held = latency.throttle(now, tasks, groups[nth], Issuer::Own, &mut woken);
                match held.verdict {
                    Verdict::Go => device.push_back((nth, now)),
                    Verdict::Sleep => drop(sleeping.insert(tasks, (nth, now))),
                }
            }
        }
        for task in woken.drain(..) {
            device.push_back(sleeping.remove(&task).expect("it slept"));
        }
        if latency.deadline().is_some_and(|at| at <= now) {
            latency.elapse(now);
        }
        now += SERVICE;
        let Some((nth, submitted)) = device.pop_front() else { continue };
        latency.done(now, groups[nth], submitted, Issuer::Own, &mut woken);
        waits[nth] -= 1;
        if now > Instant::ZERO + Span::from_secs(40) {
            done[nth] += 1;
            sum += if nth == 0 { now.since(submitted).as_ms_f64() } else { 0.0 };
        }
    }
    (latency.depth(FLOOD), done, sum / done[0].max(1) as f64)
}

fn pair(rotational: bool, victim: Option<Span>, flood: Option<Span>) -> IoLatency {
    let mut latency = IoLatency::new(rotational, 128);
    for (id, target) in [(VICTIM, victim), (FLOOD, flood)] {
        latency.set_group(id, GroupId::ROOT);
        latency.set_target(Instant::ZERO, id, target);
    }
    latency
}

#[test]
fn a_flood_is_throttled_until_the_target_is_kept() {
    for rotational in [true, false] {
        let target = Span::from_ms(10);
        let (depth, [victim, flood], mean) = run(pair(rotational, Some(target), None), [1, 64]);
        assert!(depth.is_some_and(|depth| depth <= 16), "{depth:?}");
        assert!(mean <= 10.0 * 1.5, "the victim's mean is {mean} ms under a target of 10");
        assert!(victim > 1000 && flood > 8000, "{victim} and {flood}: the device is still used");
    }
}

#[test]
fn without_a_target_or_with_one_that_is_kept_nobody_is_throttled() {
    for victim in [None, Some(Span::from_ms(500))] {
        let (depth, _, mean) = run(pair(false, victim, None), [1, 64]);
        assert_eq!(depth, None);
        assert!((60.0..=70.0).contains(&mean), "{mean}");
    }
}

#[test]
fn only_those_with_a_longer_target_are_throttled() {
    let ten = Span::from_ms(10);
    let (longer, ..) = run(pair(false, Some(ten), Some(Span::from_ms(80))), [1, 64]);
    assert!(longer.is_some());
    // Its own target is the shorter one, so it is the sufferer, and the other has the longer.
    let (shorter, ..) = run(pair(false, Some(ten), Some(Span::from_ms(5))), [1, 64]);
    assert_eq!(shorter, None);
}

#[test]
fn once_nobody_suffers_any_more_depths_grow_back() {
    let mut latency = pair(false, Some(Span::from_ms(10)), None);
    let mut woken = Vec::new();
    let mut now = Instant::ZERO;
    let sample = |latency: &mut IoLatency, now: Instant, ms: u64| {
        let (from, mut woken) = (now, Vec::new());
        latency.throttle(from, 0, VICTIM, Issuer::Own, &mut woken);
        latency.done(from + Span::from_ms(ms), VICTIM, from, Issuer::Own, &mut woken);
    };
    for _ in 0..200 {
        sample(&mut latency, now, 50);
        now += Span::from_ms(50);
    }
    latency.throttle(now, 1, FLOOD, Issuer::Own, &mut woken);
    latency.done(now, FLOOD, now, Issuer::Own, &mut woken);
    let held = latency.depth(FLOOD).expect("the flood is throttled");
    assert!(held < 128);
    for _ in 0..4000 {
        sample(&mut latency, now, 1);
        now += Span::from_ms(50);
        latency.throttle(now, 1, FLOOD, Issuer::Own, &mut woken);
        latency.done(now, FLOOD, now, Issuer::Own, &mut woken);
        if latency.deadline().is_some_and(|at| at <= now) {
            latency.elapse(now);
        }
    }
    assert_eq!(latency.depth(FLOOD), None);
}
