//! No input panics: valid files, mutated at random by byte and by line, and arbitrary bytes.

use blksched_workloads::BUILTINS;
use blksched_workloads::fio::{fuzz_parse, options};
use proptest::prelude::*;

/// A file whose job replays a trace, which most other options contradict.
const REPLAY: &str = "\
[r]
direct=1
read_iolog=x.bin
replay_no_stall=1
replay_time_scale=200
replay_scale=2
replay_align=4k
replay_skip=trim,sync
";
/// A file that uses every other supported option.
const EVERYTHING: &str = "\
; everything
[global]
direct=1
buffered=0
invalidate=0
pre_read
fadvise_hint=random
size=10%
filename=/dev/sda
rwmixread=30
rwmixwrite=60
[a b]
name=n
description=d # c
rw=randrw
bs=4k,8k
bs_is_seq_rand=1
offset=1m
offset_increment=1m
numjobs=3
group_reporting
randseed=0x10
thinktime=5ms
thinktime_blocks=2
rate=1m,500k
io_size=1m
loops=2
[c]
stonewall
new_group=1
ioengine=libaio
iodepth=16
startdelay=1-3s
runtime=10
time_based
rate_iops=10,20
prio=3
prioclass=1
number_ios=100
norandommap
randrepeat=0
allrandrepeat=1
directory=/x\\:y
[v]
rw=write
size=1m
verify=md5
verify_only
[d]
kb_base=1024
rw=randrw:4
rw_sequencer=identical
bsrange=4k-64k
bssplit=4k/50:8k/,16k
blockalign=(4*1024)
offset_align=$pagesize
percentage_random=50,60
random_distribution=zipf:1.2:0.5
fallocate=none
lockfile=none
nowait=0
overwrite=1
fs=none
fsync=3
fdatasync=4
end_fsync=1
fsync_on_close=1
create_on_open=1
unlink=1
unlink_each_loop=1
verify=crc32c
do_verify=1
bs_unaligned=1
file_append=1
sync_file_range=wait_before,write:4
sync=dsync
ioengine=libaio
iodepth=16
iodepth_batch=4
iodepth_batch_complete_min=2
iodepth_batch_complete_max=8
iodepth_low=3
cmdprio_percentage=30
cmdprio_class=2
cmdprio=3
rate_process=poisson
nice=-3
cpus_allowed=0-3
cpus_allowed_policy=split
cpumask=15
wait_for=c
filename_format=$jobname.$jobnum
[e]
registerfiles
fixedbufs
hipri=0
sqthread_poll=0
sqthread_poll_cpu=1
cgroup=a
cgroup_weight=300
cgroup_files=io.max: rbps=1048576
cgroup_files_if_asked=io.max: rbps=1048576
cmd_type=nvme
sg_write_mode=verify_bytchk_01
zonemode=none
zonesize=1m
zonerange=2m
zoneskip=3m
latency_target=1s
latency_window=1s
latency_percentile=99.9
latency_run=0
nrfiles=3
ramp_time=1ms
exitall=0
exit_what=stonewall
exitall_on_error=0
continue_on_error=read
ignore_error=EIO,ENOSPC
rate_min=1
rate_iops_min=0
rate_cycle=500
max_latency=1s
rate_ignore_thinktime=1

thinktime_blocks_type=issue
thinktime_iotime=1
flow=3
flow_id=7
flow_sleep=100
io_submit_mode=offload
disable_slat=0
disable_clat=1
disable_lat=0
disable_bw_measurement=1
gtod_reduce=0
slat_percentiles=1
clat_percentiles=1
lat_percentiles=1
percentile_list=50:99.9
unified_rw_reporting=both
stats=1
write_bw_log
write_lat_log=x
write_iops_log=y
log_avg_msec=10
log_max_value=1
log_offset=1
log_prio=1
per_job_logs=0
openfiles=2
file_service_type=zipf:1.2
filesize=4k-64k
fill_device=0
create_only=0
cmdprio_bssplit=4k/50/1/2:8k/20
random_distribution=zoned:60/10:40/90
rw=read:-8k
";

fn mutate(text: &str, edits: &[(usize, u8, u8)]) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for &(at, byte, kind) in edits {
        if bytes.is_empty() {
            break;
        }
        let at = at % bytes.len();
        match kind % 5 {
            0 => bytes[at] = byte,
            1 => bytes.insert(at, byte),
            2 => drop(bytes.remove(at)),
            3 => bytes.truncate(at),
            _ => swap_lines(&mut bytes, at, usize::from(byte)),
        }
    }
    bytes
}

fn swap_lines(bytes: &mut Vec<u8>, at: usize, other: usize) {
    let mut lines: Vec<Vec<u8>> = bytes.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
    let count = lines.len();
    lines.swap(at % count, other % count);
    *bytes = lines.join(&b'\n');
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_files_never_panic(
        which in 0..BUILTINS.len() + 2,
        edits in prop::collection::vec(any::<(usize, u8, u8)>(), 1..8),
    ) {
        let ours = [EVERYTHING, REPLAY];
        let text = ours.get(which).copied().unwrap_or_else(|| BUILTINS[which - ours.len()].text);
        fuzz_parse(&mutate(text, &edits));
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        fuzz_parse(&bytes);
    }

    #[test]
    fn any_option_with_any_value_never_panics(
        option in any::<prop::sample::Index>(),
        value in "[ -~]{0,12}",
        number in any::<u64>(),
    ) {
        let all: Vec<_> = options::all_options().collect();
        let name = option.get(&all).name;
        for value in [value, number.to_string(), format!("{number}-{number}"), format!("{number}k,{}", number >> 40)] {
            fuzz_parse(format!("[global]\ndirect=1\n[j]\nsize=64k\n{name}={value}\n").as_bytes());
            fuzz_parse(format!("[j]\nfilename=/dev/sda\n{name}={value}\ndirect=1\n").as_bytes());
        }
    }
}

/// The examples of the Debian package `fio-examples`; empty, with a message, if it is not installed.
fn examples() -> Vec<String> {
    let folders = ["/usr/share/doc/fio/examples", "/usr/share/doc/fio-examples/examples"];
    let Some(entries) = folders.iter().find_map(|folder| std::fs::read_dir(folder).ok()) else {
        assert!(std::env::var_os("BLKSCHED_REQUIRE_FIO").is_none(), "no fio-examples here");
        println!("skipped: no job files here (Debian package fio-examples)");
        return Vec::new();
    };
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "fio"));
    paths.sort();
    paths.iter().filter_map(|path| std::fs::read_to_string(path).ok()).collect()
}

#[test]
fn mangled_examples_never_panic() {
    let examples = examples();
    // A generator of its own, since not every machine has the examples.
    let mut state = 1u64;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    for round in 0..4 {
        for (nth, text) in examples.iter().enumerate() {
            let edits: Vec<_> = (0..=round).map(|_| (draw(), draw() as u8, draw() as u8)).collect();
            let mut mangled = mutate(text, &edits);
            if round == 3 {
                // Two examples as one.
                mangled.extend(examples[(nth + 1 + draw()) % examples.len()].bytes());
            }
            fuzz_parse(&mangled);
        }
    }
}

#[test]
fn the_files_that_are_mutated_are_valid_and_use_every_supported_option() {
    for option in options::supported_options() {
        let line = format!("\n{}", option.name);
        assert!([EVERYTHING, REPLAY].iter().any(|text| text.contains(&line)), "{}", option.name);
    }
    let replay = blksched_workloads::fio::JobFile::parse(REPLAY, "r.fio").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(replay.traces(), ["x.bin"]);
    let file = blksched_workloads::fio::JobFile::parse(EVERYTHING, "e.fio").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(file.plan(1 << 21).unwrap_or_else(|e| panic!("{e}")).jobs.len(), 7);
}

#[test]
fn large_inputs_end_in_an_error_not_in_a_hang() {
    let size = 250 << 10;
    for piece in ["x", "x\n", "[x]\n", "rw=x\n", "[", "[x]\nsize=1t\n", "size=1,", ";", "=\n", "é"] {
        fuzz_parse(piece.repeat(size / piece.len()).as_bytes());
        fuzz_parse(format!("[j]\nfilename=/dev/a\ndirect=1\n{}", piece.repeat(size / piece.len())).as_bytes());
    }
    fuzz_parse(&vec![b'x'; 10 << 20]);
    fuzz_parse(b"[global]\ndirect=1\nsize=1p\nnumjobs=4096\nloops=99999999999\niodepth=65536\n[j]\n");
    fuzz_parse(b"[global]\ndirect=1\nfilename=/dev/a\nnumjobs=4096\noffset_increment=15000p\n[j]\n");
}
