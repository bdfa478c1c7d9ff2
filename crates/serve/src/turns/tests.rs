//! Whose turn it is, told the time.

use super::*;

const MS: Span = Span::from_ms(1);
const HERE: DataExtent = DataExtent { start: 8, sectors: 8 };

/// A piece is done after this time in the device.
fn done(turns: &mut Turns, now: Instant, tenant: usize, took: Span) {
    turns.charge(tenant, CostKind::Data, 1, took);
    turns.end(now, tenant, CostKind::Data);
}

/// A device that does one piece at a time, for tenants that always want more; returns what each gets of this many.
fn served(turns: &mut Turns, costs: &[Span], pieces: u32) -> Vec<Span> {
    let mut got = vec![Span::ZERO; costs.len()];
    let mut now = Instant::ZERO;
    for tenant in 0..costs.len() {
        (0..4).for_each(|_| turns.add(now, tenant, 0, CostKind::Data));
    }
    for _ in 0..pieces {
        let Choice::Serve(tenant) = turns.choose(now, 0, 1) else { panic!("somebody wants something") };
        turns.begin(tenant, CostKind::Data, HERE);
        now += costs[tenant];
        got[tenant] += costs[tenant];
        turns.add(now, tenant, 0, CostKind::Data);
        done(turns, now, tenant, costs[tenant]);
    }
    got
}

#[test]
fn time_is_shared_by_weight_whatever_a_request_costs() {
    for seeks in [false, true] {
        let mut turns = Turns::new(seeks);
        [100, 200, 400]
            .into_iter()
            .enumerate()
            .for_each(|(at, weight)| turns.set_share(at, weight, Priority::default()));
        let got = served(&mut turns, &[MS * 5, MS, MS * 2], 5000);
        let ratio = |a: usize, b: usize| got[a].as_ns() as f64 / got[b].as_ns() as f64;
        assert!((ratio(1, 0) - 2.0).abs() < 0.1 && (ratio(2, 0) - 4.0).abs() < 0.2, "{got:?}");
    }
}

#[test]
fn who_comes_back_is_not_far_behind() {
    let mut turns = Turns::new(false);
    (0..2).for_each(|at| turns.set_share(at, 100, Priority::default()));
    served(&mut turns, &[MS], 1000);
    let mut now = Instant::ZERO + Span::from_secs(1);
    (0..500).for_each(|_| turns.add(now, 1, 0, CostKind::Data));
    let mut in_a_row = 0;
    while turns.choose(now, 0, 1) == Choice::Serve(1) {
        turns.begin(1, CostKind::Data, HERE);
        now += MS;
        done(&mut turns, now, 1, MS);
        in_a_row += 1;
    }
    assert!((50..=65).contains(&in_a_row), "a credit of 60 ms: {in_a_row}");
}

#[test]
fn who_was_alone_does_not_wait_for_as_long_if_another_comes_while_it_thinks() {
    let mut turns = Turns::new(false);
    (0..2).for_each(|at| turns.set_share(at, 100, Priority::default()));
    let mut now = Instant::ZERO;
    for _ in 0..3000 {
        turns.add(now, 0, 0, CostKind::Data);
        assert_eq!(turns.choose(now, 0, 1), Choice::Serve(0));
        turns.begin(0, CostKind::Data, HERE);
        now += MS;
        done(&mut turns, now, 0, MS);
    }
    // None wants anything at this time; then the other one, which has never had anything, wants much.
    (0..500).for_each(|_| turns.add(now, 1, 0, CostKind::Data));
    turns.add(now, 0, 0, CostKind::Data);
    let mut before = 0;
    while turns.choose(now, 0, 1) == Choice::Serve(1) {
        turns.begin(1, CostKind::Data, HERE);
        now += MS;
        done(&mut turns, now, 1, MS);
        before += 1;
    }
    assert!(before <= 65, "a credit of 60 ms, not three seconds: {before}");
}

#[test]
fn a_disk_that_seeks_waits_shortly_for_the_one_whose_turn_it_is() {
    let mut turns = Turns::new(true);
    (0..2).for_each(|at| turns.set_share(at, 100, Priority::default()));
    let now = Instant::ZERO;
    for nth in 0..10 {
        turns.add(now, 0, 7, CostKind::Data);
        assert_eq!(turns.choose(now, 0, 1), Choice::Serve(0));
        turns.begin(0, CostKind::Data, DataExtent { start: nth * 8, sectors: 8 });
        done(&mut turns, now, 0, MS / 10);
    }
    turns.add(now, 1, 8, CostKind::Data);
    assert_eq!(turns.choose(now, 0, 1), Choice::Wait(now + THINK), "it asks for what lies behind");
    assert_eq!(turns.choose(now + THINK, 0, 1), Choice::Serve(1), "and not for ever");
}

#[test]
fn who_was_waited_for_does_not_pay_for_a_thread_that_looked_up_late() {
    // A tenant that asks again at once is behind; the disk waits for it for half of a command, and the thread comes
    // back much later, whether or not the tenant has asked meanwhile.
    for asks in [true, false] {
        let mut turns = Turns::new(false);
        (0..2).for_each(|at| turns.set_share(at, 100, Priority::default()));
        let mut now = Instant::ZERO;
        turns.add(now, 1, 0, CostKind::Data);
        turns.begin(1, CostKind::Data, HERE);
        done(&mut turns, now, 1, MS * 40);
        for _ in 0..10 {
            turns.add(now, 0, 0, CostKind::Data);
            turns.begin(0, CostKind::Data, HERE);
            now += MS;
            done(&mut turns, now, 0, MS);
        }
        turns.current = Some(0);
        turns.add(now, 1, 0, CostKind::Data);
        assert_eq!(turns.choose(now, 0, 1), Choice::Wait(now + MS / 2), "half of a command");
        let before = turns.entities[0].virtual_time;
        now += MS * 30;
        if asks {
            turns.add(now, 0, 0, CostKind::Data);
        }
        let next = turns.choose(now, 0, 1);
        assert_eq!(next, Choice::Serve(usize::from(!asks)));
        assert_eq!(turns.entities[0].virtual_time - before, turns.entities[0].scaled(MS / 2), "asks: {asks}");
    }
}

#[test]
fn who_is_alone_for_a_moment_sends_no_more_than_the_disk_takes() {
    let mut turns = Turns::new(true);
    (0..2).for_each(|at| turns.set_share(at, 100, Priority::default()));
    let now = Instant::ZERO + Span::from_secs(1);
    (0..8).for_each(|_| turns.add(now, 1, 0, CostKind::Data));
    turns.add(now, 0, 0, CostKind::Data);
    assert_eq!(turns.choose(now, 0, 1), Choice::Serve(0));
    turns.begin(0, CostKind::Data, HERE);
    done(&mut turns, now, 0, MS);
    assert_eq!(turns.choose(now, 0, 1), Choice::Serve(1), "the other one thinks");
    turns.begin(1, CostKind::Data, HERE);
    assert_eq!(turns.choose(now, 1, 1), Choice::Nobody, "it may be back before the next one begins");
    assert_eq!(turns.choose(now + (GONE - MS), 1, 1), Choice::Nobody);
    assert_eq!(turns.choose(now + GONE, 1, 1), Choice::Serve(1), "the scheduler may sort the rest");
}

#[test]
fn what_is_in_flight_counts_as_what_it_usually_costs() {
    let mut turns = Turns::new(false);
    (0..2).for_each(|at| turns.set_share(at, 100, Priority::default()));
    let now = Instant::ZERO;
    for tenant in 0..2 {
        (0..10).for_each(|_| turns.add(now, tenant, 0, CostKind::Data));
        turns.begin(tenant, CostKind::Data, HERE);
        done(&mut turns, now, tenant, MS);
    }
    let served: Vec<usize> = (0..6)
        .map(|outstanding| {
            let Choice::Serve(tenant) = turns.choose(now, outstanding, 8) else { panic!() };
            turns.begin(tenant, CostKind::Data, HERE);
            tenant
        })
        .collect();
    assert_eq!(served.iter().filter(|&&tenant| tenant == 0).count(), 3, "{served:?}");
    assert_eq!(turns.choose(now, 8, 8), Choice::Nobody);
}
