//! How many I/Os and bytes real fio does for a job, and how many we do: for every option that changes them.
//!
//! Many jobs in one file, each with a file of its own (fio's engine `null`), or all in one file that is longer than
//! their regions (fio's `psync` on a file of a temporary folder). Offsets and sizes that are drawn come in another
//! order here, so jobs whose counts hang on draws are compared summed over many clones, within this many percent: about
//! three times by how much such sums differ between runs of fio with different seeds.

use std::collections::BTreeMap;

use serde_json::Value;

use blksched_testkit::Folder;

use super::{fio_is_here, ours, theirs};

/// Every count must be the same.
const EXACTLY: f64 = 0.0;

/// Name, tolerance \[%\], options.
type Case = (&'static str, f64, &'static str);

/// Jobs with a file each.
const ALONE: &[Case] = &[
    ("read", EXACTLY, "rw=read"),
    ("write", EXACTLY, "rw=write"),
    ("randread", EXACTLY, "rw=randread"),
    ("randwrite", EXACTLY, "rw=randwrite fsync=10"),
    ("rw", 3.0, "rw=rw numjobs=16"),
    ("mix", 3.0, "rw=randrw rwmixread=80 numjobs=16"),
    ("mix-write", 3.0, "rw=randrw rwmixwrite=80 numjobs=16"),
    ("mix-0", EXACTLY, "rw=randrw rwmixread=0"),
    ("trim", EXACTLY, "rw=randtrim bs=8k"),
    ("trimwrite", EXACTLY, "rw=trimwrite bs=8k"),
    ("randtrimwrite", EXACTLY, "rw=randtrimwrite number_ios=20"),
    ("bs-odd", EXACTLY, "rw=read bs=12k"),
    ("bs-odd-random", EXACTLY, "rw=randread bs=12k"),
    ("bs-odd-free", EXACTLY, "rw=randread bs=12k norandommap"),
    ("bs-512", EXACTLY, "rw=randread bs=512 size=100k"),
    ("bs-directions", EXACTLY, "rw=write bs=4k,32k"),
    ("stride", EXACTLY, "rw=read:12k"),
    ("stride-back", EXACTLY, "rw=read:-8k"),
    ("stride-small", EXACTLY, "rw=write:1k"),
    ("stride-loops", EXACTLY, "rw=read:4k loops=3"),
    ("stride-mixed", 5.0, "rw=rw:4k numjobs=16"),
    ("runs", EXACTLY, "rw=randread:8"),
    ("runs-mixed", 5.0, "rw=randrw:8 percentage_random=30 numjobs=16"),
    ("runs-identical", EXACTLY, "rw=randwrite:4 rw_sequencer=identical"),
    ("part-random", EXACTLY, "rw=randread percentage_random=50"),
    ("part-random-loops", EXACTLY, "rw=randread percentage_random=50 loops=2"),
    ("range", 8.0, "rw=randread bsrange=4k-64k size=4m numjobs=32"),
    ("range-free", 8.0, "rw=randread bsrange=4k-64k size=4m norandommap numjobs=32"),
    ("range-sequential", 8.0, "rw=read bsrange=4k-64k size=4m numjobs=32"),
    ("split", 8.0, "rw=randread bssplit=4k/50:16k/30:64k/20 size=4m numjobs=32"),
    ("split-two", 8.0, "rw=randwrite bssplit=4k/50:64k/50 size=4m numjobs=32"),
    ("split-free", 8.0, "rw=randread bssplit=4k/50:64k/50 size=4m norandommap numjobs=32"),
    ("split-loops", 8.0, "rw=randread bssplit=4k/50:64k/50 size=2m loops=2 numjobs=32"),
    ("split-sequential", 8.0, "rw=write bssplit=4k/50:8k/ size=4m numjobs=32"),
    ("split-same-least", 8.0, "rw=randrw bssplit=4k/50:16k/30:64k/20 size=2m numjobs=48"),
    // Directions with different least sizes end their pass at a random moment.
    ("split-directions", 20.0, "rw=randrw bssplit=4k/50:16k/30:64k/20,8k/100 size=4m numjobs=96"),
    ("sizes-directions", 20.0, "rw=randrw bs=4k,8k size=4m numjobs=96"),
    ("sizes-large", 20.0, "rw=randrw bs=16k,4k size=4m numjobs=96"),
    ("sizes-io-size", 10.0, "rw=randrw bs=4k,8k size=2m io_size=16m numjobs=16"),
    ("align", EXACTLY, "rw=randread blockalign=64k"),
    ("size-odd", EXACTLY, "rw=read size=1003k"),
    ("io-size-less", EXACTLY, "rw=read io_size=300k"),
    ("io-size-more", EXACTLY, "rw=randread io_size=2500k"),
    ("number", EXACTLY, "rw=randread number_ios=77"),
    ("number-more", EXACTLY, "rw=randread number_ios=777"),
    ("loops", EXACTLY, "rw=randread loops=3"),
    ("loops-number", EXACTLY, "rw=read number_ios=100 loops=3"),
    ("loops-number-more", EXACTLY, "rw=randread number_ios=300 loops=2"),
    ("loops-io-size-less", EXACTLY, "rw=read io_size=300k loops=3"),
    ("loops-io-size-more", EXACTLY, "rw=read io_size=3m loops=2"),
    ("loops-io-size-between", EXACTLY, "rw=randread io_size=1500k loops=3"),
    ("io-size-percent", EXACTLY, "rw=read io_size=50%"),
    ("size-percent", EXACTLY, "rw=read size=50% filesize=2m"),
    ("size-beyond", EXACTLY, "rw=read size=4097"),
    ("bs-large", EXACTLY, "rw=randread bs=768k"),
    ("size-of-another-direction", 8.0, "rw=randread bs=16k,4k numjobs=32"),
    ("sizes-of-another-direction", 8.0, "rw=randwrite bsrange=4k-8k,16k-64k size=4m numjobs=32"),
    ("trims-of-another-size", 8.0, "rw=randtrim bs=4k,8k,16k numjobs=32"),
    ("write-sync", EXACTLY, "rw=randwrite sync=1"),
    ("write-dsync", EXACTLY, "rw=write sync=dsync"),
    ("starts-later", EXACTLY, "rw=read startdelay=50ms number_ios=20"),
    ("no-map-no-repeat", EXACTLY, "rw=randread norandommap randrepeat=0 loops=2"),
    ("one-repeat", EXACTLY, "rw=randread allrandrepeat=1 numjobs=3"),
    ("soft-map", EXACTLY, "rw=randread softrandommap=1"),
    ("lfsr", EXACTLY, "rw=randread random_generator=lfsr"),
    ("pareto", EXACTLY, "rw=randread random_distribution=pareto:0.9"),
    ("normal", EXACTLY, "rw=randread random_distribution=normal:20"),
    ("zoned-abs", EXACTLY, "rw=randread random_distribution=zoned_abs:60/100k:30/200k:10/300k"),
    ("align-less", EXACTLY, "rw=randread blockalign=512"),
    ("zipf", EXACTLY, "rw=randread random_distribution=zipf:1.2"),
    ("zoned", EXACTLY, "rw=randread random_distribution=zoned:60/10:30/20:10/70"),
    ("files", EXACTLY, "rw=read nrfiles=5"),
    ("files-random", EXACTLY, "rw=randread nrfiles=4 file_service_type=random"),
    ("files-in-turn", EXACTLY, "rw=write nrfiles=3 openfiles=1 file_service_type=sequential"),
    ("files-odd", EXACTLY, "rw=randread nrfiles=4 bs=12k"),
    ("files-odd-loops", EXACTLY, "rw=randread nrfiles=3 bs=12k loops=2"),
    ("filesize", EXACTLY, "rw=read nrfiles=2 filesize=300k size=600k"),
    ("filesize-files", EXACTLY, "rw=read nrfiles=4 filesize=100k"),
    ("filesize-less", EXACTLY, "rw=randread filesize=300k size=200k"),
    ("filesize-io-size", EXACTLY, "rw=read nrfiles=4 filesize=100k io_size=1m"),
    ("fsync-loops", EXACTLY, "rw=write fsync=7 loops=2"),
    ("fsync", EXACTLY, "rw=write fsync=8"),
    ("fsync-at-passes", EXACTLY, "rw=write fsync=8 loops=3"),
    ("fsync-at-passes-more", EXACTLY, "rw=randwrite fsync=8 io_size=3500k"),
    ("fsync-at-passes-verified", EXACTLY, "rw=write fsync=8 loops=3 verify=null"),
    ("fdatasync", EXACTLY, "rw=randwrite fdatasync=3"),
    ("end-fsync", EXACTLY, "rw=write end_fsync=1"),
    ("fsync-and-end", EXACTLY, "rw=write fsync=64 end_fsync=1"),
    ("clones", EXACTLY, "rw=read numjobs=3"),
    ("grouped", EXACTLY, "rw=read numjobs=3 group_reporting"),
    ("joins", EXACTLY, "rw=write group_reporting"),
    ("apart", EXACTLY, "rw=write"),
    ("joins-too", EXACTLY, "rw=randread group_reporting numjobs=2 loops=2"),
    ("new-group", EXACTLY, "rw=write new_group group_reporting"),
    ("walled", EXACTLY, "rw=read stonewall group_reporting=0"),
    ("zones", EXACTLY, "rw=read zonemode=strided zonesize=64k zoneskip=64k size=1m"),
    ("zones-random", EXACTLY, "rw=randread zonemode=strided zonesize=64k zoneskip=64k size=1m"),
    ("verify", EXACTLY, "rw=write verify=null"),
    ("verify-not", EXACTLY, "rw=write verify=null do_verify=0"),
    ("verify-random", EXACTLY, "rw=randwrite verify=null iodepth=4"),
    ("verify-mixed", 3.0, "rw=randrw verify=null numjobs=64"),
    ("verify-mixed-more", 3.0, "rw=randrw verify=null io_size=3500k numjobs=64"),
    ("verify-trims", EXACTLY, "rw=trimwrite verify=null"),
    ("verify-trims-sizes", 8.0, "rw=trimwrite bs=4k,8k,16k verify=null numjobs=32"),
    ("verify-skewed", 8.0, "rw=randwrite verify=null random_distribution=zipf:1.2 numjobs=64 randrepeat=0"),
    ("verify-zoned", 8.0, "rw=randwrite verify=null random_distribution=zoned:60/10:30/20:10/70 numjobs=32"),
    ("verify-strided", EXACTLY, "rw=write verify=null zonemode=strided zonesize=64k zoneskip=64k"),
    ("verify-number-loops", EXACTLY, "rw=write verify=null number_ios=200 loops=3"),
    ("verify-number-more", EXACTLY, "rw=write verify=null number_ios=257 loops=2"),
    ("verify-thinks", EXACTLY, "rw=write verify=null thinktime=10 thinktime_blocks=64 loops=2"),
    ("verify-io-size-loops", EXACTLY, "rw=write verify=null io_size=2500k loops=2"),
    ("verify-io-size-most", EXACTLY, "rw=randwrite verify=null io_size=5m"),
    ("io-size-loops", EXACTLY, "rw=write io_size=2500k loops=2"),
    ("io-size-loops-more", EXACTLY, "rw=read io_size=3500k loops=3"),
    ("range-uneven", 8.0, "rw=randread bsrange=4k-9k size=4m norandommap numjobs=32"),
    ("range-uneven-map", 8.0, "rw=randwrite bsrange=4k-9k size=4m numjobs=32"),
    ("range-odd", 8.0, "rw=write bsrange=3k-11k size=4m numjobs=32"),
    ("split-uneven", EXACTLY, "rw=randread bssplit=4k/50:6k/50"),
    ("split-uneven-free", 8.0, "rw=randread bssplit=4k/50:18k/50 size=4m norandommap numjobs=32"),
    ("unaligned", 8.0, "rw=randread bsrange=4k-64k bs_unaligned size=4m norandommap numjobs=32"),
    ("unaligned-map", 8.0, "rw=randwrite bsrange=4k-9k bs_unaligned size=4m numjobs=32"),
    ("unaligned-long", 8.0, "rw=randwrite bsrange=4k-64k bs_unaligned size=4m numjobs=32"),
    ("unaligned-sequential", 8.0, "rw=write bsrange=4k-64k bs_unaligned size=4m numjobs=32"),
    ("unaligned-split", 8.0, "rw=randread bssplit=4k/50:6k/50 bs_unaligned size=4m numjobs=32"),
    ("unaligned-one", EXACTLY, "rw=randread bs_unaligned"),
    ("sync-range", EXACTLY, "rw=write sync_file_range=write:4 direct=0"),
    ("sync-range-loops", EXACTLY, "rw=randwrite sync_file_range=wait_before,write:4 direct=0 loops=2"),
    ("sync-range-fsync", EXACTLY, "rw=write sync_file_range=wait_after:4 fsync=7 direct=0"),
    ("verify-free", 3.0, "rw=randwrite verify=null norandommap numjobs=16"),
    ("verify-range", 8.0, "rw=randwrite bsrange=4k-64k size=4m verify=null numjobs=32"),
    ("verify-stride", EXACTLY, "rw=write:4k verify=null"),
    ("verify-odd", EXACTLY, "rw=write bs=12k verify=null loops=2"),
    ("verify-odd-random", EXACTLY, "rw=randwrite bs=12k verify=null loops=2"),
    ("verify-loops", EXACTLY, "rw=write verify=null loops=3 fsync=7"),
    ("verify-number", EXACTLY, "rw=write verify=null number_ios=77"),
    ("verify-io-size-less", EXACTLY, "rw=write verify=null io_size=300k loops=2"),
    ("verify-io-size-more", EXACTLY, "rw=write verify=null io_size=2500k"),
    ("verify-files", EXACTLY, "rw=write nrfiles=4 verify=null verify_backlog=10"),
    ("verify-flush", EXACTLY, "rw=write verify=null fsync=8 end_fsync=1"),
    ("verify-read", EXACTLY, "rw=randread verify=null"),
    ("unified", EXACTLY, "rw=read unified_rw_reporting=mixed"),
    ("thinks", EXACTLY, "rw=read thinktime=10 thinktime_blocks=5 number_ios=20"),
    ("zones-touching", EXACTLY, "rw=read zonemode=strided zonesize=64k zonerange=128k zoneskip=0"),
    ("thinks-by-issue", EXACTLY, "rw=read thinktime=10 thinktime_blocks=16 thinktime_blocks_type=issue"),
    // One think time, and a long one: fio 3.33 sleeps for ever if its busy part takes longer than the whole, which
    // happens where the processor is taken from it meanwhile (100 us with a busy part of 50: in 9 of 12 runs of 100
    // such jobs beside 9 busy loops on two cores).
    ("thinks-and-spins", EXACTLY, "rw=read thinktime=2s thinktime_spin=50 thinktime_blocks=150"),
    ("thinks-by-time", EXACTLY, "rw=read thinktime=200 thinktime_iotime=1ms number_ios=50"),
    ("rated-bytes", EXACTLY, "rw=randread rate=16m"),
    ("rated", EXACTLY, "rw=read rate_iops=4000 number_ios=100"),
];

/// Jobs in a shared file of 8 MiB.
const SHARED: &[Case] = &[
    ("whole", EXACTLY, "rw=read size=8m"),
    ("stride", EXACTLY, "rw=read:12k size=1m"),
    ("stride-write", EXACTLY, "rw=write:4k size=1m"),
    ("stride-offset", EXACTLY, "rw=read:4k offset=2m size=1m"),
    ("stride-loops", EXACTLY, "rw=read:4k offset=2m size=1m loops=2"),
    ("stride-io-size", EXACTLY, "rw=read:4k offset=2m size=1m io_size=2m"),
    ("stride-number", EXACTLY, "rw=read:4k size=1m number_ios=200"),
    ("stride-back", EXACTLY, "rw=read:-8k size=1m"),
    ("stride-far", EXACTLY, "rw=read:9m size=1m number_ios=40"),
    ("stride-whole", EXACTLY, "rw=read:12k size=8m"),
    ("range-sequential", 8.0, "rw=read bsrange=4k-16k size=2m numjobs=32"),
    ("bs-odd", EXACTLY, "rw=read bs=12k size=1m"),
    ("bs-odd-end", EXACTLY, "rw=read bs=12k offset=7m size=1m"),
    ("increment", EXACTLY, "rw=read size=512k offset_increment=1m numjobs=4"),
    ("percent", EXACTLY, "rw=randread size=10%"),
    ("half", EXACTLY, "rw=read size=50%"),
    ("third", EXACTLY, "rw=read size=33%"),
    ("percent-offset", EXACTLY, "rw=read size=10% offset=20%"),
    ("rest", EXACTLY, "rw=read offset=50%"),
    ("increment-percent", EXACTLY, "rw=read size=10% offset_increment=20% numjobs=4"),
    ("io-size-percent", EXACTLY, "rw=read size=1m io_size=25%"),
    ("aligned", EXACTLY, "rw=write size=1m offset_align=64k offset=13%"),
    ("runs", 20.0, "rw=randread:8 size=1m numjobs=64"),
    ("runs-mixed", 20.0, "rw=randrw:8 percentage_random=30 size=1m numjobs=64"),
    ("part-random", 30.0, "rw=randread percentage_random=50 size=1m numjobs=64"),
    ("part-random-end", EXACTLY, "rw=randread percentage_random=50 offset=7m size=1m"),
    ("split", 8.0, "rw=randread bssplit=4k/50:64k/50 size=2m numjobs=32"),
    ("zones", EXACTLY, "rw=read zonemode=strided zonesize=64k zoneskip=64k size=1m"),
];

/// Jobs that each begin at the end of a file that does not exist yet.
const BEHIND: &[Case] = &[
    ("append", EXACTLY, "rw=write"),
    ("append-random", EXACTLY, "rw=randwrite"),
    ("append-loops", EXACTLY, "rw=write loops=3"),
    ("append-io-size", EXACTLY, "rw=write io_size=2m"),
    ("append-io-size-less", EXACTLY, "rw=write io_size=300k"),
    ("append-free", EXACTLY, "rw=randwrite norandommap io_size=2m"),
    ("append-by-time", EXACTLY, "rw=write time_based runtime=1"),
    ("append-number", EXACTLY, "rw=write number_ios=77"),
    ("append-files", EXACTLY, "rw=write nrfiles=4"),
    ("append-read", EXACTLY, "rw=read"),
    ("append-mixed", 3.0, "rw=randrw numjobs=64"),
];

/// Flushes of each process that fio does, as strace shows, without counting them (fio 3.33); ours are counted.
const UNCOUNTED: &[(&str, f64)] = &[
    // After every three of 256 writes, but not after the last.
    ("fdatasync", 85.0),
    ("end-fsync", 1.0),
    ("fsync-and-end", 1.0),
    ("verify-flush", 1.0),
    ("sync-range", 63.0),
    ("sync-range-loops", 127.0),
    ("sync-range-fsync", 54.0),
];

/// What to add to fio's flushes of a row, if this is fio's report.
fn uncounted(report: Whose, name: &Value) -> f64 {
    let found = UNCOUNTED.iter().find(|(other, _)| name == other).filter(|_| report == Whose::Fios);
    found.map_or(0.0, |(_, flushes)| *flushes)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    Fios,
    Ours,
}

/// By name and group: I/Os and bytes of each direction, and of how many rows of the report they are the sum.
fn rows(whose: Whose, report: &Value) -> BTreeMap<String, [f64; 8]> {
    let mut rows: BTreeMap<String, [f64; 8]> = BTreeMap::new();
    for job in report["jobs"].as_array().expect("jobs") {
        // Beside jobs with `unified_rw_reporting` fio prints a nameless row of zeros.
        if job["jobname"].is_null() {
            continue;
        }
        let count = |direction: &str, figure: &str| job[direction][figure].as_f64().unwrap_or(0.0);
        let own = [
            count("read", "total_ios"),
            count("read", "io_bytes"),
            count("write", "total_ios"),
            count("write", "io_bytes"),
            count("trim", "total_ios"),
            count("trim", "io_bytes"),
            count("sync", "total_ios") + uncounted(whose, &job["jobname"]),
            1.0,
        ];
        let unified = ["total_ios", "io_bytes"].map(|figure| count("mixed", figure));
        let row = rows.entry(format!("{} of group {}", job["jobname"], job["groupid"])).or_default();
        own.iter().chain(&unified).zip([0, 1, 2, 3, 4, 5, 6, 7, 0, 1]).for_each(|(count, at)| row[at] += count);
    }
    rows
}

fn compare(name: &str, global: [&str; 2], cases: &[Case]) {
    if !fio_is_here() {
        return;
    }
    let section = |&(name, _, options): &Case| format!("[{name}]\n{}\n", options.replace(' ', "\n"));
    let sections: String = cases.iter().map(section).collect();
    let [fios, own] = global.map(|global| format!("[global]\nbs=4k\nthread\n{global}\n{sections}"));
    let folder = Folder::new();
    let (theirs, ours) = (rows(Whose::Fios, &theirs(&folder, &fios)), rows(Whose::Ours, &ours(&folder, &own)));
    assert_eq!(theirs.keys().collect::<Vec<_>>(), ours.keys().collect::<Vec<_>>(), "the rows of {name}");
    let near = |row: &str| {
        let case = cases.iter().find(|case| row.starts_with(&format!("\"{}\" ", case.0)));
        case.map_or(EXACTLY, |case| case.1)
    };
    let far = |row: &&String| {
        let pairs = theirs[*row].into_iter().zip(ours[*row]);
        pairs.into_iter().any(|(theirs, ours)| (theirs - ours).abs() > theirs * near(row) / 100.0)
    };
    let told = |row: &String| format!("{row}: fio {:?}, ours {:?}\n", theirs[row], ours[row]);
    let different: String = theirs.keys().filter(far).map(told).collect();
    assert!(different.is_empty(), "I/Os and bytes of reads, writes, trims, then flushes, rows:\n{different}");
}

#[test]
fn jobs_with_files_of_their_own_do_as_many_ios_as_in_fio() {
    compare("counts-alone", ["ioengine=null\nsize=1m", "ioengine=psync\ndirect=1\nsize=1m"], ALONE);
}

#[test]
fn jobs_behind_the_end_of_their_files_do_as_many_ios_as_in_fio() {
    const GLOBAL: &str = "size=1m\nfile_append=1\nioengine=psync";
    compare("counts-behind", [GLOBAL, &format!("{GLOBAL}\ndirect=1")], BEHIND);
}

#[test]
fn jobs_within_a_longer_file_do_as_many_ios_as_in_fio() {
    compare("counts-shared", ["ioengine=psync\nfilename=shared", "ioengine=psync\ndirect=1\nfilename=shared"], SHARED);
}
