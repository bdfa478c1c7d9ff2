//! `blksched explain`, `compare --why`, and what they write for other programs.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use blksched_testkit::Folder;
use blksched_traces::perfetto::{self, EventType};

use super::{SHORT, blksched, done, job_file, refused};

fn explained(arguments: &[&str]) -> serde_json::Value {
    let text = done(&[&["explain", "--json"], &SHORT[..], arguments].concat());
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["schema"], "blksched/explain/1");
    value
}

fn number(value: &serde_json::Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is not a number"))
}

fn temporary(name: &str) -> (String, Gone) {
    let path = std::env::temp_dir().join(format!("blksched-explain-{}-{name}", std::process::id()));
    (path.to_str().unwrap().to_owned(), Gone(path))
}

/// A file, removed when the test ends.
struct Gone(PathBuf);

impl Drop for Gone {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.0));
    }
}

#[test]
fn stories_add_up_and_the_blame_table_of_the_default_load_names_the_backup() {
    let value = explained(&["--elevator", "bfq"]);
    let stories = value["stories"].as_array().unwrap();
    assert_eq!(stories.len(), 5);
    let mut last = u64::MAX;
    for story in stories {
        let pieces = story["pieces"].as_array().unwrap();
        let sum: u64 = pieces.iter().map(|piece| number(&piece["ns"])).sum();
        assert_eq!(sum, number(&story["latency_ns"]));
        assert!(sum <= last, "the slowest first");
        last = sum;
        assert!(story["sentence"].as_str().unwrap().starts_with("waited "), "{story}");
    }
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for row in value["blame"].as_array().unwrap() {
        *sums.entry(row["who"].as_str().unwrap()).or_default() += number(&row["ns"]);
    }
    let totals = value["totals"].as_array().unwrap().iter();
    let totals: BTreeMap<&str, u64> = totals.map(|row| (row["who"].as_str().unwrap(), number(&row["ns"]))).collect();
    assert_eq!(sums, totals);
    let blamed = |fs: &str| done(&[&["explain", "--blame", "--fs", fs], &SHORT[..]].concat());
    for fs in ["none", "ext4"] {
        let text = blamed(fs);
        assert!(text.contains("Others waited most for backup, as a part of their time: "), "{fs}: {text}");
    }
    let own = explained(&["--process", "log"]);
    assert!(own["blame"].as_array().unwrap().iter().all(|row| row["who"] == "log"), "{own}");
}

#[test]
fn one_io_is_told_piece_by_piece_and_a_moment_or_a_process_chooses() {
    let slowest = explained(&["--slowest", "1"]);
    let story = &slowest["stories"][0];
    let (io, process) = (number(&story["io"]).to_string(), story["process"].as_str().unwrap());
    let text = done(&[&["explain", "--request", &io], &SHORT[..]].concat());
    assert!(text.contains("piece by piece") && text.contains(process), "{text}");
    let moment = number(&story["begun_ns"]) + number(&story["latency_ns"]) / 2;
    let there = explained(&["--at", &format!("{moment}ns")]);
    assert!(there["stories"].as_array().unwrap().iter().any(|told| told["io"] == story["io"]), "{there}");
    // A moment is not the run, which the answer is about.
    assert!(there["answer"].as_array().unwrap().is_empty() && !slowest["answer"].as_array().unwrap().is_empty());
    let own = explained(&["--process", process]);
    assert!(own["stories"].as_array().unwrap().iter().all(|told| told["process"] == process));
    let nothing = explained(&["--request", "99999999"]);
    assert!(nothing["notes"].to_string().contains("I/O 99999999 did not end in this run"), "{nothing}");
}

#[test]
fn what_cannot_be_is_refused_with_what_was_expected() {
    let with = |arguments: &[&str]| refused(&[&["explain"], &SHORT[..], arguments].concat());
    assert!(with(&["--process", "bakcup"]).contains("did you mean `backup`?"));
    assert!(with(&["--elevator", "bfq,none"]).contains("bfq,none"));
    assert!(with(&["--at", "yesterday"]).contains("--at"));
    assert!(with(&["--blame", "--request", "1"]).contains("cannot be used with"));
    let why = |two: &str| refused(&[&["compare", "--why", two], &SHORT[..]].concat());
    assert!(refused(&["compare", "--why", "bfq,none", "--threads", "1"]).contains("cannot be used with"));
    assert!(why("bfq").contains("expected two schedulers"));
    assert!(why("bfq,mq-deadlin").contains("did you mean `mq-deadline`?"));
    let unwritten = blksched(&[&["explain", "--perfetto", "/no/such/folder/x"], &SHORT[..]].concat());
    assert_eq!(unwritten.status.code(), Some(1));
}

#[test]
fn why_shows_the_first_decision_that_differs_with_both_reasons() {
    let text = done(&[&["compare", "--why", "mq-deadline,bfq"], &SHORT[..]].concat());
    assert!(text.contains("the next one differs"), "{text}");
    assert!(text.contains("\nmq-deadline at ") && text.contains("\nbfq at "), "{text}");
    let same = done(&[&["compare", "--why", "mq-deadline,mq-deadline"], &SHORT[..]].concat());
    assert!(same.contains("decide alike for the whole run"), "{same}");
    let json = done(&[&["compare", "--why", "mq-deadline,bfq", "--json"], &SHORT[..]].concat());
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    let at = |side: usize| (number(&value["sides"][side]["sent"]["at_ns"]), value["sides"][side]["sent"].to_string());
    assert_ne!(at(0), at(1));
}

/// Direct I/O, so that every I/O is carried by commands.
fn direct() -> String {
    let jobs = "[global]\ndirect=1\nsize=64m\nnumber_ios=80\n[a]\nrw=randrw\nioengine=libaio\niodepth=8\nbs=8k\n\
                [b]\nrw=read\nbs=64k\nnumjobs=2\n[c]\nrw=write\nbs=4k\nioengine=libaio\niodepth=4\nfsync=16\n";
    job_file("explain.fio", jobs)
}

#[test]
fn the_picture_keeps_the_rules_of_its_format() {
    let jobs = direct();
    for (elevator, time) in
        [("mq-deadline", "3600s"), ("bfq", "3600s"), ("cfq", "3600s"), ("none", "3600s"), ("kyber", "1s")]
    {
        let (file, _gone) = temporary(&format!("{elevator}.pftrace"));
        done(&["simulate", &jobs, "--elevator", elevator, "--time", time, "--perfetto", &file]);
        let trace = perfetto::read(std::fs::File::open(&file).unwrap()).unwrap();
        let mut tracks = BTreeMap::new();
        let mut open: BTreeMap<u64, Vec<(u64, String)>> = BTreeMap::new();
        let mut flows: BTreeMap<u64, (u32, u32)> = BTreeMap::new();
        let mut events = Vec::new();
        for packet in &trace.packet {
            assert_eq!(packet.trusted_packet_sequence_id, Some(1));
            if let Some(track) = &packet.track_descriptor {
                let parent = track.parent_uuid;
                assert!(parent.is_none_or(|parent| tracks.contains_key(&parent)), "a parent is told before");
                assert!(tracks.insert(track.uuid.unwrap(), track.clone()).is_none(), "a track is told once");
            }
            if let Some(event) = &packet.track_event {
                events.push((packet.timestamp.expect("every event has a moment"), event));
            }
        }
        // Sorted like a reader does: by time, and equals in the file's order.
        events.sort_by_key(|(at, _)| *at);
        let mut slices = 0;
        for (at, event) in events {
            let track = event.track_uuid.unwrap();
            assert!(tracks.contains_key(&track), "{elevator}: an event on track {track}, which nobody told");
            match event.r#type() {
                EventType::SliceBegin => {
                    open.entry(track).or_default().push((at, event.name.clone().expect("a slice has a name")));
                    slices += 1;
                }
                EventType::SliceEnd => {
                    let (began, name) = open.entry(track).or_default().pop().expect("what ends has begun");
                    assert!(began <= at, "{name}");
                }
                EventType::Counter => assert!(event.counter_value.is_some_and(|value| value >= 0)),
                EventType::Instant | EventType::Unspecified => {}
            }
            event.flow_ids.iter().for_each(|flow| flows.entry(*flow).or_default().0 += 1);
            event.terminating_flow_ids.iter().for_each(|flow| flows.entry(*flow).or_default().1 += 1);
        }
        assert!(open.values().all(Vec::is_empty), "{elevator}: slices that do not close: {open:?}");
        assert!(flows.values().all(|&(_, ends)| ends == 1), "{elevator}: each flow ends once");
        if time == "1s" {
            // Cut off: some have not ended.
            continue;
        }
        assert!(slices > 1000 && flows.len() > 300, "{elevator}: {slices} slices, {} flows", flows.len());
        let carried = flows.values().filter(|(through, _)| *through >= 2).count();
        // An fsync of direct I/O is carried by no command of its own.
        assert!(carried + 10 >= flows.len(), "{elevator}: {carried} of {} reach a command", flows.len());
    }
}

#[test]
fn the_block_trace_is_read_by_ourselves_and_by_blkparse_and_btt_without_complaint() {
    let jobs = direct();
    for elevator in ["bfq", "mq-deadline", "deadline@2.6.33"] {
        let (file, _gone) = temporary(&format!("{elevator}.blktrace.0"));
        done(&["simulate", &jobs, "--elevator", elevator, "--blktrace", &file]);
        let events = blksched_traces::blktrace::read(std::fs::File::open(&file).unwrap()).unwrap();
        assert!(events.is_sorted_by_key(|event| event.time), "{elevator}");
        let letters: BTreeMap<&str, usize> = events.iter().fold(BTreeMap::new(), |mut counts, event| {
            *counts.entry(event.action.letter()).or_default() += 1;
            counts
        });
        let count = |letter: &str| letters.get(letter).copied().unwrap_or(0);
        assert_eq!(count("D"), count("C"), "{elevator}: {letters:?}");
        assert!(["Q", "G", "P", "U", "I", "m"].iter().all(|letter| count(letter) > 0), "{elevator}: {letters:?}");
        let info = done(&["trace", "info", &file]);
        assert!(info.contains("blktrace"), "{info}");
        let (dump, _gone) = temporary(&format!("{elevator}.dump"));
        let stem = file.trim_end_matches(".blktrace.0");
        let Ok(parsed) = blksched_testkit::output(Command::new("blkparse").args(["-i", stem, "-d", &dump, "-q"]))
        else {
            println!("skipped: there is no blkparse here");
            continue;
        };
        let said = String::from_utf8_lossy(&parsed.stdout).into_owned() + &String::from_utf8_lossy(&parsed.stderr);
        assert!(parsed.status.success(), "{said}");
        assert!(!said.to_lowercase().contains("error") && !said.contains("bad") && !said.contains("unknown"), "{said}");
        // It leaves files in its working directory.
        let folder = Folder::new();
        let btt = blksched_testkit::output(Command::new("btt").args(["-i", &dump]).current_dir(&*folder))
            .expect("btt comes with blkparse");
        let told = String::from_utf8_lossy(&btt.stdout).into_owned();
        assert!(btt.status.success() && btt.stderr.is_empty(), "{}", String::from_utf8_lossy(&btt.stderr));
        assert!(told.contains("D2C") && told.contains("Q2C"), "{told}");
    }
}

#[test]
fn the_block_trace_tells_of_merges() {
    let (file, _gone) = temporary("stream.blktrace.0");
    let stream = ["--name=a", "--rw=read", "--ioengine=libaio", "--iodepth=32", "--size=4m", "--direct=1"];
    done(&[&["simulate"], &stream[..], &["--elevator", "mq-deadline", "--blktrace", &file]].concat());
    let events = blksched_traces::blktrace::read(std::fs::File::open(&file).unwrap()).unwrap();
    assert!(events.iter().any(|event| ["M", "F"].contains(&event.action.letter())), "nothing merged in a deep stream");
}

/// The recording of a queue of one command at a time, whose driver logs what it does.
fn server_recording(name: &str) -> (String, Gone) {
    use blksched::{Bio, Catalogue, Instant, Next, Outcome, QueueConfig, Sector, SubmitterId};
    let (file, gone) = temporary(name);
    let lines = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
    let sink = lines.clone();
    let sink = Box::new(move |record: &blksched_traces::call_log::Record| {
        *sink.lock().unwrap() += &(record.to_json() + "\n");
    });
    let choice = Catalogue::builtin().parse("mq-deadline").unwrap();
    let config = QueueConfig { depth: 1, ..QueueConfig::default() };
    let mut queue =
        blksched_traces::calls::LoggedQueue::new(config, &choice, blksched::reasons::NoListener, Some(sink));
    let at = |us: u64| Instant::from_ns(us * 1000);
    for tag in 0..4u64 {
        let bio = Bio::read(1000 + tag, SubmitterId(tag as u32 % 2), Sector(tag * 100_000), 8);
        queue.submit(at(tag), bio);
        queue.waits(at(tag), bio.submitter);
    }
    let mut now = 10;
    while let Next::Issue(command) = queue.next(at(now)) {
        now += 1000;
        queue.complete(at(now), command, Outcome::Ok);
        queue.deliveries(at(now)).for_each(drop);
    }
    let header = serde_json::to_string(queue.header()).unwrap();
    std::fs::write(&file, header + "\n" + &lines.lock().unwrap()).unwrap();
    (file, gone)
}

#[test]
fn a_servers_recording_is_explained_and_drawn() {
    let (file, _gone) = server_recording("server.calls");
    let (picture, _gone) = temporary("server.pftrace");
    let text = done(&["explain", &file, "--json", "--perfetto", &picture]);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let stories = value["stories"].as_array().unwrap();
    assert_eq!((stories.len(), value["scheduler"].as_str()), (4, Some("mq-deadline")));
    // The last of four commands of 1 ms each: three went ahead.
    let slowest = &stories[0];
    assert_eq!(number(&slowest["latency_ns"]), 4_007_000, "{slowest}");
    let of = |what: &str| {
        let pieces = slowest["pieces"].as_array().unwrap().iter();
        pieces.filter(|piece| piece["what"] == what).map(|piece| number(&piece["ns"])).sum::<u64>()
    };
    assert_eq!(of("transfer"), 1_000_000, "{slowest}");
    assert_eq!(of("a batch of reads") + of("in the drive already when it came"), 3_000_000, "{slowest}");
    assert!(perfetto::read(std::fs::File::open(&picture).unwrap()).unwrap().packet.len() > 20);
    assert!(refused(&["explain", &file, "--elevator", "bfq"]).contains("as it was made"));
    assert!(refused(&["explain", &file, "--host", "cpu=off"]).starts_with("error: --host: "));
    let damaged = std::fs::read_to_string(&file).unwrap().replacen("\"call\":\"next\"", "\"call\":\"nxt\"", 1);
    std::fs::write(&file, damaged).unwrap();
    assert!(refused(&["explain", &file]).contains("nxt"));
}

#[test]
#[ignore = "slow: makes a Python environment with Perfetto's own classes"]
fn perfettos_own_classes_decode_the_picture() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("perfetto");
    let python = folder.join("bin/python");
    let ran = |command: &mut Command| blksched_testkit::output(command).is_ok_and(|output| output.status.success());
    let has = |python: &PathBuf| ran(Command::new(python).args(["-c", "import perfetto"]));
    if !has(&python) {
        let made = ran(Command::new("python3").args(["-m", "venv"]).arg(&folder));
        if !made || !ran(Command::new(folder.join("bin/pip")).args(["install", "--quiet", "perfetto==0.59.1"])) {
            println!("skipped: the Python package perfetto cannot be had here");
            return;
        }
    }
    let (file, _gone) = temporary("classes.pftrace");
    done(&["simulate", &direct(), "--elevator", "bfq", "--perfetto", &file]);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/command/picture.py");
    let output = blksched_testkit::output(Command::new(&python).args([script, &file])).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Perfetto's own query engine, where it is installed (no package registry has it).
#[test]
fn trace_processor_finds_no_open_slice_and_both_ends_of_every_flow() {
    let query = "select (select count(*) from slice where dur >= 0), (select count(*) from slice where dur < 0), \
                 (select count(*) from flow), (select count(*) from stats where severity = 'error' and value > 0)";
    let is_there = |name: &&str| blksched_testkit::output(Command::new(name).arg("--version")).is_ok();
    let Some(program) = ["trace_processor_shell", "trace_processor"].into_iter().find(is_there) else {
        println!("skipped: there is no trace_processor here: no package registry has it, Perfetto's releases do");
        return;
    };
    let (picture, _gone) = temporary("queried.pftrace");
    let (asked, _gone_too) = temporary("query.sql");
    std::fs::write(&asked, query).unwrap();
    done(&["simulate", &direct(), "--elevator", "bfq", "--perfetto", &picture]);
    let output = blksched_testkit::output(Command::new(program).args(["--query-file", &asked, &picture])).unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let row = text.lines().last().expect("a row of numbers");
    let numbers: Vec<u64> = row.split(',').map(|number| number.trim_matches('"').parse().unwrap()).collect();
    let [closed, open, flows, errors] = numbers[..] else { panic!("four numbers: {text}") };
    assert!(closed > 100 && flows > 100 && open == 0 && errors == 0, "{text}");
}

#[test]
fn a_trace_with_completions_stands_beside_what_is_simulated_and_no_claim_is_below_the_models_error() {
    let (file, _gone) = temporary("beside.blktrace.0");
    done(&["simulate", &direct(), "--disk", "sata-2009", "--elevator", "none", "--blktrace", &file]);
    let trace = format!("{file}:timing=closed");
    let on =
        |disk: &str| done(&["compare", &trace, "--disk", disk, "--elevators", "none,bfq", "--seeds", "3", "--details"]);
    let own = on("sata-2009");
    assert!(own.contains("recorded, and simulated under none on sata-2009"), "{own}");
    // A disk hundreds of times faster than the recorded one cannot support a verdict about it.
    let other = on("sata-ssd");
    assert!(other.contains("simulated under none on sata-ssd"), "{other}");
    assert!(other.contains("\nNo verdict: simulated and recorded latencies differ by a factor of "), "{other}");
    assert!(other.contains("so sata-ssd is not the disk of this trace; ") && !other.contains("Use "), "{other}");
    assert!(own.contains("Mean latency recorded and simulated: read "), "{own}");
}

/// A disk that serves one request at a time, in 10 ms, behind four tags.
const SLOW: &str = "kind = \"fixed\"\ndescription = \"10 ms\"\ncapacity = \"8GiB\"\nmax_command = \"1MiB\"\n\
                    depth = 31\nchannels = 1\nservice = \"10ms\"\n";

#[test]
fn an_fsync_behind_the_flushers_sorted_writes_is_told_with_the_journal_and_in_parts() {
    let disk = job_file("slow.toml", SLOW);
    let jobs = "[append]\nrw=write\nbs=4k\nsize=64m\nfsync=1\nthinktime=500ms\n[copy]\nrw=write\nbs=1m\nsize=3g\n";
    let jobs = job_file("append-beside-a-copy.fio", jobs);
    let scene = ["--disk", &disk, "--depth", "4", "--wbt-lat-usec", "0", "--time", "60s"];
    let load =
        [&["explain", jobs.as_str(), "--elevator", "mq-deadline", "--process", "append", "--remedies"], &scene[..]];
    let load = load.concat();
    let text = done(&load);
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let at = |what: &str| flat.find(what).unwrap_or_else(|| panic!("{what}: {text}"));
    let slowest = at(", an fsync) took ");
    assert!(slowest < at("of it for the journal's writes, which stood behind write-back's"), "{text}");
    let (tried, helps) = (at("changes were tried for append's syncs"), at("this helps most: bfq: the mean sync 5"));
    assert!(slowest < tried && tried < helps && helps < at(" I/O 1"), "the answer is before the stories: {text}");
    // Of the headline: other stories say the like.
    let seconds = |after: &str| {
        let words = &flat[at(after) + after.len()..];
        words.split_once('s').and_then(|(number, _)| number.parse::<f64>().ok()).unwrap_or_else(|| panic!("{words}"))
    };
    assert!(seconds(", an fsync) took ") > 9.0, "two deadlines of 5 s: {text}");
    let stood = seconds(" of it for the journal's writes, which stood behind write-back's in the scheduler for ");
    assert!(stood > 5.0, "the log's deadline at least: {text}");
    assert!(text.contains(" trips to the disk, "), "{text}");
    assert!(text.contains("the journal"), "a person in the blame table: {text}");
    let tried = |what: &str| text.lines().position(|line| line.trim_start().starts_with(what));
    let [nothing, none, expire] = ["nothing", "none", "write_expire = "].map(tried);
    assert!(nothing.is_some() && nothing < none && none < expire, "{text}");
    assert!(tried("commit=30").is_some() && tried("fdatasync, in append's files").is_some(), "{text}");
    assert!(tried("its log on another such disk").is_some(), "{text}");
    let load = ["compare", &jobs, "--elevators", "mq-deadline,none", "--seeds", "1", "--details"];
    let text = done(&[&load, &scene[..]].concat());
    let heads = text.lines().find(|line| line.contains("another's log")).expect("the parts of an fsync");
    for head in ["data", "log", "commit", "fsync"] {
        assert!(heads.contains(head), "{head}: {heads}");
    }
    let raw = done(&[&load, &scene[..], &["--fs", "none"]].concat());
    assert!(!raw.contains("another's log"), "{raw}");
}

/// A database's log beside a pod under a cap, in one short journal: in 6.12 whoever needs room in it waits for what the
/// pod writes home.
const HOST_AND_POD: &str = "\
[global]
; blksched: fs=ext4:journal_size=4m
rw=write
bs=4k
time_based
runtime=20
[host]
fsync=1
thinktime=20ms
size=16m
[image]
bs=1m
fsync=4
size=256m
cgroup=pod
; blksched: cgroup_files=io.max: wbps=2097152 wiops=100
[files]
numjobs=2
thinktime=2ms
nrfiles=200
filesize=4k
size=800k
openfiles=1
file_service_type=sequential
create_on_open=1
unlink_each_loop=1
cgroup=pod
";

#[test]
fn a_capped_group_that_holds_the_journal_up_is_named_with_what_helps() {
    let jobs = job_file("host-and-pod.fio", HOST_AND_POD);
    let explain = ["explain", &jobs, "--elevator", "mq-deadline@6.12", "--disk", "sata-ssd-ideal"];
    let text = done(&[&explain[..], &["--process", "host", "--remedies"]].concat());
    assert!(text.contains("metadata that it needs on the disk stood 1."), "{text}");
    assert!(text.contains(" under the io.max of group pod"), "{text}");
    assert!(text.contains("Others waited most for group pod, as a part of their time: "), "{text}");
    assert!(text.contains("is what the io.max of group pod (wbps=2097152 wiops=100) decides; without it"), "{text}");
    let longest = |what: &str| {
        let row = text.lines().find(|line| line.trim_start().starts_with(what)).unwrap_or_else(|| panic!("{text}"));
        let longest = row.split_whitespace().rev().find(|cell| cell.ends_with('s')).expect("the last of the times");
        longest.strip_suffix("ms").map_or(1000.0, |ms| ms.parse::<f64>().expect("milliseconds"))
    };
    let tried = ["nothing", "pod: io.max: wbps=8388608 wiops=400", "pod: no io.max", "Linux 6.18"].map(longest);
    assert!(tried[0] == 1000.0 && tried[1] < 1000.0 && tried[2] < 100.0 && tried[3] < 100.0, "{tried:?}: {text}");
    // Of the pod's own fsyncs, which are as slow as the cap makes them, it is not asked what helps.
    let all = done(&[&explain[..], &["--remedies"]].concat());
    assert!(all.contains("host: mean sync") && all.contains("its own group"), "{all}");
}

#[test]
fn on_xfs_the_log_that_another_process_wrote_is_waited_for_and_not_memory() {
    let jobs = "[log]\nnumjobs=4\nrw=write\nbs=4k\nsize=64m\nfsync=1\nfallocate=none\ntime_based\nruntime=10\n";
    let jobs = job_file("four-logs.fio", jobs);
    let text = done(&["explain", &jobs, "--fs", "xfs", "--elevator", "mq-deadline", "--disk", "hdd-7200-ideal"]);
    assert!(text.contains("with that of the journal's writes, took"), "{text}");
    assert!(!text.contains("the host's memory kept it"), "{text}");
}

#[test]
fn a_mean_fsync_of_several_jobs_says_whose_it_is() {
    let log = |name: &str| format!("[{name}]\nrw=write\nbs=4k\nsize=1m\nfsync=1\n");
    let text = |jobs: &str| {
        let jobs = job_file("whose-fsyncs.fio", jobs);
        let words = ["compare", &jobs, "--elevators", "none,mq-deadline", "--seeds", "1", "--time", "1s", "--details"];
        done(&words).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let two = text(&(log("db") + &log("mail")));
    assert!(
        two.contains("a mean over all calls of db, mail together (`explain --process NAME` tells what the slowest of"),
        "{two}"
    );
    let three = text(&(log("db") + "numjobs=2\n" + &log("mail")));
    assert!(three.contains("a mean over all calls of db ×2, mail together ("), "{three}");
    assert!(text(&(log("db") + "numjobs=2\n")).contains("a mean over all calls: its data; "));
    assert!(text(&log("db")).contains("a mean over all calls: its data; "));
}
