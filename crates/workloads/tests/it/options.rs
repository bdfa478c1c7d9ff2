//! One test per supported option, in which flipping it changes the run (or, of names, the report).

use crate::common;

use blksched::{Class, Dir, Priority};
use blksched_workloads::fio::supported_options;
use blksched_workloads::host::{Advice, Memory};
use blksched_workloads::{CallInterface, CallWay};
use common::{DISK_SECTORS, ground, job, plan, run, run_job};

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

#[test]
fn every_supported_option_has_a_test_of_its_own_here() {
    let files = [
        include_str!("options.rs"),
        include_str!("options_files.rs"),
        include_str!("options_pace.rs"),
        include_str!("options_replay.rs"),
        include_str!("options_report.rs"),
    ];
    for option in supported_options() {
        let test = format!("\nfn option_{}_", option.name);
        assert!(files.iter().any(|file| file.contains(&test)), "no test of {}", option.name);
    }
}

#[test]
fn option_rw_chooses_direction_and_order() {
    let read = run_job("rw=read size=64k");
    let write = run_job("rw=write size=64k");
    assert_eq!((read.count(Dir::Read), read.count(Dir::Write)), (16, 0));
    assert_eq!((write.count(Dir::Read), write.count(Dir::Write)), (0, 16));
    assert_eq!(read.offsets(), (0..16).map(|i| i * 4 * KIB).collect::<Vec<_>>());
    for (mode, dir) in [("randread", Dir::Read), ("randwrite", Dir::Write)] {
        let random = run_job(&format!("rw={mode} size=64k"));
        assert_eq!(random.count(dir), 16);
        assert_ne!(random.offsets(), read.offsets());
        let mut sorted = random.offsets();
        sorted.sort_unstable();
        assert_eq!(sorted, read.offsets(), "every block once");
    }
}

#[test]
fn option_rw_mixes_directions_each_with_its_own_position() {
    for mode in ["rw", "readwrite"] {
        let mixed = run_job(&format!("rw={mode} size=1m"));
        assert_eq!(mixed.submitted.len(), 256);
        for dir in Dir::BOTH {
            let offsets: Vec<u64> = mixed.submitted.iter().filter(|s| s.dir == dir).map(|s| s.offset).collect();
            assert!(offsets.len() > 80, "{dir} {}", offsets.len());
            assert!(offsets.iter().enumerate().all(|(i, &o)| o == i as u64 * 4 * KIB));
        }
    }
    let random = run_job("readwrite=randrw size=1m");
    let mut offsets = random.offsets();
    offsets.sort_unstable();
    offsets.dedup();
    assert_eq!(offsets.len(), 256, "reads and writes share the map");
    assert!(random.count(Dir::Read) > 80 && random.count(Dir::Write) > 80);
}

#[test]
fn option_bs_sets_the_block_of_each_direction() {
    assert_eq!(run_job("size=64k bs=16k").submitted.len(), 4);
    assert_eq!(run_job("size=64k blocksize=64k").submitted[0].length, 64 * KIB);
    let mixed = run_job("rw=rw size=1m bs=8k,32k");
    for bio in &mixed.submitted {
        assert_eq!(bio.length, if bio.dir == Dir::Read { 8 * KIB } else { 32 * KIB });
    }
    assert_eq!(run_job("rw=write size=64k bs=8k,").submitted[0].length, 4 * KIB);
}

#[test]
fn option_rw_trims_alone_or_before_each_write() {
    assert_eq!(run_job("rw=trim size=16k").letters(), "dddd");
    assert_eq!(run_job("rw=randtrim size=16k direct=0").letters(), "dddd");
    // As tried with fio 3.33: this much is trimmed, and as much is written.
    let pairs = run_job("rw=trimwrite size=64k io_size=16k");
    assert_eq!(pairs.letters(), "dwdwdwdw");
    assert_eq!(pairs.offsets(), [0, 0, 4, 4, 8, 8, 12, 12].map(|kib| kib * KIB));
    assert_eq!(run_job("rw=trimwrite size=64k number_ios=2").letters(), "dwdw");
    let random = run_job("rw=randtrimwrite size=16m number_ios=3");
    assert!(random.submitted.chunks(2).all(|pair| pair[0].offset == pair[1].offset));
    assert_ne!(random.offsets()[0], 0);
}

#[test]
fn option_bs_has_a_size_for_trims_which_are_written_piece_by_piece() {
    assert_eq!(run_job("rw=trim size=64k bs=4k,8k,32k").submitted[0].length, 32 * KIB);
    assert_eq!(run_job("rw=trim size=64k bs=4k,8k").submitted[0].length, 8 * KIB);
    let run = run_job("rw=trimwrite size=64k bs=4k,8k,16k");
    assert!(run.letters().starts_with("dwwdww"), "{}", run.letters());
    assert_eq!(run.offsets()[..6], [0, 0, 8, 16, 16, 24].map(|kib| kib * KIB));
}

#[test]
fn option_verify_reads_back_what_each_pass_has_written() {
    let in_order = [0, 4, 8, 12].map(|kib| kib * KIB);
    let run = run_job("rw=write size=16k verify=md5");
    assert_eq!((run.letters().as_str(), run.offsets()), ("wwwwrrrr", [in_order, in_order].concat()));
    assert_eq!(run_job("rw=write size=16k verify=0").letters(), "wwww");
    assert_eq!(run_job("rw=write size=8k verify=null loops=2").letters(), "wwrrwwrr");
    assert_eq!(run_job("rw=write size=8k verify=null end_fsync=1").letters(), "wwfrr");
    assert_eq!(run_job("rw=write size=16k verify=null fsync=2").letters(), "wwfwwrrrr");
    assert_eq!(
        run_job("rw=write size=16k fsync=2 loops=2").letters(),
        "wwfwwffwwfww",
        "twice between passes, as tried"
    );
    assert_eq!(run_job("rw=randwrite norandommap size=16k fsync=2 loops=2").letters(), "wwfwwfwwfww");
    // As tried: only whole passes are read back, only what was written, and nothing if time ended the job.
    assert_eq!(run_job("rw=write size=8k verify=null io_size=20k").letters(), "wwrrwwrr");
    assert_eq!(run_job("rw=write size=16k verify=null number_ios=3").letters(), "wwwrrr");
    assert_eq!(run_job("rw=read size=8k verify=null").letters(), "rr");
    assert_eq!(run_job("rw=write size=16k verify=null rate_iops=100 runtime=25ms").letters(), "www");
    let random = run_job("rw=randwrite size=64k verify=null iodepth=4 ioengine=libaio");
    assert_eq!(random.offsets()[..16], random.offsets()[16..]);
    let again = run_job("rw=randwrite size=64k verify=null norandommap");
    let (written, mut distinct) = (&again.offsets()[..16], again.offsets()[..16].to_vec());
    distinct.sort_unstable();
    distinct.dedup();
    assert!(distinct.len() < written.len() && again.offsets()[16..] == distinct, "{:?}", again.offsets());
    let mixed = run_job("rw=randrw size=256k verify=null");
    assert_eq!((mixed.count(Dir::Read), mixed.letters().contains('w')), (64, true), "each block is read once");
    // As tried: trimmed and written blocks too; each block of a distribution once; `io_size` and `number_ios` count
    // what is read back.
    let trimmed = run_job("rw=trimwrite size=16k verify=null");
    assert_eq!(trimmed.letters(), "dwdwdwdwrrrr");
    let skewed = run_job("rw=randwrite size=64k random_distribution=zipf:1.2 verify=null");
    assert!(skewed.submitted.len() < 30, "{}", skewed.letters());
    assert_eq!(run_job("rw=write size=8k verify=null io_size=12k").letters(), "wwrr");
    assert_eq!(run_job("rw=write size=8k verify=null io_size=36k").letters(), "wwrrwwrrwwrr");
    assert_eq!(run_job("rw=write size=16k verify=null number_ios=5 loops=2").letters(), "wwwwrrrrwwrr");
    // Reading back ignores rate and think time.
    assert_eq!(run_job("rw=write size=16k verify=null rate_iops=100,100").times_ms()[4..], [31, 32, 33, 34]);
    assert!(run_job("rw=write size=8k verify=null thinktime=100ms").end_ms() < 250);
}

#[test]
fn option_verify_does_not_wait_for_a_thought_that_was_due() {
    for options in ["thinktime_blocks=2", "thinktime_blocks=1", "thinktime_iotime=1", "thinktime_blocks_type=issue"] {
        let run = run_job(&format!("rw=write size=8k verify=null thinktime=100ms loops=3 {options}"));
        assert_eq!(run.letters(), "wwrrwwrrwwrr", "{options}");
    }
    // As tried: it also thinks after the last I/O of its own, but not after reading back.
    let times = |options| run_job(&format!("rw=write size=8k thinktime=100ms loops=2 {options}")).end_ms() / 100;
    assert_eq!([times(""), times("verify=null"), times("verify=null thinktime_blocks=2")], [4, 4, 2]);
}

#[test]
fn option_bs_unaligned_gives_ranges_and_mixes_sizes_between_the_multiples_of_their_least() {
    let sizes = |options: &str| {
        let run = run_job(&format!("rw=read size=4m {options}"));
        let mut sizes: Vec<u64> = run.submitted.iter().map(|s| s.length).collect();
        sizes.pop();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    };
    // As fio logged them.
    assert_eq!(sizes("bsrange=4k-9k"), [4, 8, 9].map(|kib| kib * KIB));
    assert_eq!(sizes("bsrange=4k-9k bs_unaligned"), (8..=18).map(|sectors| sectors * 512).collect::<Vec<_>>());
    assert_eq!(sizes("bssplit=4k/50:6k/50"), [4 * KIB]);
    assert_eq!(sizes("bssplit=4k/50:6k/50 bs_unaligned"), [4, 6].map(|kib| kib * KIB));
}

#[test]
fn option_file_append_ends_with_what_its_files_are_longer_by() {
    let job = "rw=write size=16k ";
    let once = run_job(&format!("{job}loops=2")).offsets();
    assert_eq!((once.len(), run_job(&format!("{job}loops=2 file_append=1")).offsets()), (8, once[..4].to_vec()));
    assert_eq!(run_job(&format!("{job}io_size=32k file_append=1")).letters(), "wwww");
    assert_eq!(run_job(&format!("{job}time_based runtime=1 file_append=1")).letters(), "wwww");
    assert_eq!(run_job("rw=randwrite norandommap size=16k io_size=32k file_append=1").letters(), "wwwwwwww");
    assert_eq!(run_job("rw=write size=16k filename=/dev/sda loops=2 file_append=1").letters(), "wwwwwwww");
}

#[test]
fn option_sync_file_range_comes_before_the_write_behind_every_so_many() {
    let letters = |options: &str| run_job(&format!("direct=0 rw=write size=40k {options}")).letters();
    assert_eq!(letters("sync_file_range=write:4"), "wwwwfwwwwfww");
    assert_eq!(letters("sync_file_range=wait_before,write,wait_after:5"), "wwwwwfwwwww");
    assert_eq!(letters("sync_file_range=write size=12k"), "wfwfw");
    // As tried: the count continues after an fsync, and over loops.
    assert_eq!(letters("sync_file_range=write:4 fsync=3 size=36k"), "wwwfwfwwfwwfw");
    assert_eq!(letters("sync_file_range=write:4 size=24k loops=2"), "wwwwfwwwwfwwww");
    assert_eq!(
        run_job("direct=1 rw=write size=40k sync_file_range=write:4").letters(),
        "wwwwwwwwww",
        "nothing is dirty"
    );
}

#[test]
fn option_do_verify_may_leave_it_out() {
    assert_eq!(run_job("rw=write size=16k verify=md5 do_verify=0").letters(), "wwww");
    assert_eq!(run_job("rw=write size=16k do_verify=1").letters(), "wwww");
}

#[test]
fn a_trim_is_a_call_that_returns_when_it_is_done_whatever_the_engine() {
    let run = run_job("rw=randtrim ioengine=libaio iodepth=8 size=16k");
    assert_eq!(run.depth[&0], 1);
    assert_eq!(run.times_ms(), [0, 1, 2, 3]);
}

#[test]
fn option_bs_is_seq_rand_takes_sizes_by_order_not_by_direction() {
    assert_eq!(run_job("rw=write size=64k bs=4k,16k bs_is_seq_rand=1").submitted[0].length, 4 * KIB);
    assert_eq!(run_job("rw=write size=64k bs=4k,16k").submitted[0].length, 16 * KIB);
    assert_eq!(run_job("rw=randread size=64k bs=4k,16k bs_is_seq_rand=1").submitted[0].length, 16 * KIB);
    // One jump, then two that continue after it.
    let runs = run_job("rw=randread:3 size=1m bs=4k,16k bs_is_seq_rand=1");
    let lengths: Vec<u64> = runs.submitted.iter().take(6).map(|s| s.length / KIB).collect();
    assert_eq!(lengths, [16, 4, 4, 16, 4, 4]);
}

#[test]
fn option_size_bounds_the_region_and_the_run() {
    assert_eq!(run_job("size=64k").bytes(Dir::Read), 64 * KIB);
    assert_eq!(run_job("size=128k").bytes(Dir::Read), 128 * KIB);
    let tenth = run_job("filename=/dev/sda size=10% bs=1m");
    assert_eq!(tenth.bytes(Dir::Read), 102 * MIB);
    assert_eq!(run_job("filename=/dev/sda bs=8m").bytes(Dir::Read), DISK_SECTORS * 512);
}

#[test]
fn option_io_size_bounds_the_run_within_the_region() {
    let less = run_job("size=64k io_size=16k");
    assert_eq!(less.offsets(), [0, 4 * KIB, 8 * KIB, 12 * KIB]);
    let more = run_job("size=8k io_limit=16k");
    assert_eq!(more.offsets(), [0, 4 * KIB, 0, 4 * KIB]);
    let random = run_job("rw=randread size=64k io_size=128k").offsets();
    assert_eq!(random[..16], random[16..], "a second pass repeats the order");
}

#[test]
fn option_offset_moves_the_region() {
    assert_eq!(run_job("size=8k offset=64k").offsets(), [64 * KIB, 68 * KIB]);
    assert_eq!(run_job("size=8k").offsets(), [0, 4 * KIB]);
    let half = run_job("filename=/dev/sda fileoffset=50% bs=64m");
    assert_eq!((half.offsets()[0], half.bytes(Dir::Read)), (512 * MIB, 512 * MIB));
}

#[test]
fn option_offset_increment_spreads_the_clones() {
    let run = run_job("filename=/dev/sda size=4k offset=8k numjobs=3 offset_increment=1m");
    assert_eq!(run.offsets(), [8 * KIB, 8 * KIB + MIB, 8 * KIB + 2 * MIB]);
    assert_eq!(run_job("filename=/dev/sda size=4k offset=8k numjobs=3").offsets(), [8 * KIB; 3]);
}

#[test]
fn option_number_ios_stops_the_run() {
    assert_eq!(run_job("size=64k number_ios=3").submitted.len(), 3);
    assert_eq!(run_job("size=64k number_ios=3 loops=2").submitted.len(), 6);
    // As in fio: a job that only ends by time has no last loop.
    assert!(run_job("size=64k time_based runtime=1 number_ios=3").submitted.len() > 16);
    assert_eq!(run_job("size=64k").submitted.len(), 16);
}

#[test]
fn option_loops_repeats_the_job() {
    assert_eq!(run_job("size=8k loops=3").offsets(), [0, 4 * KIB, 0, 4 * KIB, 0, 4 * KIB]);
    assert_eq!(run_job("size=8k").submitted.len(), 2);
}

#[test]
fn option_numjobs_makes_processes_with_files_of_their_own() {
    let plan = plan(&job("size=1m numjobs=4"));
    let files: Vec<&str> = plan.jobs.iter().map(|j| ground(j).name.as_str()).collect();
    assert_eq!(files, ["j.0.0", "j.1.0", "j.2.0", "j.3.0"]);
    let starts: Vec<u64> = plan.jobs.iter().map(|j| ground(j).start.0 * 512).collect();
    assert_eq!(starts, [0, 256 * MIB, 512 * MIB, 768 * MIB]);
    assert_eq!(run_job("size=64k numjobs=4").submitted.len(), 64);
}

#[test]
fn option_group_reporting_makes_one_row_of_a_group() {
    let rows = |text: &str| plan(text).jobs.iter().map(|j| (j.group, j.row)).collect::<Vec<_>>();
    let jobs = "[global]\ndirect=1\nsize=1m\n[a]\nnumjobs=2\n[b]\n[c]\nstonewall\nnumjobs=2\n[d]\n";
    assert_eq!(rows(jobs), [(0, 0), (0, 1), (0, 2), (1, 3), (1, 4), (1, 5)]);
    let grouped = jobs.replace("size", "group_reporting\nsize");
    assert_eq!(rows(&grouped), [(0, 0), (0, 0), (0, 0), (1, 1), (1, 1), (1, 1)]);
    let one_alone = grouped.replace("[b]\n", "[b]\ngroup_reporting=0\n");
    assert_eq!(rows(&one_alone), [(0, 0), (0, 0), (0, 1), (1, 2), (1, 2), (1, 2)]);
    assert_eq!(plan(&grouped).rows(), 2);
    // A job that asks for it joins the previous one, which did not (tried).
    let behind = jobs.replace("[b]\n", "[b]\ngroup_reporting\n");
    assert_eq!(rows(&behind), [(0, 0), (0, 1), (0, 1), (1, 2), (1, 3), (1, 4)]);
}

#[test]
fn option_new_group_begins_a_reporting_group() {
    let groups = |text: &str| plan(text).jobs.iter().map(|j| (j.group, j.row)).collect::<Vec<_>>();
    let jobs = "[global]\ndirect=1\nsize=1m\ngroup_reporting\n[a]\n[b]\nnew_group\n[c]\n";
    assert_eq!(groups(jobs), [(0, 0), (1, 1), (1, 1)]);
    assert_eq!(groups(&jobs.replace("new_group\n", "")), [(0, 0), (0, 0), (0, 0)]);
}

#[test]
fn option_stonewall_waits_for_all_jobs_above() {
    let jobs = "[global]\ndirect=1\nsize=64k\n[a]\n[b]\nsize=128k\n[c]\nstonewall\n[d]\n";
    for name in ["stonewall", "wait_for_previous", "stonewall=1"] {
        let run = run(&jobs.replace("stonewall", name), 1);
        assert_eq!(run.of(2)[0].at, run.exits[&1], "behind the longer of the two");
        assert_eq!(run.of(3)[0].at, run.exits[&1], "what comes behind a stonewall waits too");
    }
    let at_once = run(&jobs.replace("stonewall", "stonewall=0"), 1);
    assert_eq!(at_once.of(2)[0].at.as_ns(), 0);
}

#[test]
fn option_stonewall_lets_clones_of_one_job_run_together() {
    let run = run("[global]\ndirect=1\nsize=8k\nstonewall\n[a]\nnumjobs=2\n[b]\nnumjobs=2\n", 1);
    assert_eq!(run.times_ms(), [0, 0, 1, 1, 2, 2, 3, 3]);
}

#[test]
fn option_startdelay_counts_from_the_beginning_of_the_run() {
    assert_eq!(run_job("size=8k startdelay=2").times_ms(), [2000, 2001]);
    assert_eq!(run_job("size=8k startdelay=5ms").times_ms(), [5, 6]);
    let walled = "[global]\ndirect=1\nsize=8k\n[a]\n[b]\nstonewall\nstartdelay=1ms\n[c]\nstonewall\nstartdelay=10ms\n";
    assert_eq!(run(walled, 1).times_ms(), [0, 1, 2, 3, 10, 11]);
    let ranged: Vec<u64> = (0..20).map(|seed| run(&job("size=4k startdelay=1-3"), seed).times_ms()[0]).collect();
    assert!(ranged.iter().all(|ms| (1000..=3000).contains(ms)));
    assert!(ranged.iter().any(|ms| *ms < 1700) && ranged.iter().any(|ms| *ms > 2300));
}

#[test]
fn option_runtime_ends_the_run_early() {
    let cut = run_job("size=1m runtime=10ms");
    assert_eq!((cut.submitted.len(), cut.end_ms()), (10, 10));
    assert_eq!(run_job("size=1m timeout=10ms").submitted.len(), 10);
    assert_eq!(run_job("size=1m").submitted.len(), 256);
    assert_eq!(run_job("size=16k runtime=10ms").submitted.len(), 4, "it does not make a run longer");
    assert_eq!(run_job("size=1m startdelay=1 runtime=10ms").end_ms(), 1010, "it begins with the job");
}

#[test]
fn option_runtime_waits_for_what_is_in_flight() {
    let run = run_job("size=1m runtime=5500us ioengine=libaio iodepth=4");
    assert_eq!((run.submitted.len(), run.end_ms()), (24, 6));
}

#[test]
fn option_time_based_starts_over_until_runtime_is_over() {
    let looped = run_job("size=8k runtime=5ms time_based");
    assert_eq!(looped.offsets(), [0, 4 * KIB, 0, 4 * KIB, 0]);
    assert_eq!(run_job("size=8k runtime=5ms time_based=0").submitted.len(), 2);
}

#[test]
fn option_ioengine_decides_whether_iodepth_counts() {
    for (engine, depth) in [("sync", 1), ("psync", 1), ("pvsync2", 1), ("libaio", 8), ("io_uring", 8), ("posixaio", 8)]
    {
        let run = run_job(&format!("size=256k ioengine={engine} iodepth=8"));
        assert_eq!(run.depth[&0], depth, "{engine}");
        assert_eq!(run.end_ms(), 64 / depth as u64, "{engine}");
    }
}

#[test]
fn option_iodepth_is_kept_in_flight() {
    assert_eq!(run_job("size=256k ioengine=libaio iodepth=16").end_ms(), 4);
    assert_eq!(run_job("size=256k ioengine=libaio").end_ms(), 64);
}

#[test]
fn option_direct_goes_past_the_page_cache_and_may_stand_in_global() {
    let through_memory = |text: &str| run(text, 1).submitted.iter().all(|s| s.buffered);
    assert!(through_memory("[a]\nsize=16k\n"), "fio's default");
    assert!(!through_memory("[global]\ndirect=1\n[a]\nsize=16k\n"));
    assert!(through_memory("[global]\ndirect=1\n[a]\nsize=16k\ndirect=0\n"));
}

#[test]
fn option_buffered_is_the_opposite_of_direct() {
    assert!(run_job("size=16k buffered=1").submitted.iter().all(|s| s.buffered));
    assert!(run_job("size=16k buffered=0").submitted.iter().all(|s| !s.buffered));
    assert!(run_job("rw=trim size=16k buffered=1").submitted.iter().all(|s| !s.buffered), "trims go past memory");
}

#[test]
fn option_direct_decides_whether_libaio_keeps_several_in_flight() {
    let depth = |options: &str| run_job(&format!("size=64k iodepth=8 {options}")).depth[&0];
    assert_eq!(depth("ioengine=libaio"), 8);
    assert_eq!(depth("ioengine=libaio direct=0"), 1);
    assert_eq!(depth("ioengine=io_uring direct=0"), 8);
    let notes = |options: &str| plan(&job(options)).notes.iter().map(|n| n.option).collect::<Vec<_>>();
    assert_eq!(notes("size=64k iodepth=8 direct=0 ioengine=libaio"), ["iodepth"]);
    assert!(notes("size=64k iodepth=8 direct=0 ioengine=io_uring").is_empty());
}

#[test]
fn option_invalidate_drops_the_file_before_each_pass() {
    let said = |options: &str| {
        let run = run_job(&format!("size=16k loops=2 direct=0 {options}"));
        run.remembered.iter().map(|(_, memory)| *memory).collect::<Vec<_>>()
    };
    assert_eq!(said(""), [Memory::Drop; 2]);
    assert_eq!(said("invalidate=1"), [Memory::Drop; 2]);
    assert_eq!(said("invalidate=0"), [Memory::Keep; 2]);
    assert!(run_job("size=16k invalidate=1").remembered.is_empty(), "direct I/O has nothing there");
}

#[test]
fn option_pre_read_has_the_file_in_memory_and_turns_invalidate_off() {
    let run = run_job("size=16k direct=0 pre_read invalidate=1");
    assert_eq!(run.remembered.iter().map(|(_, memory)| *memory).collect::<Vec<_>>(), [Memory::Load]);
    assert_eq!(run.remembered[0].0.sectors, 32);
}

#[test]
fn option_fadvise_hint_says_how_the_file_is_read() {
    let advice = |options: &str| run_job(&format!("size=16k direct=0 {options}")).calls[0].file.advice;
    assert_eq!(advice(""), Advice::Sequential);
    assert_eq!(advice("rw=randread"), Advice::Random);
    assert_eq!(advice("rw=randread fadvise_hint=0"), Advice::Normal);
    assert_eq!(advice("rw=randread fadvise_hint=sequential"), Advice::Sequential);
    assert_eq!(advice("fadvise_hint=random"), Advice::Random);
}

#[test]
fn option_rwmixread_sets_the_share_of_reads() {
    for percent in [0, 20, 70, 100] {
        let run = run_job(&format!("rw=randrw size=8m rwmixread={percent}"));
        let share = run.count(Dir::Read) * 100 / run.submitted.len();
        assert!(share.abs_diff(percent) <= 3, "{percent} {share}");
    }
}

#[test]
fn option_rwmixwrite_holds_if_it_comes_later() {
    let reads = |options: &str| {
        let run = run_job(&format!("rw=rw size=8m {options}"));
        run.count(Dir::Read) * 100 / run.submitted.len()
    };
    assert!(reads("rwmixwrite=80").abs_diff(20) <= 3);
    assert!(reads("rwmixread=80 rwmixwrite=60").abs_diff(40) <= 3);
    assert!(reads("rwmixwrite=60 rwmixread=80").abs_diff(80) <= 3);
}

#[test]
fn option_thinktime_pauses_after_each_completion() {
    assert_eq!(run_job("size=12k thinktime=5000").times_ms(), [0, 6, 12]);
    assert_eq!(run_job("size=12k thinktime=5ms").times_ms(), [0, 6, 12]);
    let capped = run_job("size=20k thinktime=5ms ioengine=libaio iodepth=2");
    assert_eq!(capped.times_ms(), [0, 0, 6, 12, 18], "once its queue was full it works at depth 1");
}

#[test]
fn option_thinktime_blocks_pauses_after_several() {
    assert_eq!(run_job("size=20k thinktime=5ms thinktime_blocks=2").times_ms(), [0, 1, 7, 8, 14]);
    let deep = run_job("size=24k thinktime=5ms thinktime_blocks=2 ioengine=libaio iodepth=2");
    assert_eq!(deep.times_ms(), [0, 0, 1, 7, 7, 13]);
}

#[test]
fn option_rate_spaces_bytes_per_direction() {
    assert_eq!(run_job("size=16k rate=400k").times_ms(), [0, 10, 20, 30]);
    let mixed = run_job("rw=rw bs=4k size=64m time_based runtime=4 rate=400k,40k");
    assert!(mixed.count(Dir::Read).abs_diff(400) <= 1 && mixed.count(Dir::Write).abs_diff(40) <= 1);
    let writes = run_job("rw=rw bs=4k size=64m time_based runtime=1 rate=,40k");
    assert!(writes.count(Dir::Read) > 900 && writes.count(Dir::Write).abs_diff(10) <= 1);
}

#[test]
fn option_rate_catches_up_after_thinking() {
    let run = run_job("size=64m time_based runtime=1 rate_iops=50 thinktime=30ms thinktime_blocks=5");
    assert!(run.submitted.len().abs_diff(50) <= 3, "{}", run.submitted.len());
}

#[test]
fn option_rate_iops_spaces_ios_per_direction() {
    assert_eq!(run_job("size=16k rate_iops=100").times_ms(), [0, 10, 20, 30]);
    assert_eq!(run_job("size=64k bs=16k rate_iops=100").times_ms(), [0, 10, 20, 30], "whatever their size");
    assert_eq!(run_job("size=16k rate_iops=0").times_ms(), [0, 1, 2, 3]);
}

#[test]
fn option_prio_alone_is_best_effort() {
    let priority = |options: &str| run_job(&format!("size=4k {options}")).submitted[0].priority;
    assert_eq!(priority("prio=3"), Priority { class: Class::BestEffort, level: 3 });
    assert_eq!(priority(""), Priority::default());
}

#[test]
fn option_prioclass_sets_the_class() {
    let priority = |options: &str| run_job(&format!("size=4k {options}")).submitted[0].priority;
    assert_eq!(priority("prioclass=1 prio=2"), Priority { class: Class::RealTime, level: 2 });
    assert_eq!(priority("prioclass=2"), Priority { class: Class::BestEffort, level: 0 });
    assert_eq!(priority("prioclass=3"), Priority { class: Class::Idle, level: 0 });
    assert_eq!(priority("prioclass=0 prio=5"), Priority::default());
}

fn offsets(options: &str, seed: u64) -> Vec<u64> {
    run(&job(&format!("rw=randrw size=256k {options}")), seed).offsets()
}

fn directions(options: &str, seed: u64) -> Vec<Dir> {
    run(&job(&format!("rw=randrw size=256k {options}")), seed).submitted.iter().map(|s| s.dir).collect()
}

#[test]
fn option_randrepeat_if_said_keeps_offsets_from_the_seed() {
    assert_ne!(offsets("", 1), offsets("", 2), "unsaid, the seed varies them");
    assert_ne!(offsets("randrepeat=0", 1), offsets("randrepeat=0", 2));
    assert_eq!(offsets("randrepeat=1", 1), offsets("randrepeat=1", 2));
    assert_ne!(directions("randrepeat=1", 1), directions("randrepeat=1", 2), "only the offsets");
    assert_eq!(offsets("", 1), offsets("", 1));
}

#[test]
fn option_allrandrepeat_keeps_everything_from_the_seed() {
    assert_eq!(offsets("allrandrepeat=1", 1), offsets("allrandrepeat=1", 2));
    assert_eq!(directions("allrandrepeat=1", 1), directions("allrandrepeat=1", 2));
    assert_ne!(directions("allrandrepeat=0", 1), directions("allrandrepeat=0", 2));
}

#[test]
fn option_randseed_takes_the_place_of_the_seed() {
    assert_eq!(offsets("randseed=7", 1), offsets("randseed=7", 2));
    assert_eq!(directions("randseed=7", 1), directions("randseed=7", 2));
    assert_ne!(offsets("randseed=7", 1), offsets("randseed=8", 1));
}

#[test]
fn option_randseed_differs_between_the_processes_of_a_job() {
    let run = run(&job("rw=randread filename=/dev/sda size=256k numjobs=2 randseed=7"), 1);
    let of = |submitter| run.of(submitter).iter().map(|s| s.offset).collect::<Vec<_>>();
    assert_ne!(of(0), of(1));
}

#[test]
fn option_norandommap_lets_offsets_repeat() {
    let distinct = |options: &str| {
        let mut offsets = run_job(&format!("rw=randread size=1m {options}")).offsets();
        assert_eq!(offsets.len(), 256);
        offsets.sort_unstable();
        offsets.dedup();
        offsets.len()
    };
    assert_eq!(distinct(""), 256);
    // 256 draws from 256 leave 1 - 1/e of them, 162, on average.
    assert!((130..195).contains(&distinct("norandommap")), "{}", distinct("norandommap"));
}

#[test]
fn option_filename_is_shared_by_the_jobs_that_name_it() {
    let starts = |text: &str| plan(text).jobs.iter().map(|j| ground(j).start.0 * 512).collect::<Vec<_>>();
    let jobs = "[global]\ndirect=1\nsize=1m\n[a]\nfilename=x\n[b]\nfilename=x\n[c]\nfilename=y\n";
    assert_eq!(starts(jobs), [0, 0, 512 * MIB]);
    assert_eq!(starts(&jobs.replace("filename=x\n", "")), [0, 341 * MIB, 682 * MIB]);
    assert_eq!(starts(&jobs.replace("=y", "=/dev/sda")), [0, 0, 0]);
}

#[test]
fn option_filename_without_any_size_takes_the_file_to_exist() {
    let plan = plan("[global]\ndirect=1\n[a]\nfilename=x\n[b]\nfilename=y\n");
    assert_eq!(ground(&plan.jobs[1]).start.0 * 512, 512 * MIB);
    assert_eq!(ground(&plan.jobs[1]).sectors * 512, 512 * MIB);
    assert_eq!(plan.notes.len(), 2);
}

#[test]
fn option_directory_is_part_of_a_files_name() {
    let files = |text: &str| plan(text).jobs.iter().map(|j| ground(j).name.clone()).collect::<Vec<_>>();
    let jobs = "[global]\ndirect=1\nsize=1m\ndirectory=d\n[a]\nfilename=x\n[b]\nfilename=x\ndirectory=e\n[c]\n";
    assert_eq!(files(jobs), ["d/x", "e/x", "d/c.0.0"]);
    assert_eq!(files(&jobs.replace("directory=e\n", "")), ["d/x", "d/x", "d/c.0.0"]);
    assert_eq!(files("[a]\ndirect=1\ndirectory=d\nfilename=/dev/sda\n"), ["/dev/sda"]);
}

#[test]
fn option_name_is_what_reports_say_but_not_the_files_name() {
    let plan = plan("[global]\ndirect=1\nname=g\nsize=4k\n[a]\n[b]\nname=own\n");
    let names: Vec<(&str, &str)> = plan.jobs.iter().map(|j| (j.name.as_str(), ground(j).name.as_str())).collect();
    assert_eq!(names, [("a", "a.0.0"), ("own", "b.0.0")]);
}

#[test]
fn option_description_travels_with_the_job() {
    assert_eq!(plan("[a]\ndirect=1\nsize=4k\ndescription=what for\n").jobs[0].description.as_deref(), Some("what for"));
    assert_eq!(plan("[a]\ndirect=1\nsize=4k\n").jobs[0].description, None);
}

fn kib(run: &common::Run) -> Vec<u64> {
    run.submitted.iter().map(|s| s.offset / KIB).collect()
}

/// Offsets of one process of a job file whose jobs share a file \[KiB\].
fn kib_of(submitter: u32, jobs: &str) -> Vec<u64> {
    let text = format!("[global]\ndirect=1\nfilename=shared\n{jobs}");
    run(&text, 0).of(submitter).iter().map(|s| s.offset / KIB).collect()
}

#[test]
fn option_rw_with_a_number_strides_or_runs() {
    assert_eq!(kib(&run_job("rw=read:4k size=32k")), [0, 8, 16, 24, 0, 8, 16, 24], "as fio (tried)");
    assert_eq!(kib(&run_job("rw=read:-8k size=32k")), [0, 24, 20, 16, 12, 8, 4, 0], "as fio (tried)");
    // In a file that continues beyond the region, the job sees the region's end, which is its own.
    let two = |first: &str| kib_of(0, &format!("[a]\n{first}\n[b]\noffset=64k\nsize=64k\n"));
    assert_eq!(two("rw=read:4k\nsize=32k"), [0, 8, 16, 24], "as fio (tried)");
    assert_eq!(two("rw=read:4k\nsize=32k\noffset=16k\nloops=2"), [16, 24, 32, 40, 16, 24, 32, 40], "as fio (tried)");
    assert_eq!(two("rw=read:12k\nsize=32k\nio_size=64k").len(), 16, "as fio (tried)");
    let mixed = run_job("rw=randrw:8 size=1m");
    let jumps = |dir| {
        let own: Vec<_> = mixed.submitted.iter().filter(|s| s.dir == dir).map(|s| s.offset / 4096).collect();
        own.windows(2).filter(|w| w[1] != w[0] + 1).count()
    };
    let (reads, writes) = (jumps(Dir::Read), jumps(Dir::Write));
    assert!((24..=36).contains(&(reads + writes)), "every eighth of all I/Os, not of each direction: {reads} {writes}");
    let runs = kib(&run_job("rw=randread:4 size=1m"));
    assert!(runs.chunks(4).filter(|c| c.windows(2).all(|w| w[1] == w[0] + 4)).count() > 55, "{runs:?}");
    assert_eq!(kib(&run_job("rw=read:-1k size=32k")).len(), 8);
}

#[test]
fn option_rw_sequencer_stays_or_goes_on() {
    let same = kib(&run_job("rw=randread:4 rw_sequencer=identical size=1m"));
    assert!(same.chunks(4).all(|c| c.iter().all(|at| *at == c[0])), "{same:?}");
    assert_ne!(same, kib(&run_job("rw=randread:4 rw_sequencer=sequential size=1m")));
    assert_eq!(
        kib(&run_job("rw=read:4k rw_sequencer=identical size=16k")),
        [0, 8, 0, 8],
        "sequential jobs do not mind"
    );
}

#[test]
fn option_kb_base_says_what_k_is() {
    let bytes = |options: &str| run_job(options).bytes(Dir::Read);
    assert_eq!(bytes("kb_base=1000 bs=512 size=64k"), 64_000);
    assert_eq!(bytes("bs=512 size=64k"), 64 * KIB);
    assert_eq!(bytes("kb_base=1000 bs=512 size=64kib"), 64 * KIB);
}

#[test]
fn option_bsrange_draws_multiples_of_its_least() {
    let run = run_job("rw=randread filename=/dev/sda io_size=16m bsrange=4k-16k");
    let count = |kib: u64| run.submitted.iter().filter(|s| s.length == kib * KIB).count();
    let total = run.submitted.len();
    assert!([4, 8, 12, 16].iter().all(|kib| (count(*kib) * 4).abs_diff(total) < total / 4), "{total}");
    assert_eq!([4, 8, 12, 16].map(count).iter().sum::<usize>(), total);
    let sequential = run_job("bsrange=4k-16k bs=64k size=64k");
    let ends = sequential.submitted.windows(2).all(|w| w[0].offset + w[0].length == w[1].offset);
    assert!(ends && sequential.bytes(Dir::Read) == 64 * KIB, "{:?}", sequential.submitted);
}

#[test]
fn option_bssplit_draws_sizes_by_their_shares() {
    let run = run_job("rw=randrw filename=/dev/sda io_size=64m norandommap bssplit=4k/25:16k/,8k");
    let count = |dir, kib: u64| run.submitted.iter().filter(|s| s.dir == dir && s.length == kib * KIB).count();
    let (small, large) = (count(Dir::Read, 4), count(Dir::Read, 16));
    assert!((small * 100 / (small + large)).abs_diff(25) <= 3, "{small} {large}");
    assert_eq!(small + large, run.count(Dir::Read));
    assert_eq!(count(Dir::Write, 8), run.count(Dir::Write));
    // With a map, taken blocks cut others short, and each is there once.
    let mapped = run_job("rw=randread size=16m bssplit=4k/50:64k/50");
    let free = run_job("rw=randread size=16m bssplit=4k/50:64k/50 norandommap");
    assert_eq!(mapped.bytes(Dir::Read), 16 << 20);
    assert!(
        mapped.submitted.len() * 2 > free.submitted.len() * 3,
        "{} {}",
        mapped.submitted.len(),
        free.submitted.len()
    );
    let mut blocks: Vec<u64> =
        mapped.submitted.iter().flat_map(|s| s.offset / 4096..(s.offset + s.length) / 4096).collect();
    blocks.sort_unstable();
    assert!(blocks.into_iter().eq(0..4096));
}

#[test]
fn option_blockalign_puts_random_blocks_on_a_boundary() {
    let aligned = run_job("rw=randread filename=/dev/sda number_ios=100 blockalign=64k").offsets();
    assert!(aligned.iter().all(|offset| offset.is_multiple_of(64 * KIB)));
    let free = run_job("rw=randread filename=/dev/sda number_ios=100").offsets();
    assert!(!free.iter().all(|offset| offset.is_multiple_of(64 * KIB)));
}

#[test]
fn option_offset_align_moves_a_percentage_offset_up() {
    let first = |options: &str| run_job(&format!("filename=/dev/sda offset=1% number_ios=1 {options}")).offsets()[0];
    assert_eq!(first(""), (DISK_SECTORS * 512 / 100).next_multiple_of(4 * KIB));
    assert_eq!(first("offset_align=1m"), 11 * MIB);
}

#[test]
fn option_offset_increment_may_be_a_percentage() {
    let run = run_job("filename=/dev/sda size=4k numjobs=3 offset_increment=25%");
    assert_eq!(run.offsets(), [0, 256 * MIB, 512 * MIB]);
}

#[test]
fn option_percentage_random_goes_on_for_the_rest() {
    let onward = |percent: u64| {
        let run = run_job(&format!("rw=randread filename=/dev/sda number_ios=1000 percentage_random={percent}"));
        run.submitted.windows(2).filter(|w| w[0].offset + w[0].length == w[1].offset).count() as u64
    };
    assert!(onward(100) < 5 && onward(60).abs_diff(400) < 50 && onward(0) == 999);
}

#[test]
fn option_random_distribution_skews_offsets() {
    let offsets = |kind: &str| {
        let options = format!("rw=randread filename=/dev/sda number_ios=2000 random_distribution={kind}");
        run_job(&options).offsets()
    };
    let first_tenth = |kind: &str| offsets(kind).iter().filter(|at| **at < DISK_SECTORS * 512 / 10).count();
    assert!(first_tenth("random").abs_diff(200) < 50);
    assert!(first_tenth("zoned:60/10:40/90").abs_diff(1200) < 70);
    assert!(first_tenth("zoned_abs:60/100m:40/1g").abs_diff(1180) < 70);
    assert!(first_tenth("normal:10") < 10);
    assert!(first_tenth("pareto:0.1:0").abs_diff(1800) < 70);
    let distinct = |kind: &str| offsets(kind).into_iter().collect::<std::collections::BTreeSet<u64>>().len();
    assert!(distinct("random") > 1990 && distinct("zipf:1.2") < 1000, "{}", distinct("zipf:1.2"));
}

#[test]
fn option_fsync_flushes_after_so_many_writes() {
    assert_eq!(run_job("rw=write size=32k fsync=3").letters(), "wwwfwwwfww");
    assert_eq!(run_job("rw=write size=32k").letters(), "wwwwwwww");
    let buffered = run_job("rw=write size=32k fsync=3 direct=0");
    assert_eq!(buffered.letters(), "wwwfwwwfww");
    assert!(buffered.submitted.iter().all(|s| s.buffered));
    assert_eq!(run_job("rw=read size=16k fsync=1").letters(), "rrrr");
    let deep = run_job("rw=write size=32k fsync=4 ioengine=libaio iodepth=8");
    assert_eq!((deep.letters().as_str(), deep.submitted[5].at.as_ns()), ("wwwwfwwww", 1_000_000), "it sleeps in it");
}

#[test]
fn option_fdatasync_flushes_alike() {
    assert_eq!(run_job("rw=write size=16k fdatasync=2").letters(), "wwfww");
    assert_eq!(run_job("rw=write size=16k fdatasync=0").letters(), "wwww");
}

#[test]
fn option_end_fsync_flushes_before_the_exit() {
    let run = run_job("rw=write size=16k end_fsync=1 ioengine=libaio iodepth=4");
    assert_eq!((run.letters().as_str(), run.end_ms()), ("wwwwf", 2));
    assert_eq!(run_job("rw=write size=16k end_fsync=0").letters(), "wwww");
    assert_eq!(run_job("rw=write size=1m runtime=3ms end_fsync=1").letters(), "wwwf");
}

#[test]
fn option_fsync_on_close_flushes_at_the_end() {
    assert_eq!(run_job("rw=write size=16k fsync_on_close=1").letters(), "wwwwf");
    assert_eq!(run_job("rw=read size=16k fsync_on_close=1").letters(), "rrrr");
}

#[test]
fn option_sync_makes_each_write_stable() {
    let fua = |options: &str| run_job(&format!("rw=rw size=64k {options}")).submitted;
    assert!(fua("sync=dsync").iter().all(|s| s.durability.fua == (s.op == blksched::Op::Write)));
    assert!(fua("sync=1").iter().any(|s| s.durability.fua));
    assert!(fua("sync=1 direct=0").iter().all(|s| s.durability.fua == (s.op == blksched::Op::Write)));
    assert!(fua("sync=none").iter().all(|s| s.durability.is_volatile()));
}

#[test]
fn option_iodepth_batch_submits_several_in_one_burst() {
    let bursts = |options: &str| {
        let mut source = plan(&job(&format!("size=64k ioengine=libaio iodepth=8 {options}"))).sources(1).remove(0);
        let mut out = Vec::new();
        while source.next().is_some() {
            source.emit(blksched::Instant::ZERO, &mut out);
        }
        out.split(|e| *e == blksched_workloads::Emission::Waits).map(<[_]>::len).collect::<Vec<_>>()
    };
    assert_eq!(bursts(""), [1, 1, 1, 1, 1, 1, 1, 1, 0]);
    assert_eq!(bursts("iodepth_batch=3"), [3, 3, 2, 0], "a full queue submits what it has");
    assert_eq!(bursts("iodepth_batch_submit=0"), [8, 0]);
}

#[test]
fn option_iodepth_batch_complete_min_waits_for_several() {
    let source = |min: u32| {
        let options = format!("size=64k ioengine=libaio iodepth=4 iodepth_batch_complete={min}");
        let mut source = plan(&job(&options)).sources(1).remove(0);
        (0..4).for_each(|_| source.emit(blksched::Instant::ZERO, &mut Vec::new()));
        let done = blksched_workloads::Delivered::Done { tag: blksched::Tag(0), failed: false };
        source.delivered(blksched::Instant::from_ns(5), done);
        source.next()
    };
    assert_eq!((source(1), source(2)), (Some(blksched::Instant::from_ns(5)), None));
    assert_eq!(source(0), Some(blksched::Instant::from_ns(5)));
}

#[test]
fn option_iodepth_batch_complete_max_bounds_what_is_taken_at_once() {
    let first_burst = |max: u32| {
        let options = format!("size=64k ioengine=libaio iodepth=4 iodepth_batch=4 iodepth_batch_complete_max={max}");
        let mut source = plan(&job(&options)).sources(1).remove(0);
        (0..4).for_each(|_| source.emit(blksched::Instant::ZERO, &mut Vec::new()));
        for tag in 0..4 {
            let tag = blksched::Tag(tag);
            let done = blksched_workloads::Delivered::Done { tag, failed: false };
            source.delivered(blksched::Instant::from_ns(5), done);
        }
        let mut out = Vec::new();
        while out.last() != Some(&blksched_workloads::Emission::Waits) {
            source.emit(blksched::Instant::from_ns(5), &mut out);
        }
        out.iter().filter(|emission| matches!(emission, blksched_workloads::Emission::Submit(_))).count()
    };
    assert_eq!((first_burst(1), first_burst(3)), (1, 3));
}

#[test]
fn option_iodepth_low_drains_a_full_queue_first() {
    let drains = |low: u32| {
        let options = format!("size=64k ioengine=libaio iodepth=4 iodepth_low={low}");
        let mut source = plan(&job(&options)).sources(1).remove(0);
        (0..4).for_each(|_| source.emit(blksched::Instant::ZERO, &mut Vec::new()));
        let (mut done, mut out, now) = (0, Vec::new(), blksched::Instant::from_ns(5));
        while !out.iter().any(|emission| matches!(emission, blksched_workloads::Emission::Submit(_))) {
            let tag = blksched::Tag(done);
            source.delivered(now, blksched_workloads::Delivered::Done { tag, failed: false });
            source.emit(now, &mut out);
            done += 1;
        }
        done
    };
    assert_eq!((drains(4), drains(3), drains(1)), (1, 1, 3));
}

fn highest(options: &str) -> usize {
    let run = run_job(&format!("rw=randread size=16m ioengine=libaio iodepth=8 {options}"));
    run.submitted.iter().filter(|s| s.priority == Priority { class: Class::RealTime, level: 0 }).count() * 100
        / run.submitted.len()
}

#[test]
fn option_cmdprio_percentage_raises_a_share() {
    assert_eq!((highest(""), highest("cmdprio_percentage=100"), highest("cmdprio_percentage=0,100")), (0, 100, 0));
    assert!(highest("cmdprio_percentage=30").abs_diff(30) <= 3);
}

fn raised(options: &str) -> Priority {
    run_job(&format!("rw=randread size=4k ioengine=libaio cmdprio_percentage=100 {options}")).submitted[0].priority
}

#[test]
fn option_cmdprio_class_says_to_which_class() {
    assert_eq!(raised("cmdprio_class=3").class, Class::Idle);
    assert_eq!(raised("").class, Class::RealTime);
}

#[test]
fn option_cmdprio_says_to_which_level() {
    assert_eq!((raised("cmdprio=5").level, raised("").level), (5, 0));
}

#[test]
fn option_cmdprio_bssplit_raises_by_size() {
    let options = "rw=randread filename=/dev/sda io_size=32m bssplit=4k/50:8k/50 ioengine=libaio";
    let run = run_job(&format!("{options} cmdprio_bssplit=4k/0:8k/60/3/2"));
    let idle = Priority { class: Class::Idle, level: 2 };
    let (mut raised, mut large) = (0, 0);
    for io in &run.submitted {
        assert!(io.priority != idle || io.length == 8 * KIB);
        large += usize::from(io.length == 8 * KIB);
        raised += usize::from(io.priority == idle);
    }
    assert!((raised * 100 / large).abs_diff(60) <= 4, "{raised} of {large}");
    assert!(run_job(options).submitted.iter().all(|io| io.priority == Priority::default()));
}

#[test]
fn option_rate_process_poisson_spreads_arrivals() {
    let times = |process: &str| {
        let options = format!("rw=randread filename=/dev/sda runtime=20 rate_iops=50 rate_process={process}");
        run_job(&options).times_ms()
    };
    assert_eq!(times("linear")[..4], [0, 20, 40, 60]);
    let gaps: Vec<u64> = times("poisson").windows(2).map(|w| w[1] - w[0]).collect();
    assert!(gaps.len().abs_diff(1000) < 100, "{}", gaps.len());
    let long = gaps.iter().filter(|gap| **gap > 20).count() * 100 / gaps.len();
    assert!(long.abs_diff(37) <= 5, "a share of 1/e is longer than the mean: {long}%");
}

#[test]
fn option_nice_is_a_best_effort_level() {
    let priority = |options: &str| run_job(&format!("size=4k {options}")).submitted[0].priority;
    let level = |level| Priority { class: Class::BestEffort, level };
    assert_eq!((priority("nice=-20"), priority("nice=19"), priority("nice=5")), (level(0), level(7), level(5)));
    assert_eq!((priority("nice=0"), priority("nice=5 prio=1")), (Priority::default(), level(1)));
}

#[test]
fn option_wait_for_waits_for_one_job() {
    let jobs = "[global]\ndirect=1\nsize=64k\n[a]\nnumjobs=2\n[b]\nsize=1m\n[c]\nwait_for=a\n";
    let run_of = run(jobs, 1);
    assert_eq!(run_of.of(3)[0].at, run_of.exits[&0].max(run_of.exits[&1]));
    assert!(run_of.of(3)[0].at < run_of.exits[&2]);
    assert_eq!(run(&jobs.replace("wait_for=a\n", ""), 1).of(3)[0].at.as_ns(), 0);
    let walled = run("[global]\ndirect=1\nsize=4k\n[a]\n[b]\nstonewall\n[c]\nwait_for=a\n", 1);
    assert_eq!(walled.times_ms(), [0, 1, 1]);
}

#[test]
fn option_filename_format_names_files() {
    let file = |options: &str| ground(&plan(&job(&format!("size=4k {options}"))).jobs[0]).name.clone();
    assert_eq!(file("filename_format=f.$jobname.$jobnum"), "f.j.0");
    assert_eq!((file(""), file("filename_format=x filename=y")), ("j.0.0".to_owned(), "y".to_owned()));
    // As tried: a second process finds the files of the first taken, and does nothing.
    let ios = |options: &str| run_job(&format!("rw=write size=8k numjobs=2 {options}")).letters();
    assert_eq!((ios("filename_format=x"), ios("filename_format=x.$jobnum")), ("ww".to_owned(), "wwww".to_owned()));
    assert_eq!((ios("filename_format=x filename=y"), ios("filename_format=")), ("wwww".to_owned(), "wwww".to_owned()));
}

#[test]
fn option_verify_only_reads_what_would_be_read_back() {
    assert_eq!(run_job("rw=write size=16k bs=4k,8k verify=md5").letters(), "wwrr");
    let run = run_job("rw=write size=16k bs=4k,8k verify=md5 verify_only fsync=1 end_fsync=1");
    assert_eq!((run.letters().as_str(), run.offsets()), ("rr", vec![0, 8 * KIB]));
    assert_eq!(run_job("rw=randwrite size=16k verify=md5 verify_only=1").letters(), "rrrr");
    assert_eq!(run_job("rw=write size=16k verify=md5 verify_only=0").letters(), "wwwwrrrr");
    for refused in ["rw=randrw verify=md5", "rw=write", "rw=read verify=md5", "rw=write verify=md5 do_verify=0"] {
        let text = job(&format!("size=16k verify_only {refused}"));
        let error = blksched_workloads::fio::JobFile::parse(&text, "jobs").unwrap_err().to_string();
        assert!(error.contains("rw=write or rw=randwrite, and with verify"), "{refused}: {error}");
    }
}

/// As tried: fio refuses such a file ("blocksize is larger than data set range") and uses what fits of several sizes.
#[test]
fn option_filesize_holds_whole_blocks_or_none() {
    let plan =
        |options: &str| blksched_workloads::fio::JobFile::parse(&job(options), "jobs").unwrap().plan(1 << 20).map(drop);
    for options in
        ["filesize=2m bs=4m rw=write", "filesize=2m bs=4m nrfiles=4 rw=randread", "filesize=2m bsrange=3m-4m"]
    {
        let error = plan(options).unwrap_err().to_string();
        assert!(error.contains("smaller than one block") && error.contains("2097152 bytes"), "{options}: {error}");
    }
    for (options, ios, longest) in [
        ("filesize=2m bsrange=1m-4m rw=write", 2..3, 1024),
        ("filesize=2m bsrange=1m-4m rw=randwrite", 2..3, 1024),
        ("size=2m bssplit=64k/50:4m/50 rw=write", 32..33, 64),
        ("filesize=2m bssplit=64k/50:4m/50 rw=randwrite", 32..33, 64),
        ("filesize=2m size=8m io_size=8m bsrange=4k-8200k rw=randwrite", 2..513, 2048),
    ] {
        let run = run_job(options);
        assert!(ios.contains(&run.submitted.len()), "{options}: {}", run.submitted.len());
        assert!(run.submitted.iter().all(|io| io.length <= longest * KIB), "{options}");
        assert!(run.submitted.iter().all(|io| run.offsets().iter().all(|at| *at < 2048 * KIB) && io.length > 0));
    }
}

#[test]
fn option_cpus_allowed_says_where_a_process_may_run() {
    let sets = |options: &str| plan(&job(options)).jobs.iter().map(|job| job.cpus_allowed.0).collect::<Vec<_>>();
    assert_eq!(sets("size=4k cpus_allowed=0-2,5 numjobs=2"), [0b10_0111; 2]);
    assert_eq!(sets("size=4k"), [u64::MAX]);
    for wrong in ["4-2", "64", "a", ""] {
        assert!(
            blksched_workloads::fio::JobFile::parse(&job(&format!("size=4k cpus_allowed={wrong}")), "jobs").is_err(),
            "`{wrong}`"
        );
    }
}

#[test]
fn option_cpumask_is_the_same_in_bits() {
    assert_eq!(plan(&job("size=4k cpumask=6")).jobs[0].cpus_allowed.0, 0b110);
}

#[test]
fn option_cpus_allowed_policy_gives_each_process_one() {
    let job = job("size=4k numjobs=3 cpus_allowed=1,4 cpus_allowed_policy=split");
    let sets: Vec<u64> = plan(&job).jobs.iter().map(|job| job.cpus_allowed.0).collect();
    assert_eq!(sets, [1 << 1, 1 << 4, 1 << 1]);
}

fn calls(options: &str) -> CallWay {
    plan(&job(&format!("size=4k {options}"))).jobs[0].calls
}

#[test]
fn engines_make_different_calls() {
    let interface = |engine: &str| calls(&format!("ioengine={engine}")).interface;
    assert_eq!(calls("").interface, CallInterface::Sync);
    let all = [CallInterface::Sync, CallInterface::Aio, CallInterface::Uring];
    assert_eq!(["psync", "libaio", "io_uring"].map(interface), all);
}

#[test]
fn option_hipri_polls() {
    assert!(calls("hipri").polls && !calls("hipri=0").polls);
}

#[test]
fn option_registerfiles_and_blocks_are_told_apart() {
    let both = ["registerfiles", "fixedbufs"].map(|option| {
        let calls = calls(option);
        (calls.registered_files, calls.fixed_buffers)
    });
    assert_eq!(both, [(true, false), (false, true)]);
}

#[test]
fn option_fixedbufs_registers_blocks() {
    assert!(calls("fixedbufs=1").fixed_buffers && !calls("").fixed_buffers);
}

#[test]
fn option_sqthread_poll_has_a_thread_submit() {
    assert!(calls("sqthread_poll").has_thread && !calls("sqthread_poll_cpu=3").has_thread);
}

#[test]
fn option_sqthread_poll_cpu_says_where() {
    assert_eq!(calls("sqthread_poll sqthread_poll_cpu=3").thread_cpu, Some(3));
    let wrong = blksched_workloads::fio::JobFile::parse(&job("size=4k sqthread_poll_cpu=64"), "jobs");
    assert!(wrong.is_err());
}

#[test]
fn a_containers_processors_bound_those_of_its_jobs() {
    let sets = |options: &str| {
        let options = options.replace(';', "\n");
        plan(&format!("[j]\nrw=read\nsize=4k\n{options}\n")).jobs[0].cpus_allowed.0
    };
    assert_eq!(sets("cgroup=web;cgroup_files=cpuset.cpus: 0-1"), 0b11);
    assert_eq!(sets("cgroup=web;cgroup_files=cpuset.cpus: 0-1,3, 5-6, io.weight: 300"), 0b110_1011);
    assert_eq!(sets("cgroup=web;cgroup_files=io.weight: 300, web/cpuset.cpus: 1,3"), 0b1010);
    let of_parent = "cgroup=web/a;cpus_allowed=1-2;cgroup_files=web/cpuset.cpus: 0-1 5";
    assert_eq!(sets(of_parent), 0b10, "a parent's hold, too");
    assert_eq!(sets("cgroup=web;cpus_allowed=4;cgroup_files=cpuset.cpus: 0-1"), 0b11, "none is left: the group's");
    let wrong = "[j]\nsize=4k\ncgroup=a\ncgroup_files=cpuset.cpus: x\n";
    let Err(errors) = blksched_workloads::fio::JobFile::parse(wrong, "jobs") else { panic!("x is no processor") };
    assert!(errors.to_string().contains("processors from 0 to 63"), "{errors}");
}
