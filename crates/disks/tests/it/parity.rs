//! The laws of md RAID 5 and 6 over random writes: what is written is on the right members, with its parity, and what
//! is read before is what the new parity needs.

use std::collections::{BTreeMap, BTreeSet};

use blksched::{Bio, Durability, GroupId, Instant, Op, Priority, Sector, SubmitterId, Tag};
use blksched_disks::stack::{Below, MemberPlace, StackLayout, StackSpec, Volume, stack_word};

const THREAD: SubmitterId = SubmitterId(99);
const PAGE: u64 = 8;

/// A part, as `op member page`.
fn shown(part: &(u32, Bio)) -> String {
    let (member, bio) = part;
    format!("{:?} {member} {}", bio.op, bio.start.0 / PAGE)
}

struct Rig {
    volume: Volume,
    now: Instant,
    out: Vec<Below>,
    /// What members were given and have not done.
    open: Vec<(u32, Bio)>,
    done: Vec<u64>,
}

impl Rig {
    fn new(word: &str, members: &[u64]) -> Rig {
        let spec = stack_word(word).unwrap().unwrap().spec;
        let volume = Volume::new(&spec, members, 2, THREAD);
        Rig { volume, now: Instant::ZERO, out: Vec::new(), open: Vec::new(), done: Vec::new() }
    }

    fn enter(&mut self, bio: Bio) {
        self.volume.enter(self.now, bio, &mut self.out);
        self.take();
    }

    fn take(&mut self) {
        for below in self.out.drain(..) {
            match below {
                Below::Submit { member, bio } => self.open.push((member, bio)),
                Below::Complete { tag, failed } => {
                    assert!(!failed);
                    self.done.push(tag.0);
                }
            }
        }
    }

    /// Lets the thread come; what it sends.
    fn turn(&mut self) -> Vec<(u32, Bio)> {
        let known = self.open.len();
        self.now = self.volume.next().expect("the thread comes").max(self.now);
        self.volume.elapse(self.now, &mut self.out);
        self.take();
        self.open[known..].to_vec()
    }

    /// The members do what they have.
    fn members_do(&mut self) {
        for (_, part) in core::mem::take(&mut self.open) {
            self.volume.done(self.now, part.tag, false, &mut self.out);
        }
        self.take();
    }

    /// A bio alone, to its end: each turn's parts.
    fn whole(&mut self, bio: Bio) -> Vec<Vec<(u32, Bio)>> {
        let mut turns = Vec::new();
        self.enter(bio);
        while !self.done.contains(&bio.tag.0) {
            let sent = self.turn();
            turns.extend((!sent.is_empty()).then_some(sent));
            self.members_do();
        }
        assert!(self.open.is_empty() && self.volume.is_idle());
        turns
    }
}

fn texts(turns: &[Vec<(u32, Bio)>]) -> Vec<String> {
    turns.iter().map(|turn| turn.iter().map(shown).collect::<Vec<_>>().join(", ")).collect()
}

fn write(tag: u64, page: u64, pages: u32) -> Bio {
    Bio::write(tag, SubmitterId(1), Sector(page * PAGE), pages * PAGE as u32)
}

#[test]
fn a_small_write_reads_what_it_replaces_and_its_parity() {
    // Chunks of two pages: the data of row 0 is on members 0 to 3, its parity on 4.
    let mut rig = Rig::new("md-raid5:5xssd,chunk=8k", &[4_096; 5]);
    let turns = rig.whole(write(1, 0, 1));
    assert_eq!(texts(&turns), ["Read 4 0, Read 0 0", "Write 4 0, Write 0 0"]);
    let again = rig.whole(write(2, 0, 1));
    assert_eq!(texts(&again), ["Write 4 0, Write 0 0"], "both are still in memory");
    let beside = rig.whole(write(3, 2, 1));
    assert_eq!(texts(&beside), ["Read 1 0", "Write 4 0, Write 1 0"], "parity is");
}

#[test]
fn where_reconstruction_reads_less_or_as_much_it_is_reconstructed() {
    let mut rig = Rig::new("md-raid5:4xssd,chunk=4k", &[4_096; 4]);
    // Two of three data pages: one to reconstruct from, three to modify.
    assert_eq!(texts(&rig.whole(write(1, 0, 2)))[0], "Read 2 0");
    // One of three: two either way.
    assert_eq!(texts(&rig.whole(write(2, 3, 1)))[0], "Read 1 1, Read 0 1");
    let mut six = Rig::new("md-raid6:8xssd,chunk=4k", &[4_096; 8]);
    assert_eq!(texts(&six.whole(write(1, 0, 1)))[0], "Read 7 0, Read 1 0, Read 0 0", "P, Q and the old page");
    assert_eq!(texts(&six.whole(write(2, 6, 4)))[0], "Read 5 1, Read 4 1");
}

#[test]
fn whole_rows_are_written_at_once() {
    let mut rig = Rig::new("md-raid5:4xssd,chunk=8k", &[4_096; 4]);
    let turns = rig.whole(write(1, 0, 6));
    assert_eq!(turns.len(), 1);
    assert_eq!(turns[0].len(), 8, "{:?}", texts(&turns));
    assert!(turns[0].iter().all(|(_, part)| part.op == Op::Write));
}

#[test]
fn what_comes_before_the_thread_makes_one_stripe() {
    let mut rig = Rig::new("md-raid5:4xssd,chunk=4k", &[4_096; 4]);
    (0..3).for_each(|page| rig.enter(write(page, page, 1)));
    let sent = rig.turn();
    assert_eq!(sent.iter().map(shown).collect::<Vec<_>>(), ["Write 3 0", "Write 2 0", "Write 1 0", "Write 0 0"]);
    rig.enter(write(3, 0, 1));
    rig.members_do();
    assert_eq!(rig.turn(), [], "the stripe is written and has another turn");
    assert_eq!(rig.done, [0, 1, 2]);
    assert_eq!(rig.turn().iter().map(shown).collect::<Vec<_>>(), ["Write 3 0", "Write 0 0"], "all of it is known");
}

#[test]
fn the_threads_bios_are_nobodys_and_reads_are_their_own() {
    let mut rig = Rig::new("md-raid5:4xssd,chunk=4k", &[4_096; 4]);
    let own = |bio: Bio| Bio { priority: Priority { level: 7, ..Priority::NORMAL }, group: GroupId(3), ..bio };
    let turns = rig.whole(Bio { durability: Durability { preflush: false, fua: true }, ..own(write(1, 0, 1)) });
    for (_, part) in turns.iter().flatten() {
        assert_eq!((part.submitter, part.group, part.priority), (THREAD, GroupId::default(), Priority::default()));
        assert_eq!(part.durability.fua, part.op == Op::Write);
    }
    rig.enter(own(Bio::read(2, SubmitterId(5), Sector(4), 8)));
    let read: Vec<_> = rig.open.iter().map(|(member, part)| (*member, part.start.0, part.sectors)).collect();
    assert_eq!(read, [(0, 4, 4), (1, 0, 4)], "cut at the chunk");
    assert!(rig.open.iter().all(|(_, part)| (part.submitter, part.group) == (SubmitterId(5), GroupId(3))));
}

#[test]
fn writes_wait_for_stripes_and_discards_fail() {
    let mut rig = Rig::new("md-raid5:3xssd,chunk=4k,stripe_cache_size=20", &[40_960; 3]);
    // One page of each of 30 stripes.
    (0..30).for_each(|row| rig.enter(write(row, 2 * row, 1)));
    let rows = |sent: &[(u32, Bio)]| sent.iter().map(|(_, part)| part.start.0 / PAGE).collect::<BTreeSet<_>>();
    assert_eq!(rows(&rig.turn()), (0..20).collect());
    let mut later = BTreeSet::new();
    while rig.done.len() < 30 {
        rig.members_do();
        later.extend(rows(&rig.turn()));
    }
    assert!(later.is_superset(&(20..30).collect()), "{later:?}");
    let mut out = Vec::new();
    rig.volume.enter(rig.now, Bio { op: Op::Discard, ..write(77, 0, 4) }, &mut out);
    assert_eq!(out, [Below::Complete { tag: Tag(77), failed: true }]);
}

/// Each page, and the number of the write that it has last.
type Pages = BTreeMap<(u32, u64), u64>;

/// Any number of writes under way, members that answer in any order: a write is complete only after each of its pages
/// and their parity was written, and no page of a member is under way twice.
#[test]
fn random_writes_end_on_their_members_with_their_parity() {
    let layouts = [
        (StackLayout::Raid4 { chunk: 8 }, 3),
        (StackLayout::Raid5 { chunk: 16 }, 4_u32),
        (StackLayout::Raid6 { chunk: 8 }, 5),
    ];
    for (layout, members) in layouts {
        let mut spec = StackSpec::of(layout);
        spec.parity.as_mut().unwrap().stripes = 17;
        let lengths = vec![1_024; members as usize];
        let mut volume = Volume::new(&spec, &lengths, 2, THREAD);
        let map = volume.map().clone();
        let (mut seed, mut now, mut out, mut open) = (5_u64, Instant::ZERO, Vec::new(), Vec::<(u32, Bio)>::new());
        let mut below = |end: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % end
        };
        let (mut asked, mut complete, mut written) = (BTreeMap::<u64, Bio>::new(), 0, Pages::new());
        let mut turns = 0;
        while complete < 3_000 {
            turns += 1;
            if asked.len() < 40 && turns % 3 == 0 {
                let (tag, length) = (turns, 1 + below(120));
                let start = below(map.sectors() - length);
                let bio = Bio::write(tag, SubmitterId(1), Sector(start), length as u32);
                asked.insert(tag, bio);
                volume.enter(now, bio, &mut out);
            } else if !open.is_empty() && below(3) > 0 {
                let (member, part) = open.swap_remove(below(open.len() as u64) as usize);
                if part.op == Op::Write {
                    written.insert((member, part.start.0 / PAGE), turns);
                }
                volume.done(now, part.tag, false, &mut out);
            } else if let Some(next) = volume.next() {
                now = next.max(now);
                volume.elapse(now, &mut out);
            }
            for below in out.drain(..) {
                match below {
                    Below::Submit { member, bio } => {
                        assert_eq!((bio.start.0 % PAGE, u64::from(bio.sectors)), (0, PAGE));
                        let same = open.iter().any(|(at, other)| (*at, other.start) == (member, bio.start));
                        assert!(!same, "two at one page: {bio:?}");
                        open.push((member, bio));
                    }
                    Below::Complete { tag: Tag(tag), .. } => {
                        let bio = asked.remove(&tag).expect("once");
                        complete += 1;
                        for at in (bio.start.0..bio.end().0).step_by(8).chain([bio.end().0 - 1]) {
                            let MemberPlace { member, sector } = map.place(at, 0);
                            let last = |member| written.get(&(member, sector / PAGE)).copied().unwrap_or(0);
                            assert!(last(member) > tag, "{layout:?}: {at} of {bio:?} was never written");
                            let parity = map.parity(sector);
                            let has_parity = (0..members).filter(|other| parity >> other & 1 == 1);
                            assert!(has_parity.into_iter().all(|other| last(other) > tag), "{layout:?} {at}");
                        }
                    }
                }
            }
        }
    }
}

/// A stack as one disk is a disk: what is started ends once, in time, and a mirror is as slow as its slower member.
#[test]
fn a_whole_stack_is_a_disk() {
    use blksched::Command;
    use blksched::author::RequestId;
    use blksched_disks::stack::DiskOrStack;

    let end = |name: &str, op: Op| {
        let mut disk = DiskOrStack::load(name).unwrap().build(3);
        let facts = disk.facts();
        let count = facts.depth.min(16);
        for nth in 0..count {
            let rq = RequestId::from_index(nth);
            let start = Sector(u64::from(nth) * 7_919_000 % (facts.sectors - 64) / 8 * 8);
            disk.start(Instant::ZERO, Command { rq, op, start, sectors: 8, fua: false, submitter: SubmitterId(1) });
        }
        assert_eq!(disk.in_flight(), count, "{name}");
        let (mut now, mut ended) = (Instant::ZERO, BTreeSet::new());
        while let Some(next) = disk.next().filter(|_| disk.in_flight() > 0) {
            now = next.max(now);
            while let Some(done) = disk.finish(now) {
                assert!(ended.insert(done.rq.index()) && done.at <= now, "{name}");
            }
        }
        assert_eq!(ended.len() as u32, count, "{name}");
        assert!(disk.ledger().by_submitter().count() > 0 && disk.parts() > 0, "{name}");
        now.since(Instant::ZERO)
    };
    let one = end("hdd-7200-ideal", Op::Read);
    for word in [
        "md-raid0:2xhdd-7200-ideal",
        "md-raid10:4xhdd-7200-ideal",
        "md-raid5:3xhdd-7200-ideal",
        "crypt:md-raid1:2xhdd-7200-ideal",
    ] {
        assert!(end(word, Op::Read) < one, "{word}");
    }
    let linear = end("linear:hdd-7200-ideal", Op::Read);
    assert!(linear.as_ns().abs_diff(one.as_ns()) * 20 < one.as_ns(), "{linear:?} {one:?}");
    assert!(end("md-raid5:3xhdd-7200-ideal", Op::Write) > end("md-raid0:3xhdd-7200-ideal", Op::Write));
}
