//! `blksched advise`: on prepared recordings it says what an expert would. Most are of simulated runs, so that the
//! disk, the scheduler and what happened are known.

use blksched_testkit::Folder;

use crate::printed::printed;

/// A database that reads now and then beside a stream that keeps the drive's queue full.
const BESIDE_A_BACKUP: &str = "[db]\nrw=randread\nbs=8k\nsize=1g\ndirect=1\nthinktime=2ms\n\
    [backup]\nrw=read\nbs=512k\nsize=20g\ndirect=1\niodepth=8\nioengine=libaio\n";
/// The same beside writes in a storm.
const WRITE_STORM: &str = "[db]\nrw=randread\nbs=8k\nsize=1g\ndirect=1\nthinktime=2ms\n\
    [storm]\nrw=randwrite\nbs=64k\nsize=20g\ndirect=1\niodepth=64\nioengine=libaio\n";
/// The same beside a reader that asked for the idle class, which blktrace does not record.
const PRIORITIES: &str = "[db]\nrw=randread\nbs=8k\nsize=1g\ndirect=1\n\
    [scrub]\nrw=read\nbs=512k\nsize=20g\ndirect=1\niodepth=8\nioengine=libaio\nprioclass=3\n";
/// One reader by itself.
const ALONE: &str = "[db]\nrw=randread\nbs=8k\nsize=1g\ndirect=1\n";

/// A recording of this load on `hdd-7200` under mq-deadline, as blktrace writes it: its name on a command line.
fn recording(folder: &Folder, job: &str) -> String {
    recording_under("mq-deadline", folder, job)
}

/// The same under another scheduler.
fn recording_under(elevator: &str, folder: &Folder, job: &str) -> String {
    let (job, trace) = (folder.written("a.fio", job), folder.text("t.blktrace.0"));
    let job = job.to_str().expect("UTF-8");
    let words = ["explain", job, "--fs", "none", "--disk", "hdd-7200", "--elevator", elevator];
    let output = printed(&[&words[..], &["--time", "20s", "--blame", "--blktrace", &trace]].concat(), 120);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    trace
}

/// The code and the text of `advise`, every sentence in a line.
fn advised(words: &[&str]) -> (Option<i32>, String) {
    let output = printed(&[&["advise", "--seeds", "2", "--effort", "0.3"], words].concat(), 10_000);
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn a_backup_beside_a_database_is_named_and_a_scheduler_that_helps_is_proposed() {
    let folder = Folder::new();
    let trace = recording(&folder, BESIDE_A_BACKUP);
    let (code, said) = advised(&[&trace]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("Recorded: db's reads took") && said.contains("most of them backup's reads."), "{said}");
    assert!(said.contains("It does not say under which scheduler: mq-deadline is assumed"), "{said}");
    assert!(said.contains("Taken: hdd-7200, each I/O submitted when those were done that its process waited for."));
    assert!(said.contains("Use bfq: db: "), "{said}");
    assert!(said.contains("Next, the proof: blksched trial DISK --elevators mq-deadline,bfq --every 30s"), "{said}");
}

#[test]
fn a_storm_of_writes_is_named() {
    let folder = Folder::new();
    let (code, said) = advised(&[&recording(&folder, WRITE_STORM), "--disk", "hdd-7200"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("Recorded: db's reads took") && said.contains("most of them storm's sync writes"), "{said}");
}

#[test]
fn a_recording_that_tells_no_priorities_says_so_beside_its_answer() {
    let folder = Folder::new();
    let trace = recording_under("none", &folder, PRIORITIES);
    let (code, said) = advised(&[&trace, "--disk", "hdd-7200", "--elevators", "none,mq-deadline,bfq"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("Recorded: db's reads") && said.contains("most of them scrub's reads."), "{said}");
    assert!(said.contains("Use bfq: db") && said.contains("--elevators none,bfq --every"), "{said}");
    assert!(said.contains("note:") && said.contains("the trace tells no priorities: all are normal"), "{said}");
}

#[test]
fn where_nothing_is_wrong_nothing_is_proposed() {
    let folder = Folder::new();
    let (code, said) = advised(&[&recording(&folder, ALONE), "--disk", "hdd-7200"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("Recorded: no process that somebody waits for takes much longer beside others."), "{said}");
    assert!(said.contains("Keep mq-deadline") && said.contains("Next: nothing;"), "{said}");
}

#[test]
fn a_model_that_is_not_the_disk_gives_no_verdict() {
    let folder = Folder::new();
    let trace = recording(&folder, ALONE);
    let (code, said) = advised(&[&trace, "--disk", "nvme-ssd"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("No verdict: the nearest model, nvme-ssd, is off by a factor of"), "{said}");
    assert!(said.contains("only within 2.0") && said.contains("blksched disk measure /dev/DISK"), "{said}");
    assert!(!said.contains("Use ") && !said.contains("Keep "), "{said}");
}

/// A recording of tracefs with a header: one process that reads every 10 ms, each read taking 5 ms; in the middle
/// events are lost.
pub fn recorded(lost: u64) -> String {
    let mut text = String::from(
        "# blksched record 1\n# kernel 6.12.3\n# priorities recorded\n# groups at the end\n# device 8,0 name=sdq \
         model=WDC_WD40 rotational=1 queue_depth=32 hw_queues=1 scheduler=mq-deadline schedulers=none,mq-deadline \
         size=7814037168 mounted=/home,/srv knobs=fifo_batch:16,read_expire:100\n",
    );
    for nth in 0..1000_u64 {
        let (at, sector) = (nth * 10_000, (nth * 7_777_777) % 7_000_000_000 / 8 * 8);
        let line = |time: u64, event: &str, rest: &str| {
            format!("  db-77 [000] ..... {}.{:06}: {event}: 8,0 R {rest}\n", time / 1_000_000, time % 1_000_000)
        };
        text += &line(at, "block_bio_queue", &format!("{sector} + 8 [db]"));
        text += &line(at + 5, "block_rq_insert", &format!("4096 () {sector} + 8 be,0,4 [db]"));
        text += &line(at + 6, "block_rq_issue", &format!("4096 () {sector} + 8 be,0,4 [db]"));
        text += &line(at + 5_000, "block_rq_complete", &format!("() {sector} + 8 be,0,4 [0]"));
        if nth == 300 {
            // Longer than any read or write of the disk may be.
            text += &line(at + 6_000, "block_bio_queue", "34930688 + 131072 [fstrim]").replace(" R ", " DS ");
            text += &line(at + 7_000, "block_rq_complete", "() 34930688 + 131072 be,0,4 [0]").replace(" R ", " DS ");
        }
        if nth == 500 && lost > 0 {
            text += &format!("CPU:0 [LOST {lost} EVENTS]\n");
        }
    }
    text
}

#[test]
fn a_recording_with_losses_ranks_nothing_and_says_so() {
    let folder = Folder::new();
    let file = folder.written("damaged.txt", recorded(900));
    let (code, said) = advised(&[file.to_str().expect("UTF-8"), "--disk", "hdd-7200"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("events were lost") || said.contains("was lost"), "{said}");
    assert!(said.contains("Next: record again") && !said.contains("Next, the proof"), "{said}");
}

/// Weights ignored: a service that systemd gives eight times the usual weight, under a scheduler that looks at none.
#[test]
fn weights_that_nothing_obeys_are_named_with_what_obeys_them() {
    let folder = Folder::new();
    let text = recorded(0)
        + "# task 77 /system.slice/db.service\n# group /system.slice/db.service io.weight=800 io.bfq.weight=800\n";
    let file = folder.written("weights.txt", &text);
    let (_, said) = advised(&[file.to_str().expect("UTF-8"), "--disk", "hdd-7200"]);
    assert!(said.contains("system.slice/db.service has io.bfq.weight 800, io.weight 800."), "{said}");
    assert!(said.contains("--elevators 'mq-deadline,bfq,mq-deadline:io.cost.qos=enable=1'` tries both."), "{said}");
    assert!(
        said.lines().any(|line| line.contains("db") && line.contains("db.service") && line.contains("1000")),
        "{said}"
    );
    let obeyed = folder.written("obeyed.txt", text.replace("scheduler=mq-deadline ", "scheduler=bfq "));
    let (_, said) = advised(&[obeyed.to_str().expect("UTF-8"), "--disk", "hdd-7200"]);
    assert!(!said.contains("nothing obeys"), "{said}");
}

/// A reader whose few reads take half a second beside a backup that does not notice: on the model they take as long as
/// any.
#[test]
fn a_model_that_misses_the_one_who_suffers_gives_no_verdict() {
    let mut text: String =
        recorded(0).lines().filter(|line| line.starts_with('#')).map(|line| format!("{line}\n")).collect();
    let mut lines: Vec<(u64, String)> = Vec::new();
    let mut io = |begin: u64, took: u64, sector: u64, name: &str| {
        let line = |time: u64, event: &str, rest: String| {
            let text =
                format!("  {name} [000] ..... {}.{:06}: {event}: 8,0 R {rest}\n", time / 1_000_000, time % 1_000_000);
            (time, text)
        };
        lines.push(line(
            begin,
            "block_bio_queue",
            format!("{sector} + 8 [{}]", name.trim_end_matches(['-', '1', '2'])),
        ));
        lines.push(line(begin + took, "block_rq_complete", format!("() {sector} + 8 be,0,4 [0]")));
    };
    for nth in 0..2_000_u64 {
        io(nth * 10_000, 5_000, nth * 7_777_777 % 7_000_000_000 / 8 * 8, "backup-2");
    }
    for nth in 0..18_u64 {
        io(nth * 1_000_000 + 3_000, 500_000, nth * 123_456_789 % 7_000_000_000 / 8 * 8 + 8, "db-1");
    }
    lines.sort();
    text.extend(lines.into_iter().map(|(_, line)| line));
    let folder = Folder::new();
    let file = folder.written("tail.txt", text);
    let (code, said) = advised(&[file.to_str().expect("UTF-8"), "--disk", "hdd-7200"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("No verdict") && said.contains("in db's reads"), "{said}");
}

#[test]
fn the_header_says_what_the_disk_is_and_only_what_its_kernel_offers_is_compared() {
    let folder = Folder::new();
    let file = folder.written("whole.txt", recorded(0));
    let words = ["advise", file.to_str().expect("UTF-8"), "--seeds", "1", "--effort", "0.1", "--json"];
    let output = printed(&words, 120);
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((value["schema"].as_str(), value["disk"]["name"].as_str()), (Some("blksched/advise/1"), Some("sdq")));
    let schedulers = value["predicted"]["schedulers"].as_array().expect("an answer");
    let names: Vec<&str> = schedulers.iter().filter_map(|one| one["name"].as_str()).collect();
    let offered = ["mq-deadline", "none"];
    assert!(
        names.len() > 2 && names.iter().all(|name| offered.contains(&name.split('@').next().unwrap())),
        "{names:?}"
    );
    // The present setting has the knob that was turned.
    assert!(schedulers[0].to_string().contains("read_expire"), "{}", schedulers[0]);
    let presets: Vec<&str> =
        value["models"].as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(presets, ["hdd-7200", "fitted-to-this-recording"], "a disk of 4 TB that turns");
}

#[test]
fn a_second_run_goes_on_where_the_first_was_and_every_step_says_how_long_it_takes() {
    let folder = Folder::new();
    let trace = recording(&folder, ALONE);
    let state = folder.path("state");
    let advised = |more: &[&str]| {
        let words = [&["advise", &*trace, "--seeds", "1", "--effort", "0.1"][..], more].concat();
        blksched_cli::printed_remembering(&words, 10_000, &state)
    };
    let (_, first, said) = advised(&[]);
    assert!(said.contains("step 1 of 3: reading the recording (") && said.contains("fitting a model to it: about"));
    assert!(said.contains("step 2 of 3: 8 replays, to see how near") && said.contains(": about"), "{said}");
    assert!(said.contains("step 3 of 3: ") && said.contains("simulated runs of the nearest model: about"), "{said}");
    let (_, again, said) = advised(&[]);
    assert!(said.contains("the model that was fitted to it is kept from before: about"), "{said}");
    assert!(said.contains("step 2 of 3: how near each model comes is known from before"), "{said}");
    assert_eq!(first, again);
    // Another question, another model's file, another recording: nothing of it is known.
    let (_, _, said) = advised(&["--elevators", "bfq,none"]);
    assert!(said.contains("8 replays"), "{said}");
    let named = |text: &str| {
        let disk = folder.written("my.toml", text);
        advised(&["--disk", disk.to_str().expect("UTF-8")]).2
    };
    let hdd = concat!(env!("CARGO_MANIFEST_DIR"), "/../disks/presets/hdd-7200-ideal.toml");
    let hdd = &*std::fs::read_to_string(hdd).expect("a preset");
    assert!(named(hdd).contains("2 replays") && named(hdd).contains("known from before"));
    assert!(named(&format!("{hdd}\n# changed\n")).contains("2 replays"));
    recording(&folder, WRITE_STORM);
    assert!(advised(&[]).2.contains("8 replays"));
}

#[test]
fn what_is_neither_a_disk_nor_a_recording_is_refused_with_what_would_be() {
    let refused = |words: &[&str]| {
        let output = printed(&[&["advise"], words].concat(), 1000);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(refused(&[]).contains("about which disk?"));
    assert!(refused(&["no-such-disk"]).contains("neither a disk of this machine nor a file"));
    assert!(refused(&["/dev/no-such-disk"]).contains("not a disk of this machine"));
    let folder = Folder::new();
    assert!(refused(&[folder.to_str().unwrap()]).contains("a directory: expected the file of a recording"));
    assert!(refused(&["sda", "--time", "0s"]).contains("expected longer than nothing"));
    let idle = folder.written("idle.txt", "# blksched record 1\n# kernel 6.12.3\n# device 8,0 name=sdq size=8000000\n");
    let output = printed(&["advise", idle.to_str().unwrap()], 1000);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains("the disk did nothing while it was recorded"), "{said}");
    let job = folder.written("a.fio", ALONE);
    assert!(refused(&[job.to_str().unwrap()]).contains("not a recording"));
    assert!(refused(&[job.to_str().unwrap(), "--out", "x"]).contains("nothing is recorded here"));
    let trace = recording(&folder, ALONE);
    assert!(refused(&[&trace, "--disk", "hdd-72"]).contains("did you mean `hdd-7200`?"));
    assert!(refused(&[&trace, "--elevators", "mq-deadlin"]).contains("mq-deadline"));
    assert!(refused(&[&trace, "--print"]).contains("expected a disk's name"));
    let output = printed(&["advise", "sda", "--time", "10min", "--print"], 120);
    assert!(String::from_utf8_lossy(&output.stdout).contains("\nseconds=600\n"), "the example of --help");
}

#[test]
fn the_script_for_another_machine_is_one_that_a_shell_reads() {
    let output = printed(&["advise", "sda", "--print", "--time", "5s"], 120);
    let script = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(script.starts_with("#!/bin/sh\n") && script.contains("advise-sda.trace.gz"), "{script}");
    let folder = Folder::new();
    let file = folder.written("a.sh", &script);
    let read = blksched_testkit::output(std::process::Command::new("sh").arg("-n").arg(file)).expect("a shell");
    assert!(read.status.success(), "{read:?}");
}
