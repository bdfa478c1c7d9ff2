//! The tables "you have … → run …" of docs/fio.md and docs/traces.md: every line is run, on a file of the kind that it
//! names.

use std::fmt::Write;
use std::path::Path;

use blksched_testkit::Folder;

use crate::printed::printed;

const FIO: &str = include_str!("../../../../docs/fio.md");
const TRACES: &str = include_str!("../../../../docs/traces.md");

/// The rows of a page's table, each as what one has and the words to run.
fn rows(page: &'static str) -> Vec<(&'static str, Option<String>)> {
    let (_, table) = page.split_once("| you have … | run … |\n|---|---|\n").expect("a table");
    let rows = table.lines().take_while(|line| line.starts_with('|'));
    rows.map(|row| {
        let (have, run) = row.trim_matches('|').split_once(" | ").expect("two columns");
        let line = run.split('`').nth(1).filter(|line| line.starts_with("blksched "));
        (have.trim(), line.map(str::to_owned))
    })
    .collect()
}

/// The words of a line, as a shell would split it; those that begin with the name of a file of the folder get its path.
fn words(folder: &Path, line: &str) -> Vec<String> {
    let (mut words, mut quote) = (vec![String::new()], None);
    for letter in line.chars() {
        match quote {
            Some(open) if letter == open => quote = None,
            None if letter == '\'' || letter == '"' => quote = Some(letter),
            None if letter == ' ' => words.push(String::new()),
            _ => words.last_mut().expect("there is one").push(letter),
        }
    }
    let files: Vec<String> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    let is_file = |word: &str| files.iter().any(|file| word.split(':').next() == Some(file));
    let placed = |word: String| if is_file(&word) { format!("{}/{word}", folder.display()) } else { word };
    words.into_iter().filter(|word| !word.is_empty()).map(placed).collect()
}

/// Runs a line, in this process.
fn run(folder: &Path, line: &str) -> (bool, String) {
    let words = words(folder, line.strip_prefix("blksched ").expect("our program"));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let output = printed(&words, 1000);
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    (output.status.success(), said)
}

fn put(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join(name), text).expect("a file");
}

#[test]
fn every_line_of_fios_table_runs() {
    let folder = Folder::new();
    let rows = rows(FIO);
    assert_eq!(rows.len(), 9, "{rows:?}");
    for (have, line) in rows {
        let line = line.expect("each has a line");
        let section = if have.contains("sections") { "reader" } else { "a" };
        let size = if have.contains("without a file") { "" } else { "size=1m\n" };
        put(&folder, "my.fio", &format!("[{section}]\nrw=randread\ndirect=1\n{size}[b]\nrw=write\ndirect=1\n{size}"));
        put(&folder, "test.sh", "#!/bin/sh\nset -e\nfio --name=a --rw=randread --direct=1 --size=1m\n");
        put(
            &folder,
            "result.json",
            r#"{"fio version": "fio-3.33", "jobs": [{"jobname": "a", "job options": {"rw": "read", "size": "1m"}}]}"#,
        );
        // `simulate` understands the same words, and costs less.
        let line = line.replacen("compare", "simulate --disk null --time 1s", 1);
        let (success, said) = run(&folder, &line);
        assert!(success, "{have}: {line}: {said}");
        assert!(!have.contains("sections") || !said.contains("\n b "), "{said}");
    }
}

/// Twenty reads in each form.
fn traces(folder: &Path) {
    let reads = |row: &dyn Fn(u64) -> String| -> String { (0..20).map(|n| row(n) + "\n").collect() };
    let at = |n: u64| n * 10_000;
    let s = |us: u64| format!("{}.{:06}", us / 1_000_000, us % 1_000_000);
    let mut blkparse = String::new();
    let mut own = String::new();
    let mut tracefs = String::new();
    for n in 0..20 {
        for (event, letter, time) in [("issue", 'D', at(n)), ("complete", 'C', at(n) + 900)] {
            let (time, sector) = (s(time), n * 1000);
            let _ =
                writeln!(blkparse, "  8,0    0        {n} {:>14} 7 {letter} R {sector} + 8 [a]", format!("{time}000"));
            let _ = writeln!(
                own,
                "8,0  0 {n:>8} {:>15} {:>5} {letter:>2} R   {sector} + 4096 [a]",
                format!("{time}000"),
                7
            );
            let bytes = if event == "issue" { "4096 () " } else { "() " };
            let _ = writeln!(tracefs, " a-7 [000] ..... {time}: block_rq_{event}: 8,0 R {bytes}{sector} + 8 [a]");
        }
    }
    put(folder, "sda.txt", &blkparse);
    put(folder, "x.txt", &own);
    put(folder, "trace.txt", &tracefs);
    let snoop = reads(&|n| format!("{} a 7 sda R {} 4096 0.90", s(at(n) + 900), n * 1000));
    put(folder, "biosnoop.txt", &format!("TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n{snoop}"));
    let iolog = reads(&|n| format!("{} /dev/sda read {} 4096", at(n), n * 4096));
    put(folder, "z.log", &format!("fio version 3 iolog\n0 /dev/sda add\n0 /dev/sda open\n{iolog}"));
    put(folder, "smartctl.txt", "smartctl 7.3\nDevice Model: X\nRotation Rate: 7200 rpm\n");
    put(folder, "lsblk.json", "{\"blockdevices\": [{\"name\": \"sda\", \"size\": 20000000000, \"tran\": \"sata\"}]}");
    put(
        folder,
        "x.json",
        &reads(&|n| format!(r#"{{"ts":{},"op":"R","io":{{"lba":{},"len":8}}}}"#, at(n) * 1000, n * 8)),
    );
}

/// The file that this row is about, where several rows name one file differently.
fn csv(have: &str) -> Option<String> {
    let reads = |row: &dyn Fn(u64) -> String| -> String { (0..20).map(|n| row(n) + "\n").collect() };
    match have {
        _ if have.contains("with a header") => {
            let rows = reads(&|n| format!("4096,R,{},0.{:02}", n * 4096, n));
            Some(format!("bytes,op_type,file_offset,start_time\n{rows}"))
        }
        _ if have.contains("libCacheSim") => Some(reads(&|n| format!("1,{},28,4096,{}", n * 10_000, n * 8))),
        _ if have.contains("Windows") => {
            Some(reads(&|n| format!("DiskRead,{},a.exe,1,0,{},4096,900,0,x,y", n * 10_000 + 900, n * 4096)))
        }
        _ => None,
    }
}

#[test]
fn every_line_of_the_traces_table_runs() {
    let folder = Folder::new();
    traces(&folder);
    let mut events = 0;
    for (have, line) in rows(TRACES) {
        let Some(line) = line else {
            assert!(have.starts_with("output of") || have.starts_with("an archive"), "{have} has no line");
            continue;
        };
        if have.contains("binary") {
            let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/traces");
            for cpu in 0..2 {
                let from = testdata.join(format!("mq-deadline.blktrace.{cpu}"));
                std::fs::copy(from, folder.join(format!("sda.blktrace.{cpu}"))).expect("a recording");
            }
        }
        if let Some(text) = csv(have) {
            put(&folder, "x.csv", &text);
        }
        if have.starts_with("bpftrace") {
            let rows: String = (0..20).map(|n| format!("{} sda a 7 1\n", n * 10 + 1)).collect();
            put(&folder, "biosnoop.txt", &format!("Attaching 4 probes...\nTIME(ms) DISK COMM PID LAT(ms)\n{rows}"));
        }
        let (success, said) = run(&folder, &line);
        assert!(success, "{have}: {line}: {said}");
        assert!(have.contains("binary") || said.contains("20"), "{have}: {line}: {said}");
        events += 1;
    }
    assert_eq!(events, 12);
}

/// What is no trace is called by its name, and told what to do with it.
#[test]
fn what_is_no_trace_is_told_what_to_do() {
    let folder = Folder::new();
    for (text, name, advice) in [
        ("Linux 6.1 (a)\n\nDevice   r/s   rkB/s\nsda   1.0   4.0\n", "output of iostat", "blksched record"),
        ("   8       0 sda 4 0 8 1 0 0 0 0 0 1 1 0 0\n", "/proc/diskstats", "blksched record"),
        ("smartctl 7.3 2022\nDevice Model: X\nRotation Rate: 7200 rpm\n", "output of smartctl", "blksched disk guess"),
        ("{\"blockdevices\": [{\"name\": \"sda\", \"rota\": true}]}", "output of lsblk", "blksched disk guess"),
        ("/dev/sda:\n\nATA device, with non-removable media\n", "output of hdparm", "blksched disk guess"),
        ("pread64(3, \"x\", 4096, 0) = 4096\n", "output of strace", "blksched record"),
        ("{\"fio version\": \"fio-3.33\", \"jobs\": []}", "a result of fio's", "blksched compare"),
    ] {
        put(&folder, "what", text);
        let (success, said) = run(&folder, "blksched trace info what");
        assert!(!success && said.contains(name) && said.contains(advice), "{text}: {said}");
    }
    put(&folder, "smartctl.txt", "smartctl 7.3 2022\nDevice Model: X\nRotation Rate: 7200 rpm\n");
    put(
        &folder,
        "lsblk.json",
        "{\"blockdevices\": [{\"name\": \"sda\", \"size\": 4000787030016, \"tran\": \"sata\"}]}",
    );
    let (success, said) = run(&folder, "blksched disk guess smartctl.txt lsblk.json");
    assert!(success && said.starts_with("hdd-7200 is the nearest model"), "{said}");
    assert!(said.contains("smartctl.txt:3") && said.contains("lsblk.json: sda") && said.contains("assumed:"), "{said}");
    let (success, said) = run(&folder, "blksched disk guess smartctl.txt lsblk.json --json");
    let value: serde_json::Value = serde_json::from_str(&said).expect("JSON");
    assert!(success && value["disk"] == "hdd-7200" && value["bytes"] == 4_000_787_030_016_u64, "{said}");
    assert_eq!((value["rpm"].as_u64(), value["read"]["kind"]["from"].as_str().is_some()), (Some(7200), true));
    // Named as a disk, it is told the same.
    let (success, said) = run(&folder, "blksched simulate dd --disk smartctl.txt");
    assert!(!success && said.contains("blksched disk guess"), "{said}");
}

#[test]
fn a_result_of_fios_that_is_cut_off_or_empty_says_where_and_why() {
    let folder = Folder::new();
    for (text, words) in [
        (r#"{"fio version": "fio-3.33", "jobs": [{"jobname": "a","#, "result.json:1:"),
        (r#"{"fio version": "fio-3.33", "jobs": []}"#, "result.json: its `jobs` are empty: fio did not finish"),
        // A whole result, and the next one of --status-interval cut off: it is no result of the whole run.
        ("{\"fio version\": \"fio-3.33\", \"jobs\": [{}]}\n{\"fio version\": \"fio", "result.json:2:"),
    ] {
        put(&folder, "result.json", text);
        let (success, said) = run(&folder, "blksched compare result.json");
        assert!(!success && said.contains(words), "{words}: {said}");
    }
}

#[test]
fn what_fio_measured_stands_beside_what_is_predicted() {
    let folder = Folder::new();
    let compared = |mean_ns: u64, more: &str| {
        let row = format!(
            r#"{{"jobname": "a", "job options": {{"rw": "randread", "size": "1g", "direct": "1"}}, "read": {{
                "total_ios": 4000, "iops": 80.5, "lat_ns": {{"mean": {mean_ns}}}}}}}"#
        );
        put(&folder, "result.json", &format!(r#"{{"fio version": "fio-3.33", "jobs": [{row}, {row}]}}"#));
        let line = format!("compare result.json --disk sata-2009 --time 5 --seeds 1 --elevators none,deadline{more}");
        let (success, said) = run(&folder, &format!("blksched {line}"));
        assert!(success, "{said}");
        said
    };
    let value: serde_json::Value = serde_json::from_str(&compared(7_000_000, " --json")).expect("JSON");
    let row = &value["recorded"]["rows"][0];
    assert_eq!((row["what"].as_str(), row["ios"].as_u64()), (Some("a read"), Some(8000)), "{row}");
    // Rates of clones are added.
    assert_eq!((row["recorded"].as_f64(), row["recorded_iops"].as_f64()), (Some(7e6), Some(161.0)), "{row}");
    let number = |key: &str| row[key].as_f64().expect("a number");
    // One read at a time: its rate is one by its latency.
    assert!((number("simulated_iops") * number("simulated") / 1e9 - 1.0).abs() < 0.1, "{row}");
    assert!(value["unranked"].is_null(), "{}", value["unranked"]);
    let page = compared(7_000_000, "");
    assert!(page.contains("Mean latency measured by fio and predicted: a read 7.00ms, "), "{page}");
    assert!(page.contains("the job is that of fio-") && page.contains("measured by fio and predicted"), "{page}");
    let elsewhere = compared(100_000, "");
    assert!(elsewhere.contains("No verdict: predicted latencies differ from those that fio measured"), "{elsewhere}");
}
