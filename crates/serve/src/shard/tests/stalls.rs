//! A stall of the disk, or of the server's own thread, in simulated time: however many tenants there are, none waits
//! for much longer than the stall, and shares stay what they are. And a law: all tenants together are never charged
//! more time than has passed.

use std::borrow::Cow;

use blksched::{Command as DiskCommand, Instant, Span};
use blksched_disks::{CommandTrace, Disk, Facts, Finished, Ledger, Stint};
use blksched_measure::jain;
use blksched_nbd::{Command, Holes, Persist, Speed};
use proptest::prelude::*;

use super::matrix::{Asks, Load, SLOW, World, load};
use super::rig::*;
use crate::config::{Caching, Shares};
use crate::policies::Setting;
use crate::shard::clock::Clock;

const MS: Span = Span::from_ms(1);

/// A disk that completes nothing from one time to another.
struct Stalling {
    disk: Box<dyn Disk>,
    stall: (Instant, Instant),
}

impl Disk for Stalling {
    fn facts(&self) -> Facts {
        self.disk.facts()
    }

    fn start(&mut self, now: Instant, command: DiskCommand) {
        self.disk.start(now, command);
    }

    fn next(&self) -> Option<Instant> {
        let (from, to) = self.stall;
        self.disk.next().map(|next| if next >= from && next < to { to } else { next })
    }

    fn finish(&mut self, now: Instant) -> Option<Finished> {
        let stalls = now >= self.stall.0 && now < self.stall.1;
        if stalls { None } else { self.disk.finish(now) }
    }

    fn in_flight(&self) -> u32 {
        self.disk.in_flight()
    }

    fn ledger(&self) -> Cow<'_, Ledger> {
        self.disk.ledger()
    }

    fn parts(&self) -> u32 {
        self.disk.parts()
    }

    fn watch(&mut self) {
        self.disk.watch();
    }

    fn stints(&mut self, to: &mut Vec<Stint>) {
        self.disk.stints(to);
    }

    fn trace(&self) -> Option<&CommandTrace> {
        self.disk.trace()
    }
}

/// What stalls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Nobody,
    Disk,
    Thread,
}

/// A disk that takes this long for a command, and up to 16 at a time, one after the other.
fn disk(service: Span) -> String {
    SLOW.replace("\"2ms\"", &format!("\"{}us\"", service.as_ns() / 1000))
        .replace("depth = 1", "depth = 16")
        .replace("1TB", "4TB")
}

/// Plays these loads by time shares; something stalls for `stall` after four seconds.
fn play(loads: &[Load], service: Span, depth: u32, who: Who, stall: Span) -> World {
    let mut world = World::with_depth(&disk(service), depth, Shares::ByTime, loads);
    let from = Instant::ZERO + Span::from_secs(4);
    if who == Who::Disk {
        let disk = world.rig.shard.model.take().unwrap();
        world.rig.shard.model = Some(Box::new(Stalling { disk, stall: (from, from + stall) }));
    }
    world.rig.quick = loads.len() > 16;
    world.sleeps = (who == Who::Thread).then_some((from, stall));
    world.run();
    world
}

/// One command of every tenant.
fn due(tenants: usize, service: Span) -> Span {
    service * tenants as u64
}

fn ms(span: Span) -> u64 {
    span.as_ns() / 1_000_000
}

#[test]
fn a_stall_delays_no_tenant_by_more_than_itself_and_three_commands_of_every_tenant() {
    let one = load(Asks::Reads, 1, 1);
    for (tenants, stall) in [(16, 500), (48, 250), (64, 500)] {
        for depth in [1, 4, 16] {
            for who in [Who::Disk, Who::Thread] {
                let stall = MS * stall;
                let world = play(&vec![one; tenants], MS * 2, depth, who, stall);
                let longest = world.had.iter().map(|had| had.waited.iter().copied().max().unwrap()).max().unwrap();
                let most = stall + due(tenants, MS * 2) * 3;
                assert!(
                    longest <= most,
                    "{tenants} tenants, depth {depth}, {who:?} stalls for {stall}: one waited {longest} of {most}"
                );
            }
        }
    }
}

/// 64 tenants and more, of all kinds.
fn mixed(tenants: usize) -> Vec<Load> {
    let kinds = [
        load(Asks::Reads, 1, 1),
        load(Asks::Stream, 1, 4),
        load(Asks::Reads, 1, 16),
        load(Asks::Writes, 1, 8),
        load(Asks::Reads, 4, 2),
        load(Asks::Flushes, 1, 1),
        load(Asks::Reads, 1, 1),
        load(Asks::Writes, 1, 1),
    ];
    (0..tenants).map(|at| kinds[at % kinds.len()]).collect()
}

/// Jain's index of what each got of the disk's time once the stall was over (which was the time of those whose commands
/// were in it), and the longest time in which one got nothing.
fn shares_and_gaps(world: &World) -> (f64, Span, usize) {
    let got = |time: &[Span]| (time[time.len() - 1] - time[9]).as_ns() as f64;
    let index = jain(&world.had.iter().map(|had| got(&had.time)).collect::<Vec<_>>());
    let (gap, whose) = world.had.iter().enumerate().map(|(at, had)| (had.gap, at)).max().unwrap();
    (index, gap, whose)
}

#[test]
fn sixty_four_mixed_tenants_share_one_slow_disk_whatever_stalls() {
    for depth in [1, 4] {
        for (who, stall) in [(Who::Nobody, Span::ZERO), (Who::Disk, MS * 500), (Who::Thread, MS * 500)] {
            let world = play(&mixed(64), MS * 2, depth, who, stall);
            let (jain, gap, whose) = shares_and_gaps(&world);
            println!("depth {depth}, {who:?}: Jain {jain:.4}, tenant {whose} got nothing for {} ms", ms(gap));
            assert!(jain >= 0.97, "depth {depth}, {who:?}: Jain {jain:.4}");
            let most = stall + due(64, MS * 2) * 3;
            assert!(gap <= most, "depth {depth}, {who:?}: tenant {whose} got nothing for {gap} of {most}");
        }
    }
}

#[test]
fn five_hundred_mixed_tenants_share_one_disk_whatever_stalls() {
    let service = Span::from_us(500);
    let stall = MS * 500;
    let world = play(&mixed(500), service, 4, Who::Disk, stall);
    let (jain, gap, whose) = shares_and_gaps(&world);
    println!("Jain {jain:.4}, tenant {whose} got nothing for {} ms", ms(gap));
    assert!(jain >= 0.97, "Jain {jain:.4}");
    let most = stall + due(500, service) * 3;
    assert!(gap <= most, "tenant {whose} got nothing for {gap} of {most}");
}

/// A request of a random load, as numbers.
type Asked = (usize, u8, u64, u64);

fn command(kind: u8) -> Command {
    let zeroes = |holes, persist| Command::WriteZeroes { persist, holes, speed: Speed::Any };
    match kind {
        0 | 1 => Command::Read,
        2 | 3 => WRITE,
        4 => STABLE,
        5 => Command::Flush,
        6 => Command::Trim(Persist::Lazily),
        7 => Command::Trim(Persist::First),
        8 => zeroes(Holes::Refused, Persist::Lazily),
        9 => zeroes(Holes::Allowed, Persist::Lazily),
        _ => zeroes(Holes::Refused, Persist::First),
    }
}

/// What all tenants were charged never exceeds the time that has passed; returns both at the end.
fn charged(requests: &[Asked], depth: u32) -> (Span, Span) {
    let setting = Setting { shares: Shares::ByTime, sleeps: false, cost: false };
    let mut rig = Rig::on("mq-deadline", depth, 3, 64 << 20, false, setting);
    rig.shard.model = Some(blksched_disks::parse("slow.toml", &disk(MS * 2)).unwrap().build(1));
    rig.shard.clock = Clock::Told(Instant::ZERO);
    let clients = [0, 1, 2].map(|tenant| rig.client(tenant));
    rig.shard.tenants.iter_mut().for_each(|tenant| tenant.backend.caching = Caching::Direct);
    let mut now = Instant::ZERO;
    let sum = |rig: &Rig| rig.shard.tenants.iter().fold(Span::ZERO, |sum, tenant| sum + tenant.used.in_device);
    for (cookie, &(tenant, kind, offset, length)) in (1..).zip(requests) {
        let command = command(kind);
        // Bytes, not blocks: some are not aligned.
        let length = match command {
            Command::Flush => 0,
            Command::Read | Command::Write(_) => 1 + length % (1 << 20),
            _ => 1 + length % (128 << 20),
        };
        let offset = if length == 0 { 0 } else { offset % ((1 << 30) - length) };
        let bytes = rig.request(clients[tenant], cookie, command, offset, length);
        let mut sent = 0;
        while sent < bytes.len() {
            sent += rig.send(clients[tenant], &bytes[sent..]);
            rig.let_disk_work();
            now += MS;
            rig.shard.clock = Clock::Told(now);
            rig.step();
            assert!(sum(&rig) <= now.since(Instant::ZERO), "{} of {now}", sum(&rig));
        }
    }
    while rig.shard.tenants.iter().any(|tenant| tenant.outstanding > 0) {
        rig.let_disk_work();
        clients.iter().for_each(|&client| drop(rig.told(client)));
        now += MS;
        rig.shard.clock = Clock::Told(now);
        rig.step();
        assert!(sum(&rig) <= now.since(Instant::ZERO), "{} of {now}", sum(&rig));
    }
    (sum(&rig), now.since(Instant::ZERO))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn all_tenants_together_are_charged_no_more_time_than_has_passed(
        requests in prop::collection::vec((0usize..3, 0u8..11, 0u64..1 << 30, 0u64..1 << 27), 1..25),
        depth in 1u32..5,
    ) {
        let (sum, passed) = charged(&requests, depth);
        prop_assert!(sum <= passed);
    }
}

#[test]
fn a_long_trim_is_charged_what_it_took_and_the_next_read_waits_for_one_turn() {
    let zeroes = Command::WriteZeroes { persist: Persist::Lazily, holes: Holes::Refused, speed: Speed::Any };
    for command in [Command::Trim(Persist::Lazily), zeroes] {
        let loads = [load(Asks::Nothing, 1, 1), load(Asks::Reads, 1, 16)];
        let mut world = World::with_depth(SLOW, 1, Shares::ByTime, &loads);
        let at = |ms: u64| Instant::ZERO + MS * ms;
        world.ask_all();
        world.pass(at(1000));
        world.asks_for(0, command, 0, 64 << 20);
        world.pass(at(2000));
        world.asks_for(0, Command::Read, 0, 4096);
        world.pass(at(3000));
        let [long, read] = world.had[0].waited[..] else { panic!("{:?}", world.had[0].waited) };
        // 128 commands of 2 ms (for half a mebibyte each), and as many of the other tenant's.
        assert!(long <= MS * 540, "{command:?} took {long}");
        assert!(read <= MS * 12, "a read after {command:?} took {read}");
        let charged = world.rig.shard.tenants[0].used.in_device;
        assert!(charged >= MS * 256 && charged <= MS * 260, "{command:?} was charged {charged}");
    }
}
