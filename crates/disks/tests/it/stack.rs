//! The laws of stacked devices, over random bios.

use std::collections::BTreeMap;

use blksched::{Bio, Durability, GroupId, Instant, Op, Priority, Sector, Span, SubmitterId, Tag};
use blksched_disks::stack::{Below, CryptSpec, StackLayout, StackSpec, Volume, stack_word};

/// A linear congruential generator: the same bios on every machine.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

const MEMBERS: [u64; 4] = [4_096, 5_000, 4_096, 9_000];
const THREAD: SubmitterId = SubmitterId(99);

fn layouts() -> Vec<(StackLayout, Vec<u64>)> {
    let (all, two) = (MEMBERS.to_vec(), MEMBERS[..2].to_vec());
    vec![
        (StackLayout::Linear, all.clone()),
        (StackLayout::Striped { chunk: 16 }, all.clone()),
        (StackLayout::Raid0 { chunk: 16 }, all.clone()),
        (StackLayout::Raid0 { chunk: 128 }, two.clone()),
        (StackLayout::Raid1, two),
        (StackLayout::Raid1, all.clone()),
        (StackLayout::Raid10 { chunk: 32 }, all.clone()),
        (StackLayout::Raid10 { chunk: 8 }, all[..3].to_vec()),
    ]
}

fn drawn(draw: &mut Draw, tag: u64, sectors: u64) -> Bio {
    let op = [Op::Read, Op::Write, Op::Write, Op::Discard, Op::Flush][draw.below(5) as usize];
    let length = if op == Op::Flush { 0 } else { 1 + draw.below(300) };
    let start = Sector(draw.below(sectors - length));
    let durability = match op {
        Op::Write => Durability { preflush: draw.below(4) == 0, fua: draw.below(4) == 0 },
        _ => Durability::default(),
    };
    let submitter = SubmitterId(draw.below(3) as u32);
    let priority = Priority { level: draw.below(8) as u8, ..Priority::NORMAL };
    let group = GroupId(draw.below(3) as u32);
    Bio { op, durability, priority, group, ..Bio::write(tag, submitter, start, length as u32) }
}

/// One bio through a volume whose members answer in a drawn order: everything that its members were given.
fn through(volume: &mut Volume, bio: Bio, draw: &mut Draw) -> Vec<(u32, Bio)> {
    let (mut now, mut out, mut given, mut open) = (Instant::ZERO, Vec::new(), Vec::new(), Vec::new());
    volume.enter(now, bio, &mut out);
    loop {
        for below in std::mem::take(&mut out) {
            match below {
                Below::Submit { member, bio: part } => {
                    assert_eq!(volume.whole(part.tag), bio.tag);
                    given.push((member, part));
                    open.push(part);
                }
                Below::Complete { tag, failed } => {
                    assert_eq!((tag, failed), (bio.tag, false));
                    assert!(open.is_empty(), "complete with parts under way: {open:?}");
                    assert!(volume.is_idle());
                    return given;
                }
            }
        }
        if open.is_empty() {
            now = volume.next().expect("it waits for something");
            volume.elapse(now, &mut out);
        } else {
            let part = open.swap_remove(draw.below(open.len() as u64) as usize);
            volume.done(now, part.tag, false, &mut out);
        }
    }
}

/// How often each sector of the volume is in the parts of a kind.
fn coverage(volume: &Volume, bio: &Bio, parts: &[(u32, Bio)]) -> BTreeMap<u64, u32> {
    let mut above = BTreeMap::new();
    for sector in bio.start.0..bio.end().0 {
        for copy in 0..volume.map().copies() {
            let place = volume.map().place(sector, copy);
            above.insert((place.member, place.sector), sector);
        }
    }
    let mut covered = BTreeMap::new();
    for (member, part) in parts {
        for sector in part.start.0..part.end().0 {
            let of = above.get(&(*member, sector)).unwrap_or_else(|| panic!("{part:?} is not {bio:?}'s"));
            *covered.entry(*of).or_default() += 1;
        }
    }
    covered
}

#[test]
fn every_sector_of_a_bio_is_on_the_right_members_exactly_once_for_each_copy() {
    for (layout, members) in layouts() {
        let mut volume = Volume::new(&StackSpec::of(layout), &members, 4, THREAD);
        let mut draw = Draw(7);
        let (sectors, copies) = (volume.map().sectors(), volume.map().copies());
        for nth in 0..2_000 {
            let bio = drawn(&mut draw, nth, sectors);
            let given = through(&mut volume, bio, &mut draw);
            let (flushes, data): (Vec<_>, Vec<_>) = given.iter().partition(|(_, part)| part.op == Op::Flush);
            let flushed = flushes.iter().map(|(member, _)| *member).collect::<Vec<_>>();
            let all: Vec<u32> = (0..members.len() as u32).rev().collect();
            let asks = bio.op == Op::Flush || bio.durability.preflush;
            assert_eq!(flushed, if asks { all } else { Vec::new() }, "a flush is every member's: {bio:?}");
            assert!(given[flushes.len()..].iter().all(|(_, part)| part.op == bio.op || bio.op == Op::Flush));
            let times = if bio.op == Op::Read { 1 } else { copies };
            let covered = coverage(&volume, &bio, &data);
            assert!(covered.values().all(|&count| count == times), "{layout:?} {bio:?}: {data:?}");
            assert_eq!(covered.len() as u32, bio.sectors, "{layout:?} {bio:?}");
            for (_, part) in &given {
                // Data behind a flush is sent on by a thread.
                let is_behind = bio.durability.preflush && part.op != Op::Flush;
                let by = if is_behind { THREAD } else { bio.submitter };
                assert_eq!((part.submitter, part.group, part.priority), (by, bio.group, bio.priority));
                assert_eq!(part.waiter, bio.waiter);
                // md's flushes, and its discards that are one for each member, are asynchronous.
                let may_differ = layout.is_mds() && matches!(part.op, Op::Flush | Op::Discard);
                assert!(part.hints == bio.hints || may_differ && !part.hints.req_sync, "{layout:?} {part:?}");
                assert!(!part.durability.preflush, "the volume has seen to it");
            }
            for (_, part) in &data {
                assert_eq!(part.durability.fua, bio.durability.fua);
            }
        }
    }
}

#[test]
fn md_raid_0_cuts_at_its_chunks_length_and_what_lies_behind_a_boundary_goes_first() {
    let mut volume = Volume::new(&StackSpec::of(StackLayout::Raid0 { chunk: 16 }), &[4_096; 2], 4, THREAD);
    let mut out = Vec::new();
    volume.enter(Instant::ZERO, Bio::write(1, SubmitterId(1), Sector(10), 40), &mut out);
    let cut: Vec<(u32, u64, u32)> = out
        .iter()
        .map(|below| match below {
            Below::Submit { member, bio } => (*member, bio.start.0, bio.sectors),
            Below::Complete { .. } => panic!("nothing is complete"),
        })
        .collect();
    assert_eq!(cut, [(1, 0, 10), (0, 10, 6), (0, 16, 10), (1, 10, 6), (1, 16, 2), (0, 26, 6)]);
}

#[test]
fn a_discard_is_one_for_each_member_where_it_can_be() {
    let mut volume = Volume::new(&StackSpec::of(StackLayout::Raid0 { chunk: 16 }), &[4_096; 2], 4, THREAD);
    let mut out = Vec::new();
    let discard = Bio { op: Op::Discard, ..Bio::write(1, SubmitterId(1), Sector(0), 160) };
    volume.enter(Instant::ZERO, discard, &mut out);
    assert_eq!(out.len(), 2, "{out:?}");
}

#[test]
fn a_bio_is_complete_when_its_last_part_is_and_failed_if_any_failed() {
    let mut volume = Volume::new(&StackSpec::of(StackLayout::Raid1), &[4_096; 3], 4, THREAD);
    let mut out = Vec::new();
    volume.enter(Instant::ZERO, Bio::write(5, SubmitterId(1), Sector(8), 8), &mut out);
    let parts: Vec<Tag> = out
        .drain(..)
        .map(|below| match below {
            Below::Submit { bio, .. } => bio.tag,
            Below::Complete { .. } => panic!("nothing is complete"),
        })
        .collect();
    for (nth, &part) in parts.iter().enumerate() {
        assert!(out.is_empty());
        volume.done(Instant::ZERO, part, nth == 1, &mut out);
    }
    assert_eq!(out, [Below::Complete { tag: Tag(5), failed: true }]);
}

#[test]
fn reads_of_a_mirror_go_on_where_they_are_and_share_the_members_otherwise() {
    let mut volume = Volume::new(&StackSpec::of(StackLayout::Raid1), &[100_000; 2], 4, THREAD);
    let member = |volume: &mut Volume, start: u64| {
        let mut out = Vec::new();
        volume.enter(Instant::ZERO, Bio::read(1, SubmitterId(1), Sector(start), 8), &mut out);
        match out[..] {
            [Below::Submit { member, .. }] => member,
            _ => panic!("one member is read: {out:?}"),
        }
    };
    let first = member(&mut volume, 1_000);
    let other = member(&mut volume, 90_000);
    assert_ne!(first, other, "the other is free");
    assert_eq!(member(&mut volume, 1_008), first, "it goes on there");
    assert_eq!(member(&mut volume, 90_008), other);
}

/// As recorded of null_blk disks, which do not turn: where something lies does not matter.
#[test]
fn solid_mirrors_are_read_where_the_fewest_reads_are_and_the_first_of_equals() {
    for (layout, goes_on) in [(StackLayout::Raid1, true), (StackLayout::Raid10 { chunk: 1_024 }, false)] {
        let mut volume = Volume::new(&StackSpec::of(layout), &[100_000; 2], 4, THREAD).with_solid_members();
        let read = |volume: &mut Volume, start: u64| {
            let mut out = Vec::new();
            volume.enter(Instant::ZERO, Bio::read(1, SubmitterId(1), Sector(start), 8), &mut out);
            let [Below::Submit { member, bio }] = out[..] else { panic!("one member is read: {out:?}") };
            (member, bio.tag)
        };
        let end = |volume: &mut Volume, part| volume.done(Instant::ZERO, part, false, &mut Vec::new());
        for start in [1_000, 90_000, 2_000, 90_008] {
            let (member, part) = read(&mut volume, start);
            assert_eq!(member, 0, "the first of two idle ones");
            end(&mut volume, part);
        }
        let (_, first) = read(&mut volume, 5_000);
        assert_eq!(read(&mut volume, 9_000).0, 1, "the other is idle");
        assert_eq!(read(&mut volume, 9_008).0, u32::from(goes_on), "{layout:?}");
        end(&mut volume, first);
    }
}

fn crypt(settings: &str) -> Volume {
    let spec = stack_word(&format!("crypt:ssd,encrypt=1000,decrypt=500,hop=10us{settings}")).unwrap().unwrap().spec;
    Volume::new(&spec, &[1 << 20], 1, THREAD)
}

#[test]
fn dm_crypts_thread_sends_writes_in_the_order_of_their_sectors_and_in_its_own_name() {
    let mut volume = crypt("");
    let mut out = Vec::new();
    for (tag, start) in [(1, 800), (2, 80), (3, 400)] {
        volume.enter(Instant::ZERO, Bio::write(tag, SubmitterId(tag as u32), Sector(start), 2), &mut out);
    }
    assert!(out.is_empty(), "nothing goes on before it is encrypted");
    let mut sent = Vec::new();
    while let Some(now) = volume.next() {
        volume.elapse(now, &mut out);
        for below in out.drain(..) {
            let Below::Submit { bio, .. } = below else { panic!("no member was done") };
            sent.push((now.as_ns(), bio.start.0 - 32_768, bio.submitter));
        }
    }
    // One worker: 10 µs to wake, then 977 ns each; the thread comes 10 µs after the first, for all that are ready.
    assert_eq!(sent, [(20_977, 80, THREAD), (20_977, 400, THREAD), (20_977, 800, THREAD)]);
}

#[test]
fn without_workqueues_processes_do_the_work_and_keep_their_writes() {
    let mut volume = crypt(",no_write_workqueue,no_read_workqueue");
    let mut out = Vec::new();
    volume.enter(Instant::ZERO, Bio::write(1, SubmitterId(7), Sector(800), 2), &mut out);
    volume.enter(Instant::ZERO, Bio::write(2, SubmitterId(7), Sector(80), 2), &mut out);
    volume.enter(Instant::ZERO, Bio::write(3, SubmitterId(8), Sector(400), 2), &mut out);
    let mut sent = Vec::new();
    while let Some(now) = volume.next() {
        volume.elapse(now, &mut out);
        for below in out.drain(..) {
            let Below::Submit { bio, .. } = below else { panic!("no member was done") };
            sent.push((now.as_ns(), bio.start.0 - 32_768, bio.submitter.0));
        }
    }
    assert_eq!(sent, [(977, 800, 7), (977, 400, 8), (1_954, 80, 7)], "one after the other in each process");
}

#[test]
fn a_read_is_complete_once_it_is_decrypted() {
    for (settings, expected) in [("", 10_000 + 1_953), (",no_read_workqueue", 1_953)] {
        let (mut volume, mut out) = (crypt(settings), Vec::new());
        volume.enter(Instant::ZERO, Bio::read(1, SubmitterId(7), Sector(8), 2), &mut out);
        let [Below::Submit { bio, .. }] = out[..] else { panic!("it goes on at once: {out:?}") };
        assert_eq!((bio.submitter, bio.start), (SubmitterId(7), Sector(8 + 32_768)));
        out.clear();
        let back = Instant::ZERO + Span::from_us(100);
        volume.done(back, bio.tag, false, &mut out);
        assert!(out.is_empty());
        let ready = volume.next().unwrap();
        assert_eq!(ready.since(back).as_ns(), expected, "{settings}");
        volume.elapse(ready, &mut out);
        assert_eq!(out, [Below::Complete { tag: Tag(1), failed: false }]);
    }
}

#[test]
fn random_bios_through_dm_crypt_keep_the_laws_of_one_member() {
    let usual = CryptSpec { allow_discards: true, ..CryptSpec::default() };
    for spec in [
        usual,
        CryptSpec { write_workqueue: false, ..usual },
        CryptSpec { read_workqueue: false, hop: Span::ZERO, ..usual },
    ] {
        let spec = StackSpec { crypt: Some(spec), ..StackSpec::of(StackLayout::Behind { header: 64 }) };
        let mut volume = Volume::new(&spec, &[8_192], 3, THREAD);
        let mut draw = Draw(3);
        for nth in 0..500 {
            let bio = drawn(&mut draw, nth, volume.map().sectors());
            let given = through(&mut volume, bio, &mut draw);
            let data: Vec<_> = given.iter().filter(|(_, part)| part.op != Op::Flush).copied().collect();
            assert!(coverage(&volume, &bio, &data).values().all(|&count| count == 1));
            let is_cut = matches!(bio.op, Op::Read | Op::Write);
            let longest = if is_cut { bio.sectors.min(256) } else { bio.sectors };
            assert!(data.iter().all(|(_, part)| part.sectors <= longest && part.priority == bio.priority));
            let parts = if is_cut { bio.sectors.div_ceil(256) } else { bio.sectors.min(1) };
            assert_eq!(data.len() as u32, parts, "{bio:?}");
        }
    }
}

#[test]
fn a_lost_priority_is_the_usual_one_below() {
    let spec = stack_word("lvm:ssd,priority=lost").unwrap().unwrap().spec;
    let (mut volume, mut out) = (Volume::new(&spec, &[1 << 20], 1, THREAD), Vec::new());
    let bio = Bio::read(1, SubmitterId(7), Sector(8), 2).with_priority(Priority { level: 7, ..Priority::NORMAL });
    volume.enter(Instant::ZERO, bio, &mut out);
    let [Below::Submit { bio, .. }] = out[..] else { panic!("it goes on at once: {out:?}") };
    assert_eq!(bio.priority, Priority::default());
}

#[test]
fn a_device_ends_with_a_whole_page_whatever_its_members_lengths() {
    // 500 GB, as `sata-2009` has them, are four sectors more than whole pages.
    let long = 976_562_500;
    for (layout, members) in [
        (StackLayout::Linear, vec![long; 2]),
        (StackLayout::Raid1, vec![long; 2]),
        (StackLayout::Behind { header: 16 }, vec![long]),
    ] {
        assert_eq!(StackSpec::of(layout).above(&members).sectors() % 8, 0, "{layout:?}");
    }
}

#[test]
fn the_time_of_encryption_is_that_of_the_given_speed() {
    // 1494 MiB/s for 1 GiB, in writes of 4 KiB: 653.6 ns for a KiB, of which nothing is cut off.
    let spec = stack_word("crypt:ssd,no_write_workqueue").unwrap().unwrap().spec;
    let (mut volume, mut out) = (Volume::new(&spec, &[1 << 23], 1, THREAD), Vec::new());
    for nth in 0..262_144 {
        volume.enter(Instant::ZERO, Bio::write(nth, SubmitterId(7), Sector(8 * nth), 8), &mut out);
    }
    let mut last = Instant::ZERO;
    while let Some(now) = volume.next() {
        volume.elapse(now, &mut out);
        last = now;
    }
    let expected = 1024.0 / 1494.0;
    let took = last.since(Instant::ZERO).as_secs_f64();
    assert!((took / expected - 1.0).abs() < 0.000_2, "{took} s, expected {expected}");
}

#[test]
fn dm_crypt_has_discards_only_if_they_are_allowed() {
    let discard = Bio { op: Op::Discard, ..Bio::write(4, SubmitterId(1), Sector(8), 8) };
    for (settings, passes) in [("", false), (",allow_discards", true)] {
        let (mut volume, mut out) = (crypt(settings), Vec::new());
        volume.enter(Instant::ZERO, discard, &mut out);
        match out[..] {
            [Below::Submit { bio, .. }] => assert!(passes && bio.op == Op::Discard, "{settings}"),
            [Below::Complete { tag, failed }] => assert!(!passes && failed && tag == Tag(4), "{settings}"),
            _ => panic!("{settings}: {out:?}"),
        }
        assert_eq!(volume.is_idle(), !passes);
    }
}
