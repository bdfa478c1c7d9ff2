//! Several files per job: each option flipped, the order of I/O as fio 3.33 does it where it says *tried*.

use crate::common::{DISK_SECTORS, ground, job, plan, run, run_job};
use blksched::Dir;
use blksched_workloads::FileState;
use blksched_workloads::fio::JobFile;
use blksched_workloads::host::fs::FsKind;
use blksched_workloads::host::{CallWork, HostCall, NameChange};

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// Offsets of a run \[KiB\].
fn kib(options: &str) -> Vec<u64> {
    run_job(options).offsets().iter().map(|offset| offset / KIB).collect()
}

/// The index of the file of `length` \[KiB\] that each I/O went to; files are consecutive.
fn files(options: &str, length: u64) -> Vec<u64> {
    kib(options).iter().map(|offset| offset / length).collect()
}

#[test]
fn option_filename_of_several_files_takes_turns_at_them() {
    // Tried: a 0, b 0, a 4096, b 4096 …, each with half of the size.
    let b = 512 * KIB;
    assert_eq!(kib("filename=a:b size=16k"), [0, b, 4, b + 4]);
    assert_eq!(kib("filename=a\\:b size=16k"), [0, 4, 8, 12]);
    assert_eq!(kib("filename=/dev/sda:/dev/sdb size=16k"), [0, 0, 4, 4]);
}

#[test]
fn option_nrfiles_parts_the_size_in_whole_blocks() {
    // Tried: 32k in three files is 8k in each.
    assert_eq!(kib("size=32k nrfiles=3"), [0, 8, 16, 4, 12, 20]);
    assert_eq!(kib("size=32k"), (0..8).map(|n| 4 * n).collect::<Vec<_>>());
    assert_eq!(kib("size=32k nr_files=3 offset=4k"), [4, 16, 28, 8, 20, 32], "the offset is each file's");
    let plan = plan("[a]\ndirect=1\nsize=8k\nnrfiles=2\nnumjobs=2\n");
    let got: Vec<(&str, u32, u64)> =
        plan.jobs.iter().map(|j| (ground(j).name.as_str(), ground(j).count, ground(j).start.0 * 512 / MIB)).collect();
    assert_eq!(got, [("a.0.0", 2, 0), ("a.1.0", 2, 512)], "each process has its own, which lie together");
}

#[test]
fn files_start_over_together_and_random_ones_in_the_same_order() {
    // Tried.
    assert_eq!(kib("size=16k nrfiles=2 io_size=24k"), [0, 8, 4, 12, 0, 8]);
    assert_eq!(kib("size=16k nrfiles=2 loops=2"), [0, 8, 4, 12, 0, 8, 4, 12]);
    let random = kib("rw=randread size=96k nrfiles=3 io_size=192k");
    let (first, second) = random.split_at(24);
    assert_eq!(first, second);
    let mut sorted = first.to_vec();
    sorted.sort_unstable();
    assert_eq!(sorted, (0..24).map(|n| 4 * n).collect::<Vec<_>>(), "every block of every file once");
    assert_ne!(first[..8], sorted[..8]);
}

#[test]
fn option_openfiles_bounds_how_many_take_turns() {
    // Tried.
    assert_eq!(files("size=32k nrfiles=4 openfiles=2", 8), [0, 1, 0, 1, 2, 3, 2, 3]);
    assert_eq!(files("size=32k nrfiles=4", 8), [0, 1, 2, 3, 0, 1, 2, 3]);
    let random = files("size=64k nrfiles=8 openfiles=1 file_service_type=random", 8);
    assert!(random.chunks(2).all(|pair| pair[0] == pair[1]), "{random:?}");
}

#[test]
fn option_file_service_type_says_which_file_is_next() {
    // Tried.
    assert_eq!(files("size=32k nrfiles=3 file_service_type=roundrobin:2", 8), [0, 0, 1, 1, 2, 2]);
    assert_eq!(files("size=32k nrfiles=3 file_service_type=sequential", 8), [0, 0, 1, 1, 2, 2]);
    let random = files("size=256k nrfiles=4 file_service_type=random:4", 64);
    assert!(random.chunks(4).all(|run| run.iter().all(|file| *file == run[0])), "{random:?}");
    assert_ne!(random, files("size=256k nrfiles=4 file_service_type=roundrobin:4", 64));
    let mut sorted = random.clone();
    sorted.sort_unstable();
    assert!(sorted.chunks(16).enumerate().all(|(file, run)| run.iter().all(|f| *f == file as u64)), "each once");
}

#[test]
fn option_file_service_type_may_prefer_some_files() {
    let share_of_the_favourite = |kind: &str| {
        let drawn = files(&format!("size=8m nrfiles=64 number_ios=4000 file_service_type={kind}"), 128);
        let count = |file| drawn.iter().filter(|drawn| **drawn == file).count();
        (0..64).map(count).max().unwrap_or(0)
    };
    let [random, zipf, pareto, normal, gauss] =
        ["random", "zipf:1.5", "pareto:0.1", "normal:5", "gauss:5"].map(share_of_the_favourite);
    assert!(random == 32 && zipf > 700 && pareto > 700 && normal > 200, "{random} {zipf} {pareto} {normal}");
    assert_eq!(normal, gauss);
}

#[test]
fn option_filesize_is_each_files_length_and_leaves_size_to_the_run() {
    assert_eq!(run_job("filesize=16k").bytes(Dir::Read), 16 * KIB);
    assert_eq!(run_job("filesize=16k nrfiles=4").bytes(Dir::Read), 64 * KIB);
    // Tried: four files of 16k, of which 8k are read in all.
    assert_eq!(kib("filesize=16k nrfiles=4 size=8k"), [0, 16]);
    assert_eq!(kib("filesize=8k size=16k"), [0, 4], "tried");
    assert_eq!(kib("filesize=16k offset=8k"), [8, 12]);
}

#[test]
fn option_filesize_draws_from_a_range_by_the_files_name() {
    let lengths = |options: &str| {
        let run = run_job(&format!("nrfiles=40 file_service_type=sequential filesize=4k-64k {options}"));
        let starts = run.offsets().windows(2).filter(|pair| pair[1] != pair[0] + 4 * KIB).count();
        (run.submitted.len() as u64, starts)
    };
    let (blocks, _) = lengths("");
    assert!((40 * 6..40 * 11).contains(&blocks), "8.5 blocks on average, not {}", blocks / 40);
    assert_eq!(lengths(""), lengths(""));
    assert_ne!(lengths("").0, lengths("randseed=7").0);
}

#[test]
fn option_directory_of_several_is_taken_in_turn_by_processes() {
    let text = "[a]\ndirect=1\nsize=4k\nnumjobs=3\ndirectory=x:y\n";
    let names: Vec<String> = plan(text).jobs.iter().map(|j| ground(j).name.clone()).collect();
    assert_eq!(names, ["x/a.0.0", "y/a.1.0", "x/a.2.0"]);
    let named = plan(&format!("{text}filename=f\n"));
    assert!(named.jobs.iter().all(|j| ground(j).name == "x/f"), "clones share a named file");
}

#[test]
fn option_fill_device_writes_until_the_disk_is_full() {
    let full = run_job("rw=write bs=1m size=4m fill_device=1");
    assert_eq!(full.bytes(Dir::Write), DISK_SECTORS * 512);
    assert_eq!(run_job("rw=write bs=1m size=4m fill_fs=0").bytes(Dir::Write), 4 * MIB);
    assert_eq!(plan(&job("fill_device=1")).notes.len(), 1);
}

#[test]
fn option_create_only_does_no_io() {
    assert_eq!(run_job("size=64k create_only=1").submitted.len(), 0);
    assert_eq!(run_job("size=64k create_only=0").submitted.len(), 16);
    let behind = run("[a]\ndirect=1\nsize=4k\ncreate_only=1\n[b]\nstonewall\ndirect=1\nsize=4k\n", 1);
    assert_eq!(behind.times_ms(), [0]);
}

#[test]
fn option_zonemode_strided_uses_stretches_of_the_file() {
    let strided = "size=64k bs=4k zonemode=strided zonesize=8k zoneskip=8k";
    let once = [0, 4, 16, 20, 32, 36, 48, 52];
    assert_eq!(kib(strided), [once, once].concat(), "as much as its size says (tried)");
    assert_eq!(kib(&format!("{strided} io_size=32k")), once);
    assert_eq!(kib(&strided.replace("=strided", "=none")), kib("size=64k"));
    let mut random = kib(&format!("rw=randread {strided} io_size=32k"));
    assert!(random.chunks(2).enumerate().all(|(zone, two)| two.iter().all(|at| at / 16 == zone as u64)), "{random:?}");
    random.sort_unstable();
    assert_eq!(random, once);
}

#[test]
fn option_zonesize_is_how_much_goes_to_a_zone() {
    assert_eq!(kib("size=32k io_size=8k zonemode=strided zonesize=4k zonerange=16k"), [0, 16]);
    assert_eq!(kib("size=32k io_size=16k zonemode=strided zonesize=8k zonerange=16k"), [0, 4, 16, 20]);
}

#[test]
fn option_zonerange_is_a_zones_length() {
    assert_eq!(kib("size=32k zonemode=strided zonesize=8k"), kib("size=32k"));
    assert_eq!(kib("size=32k zonemode=strided zonesize=8k zonerange=8k"), kib("size=32k"));
    assert_eq!(
        kib("size=32k zonemode=strided zonesize=8k zonerange=4k"),
        [0, 0, 4, 4, 8, 8, 12, 12],
        "tried: twice 8k of a zone of 4k"
    );
}

#[test]
fn option_zoneskip_is_the_gap_between_zones() {
    assert_eq!(kib("size=24k io_size=12k zonemode=strided zonesize=4k zoneskip=4k"), [0, 8, 16]);
    assert_eq!(kib("size=24k io_size=8k zonemode=strided zonesize=4k zoneskip=50%"), [0, 16]);
}

/// What is in each file when a run on ext4 begins.
fn states(options: &str) -> Vec<FileState> {
    plan(&format!("[a]\n; blksched: fs=ext4\nsize=1m\n{options}\n")).files.iter().map(|file| file.state).collect()
}

#[test]
fn option_fallocate_says_whether_a_new_file_has_places() {
    assert_eq!(states("rw=write"), [FileState::Unwritten]);
    assert_eq!(states("rw=write\nfallocate=none"), [FileState::Empty]);
    assert_eq!(states("rw=read\nfallocate=none"), [FileState::Written], "fio lays out what is read");
}

#[test]
fn option_overwrite_lays_a_written_file_out() {
    assert_eq!(states("rw=randwrite\noverwrite=1\nfallocate=none"), [FileState::Written]);
}

#[test]
fn without_extents_a_new_file_is_empty_and_a_job_of_direct_io_on_data_journal_goes_through_memory() {
    for (fs, state) in [("ext4", FileState::Unwritten), ("ext3", FileState::Empty), ("ext2", FileState::Empty)] {
        let plan = plan(&format!("[a]\n; blksched: fs={fs}\nrw=write\nsize=1m\n"));
        assert_eq!(plan.files.iter().map(|file| file.state).collect::<Vec<_>>(), [state], "{fs}");
    }
    let journals = plan("[a]\n; blksched: fs=ext3:data=journal\nrw=randwrite\ndirect=1\nsize=1m\n");
    let note = journals.notes.iter().find(|note| note.option == "direct").expect("a note");
    assert!(note.why.contains("ext3 has no direct I/O"), "{}", note.why);
}

#[test]
fn option_fs_puts_files_behind_each_other_and_behind_the_metadata() {
    let on = |fs: &str| plan(&format!("[a]\n; blksched: fs={fs}\nrw=read\nsize=1m\nnumjobs=2\n"));
    let (ext4, none) = (on("ext4"), on("none"));
    assert_eq!((ext4.fs, ext4.files.len()), (FsKind::Ext4.into(), 2));
    assert!(none.files.is_empty() && ground(&none.jobs[0]).start.0 == 0);
    let start = |nth: usize| ground(&ext4.jobs[nth]).start.0 * 512;
    assert!(start(0) > 0 && start(1) == start(0) + MIB);
    let mounted = on("ext4:data=writeback,commit=30,noatime").fs;
    assert_eq!(mounted.to_string(), "ext4:data=writeback,commit=30");
}

#[test]
fn a_file_system_that_a_job_contradicts_is_an_error_with_its_line() {
    let error = |text: &str| JobFile::parse(text, "a.fio").unwrap().plan(DISK_SECTORS).unwrap_err().to_string();
    let raw = error("[a]\nfilename=/dev/sda\n; blksched: fs=xfs\n");
    assert!(raw.contains("a.fio:3") && raw.contains("raw device"), "{raw}");
    let two = error("[a]\n; blksched: fs=xfs\nsize=1m\n[b]\n; blksched: fs=ext4\nsize=1m\n");
    assert!(two.contains("a.fio:5") && two.contains("another file system"), "{two}");
    let unknown = JobFile::parse("[a]\n; blksched: fs=btrfs\nsize=1m\n", "a.fio").unwrap_err().to_string();
    assert!(unknown.contains("not modelled: ext4, xfs, ext3, ext2 and none are"), "{unknown}");
    let colon = JobFile::parse("[a]\n; blksched: fs=xfs commit=5\nsize=1m\n", "a.fio").unwrap_err().to_string();
    assert!(colon.contains("`xfs commit=5` is not understood"), "{colon}");
    let unknown = JobFile::parse("[a]\n; blksched: fs=ext4:comit=9\nsize=1m\n", "a.fio").unwrap_err().to_string();
    assert!(unknown.contains("a.fio:2") && unknown.contains("expected data, commit, barrier"), "{unknown}");
    assert!(unknown.contains("did you mean `commit`?"), "{unknown}");
}

#[test]
fn option_lockfile_is_of_no_consequence_for_own_files_and_refused_for_shared_ones() {
    let own = |lock: &str| run_job(&format!("rw=write size=64k nrfiles=2 lockfile={lock}")).submitted;
    assert_eq!(own("exclusive"), own("none"));
    let shared = JobFile::parse("[j]\nsize=1m\nfilename=a\nlockfile=readwrite\n", "j.fio");
    assert!(shared.unwrap_err().to_string().contains("for a file that jobs may share"));
}

#[test]
fn option_nowait_is_refused_where_it_would_matter() {
    assert_eq!(run_job("rw=read size=64k nowait=0").submitted.len(), 16);
    let fails = JobFile::parse("[j]\nsize=1m\nnowait=1\n", "j.fio").unwrap_err();
    assert!(fails.to_string().contains("would have to wait is refused"), "{fails}");
}

/// Each call of a job of four files of 8 KiB on ext4: o(pen that makes a file), u(nlink), w(rite), s(ync), and its
/// file.
fn named(options: &str) -> String {
    let options = options.replace(' ', "\n");
    let job = format!("[a]\n; blksched: fs=ext4\nrw=write\nnrfiles=4\nfilesize=8k\nsize=32k\n{options}\n");
    let calls = run(&job, 1).calls;
    let mut starts: Vec<u64> = calls.iter().map(|call| call.file.start.0).collect();
    starts.sort_unstable();
    starts.dedup();
    let letter = |call: &HostCall| match call.work {
        CallWork::Name(NameChange::Create(_)) => 'o',
        CallWork::Name(NameChange::Unlink(_)) => 'u',
        CallWork::Sync => 's',
        _ => 'w',
    };
    let file = |call: &HostCall| starts.binary_search(&call.file.start.0).unwrap();
    calls.iter().map(|call| format!("{}{} ", letter(call), file(call))).collect()
}

#[test]
fn option_create_on_open_makes_a_file_when_it_is_first_used() {
    // Tried, as all that follows: open with O_CREAT before the first write of each.
    assert_eq!(named("create_on_open=1"), "o0 w0 o1 w1 o2 w2 o3 w3 w0 w1 w2 w3 ");
    let in_sequence = named("create_on_open=1 openfiles=1 file_service_type=sequential fsync_on_close=1");
    assert_eq!(in_sequence, "o0 w0 w0 s0 o1 w1 w1 s1 o2 w2 w2 s2 o3 w3 w3 s3 ");
    let state = |options: &str| plan(&format!("[a]\n; blksched: fs=ext4\nsize=8k\n{options}\n")).files[0].state;
    assert_eq!(state("rw=write\ncreate_on_open=1"), FileState::Empty);
    assert_eq!(state("rw=read\ncreate_on_open=1"), FileState::Written, "there is nothing to read otherwise");
    assert!(
        !run("[a]\n; blksched: fs=none\nrw=write\nsize=8k\ncreate_on_open=1", 1)
            .calls
            .iter()
            .any(|call| { matches!(call.work, CallWork::Name(_)) })
    );
}

#[test]
fn option_unlink_removes_the_files_when_the_job_is_done() {
    assert_eq!(named("unlink=1"), "w0 w1 w2 w3 w0 w1 w2 w3 u0 u1 u2 u3 ");
    assert_eq!(named("unlink=1 end_fsync=1 nrfiles=1 size=8k"), "w0 w0 s0 u0 ");
    let read = run("[a]\n; blksched: fs=ext4\nrw=read\nsize=8k\nunlink=1", 1).calls;
    let last = read.last().map(|call| call.work);
    assert!(matches!(last, Some(CallWork::Name(NameChange::Unlink(_)))), "also what was only read: {last:?}");
}

#[test]
fn option_unlink_each_loop_has_the_next_pass_make_them_anew() {
    let pass = "o0 w0 o1 w1 o2 w2 o3 w3 w0 w1 w2 w3 u0 u1 u2 u3 ";
    assert_eq!(named("create_on_open=1 unlink_each_loop=1 loops=2"), pass.repeat(2));
    let existing = named("unlink_each_loop=1 loops=2");
    assert_eq!(existing, format!("w0 w1 w2 w3 w0 w1 w2 w3 u0 u1 u2 u3 {pass}"));
    let direct = run("[a]\n; blksched: fs=ext4\nrw=write\nsize=8k\nbs=4k\ndirect=1\nloops=2\nunlink_each_loop=1", 1);
    assert_eq!(direct.calls.len(), 3, "removed, made anew, removed");
}
