//! Options about pace, ends and errors: each flipped.

use crate::common;

use blksched::{Dir, Instant, Span, Tag};
use blksched_workloads::fio::JobFile;
use blksched_workloads::{Delivered, Emission, GaveUp};
use common::{job, plan, run, run_job};

const KIB: u64 = 1024;

/// Two jobs, `a` with these options and `b`, each one read per millisecond; `b` would take 100.
fn pair(a: &str, b: &str) -> common::Run {
    let lines = |options: &str| options.replace(' ', "\n");
    run(&format!("[global]\ndirect=1\n[a]\nsize=40k\n{}\n[b]\nsize=400k\n{}\n", lines(a), lines(b)), 1)
}

fn ends_ms(run: &common::Run) -> Vec<u64> {
    run.exits.values().map(|at| at.as_ns() / 1_000_000).collect()
}

#[test]
fn option_ramp_time_comes_on_top_of_runtime_and_number_ios() {
    let runtime = |options: &str| run_job(&format!("size=1m time_based runtime=20ms {options}")).end_ms();
    assert_eq!((runtime(""), runtime("ramp_time=30ms")), (20, 50));
    // Tried: number_ios counts from the ramp's end, size from the beginning.
    assert_eq!(run_job("size=1m number_ios=10 ramp_time=5ms").submitted.len(), 15);
    assert_eq!(run_job("size=40k ramp_time=5ms").submitted.len(), 10);
}

#[test]
fn option_exitall_ends_the_reporting_group_unless_exit_what_says_otherwise() {
    assert_eq!(ends_ms(&pair("", "")), [10, 100]);
    assert_eq!(ends_ms(&pair("exitall", "")), [10, 10]);
    assert_eq!(ends_ms(&pair("exitall=1", "new_group")), [10, 100]);
}

#[test]
fn option_exit_what_reaches_other_groups_and_jobs_to_come() {
    assert_eq!(ends_ms(&pair("exitall exit_what=group", "new_group")), [10, 100]);
    assert_eq!(ends_ms(&pair("exitall exit_what=stonewall", "new_group")), [10, 10]);
    assert_eq!(ends_ms(&pair("exitall exit_what=stonewall", "stonewall")), [10, 110]);
    let all = pair("exitall exit_what=all", "stonewall");
    assert_eq!((ends_ms(&all), all.of(1).len()), (vec![10, 10], 0));
    assert_eq!(pair("exitall exit_what=all", "startdelay=50ms").of(1).len(), 0);
}

#[test]
fn option_rate_min_ends_a_job_that_is_too_slow() {
    let end = |options: &str| run_job(&format!("size=40m runtime=10s {options}")).end_ms();
    // A read per millisecond is 4000 KiB/s. The first two seconds do not count (tried).
    assert_eq!((end("rate_min=3m"), end("rate_min=5m"), end("ratemin=0")), (10_000, 3_000, 10_000));
    assert_eq!(end("rate_min=0,5m"), 10_000, "of writes");
}

#[test]
fn option_rate_iops_min_counts_ios() {
    let end = |options: &str| run_job(&format!("size=40m runtime=10s {options}")).end_ms();
    assert_eq!((end("rate_iops_min=900"), end("rate_iops_min=1100")), (10_000, 3_000));
}

#[test]
fn option_rate_cycle_is_how_long_the_rate_is_averaged() {
    let end = |options: &str| run_job(&format!("size=40m runtime=10s rate_min=5m {options}")).end_ms();
    assert_eq!((end("rate_cycle=500"), end("ratecycle=4000")), (2_500, 6_000));
}

#[test]
fn option_max_latency_ends_a_job_at_the_first_io_that_takes_longer() {
    assert_eq!(run_job("size=40k max_latency=500us").submitted.len(), 1);
    assert_eq!(run_job("size=40k max_latency=1500").submitted.len(), 10);
}

#[test]
fn option_thinktime_blocks_type_issue_thinks_while_io_is_in_flight() {
    let times = |options: &str| {
        run_job(&format!("size=24k ioengine=libaio iodepth=8 thinktime=5ms thinktime_blocks=2 {options}")).times_ms()
    };
    assert_eq!(times(""), [0; 6], "its queue never was full");
    assert_eq!(times("iodepth=2"), [0, 0, 1, 7, 7, 13]);
    assert_eq!(times("iodepth=2 thinktime_blocks_type=complete"), [0, 0, 1, 7, 7, 13]);
    assert_eq!(times("thinktime_blocks_type=issue"), [0, 0, 5, 5, 10, 10]);
}

#[test]
fn option_thinktime_iotime_thinks_after_a_time() {
    let times = |options: &str| run_job(&format!("size=20k thinktime=5ms {options}")).times_ms();
    assert_eq!(times(""), [0, 6, 12, 18, 24]);
    assert_eq!(times("thinktime_iotime=2ms"), [0, 1, 7, 8, 14]);
    assert_eq!(times("thinktime_iotime=2ms thinktime_blocks=1"), [0, 6, 12, 18, 24], "whichever comes first");
}

#[test]
fn option_rate_ignore_thinktime_does_not_catch_up() {
    let times = |options: &str| {
        run_job(&format!("size=24k rate_iops=100 thinktime=50ms thinktime_blocks=3 {options}")).times_ms()
    };
    assert_eq!(times(""), [0, 10, 20, 71, 72, 73]);
    assert_eq!(times("rate_ignore_thinktime=1"), [0, 10, 20, 80, 90, 100]);
}

#[test]
fn option_flow_keeps_jobs_in_proportion() {
    let shares = |a: &str, b: &str| {
        let text = format!("[global]\ndirect=1\nsize=4m\nruntime=300ms\n[a]\n{a}\n[b]\n{b}\n");
        let run = run(&text, 1);
        (run.of(0).len(), run.of(1).len())
    };
    assert_eq!(shares("", ""), (300, 300));
    let (a, b) = shares("flow=1", "flow=8");
    assert!(b == 300 && a.abs_diff(300 / 8) <= 2, "{a} {b}");
    // A job that has exited delays no other.
    let text = "[global]\ndirect=1\nsize=40k\nflow=1\n[a]\n[b]\nsize=400k\n";
    assert_eq!(run(text, 1).of(1).len(), 100);
}

#[test]
fn option_flow_id_parts_flows() {
    let text =
        |id: u64| format!("[global]\ndirect=1\nsize=4m\nruntime=300ms\n[a]\nflow=1\n[b]\nflow=8\nflow_id={id}\n");
    assert!(run(&text(0), 1).of(0).len() < 50);
    assert_eq!(run(&text(1), 1).of(0).len(), 300);
}

#[test]
fn option_flow_sleep_is_how_long_a_job_that_is_ahead_sleeps() {
    let text = |sleep: &str| {
        format!(
            "[global]\ndirect=1\nsize=4m\nruntime=300ms\nflow_sleep={sleep}\n[a]\nflow=1\n[b]\nflow=1\nrate_iops=500\n"
        )
    };
    let counts = |sleep: &str| run(&text(sleep), 1).of(0).len();
    assert!(counts("0").abs_diff(150) <= 2, "{}", counts("0"));
    assert!(counts("50000") < 30, "it sleeps through its turns: {}", counts("50000"));
}

#[test]
fn option_io_submit_mode_offload_gives_synchronous_engines_a_depth() {
    let depth = |options: &str| run_job(&format!("size=64k iodepth=4 {options}")).depth[&0];
    assert_eq!((depth(""), depth("io_submit_mode=inline"), depth("io_submit_mode=offload")), (1, 1, 4));
}

/// Fails the second I/O of a job.
fn fail_second(options: &str) -> (usize, blksched_workloads::Trouble) {
    let mut source = plan(&job(options)).sources(1).remove(0);
    let (mut now, mut submitted) = (Instant::ZERO, 0);
    while !source.is_finished() {
        let mut out = Vec::new();
        source.emit(now, &mut out);
        for emission in out {
            if let Emission::Submit(bio) = emission {
                submitted += 1;
                now += Span::from_ms(1);
                source.delivered(now, Delivered::Done { tag: Tag(bio.tag.0), failed: submitted == 2 });
            }
        }
    }
    (submitted, source.trouble())
}

#[test]
fn option_continue_on_error_goes_on_after_failed_io() {
    let (ios, trouble) = fail_second("size=16k");
    assert_eq!((ios, trouble.errors, trouble.gave_up), (2, 1, Some(GaveUp::Io)));
    let (ios, trouble) = fail_second("size=16k continue_on_error=read");
    assert_eq!((ios, trouble.errors, trouble.gave_up), (4, 1, None));
    assert_eq!(fail_second("size=16k continue_on_error=write").0, 2);
    assert_eq!(fail_second("size=16k rw=write continue_on_error=all").0, 4);
    assert_eq!(fail_second("size=16k continue_on_error=none").0, 2);
}

#[test]
fn option_ignore_error_names_the_errors() {
    assert_eq!(fail_second("size=16k ignore_error=EIO").0, 4);
    assert_eq!(fail_second("size=16k ignore_error=ENOSPC:5").0, 4);
    assert_eq!(fail_second("size=16k ignore_error=,EIO").0, 2);
    assert_eq!(fail_second("size=16k ignore_error=ENOSPC").0, 2);
}

#[test]
fn option_exitall_on_error_takes_the_others_along() {
    let slow = "max_latency=1us";
    assert_eq!(ends_ms(&pair(slow, "")), [1, 100]);
    assert_eq!(ends_ms(&pair(&format!("{slow} exitall_on_error"), "new_group")), [1, 1]);
    assert_eq!(pair("exitall_on_error", "").bytes(Dir::Read), 440 * KIB, "without an error nothing ends");
}

#[test]
fn option_cgroup_puts_processes_into_groups() {
    let text = |lines: &str| format!("[global]\ndirect=1\nsize=4k\n[a]\ncgroup=x\n[b]\n{lines}\n[c]\n");
    let named = |text: &str| plan(text).groups.iter().map(|g| (g.name.clone(), g.weight)).collect::<Vec<_>>();
    assert_eq!(named(&text("cgroup=x")), [("x".to_owned(), 100)]);
    let nested = plan("[a]\ndirect=1\nsize=4k\ncgroup=x/y\n").groups;
    let parents: Vec<_> = nested.iter().map(|g| (g.name.as_str(), g.parent.0)).collect();
    assert_eq!(parents, [("x", 0), ("x/y", 1)], "what it is below is made with it");
    assert_eq!(plan(&text("cgroup=y")).groups.len(), 2);
    let groups = |text: &str| {
        let mut found = Vec::new();
        for mut source in plan(text).sources(1) {
            let mut out = Vec::new();
            source.emit(Instant::ZERO, &mut out);
            found.extend(
                out.iter().filter_map(|e| if let Emission::Submit(bio) = e { Some(bio.group.0) } else { None }),
            );
        }
        found
    };
    assert_eq!(groups(&text("cgroup=y")), [1, 2, 0], "a job without one is in the root");
}

#[test]
fn option_cgroup_weight_is_its_groups() {
    let text = "[a]\ndirect=1\nsize=4k\ncgroup=x\ncgroup_weight=300\n";
    assert_eq!(plan(text).groups[0].weight, 300);
}

#[test]
fn option_cgroup_files_are_written_to_its_group_or_another() {
    let text = "[a]\ndirect=1\nsize=4k\ncgroup=x/y\ncgroup_files=io.max: rbps=1048576 wiops=9, x/io.weight: 50\n";
    let groups = plan(text).groups;
    assert_eq!(groups[1].files, [("io.max".to_owned(), "rbps=1048576 wiops=9".to_owned())]);
    assert_eq!(groups[0].files, [("io.weight".to_owned(), "50".to_owned())]);
    assert_eq!(plan("[a]\ndirect=1\nsize=4k\ncgroup=x\n").groups[0].files, []);
}

/// As in the kernel, where `echo wbps=…` and then `echo wiops=…` leave both.
#[test]
fn option_cgroup_files_keep_the_keys_of_io_max_that_a_later_line_does_not_name() {
    let text = "[a]\ndirect=1\nsize=4k\ncgroup=x\ncgroup_files=io.max: 8:16 wbps=100 rbps=max, io.weight: 50\n\
                cgroup_files=io.max: wiops=9 rbps=7, io.weight: 60\n\
                [b]\ndirect=1\nsize=4k\ncgroup_files=x/io.max: wiops=8\n";
    let pair = |file: &str, text: &str| (file.to_owned(), text.to_owned());
    assert_eq!(plan(text).groups[0].files, [pair("io.weight", "60"), pair("io.max", "wbps=100 rbps=7 wiops=8")]);
}

#[test]
fn option_cgroup_files_if_asked_are_kept_apart_and_may_be_parts_of_what_the_disk_does() {
    let asked = |files: &str| format!("[a]\ndirect=1\nsize=4k\ncgroup=x\ncgroup_files_if_asked={files}\n");
    let groups = plan(&asked("io.max: wbps=25% wiops=9, io.latency: target=150%")).groups;
    let pair = |file: &str, text: &str| (file.to_owned(), text.to_owned());
    let expected = [pair("io.max", "wbps=25% wiops=9"), pair("io.latency", "target=150%")];
    assert_eq!((groups[0].files.len(), &groups[0].files_if_asked[..]), (0, &expected[..]));
    for (wrong, why) in [
        ("io.weight: 200", "expected one of io.max, io.latency, io.prio.class"),
        ("io.max: wbps=0%", "expected a percentage from 1 to 10000"),
        ("io.max: wpbs=25%", "did you mean `wbps`?"),
    ] {
        let error = JobFile::parse(&asked(wrong), "a.fio").expect_err(wrong).to_string();
        assert!(error.contains(why), "{wrong}: {error}");
    }
}

#[test]
fn what_fio_does_not_know_stands_in_a_comment_of_ours_and_does_the_same() {
    let said = |line: &str| format!("[a]\ndirect=1\nsize=4k\ncgroup=x\n{line}\n");
    let files = "cgroup_files=io.max: rbps=1048576";
    let expected = plan(&said(files)).groups;
    assert_eq!(expected[0].files, [("io.max".to_owned(), "rbps=1048576".to_owned())]);
    assert_eq!(plan(&said(&format!("; blksched: {files}"))).groups, expected);
    assert_eq!(plan(&said(&format!("# blksched: {files} # why"))).groups, expected);
    assert_eq!(plan(&said(&format!("; {files}"))).groups[0].files, []);
    for (wrong, why) in [
        ("bs=8k", "`bs` is an option of fio's, but is in a comment"),
        ("cgroup_file=io.max: rbps=1", "did you mean `cgroup_files`?"),
        ("cgroup_files=io.max: rbqs=1", "did you mean `rbps`?"),
        ("cgroup_files", "`cgroup_files` needs a value"),
    ] {
        let error = JobFile::parse(&said(&format!("; blksched: {wrong}")), "a.fio").expect_err(wrong).to_string();
        assert!(error.contains(why) && error.contains("a.fio:5:"), "{wrong}: {error}");
    }
}

#[test]
fn option_cmd_type_and_engines_that_send_commands_need_no_direct() {
    let depth = |options: &str| run(&format!("[j]\nfilename=/dev/sda\nsize=64k\niodepth=4\n{options}\n"), 1).depth[&0];
    assert_eq!(depth("ioengine=io_uring_cmd\ncmd_type=nvme"), 4);
    assert_eq!(depth("ioengine=sg"), 1);
    let notes = plan("[j]\nfilename=/dev/ng0n1\nioengine=io_uring_cmd\n").notes;
    assert!(notes.iter().any(|note| note.why.contains("past its scheduler")));
}

#[test]
fn option_sg_write_mode_may_read_the_medium_instead() {
    let letters =
        |mode: &str| run(&format!("[j]\nfilename=/dev/sda\nsize=8k\nrw=write\nioengine=sg\n{mode}\n"), 1).letters();
    assert_eq!(letters(""), "ww");
    assert_eq!(letters("sg_write_mode=verify_bytchk_01"), "rr");
    assert_eq!(letters("sg_write_mode=write_same_ndob"), "ww");
}

/// The depth and the end [ms] of a job that searches for its depth; every I/O takes 1 ms.
fn profiled(options: &str) -> (usize, u64) {
    let run = run_job(&format!("size=4m ioengine=libaio iodepth=16 runtime=200ms {options}"));
    (run.depth[&0], run.end_ms())
}

#[test]
fn option_latency_target_looks_for_the_greatest_depth_and_ends() {
    assert_eq!(profiled("").0, 16);
    // Good at every depth: 1, 2, 4, 8, 16, a window each.
    assert_eq!(profiled("latency_target=1ms latency_window=10ms"), (16, 50));
    // Bad at depth 1: nothing is left to try.
    assert_eq!(profiled("latency_target=900us latency_window=10ms"), (1, 10));
}

#[test]
fn option_latency_window_is_how_long_each_depth_is_tried() {
    assert_eq!(profiled("latency_target=900us latency_window=20ms"), (1, 20));
}

#[test]
fn option_latency_percentile_lets_some_be_late() {
    assert_eq!(profiled("latency_target=900us latency_window=10ms latency_percentile=100").1, 10);
    // All are late, but only one in a hundred thousand needs to be on time.
    assert_eq!(profiled("latency_target=900us latency_window=10ms latency_percentile=0.001").1, 10);
    assert_eq!(profiled("latency_target=1ms latency_window=10ms latency_percentile=50").0, 16);
}

#[test]
fn option_latency_run_goes_on_at_that_depth() {
    assert_eq!(profiled("latency_target=900us latency_window=10ms latency_run=1"), (1, 200));
}

#[test]
fn a_wrong_word_within_a_long_value_is_the_one_that_is_shown() {
    let said = |line: &str| format!("[a]\ndirect=1\nsize=4k\ncgroup=x\n; blksched: {line}\n");
    for (wrong, column, why) in [
        ("cgroup_files=io.max: wbps=2M", 39, "`2M` cannot be written to io.max"),
        ("cgroup_files=io.max: wbps=2M", 39, "expected a number above 0, without a unit, or max"),
        ("cgroup_files=io.weight: 9, iomax: wbps=2", 40, "there is no file `iomax` of a group's I/O"),
        ("fs=xfs:commit=5", 20, "unknown option `commit` of xfs (ext4 has it)"),
        ("fs=ext4:data=jornal", 21, "did you mean `journal`?"),
        ("fs=ext4,commit=5", 16, "as in `ext4:commit=5`"),
    ] {
        let error = JobFile::parse(&said(wrong), "a.fio").expect_err(wrong).to_string();
        assert!(error.contains(why) && error.contains(&format!("a.fio:5:{column}\n")), "{wrong}: {error}");
    }
}
