//! Buffered jobs whose lengths and places are not whole sectors.

use blksched::{Op, Sector};
use blksched_workloads::fio::JobFile;
use blksched_workloads::host::{ByteRange, CallWork};
use proptest::prelude::*;

use crate::common::{DISK_SECTORS, run_plan};

/// Each call of the job that transfers: whether it writes, where in its file, and how much \[bytes\].
fn calls(options: &str) -> Vec<(bool, u64, u64)> {
    let file = JobFile::parse(&format!("[j]\n{options}\n"), "j.fio").unwrap_or_else(|error| panic!("{error}"));
    let run = run_plan(&file.plan(DISK_SECTORS).unwrap_or_else(|error| panic!("{error}")), 1);
    let made = |call: &blksched_workloads::host::HostCall| {
        let (writes, ByteRange { start, bytes }) = match call.work {
            CallWork::Read(range) => (false, range),
            CallWork::Write(range, _) => (true, range),
            _ => return None,
        };
        let Sector(file) = call.file.start;
        assert!(start + bytes <= (file + call.file.sectors) * 512, "beyond its file: {call:?}");
        Some((writes, start - file * 512, bytes))
    };
    run.calls.iter().filter_map(made).collect()
}

#[test]
fn etcds_test_writes_one_block_behind_the_other_each_with_its_sync() {
    let options = "rw=write\nioengine=sync\nfdatasync=1\nsize=230k\nbs=2300";
    let writes = calls(options);
    // As many as fio 3.33 makes (tried).
    assert_eq!(writes.len(), 102);
    assert!(writes.iter().enumerate().all(|(nth, write)| *write == (true, 2300 * nth as u64, 2300)), "{writes:?}");
    let file = JobFile::parse(&format!("[j]\n{options}\n"), "j.fio").unwrap();
    let plan = file.plan(DISK_SECTORS).unwrap();
    let run = run_plan(&plan, 1);
    // The last before it finds that no block is left; without a remainder there is one less (traced with strace).
    assert_eq!(run.calls.iter().filter(|call| call.op() == Op::Flush).count(), 102);
    // The file is new, and nothing is read for a page that is written in part.
    assert_eq!(plan.blank.len(), 1);
    let again = JobFile::parse(&format!("[j]\noverwrite=1\n{options}\n"), "j.fio").unwrap();
    assert!(again.plan(DISK_SECTORS).unwrap().blank.is_empty());
}

#[test]
fn offsets_ranges_mixes_and_several_files_are_to_the_byte() {
    assert_eq!(calls("rw=read\nbs=1000\nsize=3500\noffset=100"), [100, 1100, 2100].map(|at| (false, at, 1000)));
    let some = calls("rw=randrw\nbssplit=700/50:1400/50\nsize=70000\nnrfiles=2");
    assert!(some.iter().all(|(_, at, bytes)| at % 700 == 0 && [700, 1400].contains(bytes)), "{some:?}");
    assert!(some.iter().any(|call| call.0) && some.iter().any(|call| !call.0));
    assert_eq!(some.iter().map(|call| call.2).sum::<u64>(), 70_000);
    let by_rate = calls("rw=write\nbs=10\nsize=100\nrate=1000");
    assert_eq!(by_rate.len(), 10);
}

#[test]
fn a_rate_in_bytes_is_one_of_real_bytes() {
    let file = JobFile::parse("[j]\nrw=write\nbs=100\nsize=100k\nrate=20000\n", "j.fio").unwrap();
    let run = run_plan(&file.plan(DISK_SECTORS).unwrap(), 1);
    let took = run.exits[&0].since(blksched::Instant::ZERO).as_secs_f64();
    // 102,400 bytes at 20,000 a second.
    assert!((took - 5.12).abs() < 0.05, "{took}");
}

proptest! {
    /// A random job visits each of its blocks once, whatever their length.
    #[test]
    fn every_block_once(bs in 1_u64..5000, blocks in 1_u64..40, offset in 0_u64..5000) {
        let mut all = calls(&format!("rw=randread\nbs={bs}\nsize={}\noffset={offset}", bs * blocks + bs - 1));
        all.sort_unstable();
        let expected: Vec<_> = (0..blocks).map(|nth| (false, offset + nth * bs, bs)).collect();
        prop_assert_eq!(all, expected);
    }
}
