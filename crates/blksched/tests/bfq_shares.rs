//! BFQ shares: equal readers alike, others by their weights, groups by theirs, in groups of groups too.

mod queue_kit;

use blksched::{Bio, Class, Group, GroupId, Next, Priority, QueueConfig, Sector, Span, SubmitterId};
use queue_kit::{Rig, at_ms};

const FAR: u64 = 1 << 30;
const SERVED: usize = 6000;

/// A process that reads in order, with four requests queued all the time.
#[derive(Clone, Copy)]
struct Reader {
    level: u8,
    group: u32,
    sectors: u32,
}

const USUAL: Reader = Reader { level: 4, group: 0, sectors: 64 };

/// The parts that readers get of the sectors served, in thousandths.
fn parts(groups: &[(u32, u32, u32)], readers: &[Reader]) -> Vec<u64> {
    let config = QueueConfig { born: at_ms(10_000), ..QueueConfig::default() };
    let mut rig = Rig::new("bfq", config);
    rig.now = config.born;
    rig.queue.set(rig.now, "low_latency", 0).unwrap();
    // Short turns, so that the last one hardly counts.
    rig.queue.set(rig.now, "max_budget", 2048).unwrap();
    for &(id, parent, weight) in groups {
        let group = Group { parent: GroupId(parent), weight, ..Group::default() };
        rig.queue.set_group(rig.now, GroupId(id), group).unwrap();
    }
    let mut next = vec![0u64; readers.len()];
    let mut submit = |rig: &mut Rig, who: usize| {
        let Reader { level, group, sectors } = readers[who];
        let start = Sector(who as u64 * FAR + next[who]);
        next[who] += 2 * u64::from(sectors);
        let priority = Priority { class: Class::BestEffort, level };
        rig.submit(Bio { priority, group: GroupId(group), ..Bio::read(0, SubmitterId(who as u32), start, sectors) });
    };
    (0..4 * readers.len()).for_each(|n| submit(&mut rig, n % readers.len()));
    let mut served = vec![0u64; readers.len()];
    for _ in 0..SERVED {
        let Next::Issue(command) = rig.queue.next(rig.now) else { panic!("everybody has requests") };
        let who = (command.start.0 / FAR) as usize;
        served[who] += u64::from(command.sectors);
        rig.now += Span::from_us(u64::from(command.sectors) * 5);
        rig.queue.complete(rig.now, command.rq, blksched::Outcome::Ok);
        submit(&mut rig, who);
    }
    let all: u64 = served.iter().sum();
    served.iter().map(|&part| part * 1000 / all).collect()
}

fn near(got: &[u64], expected: &[u64]) {
    let all = got.iter().zip(expected).all(|(got, expected)| got.abs_diff(*expected) <= 30);
    assert!(all && got.len() == expected.len(), "{got:?}, not {expected:?}");
}

#[test]
fn equal_readers_get_equal_parts() {
    near(&parts(&[], &[USUAL; 4]), &[250; 4]);
}

#[test]
fn small_requests_get_as_many_sectors_as_large_ones() {
    near(&parts(&[], &[USUAL, Reader { sectors: 256, ..USUAL }]), &[500, 500]);
}

#[test]
fn level_0_gets_twice_what_level_4_gets_and_eight_times_what_level_7_gets() {
    let levels = [0, 4, 7].map(|level| Reader { level, ..USUAL });
    near(&parts(&[], &levels), &[615, 307, 77]);
}

#[test]
fn a_group_gets_what_its_weight_says_however_many_readers_it_has() {
    let of = |group| Reader { group, ..USUAL };
    near(&parts(&[(1, 0, 100), (2, 0, 300)], &[of(1), of(1), of(1), of(2)]), &[83, 83, 83, 750]);
}

#[test]
fn groups_of_a_group_share_its_part() {
    let of = |group| Reader { group, ..USUAL };
    let groups = [(1, 0, 100), (2, 0, 100), (3, 1, 100), (4, 1, 300)];
    near(&parts(&groups, &[of(2), of(3), of(4)]), &[500, 125, 375]);
}

#[test]
fn a_process_of_the_root_weighs_as_much_as_its_level_beside_groups() {
    // Level 4 weighs 40, the group 120.
    near(&parts(&[(1, 0, 120)], &[USUAL, Reader { group: 1, ..USUAL }]), &[250, 750]);
}
