//! Bad job files: each error names the place, the offending word, what was expected and the nearest valid word; and
//! all errors of a file come together.

use crate::common;

use blksched_workloads::fio::JobFile;
use common::DISK_SECTORS;

/// A line put into a good job file (as line 4), the place of the error, and words that its message must contain.
const LINES: &[(&str, &str, &[&str])] = &[
    ("runtme=1", "4:1", &["`runtme` is not an option known here", "did you mean `runtime`?"]),
    ("thinktime_spinn=50", "4:1", &["did you mean `thinktime_spin`?"]),
    ("RW=read", "4:1", &["`RW` is not an option known here", "did you mean `rw`?"]),
    ("  iodpeth = 3", "4:3", &["`iodpeth`", "`iodepth`"]),
    ("xyzzy", "4:1", &["`xyzzy` is not an option known here"]),
    ("rw=randraed", "4:4", &["`randraed` is not a value for `rw`", "did you mean `randread`?"]),
    ("rw=READ", "4:4", &["`READ`", "expected one of read, write", "did you mean `read`?"]),
    ("rw=", "4:1", &["`rw` needs a value"]),
    ("rw", "4:1", &["`rw` needs a value", "read|write"]),
    ("rw=randread:0", "4:4", &["`randread:0`", "from 1"]),
    ("rw=read:100", "4:1", &["`rw` of job `j`", "multiples of 512"]),
    ("bsrange=4k-100k:3", "4:9", &["`4k-100k:3`"]),
    ("bsrange=1k-1000", "4:1", &["`bsrange` of job `j`", "multiples of 512"]),
    ("bssplit=4k/60:8k/50", "4:9", &["at most 100%"]),
    ("random_distribution=zpif:1.2", "4:21", &["did you mean `zipf`?"]),
    ("sync=yes", "4:6", &["none, 0, sync, 1, dsync"]),
    ("nice=20", "4:6", &["from -20 to 19"]),
    ("wait_for=k", "4:1", &["waits for `k`", "names 0 jobs above it"]),
    ("bs=0", "4:4", &["`0` is not a value for `bs`"]),
    ("bs=4q", "4:4", &["`4q`"]),
    ("bs=513", "4:1", &["`bs` of job `j`", "multiples of 512"]),
    ("bs=3g", "4:1", &["at most 2g"]),
    ("bs=4k,8k,1k,1k", "4:4", &["one to three values"]),
    ("bs=4k-16k", "4:4", &["`4k-16k`"]),
    ("size=1.5m", "4:6", &["a whole number"]),
    ("size=8z", "4:6", &["`z` counts zones, and no simulated disk has any"]),
    ("size=101%", "4:6", &["1% to 100%"]),
    ("size=(1024*", "4:6", &["`(1024*`"]),
    ("size=${SIZE}", "4:6", &["environment variable `SIZE` is not set"]),
    ("size=8*$mb_memry", "4:6", &["$mb_memry"]),
    ("size=99999999999999999999", "4:6", &["a whole number"]),
    ("size=1k", "4:1", &["smaller than one block"]),
    ("size=2g", "4:1", &["does not fit", "1024 MiB are left"]),
    ("offset=100", "4:1", &["`offset`", "multiples of 512"]),
    ("offset_increment=100", "4:1", &["`offset_increment`"]),
    ("runtime=1m30s", "4:9", &["`1m30s`", "seconds"]),
    ("thinktime=5 parsecs", "4:11", &["microseconds"]),
    ("startdelay=1-", "4:12", &["`1-`"]),
    ("direct=yes", "4:8", &["expected 0 or 1"]),
    ("direct", "4:1", &["`direct` needs a value"]),
    ("stonewall=x", "4:11", &["nothing, or a whole number"]),
    ("iodepth=0", "4:9", &["from 1 to 65536"]),
    ("numjobs=0", "4:9", &["from 1 to 16384"]),
    ("numjobs=1000000000", "4:9", &["from 1 to 16384"]),
    ("prio=8", "4:6", &["from 0 to 7"]),
    ("prioclass=4", "4:11", &["from 0 to 3"]),
    ("rwmixread=150", "4:11", &["from 0 to 100"]),
    ("ioengine=libaoi", "4:10", &["`libaoi`", "did you mean `libaio`?"]),
    ("ioengine=dev-dax", "4:10", &["expected one of sync", "loads and stores of the processor"]),
    ("filename=a:-", "4:1", &["standard input or output", "expected files"]),
    ("nrfiles=300", "4:1", &["smaller than one block", "block size 4096"]),
    ("nrfiles=100001", "4:9", &["1 to 100000"]),
    ("filesize=4k-9999999t", "4:10", &["at most 8 EiB"]),
    ("filesize=1t", "4:1", &["`j.0.0` of job `j` does not fit", "1024 MiB are left"]),
    ("file_service_type=randm", "4:19", &["did you mean `random`?"]),
    ("file_service_type=random:0", "4:19", &["from 1"]),
    ("file_service_type=zipf:x", "4:19", &["a number from"]),
    ("lockfile=exclusive\nfilename=a", "4:1", &["`lockfile` of job `j` is not supported yet"]),
    ("trim_backlog=8", "4:1", &["`trim_backlog` is not supported yet", "about the same thing: rw, direct"]),
    ("rate=1m\nrate_min=2m", "5:1", &["`rate_min` of job `j` exceeds its `rate`", "at most 1048576"]),
    ("flow=1\nnumjobs=65", "4:1", &["flow 0 has more than 64 processes"]),
    ("continue_on_error=reed", "4:19", &["did you mean `read`?"]),
    ("ignore_error=eio", "4:14", &["by symbol or number"]),
    ("zonemode=zbd", "4:10", &["none or strided"]),
    ("zonemode=strided", "4:1", &["`zonemode=strided` of job `j` needs `zonesize`"]),
    ("zonemode=strided\nzonesize=2m", "5:1", &["the zones of job `j` cannot be used", "1048576 of the region"]),
    ("zonemode=strided\nzonesize=4k\nfilename=a:b", "4:1", &["has several files"]),
    ("cgroup_weight=0", "4:15", &["from 1 to 10000"]),
    (
        "ioengine=net",
        "4:10",
        &["`net` is not a value for `ioengine`", "expected one of sync, psync", "`net` is an engine of fio's, but"],
    ),
    ("latency_target=1ms", "4:1", &["`latency_target` of job `j` needs `latency_window`"]),
    ("latency_percentile=101", "4:20", &["at most 100"]),
    ("exit_what=everything", "4:11", &["expected one of group, stonewall, all"]),
    ("bs_unalgned", "4:1", &["`bs_unalgned`", "did you mean `bs_unaligned`?"]),
    ("file_append=1\nsize=0\nfilename=x", "4:1", &["`file_append` of job `j` needs `size`"]),
    ("sync_file_range=wait:4", "4:17", &["expected one of wait_before, write, wait_after"]),
    ("sync_file_range=write:0", "4:17", &["from 1"]),
    ("include other.fio", "4:9", &["`other.fio` cannot be included"]),
    ("include", "4:1", &["`include` needs a file"]),
    ("=4k", "4:1", &["name is missing"]),
    ("[k", "4:1", &["not closed"]),
    ("[]", "4:1", &["no name"]),
    ("[k] junk", "4:5", &["after a section's name"]),
];

fn first_error(text: &str) -> String {
    let errors = match JobFile::parse(text, "my.fio") {
        Ok(file) => file.plan(DISK_SECTORS).expect_err(text),
        Err(errors) => errors,
    };
    errors.to_string()
}

/// As tried: fio reads `12.5` as 12, and `1.5m` as one byte, which is refused here.
#[test]
fn what_stands_behind_a_point_is_left_out_with_a_note() {
    let job = |line: &str| JobFile::parse(&format!("[a]\nrw=rw\nsize=1m\n{line}\n"), "x.fio");
    let file = job("rwmixwrite=12.5").unwrap();
    assert!(file.notes().iter().any(|note| note.why.contains("`12.5` is 12, as in fio")), "{:?}", file.notes());
    assert!(job("rwmixwrite=12").unwrap().notes().is_empty());
    for refused in ["rwmixwrite=12.", "rwmixwrite=.5", "rwmixwrite=100.5x", "rwmixwrite=101.0", "bs=1.5k", "size=1.5m"]
    {
        assert!(job(refused).is_err(), "{refused}");
    }
}

#[test]
fn each_error_says_where_and_what_and_what_would_be_right() {
    for (line, place, words) in LINES {
        let error = first_error(&format!("[j]\nsize=1m\ndirect=1\n{line}\n"));
        assert!(error.contains(&format!("my.fio:{place}\n")), "{line}: not at {place}:\n{error}");
        for word in *words {
            assert!(error.contains(word), "{line}: does not say {word}:\n{error}");
        }
    }
}

#[test]
fn all_errors_of_a_file_come_together_in_the_order_of_its_lines() {
    let text = "[a]\nsize=1x\ndirect=1\n[b]\nsize=1m\ninvalidate=2\n[c]\nrw=raed\ndirect=1\nopendir=no\n[d\n";
    let errors = JobFile::parse(text, "my.fio").unwrap_err();
    let places: Vec<String> = errors.problems.iter().map(|p| p.place.to_string()).collect();
    assert_eq!(places, ["2:6", "6:12", "8:4", "10:1", "11:1"]);
}

#[test]
fn a_value_that_cannot_be_read_is_one_problem_not_two() {
    for line in ["direct=x", "direct=1\ntime_based\nruntime=x", "direct=1\nbs=x"] {
        let errors = JobFile::parse(&format!("[a]\nsize=1m\n{line}\n"), "my.fio").unwrap_err();
        assert_eq!(errors.problems.len(), 1, "{errors}");
    }
}

#[test]
fn a_run_of_very_many_files_or_processes_is_refused_with_the_limit() {
    let error = first_error(
        "[a]\ndirect=1\nfilesize=4k\nnrfiles=60000\n[b]\ndirect=1\nfilesize=4k\nnrfiles=100\nnumjobs=500\n",
    );
    assert!(error.contains("8:1") && error.contains("job `b` makes more than 100000 files in all"), "{error}");
    let error = first_error("[a]\ndirect=1\nsize=4k\nnumjobs=1000000000\n");
    assert!(error.contains("1 to 16384"), "{error}");
    let error = first_error("[a]\ndirect=1\nfilesize=1p\nnrfiles=100000\n");
    assert!(error.contains("does not fit on the disk"), "{error}");
}

#[test]
fn an_option_before_any_section_is_outside() {
    let error = first_error("rw=read\n[a]\ndirect=1\nsize=4k\n");
    assert!(error.contains("my.fio:1:1") && error.contains("outside any section"), "{error}");
}

#[test]
fn a_file_without_jobs_says_so() {
    for text in ["", "; nothing\n", "[global]\nrw=read\n"] {
        assert!(first_error(text).contains("no job is defined"), "{text}");
    }
}

#[test]
fn rate_and_rate_iops_exclude_each_other() {
    let error = first_error("[a]\ndirect=1\nsize=1m\nrate=1m\nrate_iops=5\n");
    assert!(error.contains("my.fio:5:1") && error.contains("both `rate` and `rate_iops`"), "{error}");
}

#[test]
fn a_job_without_file_or_size_is_told_what_to_say() {
    let error = first_error("[a]\ndirect=1\n");
    assert!(error.contains("my.fio:1:2") && error.contains("filename=/dev/"), "{error}");
    let error = first_error("[a]\ndirect=1\nsize=20%\n");
    assert!(error.contains("my.fio:3:1") && error.contains("does not exist yet"), "{error}");
}

#[test]
fn a_region_behind_the_end_of_the_disk_is_an_error_at_the_offset() {
    let error = first_error("[a]\ndirect=1\nfilename=/dev/sda\noffset=2g\n");
    assert!(error.contains("my.fio:4:1") && error.contains("smaller than one block"), "{error}");
}

#[test]
fn too_many_processes_are_refused_with_the_limit() {
    let error = first_error("[global]\ndirect=1\nsize=4k\nnumjobs=9000\n[a]\n[b]\n");
    assert!(error.contains("more than 16384 processes"), "{error}");
    assert_eq!(error.matches("error").count(), 1, "{error}");
}

#[test]
fn excerpts_show_the_line_and_the_word() {
    let error = first_error("[reader]\nsize=1 ; typo\ndirect = 2 ; typo\n");
    let expected = "\
error: `2` is not a value for `direct`
 --> my.fio:3:10
  |
3 | direct = 2 ; typo
  |          ^ expected 0 or 1";
    assert_eq!(error, expected);
}

#[test]
fn options_without_effect_are_noted_with_their_place_and_reason() {
    let text = "[global]\nthread\n[a]\ndirect=1\nsize=4k\n mem_align=4k\n";
    let file = JobFile::parse(text, "my.fio").unwrap_or_else(|e| panic!("{e}"));
    let notes: Vec<(&str, String)> = file.notes().iter().map(|n| (n.option, n.place.to_string())).collect();
    assert_eq!(notes, [("thread", "2:1".to_owned()), ("mem_align", "6:2".to_owned())]);
    assert!(file.notes().iter().all(|n| !n.why.is_empty()));
}

#[test]
fn several_globals_add_up_for_the_jobs_below_them() {
    let text = "[global]\ndirect=1\nsize=1m\n[a]\n[global]\nbs=64k\n[b]\n[c]\nbs=8k\n";
    let file = JobFile::parse(text, "my.fio").unwrap_or_else(|e| panic!("{e}"));
    let plan = file.plan(DISK_SECTORS).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(plan.jobs.len(), 3);
    let run = common::run(text, 1);
    let lengths: Vec<u64> = (0..3).map(|s| run.of(s)[0].length >> 10).collect();
    assert_eq!(lengths, [4, 64, 8]);
}
