//! Command lines of fio's, generated: what real fio makes of each (`--showcmd`, its result's options and counts, or a
//! refusal) and what we make of it.

use std::process::{Command, Output};

use blksched_testkit::Folder;
use serde_json::Value;

use super::fio_is_here;
use crate::printed::printed;

/// Draws that are the same in every run.
struct Draws(u64);

impl Draws {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % end
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// Options whose effect on counts does not hang on chance, with a beginning that no other option has, and values; an
/// option without values stands alone.
const OPTIONS: &[Entry] = &[
    ("rw", "rw", &["read", "write", "randread", "randwrite"]),
    ("bs", "bs", &["4k", "8k", "16k", "1024"]),
    ("numjobs", "numj", &["1", "2"]),
    ("iodepth", "iodepth", &["1", "4"]),
    ("loops", "loop", &["1", "2"]),
    ("number_ios", "number_i", &["3", "100"]),
    ("io_size", "io_size", &["32k", "200k"]),
    ("randrepeat", "randrep", &["0", "1"]),
    ("invalidate", "inval", &["0", "1"]),
    ("fsync", "fsync", &["0", "8"]),
    ("rwmixread", "rwmixre", &["30"]),
    ("norandommap", "norandom", &[]),
    ("thread", "thread", &[]),
    ("stonewall", "stonew", &[]),
    ("time_based", "time_ba", &["0"]),
];

const OF_THE_PROGRAM: &[&str] = &["--eta=never", "--max-jobs=10", "--warnings-fatal", "--eta-newline=1"];

type Entry = (&'static str, &'static str, &'static [&'static str]);

/// Fewer than `end` options, each at most once.
fn some(draws: &mut Draws, end: usize) -> Vec<Entry> {
    let mut chosen: Vec<Entry> = Vec::new();
    for _ in 0..draws.below(end) {
        let option = *draws.one(OPTIONS);
        if chosen.iter().all(|other| other.0 != option.0) {
            chosen.push(option);
        }
    }
    chosen
}

/// An option as people write it.
fn written(draws: &mut Draws, (name, short, values): Entry, words: &mut Vec<String>) {
    let dashes = *draws.one(&["--", "--", "-"]);
    let name = *draws.one(&[name, name, short]);
    match values {
        [] => words.push(format!("{dashes}{name}")),
        _ => {
            let value = *draws.one(values);
            // What may stand alone takes its value only behind `=`.
            if name.starts_with("time_ba") || draws.below(2) == 0 {
                words.push(format!("{dashes}{name}={value}"));
            } else {
                words.extend([format!("{dashes}{name}"), value.to_owned()]);
            }
        }
    }
}

/// A command line of one to three jobs, each with a file of 64 KiB.
fn line(draws: &mut Draws) -> Vec<String> {
    let mut words = vec!["--size=64k".to_owned()];
    for job in 0..=1 + draws.below(3) {
        if job > 0 {
            words.push(format!("--name=j{job}"));
        }
        for option in some(draws, 4) {
            written(draws, option, &mut words);
        }
        if draws.below(3) == 0 {
            words.push((*draws.one(OF_THE_PROGRAM)).to_owned());
        }
    }
    words
}

fn fio(folder: &Folder, words: &[&str]) -> Output {
    blksched_testkit::output(Command::new("fio").current_dir(&**folder).args(words)).expect("fio runs")
}

/// Its result: the name, the options and the counts of each job.
fn jobs(text: &str) -> Vec<String> {
    let json: Value = serde_json::from_str(&text[text.find('{').expect("an object")..]).expect("JSON");
    let options = |of: &Value| -> Vec<String> {
        let all = of.as_object().into_iter().flatten();
        // fio leaves out those without a value.
        let told = |(name, value): &(&String, &Value)| *name != "name" && *name != "ioengine" && *value != "";
        all.filter(told).map(|(name, value)| format!("{name}={value}")).collect()
    };
    let global = options(&json["global options"]).join(" ");
    let job = |job: &Value| {
        let counts = ["read", "write"].map(|dir| format!("{} {}", job[dir]["total_ios"], job[dir]["io_bytes"]));
        format!("{}: {}; {}; {counts:?}", job["jobname"], global, options(&job["job options"]).join(" "))
    };
    json["jobs"].as_array().expect("jobs").iter().map(job).collect()
}

/// What ours prints for `simulate` and these words.
fn ours(words: &[&str]) -> Result<Vec<String>, String> {
    let all = [&["simulate"][..], words, &["--output-format=json", "--disk=null"]].concat();
    let output = printed(&all, 120);
    let [out, complaint] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("UTF-8"));
    if output.status.success() { Ok(jobs(&out)) } else { Err(complaint) }
}

#[test]
fn a_generated_line_has_the_jobs_options_and_counts_that_it_has_for_fio() {
    if !fio_is_here() {
        return;
    }
    let mut draws = Draws(40);
    for _ in 0..14 {
        let line = line(&mut draws);
        let words: Vec<&str> = line.iter().map(String::as_str).collect();
        let folder = Folder::new();
        let theirs = fio(&folder, &[&["--ioengine=null", "--output-format=json"][..], &words[..]].concat());
        assert!(theirs.status.success(), "{line:?}: {}", String::from_utf8_lossy(&theirs.stderr));
        let theirs = jobs(&String::from_utf8(theirs.stdout).expect("UTF-8"));
        let ours = ours(&[&["fio", "--ioengine=psync"][..], &words[..]].concat());
        assert_eq!(ours.as_ref(), Ok(&theirs), "{line:?}");
    }
}

/// A job file, the command line that fio makes of it (`--showcmd`), and both here.
#[test]
fn a_job_file_and_the_line_that_fio_shows_for_it_are_the_same_jobs() {
    if !fio_is_here() {
        return;
    }
    let mut draws = Draws(41);
    for _ in 0..10 {
        let folder = Folder::new();
        let mut text = "[global]\nsize=64k\nioengine=psync\n".to_owned();
        for job in 1..=1 + draws.below(3) {
            text += &format!("[j{job}]\n");
            for (name, _, values) in some(&mut draws, 5) {
                text +=
                    &if values.is_empty() { format!("{name}\n") } else { format!("{name}={}\n", draws.one(values)) };
            }
        }
        let file = folder.join("a.fio");
        std::fs::write(&file, &text).expect("a file");
        let shown = fio(&folder, &["--showcmd", "a.fio"]);
        let shown = String::from_utf8(shown.stdout).expect("UTF-8");
        let words: Vec<&str> = shown.split_whitespace().collect();
        assert_eq!(words.first(), Some(&"fio"), "{text}");
        let of_file = ours(&[file.to_str().expect("UTF-8")]);
        assert!(of_file.as_ref().is_ok_and(|jobs| !jobs.is_empty()), "{of_file:?}\n{text}");
        assert_eq!(ours(&words), of_file, "{shown}\n{text}");
    }
}

#[test]
fn what_fio_refuses_is_refused() {
    if !fio_is_here() {
        return;
    }
    let folder = Folder::new();
    for refused in [
        "--name=a --size=64k --dire=1",
        "--name=a --size=64k --iod=3",
        "--name=a --size=64k --direct",
        "--name=a --size=64k --thread 1",
        "--name=a --size=64k --iodepth=",
        "--name=a --siez=64k",
        "-name a -size 64k -rw raed",
        "--name=a --size=64k --invalidate --bs=4k",
        "--name=a --size=64k --bs=8k --filesize=4k",
        "--name=a --size=2m --bs=4m",
    ] {
        let words: Vec<&str> = refused.split(' ').collect();
        // A file that is shorter than a block shows only when fio runs.
        let runs: &[&str] = if refused.contains("=a --size=2m") || refused.contains("filesize") {
            &["--ioengine=null"]
        } else {
            &["--parse-only"]
        };
        let theirs = fio(&folder, &[runs, &words[..]].concat());
        let said = String::from_utf8_lossy(&theirs.stderr).into_owned() + &String::from_utf8_lossy(&theirs.stdout);
        assert!(!theirs.status.success() || said.contains("blocksize is larger"), "{refused}: {said}");
        let ours = ours(&[&["fio"][..], &words[..]].concat());
        assert!(ours.is_err(), "{refused}: {ours:?}");
    }
}

/// fio writes a log of its I/Os in version 3 and replays it: by the times that are read here, it takes as long. (A
/// thousandth or a thousand times as long, if the unit were another.)
#[test]
fn a_log_of_fios_takes_as_long_as_fios_replay_of_it() {
    if !fio_is_here() {
        return;
    }
    let folder = Folder::new();
    let thinks = ["--name=z", "--filename=z1", "--size=160k", "--rw=write", "--thinktime=5000", "--write_iolog=z.log"];
    assert!(fio(&folder, &thinks).status.success());
    let replayed = fio(&folder, &["--name=r", "--read_iolog=z.log", "--output-format=json"]);
    let replayed = String::from_utf8(replayed.stdout).expect("UTF-8");
    let replayed: Value = serde_json::from_str(&replayed[replayed.find('{').expect("an object")..]).expect("JSON");
    let theirs = replayed["jobs"][0]["job_runtime"].as_f64().expect("a number") / 1e3;
    let log = folder.join("z.log");
    let info = printed(&["trace", "info", log.to_str().expect("UTF-8"), "--json"], 120);
    let info: Value = serde_json::from_slice(&info.stdout).expect("JSON");
    let info = &info["traces"][0];
    let ours = info["span_ns"].as_f64().expect("a number") / 1e9;
    assert_eq!(info["warnings"], Value::Array(Vec::new()), "{info}");
    // On a busy machine fio comes late; never early.
    assert!(ours > 0.19 && ours < 1.1 * theirs && 20.0 * ours > theirs, "{ours} s here, {theirs} s by fio");
}
