//! `blksched sweep`: the same rows on one machine and on sixteen, after a kill and without, and what fails says so.
#![cfg(feature = "sweep")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread::sleep;
use std::time::Duration;

use blksched_testkit::Process;
use parquet::file::reader::{FileReader, SerializedFileReader};

const PLAN: &str = r#"
loads = ["reader-and-writer", "dd:size=8m cat:files=40"]
disks = ["hdd-7200", "sata-ssd"]
schedulers = ["none", "mq-deadline", "bfq:slice_idle=0/8ms"]
seeds = 3
time = "300ms"

[knobs.mq-deadline]
fifo_batch = [1, 16]
read_expire = { from = "100ms", to = "1s", steps = 2, scale = "log" }
"#;
/// 2 loads × 2 disks × (1 + 2 × 2 + 2) schedulers × 3 seeds.
const RUNS: usize = 2 * 2 * 7 * 3;

/// An empty directory of this test's own.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("sweep-{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn planned(folder: &Path, text: &str) -> PathBuf {
    let plan = folder.join("plan.toml");
    fs::write(&plan, text).unwrap();
    plan
}

/// As a process of its own, to be killed, or for its environment.
fn started(plan: &Path, out: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_blksched"));
    command.arg("sweep").arg(plan).arg("--out").arg(out).args(more);
    command
}

fn sweep(plan: &Path, out: &Path, more: &[&str]) -> Output {
    let words = ["sweep", plan.to_str().unwrap(), "--out", out.to_str().unwrap()];
    crate::printed::printed(&[&words, more].concat(), 120)
}

fn run(plan: &Path, out: &Path, more: &[&str]) -> Output {
    let output = sweep(plan, out, more);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Every row in the directory as text, sorted.
fn rows(out: &Path) -> Vec<String> {
    let mut rows = Vec::new();
    for entry in fs::read_dir(out).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "parquet") {
            let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
            rows.extend(reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()));
        }
    }
    rows.sort();
    rows
}

fn keys(rows: &[String]) -> usize {
    let mut keys: Vec<&str> = rows.iter().map(|row| row.split(',').next().unwrap()).collect();
    keys.dedup();
    keys.len()
}

#[test]
fn one_shard_and_sixteen_make_the_same_rows() {
    let folder = folder("shards");
    let plan = planned(&folder, PLAN);
    let (one, many) = (folder.join("one"), folder.join("many"));
    run(&plan, &one, &["--threads", "3"]);
    for nth in 1..=16 {
        run(&plan, &many, &["--shard", &format!("{nth}/16"), "--threads", "1"]);
    }
    let (one, many) = (rows(&one), rows(&many));
    assert_eq!(keys(&one), RUNS);
    assert!(one == many, "{} rows and {}", one.len(), many.len());
    let mut shards: Vec<_> = fs::read_dir(folder.join("many")).unwrap().map(|e| e.unwrap().file_name()).collect();
    shards.sort();
    assert!(shards.len() >= 14, "work for (nearly) every shard, and no journal: {shards:?}");
    assert!(shards.iter().all(|name| name.to_string_lossy().ends_with(".parquet")), "{shards:?}");
}

#[test]
fn who_is_killed_goes_on_where_it_was() {
    let folder = folder("killed");
    let plan = planned(&folder, PLAN);
    let (whole, out) = (folder.join("whole"), folder.join("out"));
    run(&plan, &whole, &[]);
    let mut kills = 0;
    for _ in 0..4 {
        let mut child = Process::spawn(&mut started(&plan, &out, &["--threads", "1"]));
        let journal = out.join(".1-of-1.journal");
        // A few runs further than before.
        let before = fs::metadata(&journal).map_or(0, |file| file.len());
        for _ in 0..600 {
            if child.try_wait().unwrap().is_some() || fs::metadata(&journal).is_ok_and(|f| f.len() > before + 2000) {
                break;
            }
            sleep(Duration::from_millis(10));
        }
        kills += usize::from(child.try_wait().unwrap().is_none());
        let _ = child.kill();
        child.wait().unwrap();
    }
    assert!(kills > 0, "nobody was killed");
    // A torn line, as a power cut would leave it.
    let mut torn = fs::OpenOptions::new().append(true).create(true).open(out.join(".1-of-1.journal")).unwrap();
    std::io::Write::write_all(&mut torn, b"{\"key\":\"12").unwrap();
    drop(torn);
    let said = String::from_utf8(run(&plan, &out, &[]).stdout).unwrap();
    assert!(!said.starts_with(&format!("{RUNS} new runs")), "nothing was kept: {said}");
    assert!(rows(&out) == rows(&whole), "{} rows and {}", rows(&out).len(), rows(&whole).len());
    let again = String::from_utf8(run(&plan, &out, &[]).stdout).unwrap();
    assert!(again.starts_with(&format!("0 new runs, {RUNS} kept")), "{again}");
}

#[test]
fn another_division_takes_over_what_a_dead_one_left() {
    let folder = folder("divided");
    let plan = planned(&folder, PLAN);
    let (whole, out) = (folder.join("whole"), folder.join("out"));
    run(&plan, &whole, &[]);
    run(&plan, &out, &["--shard", "2/3"]);
    // As a killed process leaves it: lines, and no file.
    let line = r#"{"key":"0123456789abcdef0123456789abcdef","workload":"w","disk":"d","scheduler":"s","settings":"",
        "knobs":[],"seed":1,"error":"planted","run":null,"parts":[]}"#;
    fs::write(out.join(".1-of-3.journal"), line.replace('\n', "") + "\n").unwrap();
    run(&plan, &out, &[]);
    let (mut found, whole) = (rows(&out), rows(&whole));
    let planted = found.iter().position(|row| row.contains("planted")).expect("the dead one's row");
    found.remove(planted);
    assert!(found == whole, "{} rows and {}", found.len(), whole.len());
}

#[test]
fn a_trace_that_cannot_be_read_marks_its_rows_and_the_rest_goes_on() {
    let folder = folder("broken");
    fs::write(folder.join("a.csv"), "128166372003061629,host,0,Read,8192,4096,1000\n".repeat(50)).unwrap();
    fs::write(folder.join("b.csv"), "128166372003061629,host,0,Read,81x2,4096,1000\n".repeat(50)).unwrap();
    let loads = format!("loads = [\"{}/*.csv:format=msr\"]\n", folder.display());
    let text = loads + "disks = [\"hdd-7200\"]\nschedulers = [\"none\"]\nseeds = 2\ntime = 1\n";
    let plan = planned(&folder, &text);
    let said = String::from_utf8(run(&plan, &folder.join("out"), &[]).stdout).unwrap();
    assert!(said.contains("4 new runs") && said.contains("2 of them failed"), "{said}");
    let rows = rows(&folder.join("out"));
    let failed: Vec<_> = rows.iter().filter(|row| row.contains("81x2")).collect();
    assert_eq!((failed.len(), rows.len()), (2, 4), "{rows:#?}");
    assert!(failed.iter().all(|row| row.contains("b.csv") && row.contains(":1")), "file and line: {failed:?}");
    let refused = sweep(&plan, &folder.join("out"), &["--max-memory", "much"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("expected a size, as in 512m or 4g"));
}

#[test]
fn a_trace_beyond_the_memory_that_is_left_to_it_gives_the_same_rows_from_a_file() {
    let folder = folder("spooled");
    // 20,000 reads, some 200 KB when packed: one every 20 µs.
    let row =
        |nth: u64| format!("{},host,0,Read,{},4096,1000\n", 128166372003061629 + 200 * nth, nth * 7919 % 65536 * 4096);
    fs::write(folder.join("a.csv"), (0..20_000).map(row).collect::<String>()).unwrap();
    let loads = format!("loads = [\"{}/a.csv:format=msr\"]\n", folder.display());
    let rest = "disks = [\"nvme-ssd\"]\nschedulers = [\"none\", \"kyber\"]\nseeds = 1\ntime = 1\n";
    let plan = planned(&folder, &(loads + rest));
    let rows_with = |out: &str, further: &[&str]| {
        run(&plan, &folder.join(out), further);
        rows(&folder.join(out))
    };
    let in_memory = rows_with("in-memory", &[]);
    assert_eq!(in_memory.len(), 2, "{in_memory:#?}");
    assert!(in_memory == rows_with("spooled", &["--max-memory", "1k"]));
    // Nowhere to put it: the rows say so. Below the limit nothing is asked of the folder.
    let nowhere = |out: &str, memory: &str| {
        let mut command = started(&plan, &folder.join(out), &["--max-memory", memory]);
        assert!(
            blksched_testkit::output(command.env("TMPDIR", folder.join("no-such-folder"))).unwrap().status.success()
        );
        rows(&folder.join(out))
    };
    let failed = nowhere("nowhere", "1k");
    assert!(failed.len() == 2 && failed.iter().all(|row| row.contains("no-such-folder")), "{failed:#?}");
    assert!(in_memory == nowhere("not-needed", "64m"));
}

#[test]
fn what_is_wrong_with_a_plan_has_its_place() {
    let folder = folder("wrong");
    let loads = "loads = [\"reader-and-writer\"]\n";
    let rest = "disks = [\"hdd-7200\"]\nschedulers = [\"bfq\"]\n";
    for (text, expected) in [
        (format!("{loads}{rest}seed = 3\n"), "plan.toml:4:1: unknown key `seed`"),
        (format!("{loads}{rest}seed = 3\n"), "did you mean `seeds`?"),
        (format!("{loads}disks = [\"hdd-7201\"]\nschedulers = [\"bfq\"]\n"), "plan.toml:2:10: "),
        (format!("{loads}disks = [\"null\"]\nschedulers = [\"bqf\"]\n"), "plan.toml:3:15: "),
        (format!("{loads}{rest}[knobs.bfq]\nslice_idel = 1\n"), "plan.toml:5:1: "),
        (format!("{loads}{rest}[knobs.bfq]\nslice_idel = 1\n"), "slice_idle"),
        (format!("{loads}{rest}[knobs.bfq]\nslice_idle = {{ from = 8, to = 1, steps = 2 }}\n"), "goes down"),
        (format!("{loads}{rest}[knobs.bfq]\nslice_idle = {{ from = 1, to = 8 }}\n"), "lacks `steps` or `random`"),
        (format!("{loads}{rest}[knobs.kyber]\nx = 1\n"), "plan.toml:4:8: `kyber` is none of the plan's schedulers"),
        (format!("{loads}{rest}seeds = 0\n"), "plan.toml:4:9: no seed"),
        (format!("loads = [\"raeder-and-writer\"]\n{rest}"), "the nearest workload is `reader-and-writer`"),
        (format!("loads = [\"no/*.csv\"]\n{rest}"), "plan.toml:1:10: `no/*.csv`"),
        (rest.to_owned(), "the plan lacks `loads`"),
        ("loads = [".to_owned(), "plan.toml:1:"),
    ] {
        let plan = planned(&folder, &text);
        let output = sweep(&plan, &folder.join("out"), &[]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{text}{said}");
        assert!(said.contains(expected), "{text}expected: {expected}\n{said}");
    }
}

#[test]
fn a_plan_of_a_million_runs_is_no_list() {
    let folder = folder("million");
    let text = "loads = [\"reader-and-writer\"]\ndisks = [\"null\"]\nschedulers = [\"bfq\"]\nseeds = 1000\n\
                time = \"10ms\"\n[knobs.bfq]\ndraws = 2000\nslice_idle = { from = 0, to = \"20ms\" }\n";
    let plan = planned(&folder, text);
    for (shard, runs) in [("1/4", 500_000), ("4/4", 500_000), ("1000/1000", 2000)] {
        let output = run(&plan, &folder.join("out"), &["--dry-run", "--shard", shard]);
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.starts_with("2000000 runs: 1 loads × 1 disks × 2000 schedulers"), "{said}");
        assert!(said.contains(&format!("{runs} of them are in shard {shard}")), "{said}");
    }
    assert!(!folder.join("out").exists(), "a dry run leaves nothing");
}

#[test]
fn the_columns_are_those_of_the_documentation() {
    let folder = folder("columns");
    let text =
        "loads = [\"reader-and-writer\"]\ndisks = [\"null\"]\nschedulers = [\"bfq:slice_idle=0\"]\ntime = 0.01\n";
    let plan = planned(&folder, text);
    run(&plan, &folder.join("out"), &[]);
    let file = File::open(folder.join("out/runs-1-of-1-00001.parquet")).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let columns: Vec<String> = schema.columns().iter().map(|column| column.name().to_owned()).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema.md");
    let document = fs::read_to_string(root).unwrap();
    let section = document.split("\n## `sweep`").nth(1).expect("a section on sweep").split("\n## ").next().unwrap();
    let first = |line: &str| line.strip_prefix("| ")?.split(" |").next().map(str::to_owned);
    let cells = section.lines().filter_map(first).filter(|cell| cell.starts_with('`'));
    let names =
        cells.flat_map(|cell| cell.split(", ").map(|name| name.trim_matches('`').to_owned()).collect::<Vec<_>>());
    let documented: Vec<String> = names.map(|name| name.replace("NAME", "slice_idle")).collect();
    assert_eq!(columns, documented);
}
