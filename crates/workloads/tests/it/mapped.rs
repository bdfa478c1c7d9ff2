//! `ioengine=mmap`, and what a process that has a file mapped makes the host do.

use blksched::{Op, Sector, Span, SubmitterId};
use blksched_workloads::fio::JobFile;
use blksched_workloads::host::{
    Advice, ByteRange, CallWork, Host, HostKnobs, OpenFile, Ticks, Touch, WaitsFor, WriteBack,
};

use crate::common::{DISK_SECTORS, run_plan};
use crate::host::{Rig, file};

const RECORDED: &str = include_str!("../../../../testdata/write-back/faults-6.18.tsv");
/// Larger than any page recorded.
const PAGES: u64 = 16_384;

fn touch(page: u64, pages: u32, stores: bool, advice: Advice) -> Touch {
    Touch { range: ByteRange::of_sectors(Sector(page * 8), pages * 8), stores, advice, syncs: false }
}

impl Rig {
    fn touches(&mut self, file: OpenFile, touch: Touch) {
        let tag = self.call(1, file, CallWork::Touch(touch));
        self.until_returned(tag);
    }
}

fn advice(word: &str) -> Advice {
    match word {
        "normal" => Advice::Normal,
        "sequential" => Advice::Sequential,
        "random" => Advice::Random,
        other => panic!("{other} is no advice"),
    }
}

#[test]
fn faults_read_what_linux_read() {
    let mut same = 0;
    for line in RECORDED.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [of_file, mapping, touched, read, differs] = fields[..] else { panic!("{line}") };
        let (mut rig, file) = (Rig::balanced(""), file(0, PAGES, advice(of_file)));
        // A bio holds a whole window.
        let write_back = WriteBack::Balances { ticks: Ticks::per_second(250), processors: 2 };
        rig.host = Host::new(HostKnobs::default(), write_back, SubmitterId(1_000), 2_560);
        for pages in touched.split(' ') {
            let (from, to) = pages.split_once('-').unwrap_or((pages, pages));
            for page in from.parse::<u64>().unwrap()..=to.parse().unwrap() {
                rig.touches(file, touch(page, 1, false, advice(mapping)));
            }
        }
        let bios = rig.submitted.iter().map(|(_, bio)| format!("{}+{}", bio.start.0 / 8, bio.sectors / 8));
        let bios = bios.collect::<Vec<_>>().join(" ");
        assert_eq!(bios == read, differs == "-", "{line}\nthe model: {bios}");
        same += u32::from(bios == read);
    }
    assert_eq!(same, 16);
}

#[test]
fn a_store_of_a_whole_page_reads_it_first_and_a_write_does_not() {
    let file = file(0, PAGES, Advice::Random);
    let mut rig = Rig::balanced("");
    rig.touches(file, touch(500, 1, true, Advice::Random));
    assert_eq!((rig.pages(Op::Read), rig.host.report().dirtied), (1, 1));
    // It is there now, and dirty.
    rig.touches(file, touch(500, 1, true, Advice::Random));
    let report = rig.host.report();
    assert_eq!((rig.pages(Op::Read), report.dirtied, report.overwritten), (1, 1, 1));
    // Where nothing was ever written, nothing is read.
    rig.host.add_blank(600..700);
    rig.touches(file, touch(600, 4, true, Advice::Random));
    assert_eq!((rig.pages(Op::Read), rig.host.report().dirtied), (1, 5));
}

#[test]
fn an_msync_writes_what_was_stored_and_flushes() {
    let file = file(0, PAGES, Advice::Random);
    let mut rig = Rig::balanced("");
    rig.touches(file, touch(9, 1, true, Advice::Random));
    rig.touches(file, Touch { syncs: true, ..touch(20, 2, true, Advice::Random) });
    assert_eq!(rig.pages(Op::Write), 2, "of its own pages");
    assert_eq!(rig.submitted.last().unwrap().1.op, Op::Flush);
    assert!(rig.host.report().writes.on(WaitsFor::Flush) > Span::ZERO);
}

#[test]
fn stores_are_slowed_down_like_writes() {
    let file = file(0, PAGES, Advice::Sequential);
    let mut rig = Rig::balanced("memory=64m,dirty_bytes=8m,dirty_background_bytes=4m");
    rig.one_at_a_time = Some(Span::from_ms(10));
    // Nothing to read, so that it stores at the speed of memory.
    rig.host.add_blank(0..PAGES);
    for page in 0..10_000 {
        rig.touches(file, touch(page, 1, true, Advice::Sequential));
    }
    let report = rig.host.report();
    assert!(report.writes.throttled > 10 && report.dirty_most < (8 << 20) + 128 * 4096, "{report:?}");
}

/// Each touch of the job, and its other calls.
fn touches(options: &str) -> (Vec<Touch>, Vec<CallWork>) {
    let file = JobFile::parse(&format!("[j]\nioengine=mmap\n{options}\n"), "j.fio").unwrap_or_else(|e| panic!("{e}"));
    let run = run_plan(&file.plan(DISK_SECTORS).unwrap_or_else(|error| panic!("{error}")), 1);
    let (mut touches, mut others) = (Vec::new(), Vec::new());
    for call in &run.calls {
        match call.work {
            CallWork::Touch(touch) => touches.push(touch),
            other => others.push(other),
        }
    }
    (touches, others)
}

/// As traced with strace.
#[test]
fn fios_engine_advises_and_syncs_as_it_does() {
    let (done, others) = touches("rw=randread\nsize=64k\niodepth=8");
    assert_eq!((done.len(), others.len()), (16, 0));
    assert!(done.iter().all(|touch| !touch.stores && touch.advice == Advice::Random && !touch.syncs));
    assert_eq!(touches("rw=read\nsize=8k").0[0].advice, Advice::Sequential);
    assert_eq!(touches("rw=read\nsize=8k\nfadvise_hint=random").0[0].advice, Advice::Sequential);
    assert_eq!(touches("rw=read\nsize=8k\nfadvise_hint=0").0[0].advice, Advice::Normal);
    // Each sync is an msync of all of it, which needs no more metadata than fdatasync.
    for sync in ["fsync=4", "fdatasync=4", "sync_file_range=write:4"] {
        let (done, others) = touches(&format!("rw=write\nsize=64k\n{sync}"));
        assert_eq!((done.len(), others.len()), (16, 3), "{sync}");
        assert!(others.iter().all(|work| *work == CallWork::SyncData), "{sync}");
    }
    let (done, _) = touches("rw=randrw\nsize=64k\ndirect=1");
    assert!(done.iter().all(|touch| touch.syncs) && done.iter().any(|touch| !touch.stores));
    assert!(touches("rw=write\nsize=64k\nsync=1").0.iter().all(|touch| !touch.syncs), "it does nothing to a mapping");
    assert_eq!(touches("rw=write\nsize=10000\nbs=1000").0[3].range.bytes, 1000);
}

#[test]
fn the_file_is_there_before_it_is_mapped_and_an_msync_takes_whole_pages() {
    let parse = |options: &str| JobFile::parse(&format!("[j]\nioengine=mmap\nsize=1m\n{options}\n"), "j.fio");
    let plan = parse("rw=write\nbs=1000").unwrap().plan(DISK_SECTORS).unwrap();
    assert!(plan.blank.is_empty(), "fio writes all of it first");
    let error = parse("rw=write\ndirect=1\nbs=2k").unwrap_err().to_string();
    assert!(error.contains("`direct` of job `j`") && error.contains("j.fio:5:1"), "{error}");
    let notes = |options: &str| format!("{:?}", parse(options).unwrap().plan(DISK_SECTORS).unwrap().notes);
    assert!(notes("rw=write\ndirect=1").contains("followed by an msync"));
    assert!(notes("rw=write\nsync=1").contains("does nothing to stores"));
}
