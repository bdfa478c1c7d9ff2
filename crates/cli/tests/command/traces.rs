//! `blksched trace`, and traces of public formats as loads.

use blksched_testkit::Folder;
use std::fs;
use std::io::Write;

use super::{done, refused};

const PUBLIC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/traces/public/");
const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/traces/");

fn public(name: &str) -> String {
    format!("{PUBLIC}{name}")
}

fn json(trace: &str) -> serde_json::Value {
    let text = done(&["trace", "info", "--json", trace]);
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["schema"], "blksched/trace-info/1");
    document["traces"][0].clone()
}

/// All samples contain the same load: 400 I/Os on three volumes.
#[test]
fn every_public_format_is_known_by_its_content_and_tells_the_same_load() {
    let samples = [
        ("alibaba-like.csv.gz", "Alibaba", 400, true),
        ("fiu-like.txt.gz", "FIU", 400, true),
        ("mqsim-like.trace.gz", "MQSim", 400, true),
        ("msr-like.csv.gz", "MSR", 400, true),
        ("spc-like.spc.gz", "SPC", 400, true),
        // Three rows do not tell their kind.
        ("systor-like.csv.gz", "SYSTOR", 397, true),
        ("tencent-like.csv.bz2", "Tencent", 400, false),
        ("vscsi1-like.bin", "vscsi", 400, true),
    ];
    for (name, format, ios, ranks) in samples {
        let info = json(&public(name));
        assert!(info["format"].as_str().unwrap().contains(format), "{name}: {}", info["format"]);
        assert_eq!((&info["ios"], &info["fitness"]["ranks"]), (&ios.into(), &ranks.into()), "{name}");
        if ios == 400 {
            let kinds = (&info["kinds"]["read"]["bytes"], &info["kinds"]["write"]["bytes"]);
            assert_eq!(kinds, (&4_780_032_u64.into(), &2_813_952_u64.into()), "{name}");
        }
        let volumes = if format == "vscsi" { 1 } else { 3 };
        assert_eq!(info["devices"].as_array().unwrap().len(), volumes, "{name}");
    }
}

#[test]
fn fitness_comes_first_and_assumptions_are_told() {
    let info = done(&["trace", "info", &public("tencent-like.csv.bz2"), &public("mqsim-like.trace.gz")]);
    let lines: Vec<&str> = info.lines().collect();
    assert!(lines[1].contains("does not support a verdict about queueing, and ranks nothing"), "{info}");
    assert!(info.contains("nanoseconds are assumed"), "{info}");
}

#[test]
fn a_trace_that_ranks_nothing_is_replayed_without_a_ranking() {
    let trace = format!("{}:device=1000", public("tencent-like.csv.bz2"));
    let text = done(&[
        "compare",
        &trace,
        "--elevators",
        "none,mq-deadline",
        "--seeds",
        "2",
        "--time",
        "2s",
        "--disk",
        "fixed",
    ]);
    assert!(text.contains("No ranking: the trace does not support a verdict about queueing"), "{text}");
    assert!(!text.contains("Use "), "{text}");
}

#[test]
fn an_unknown_format_shows_its_lines_and_the_description_that_reads_it() {
    let trace = public("unknown-format.log");
    for verb in [&["trace", "info"][..], &["compare"], &["simulate"]] {
        let error = refused(&[verb, &[&trace]].concat());
        assert!(error.contains("no trace in a known format"), "{error}");
        assert!(error.contains("[757.388 ms] disk2 op=wr lba=523480"), "{error}");
        assert!(error.contains("line=\"[{-} ms] disk{-} op={-} lba={-} len={-} took={-}us\"'"), "{error}");
        assert!(!error.contains("job file") && !error.contains("section"), "{error}");
    }
    let line = "line='[{time@ms} ms] disk{disk} op={op} lba={offset@512B} len={size} took={response@us}us'";
    let info = json(&format!("{trace}:{line}"));
    assert_eq!((&info["ios"], &info["resolution_ns"]), (&60.into(), &1000.into()));
    assert_eq!(info["kinds"]["read"]["latency_ns"]["count"], 40);
}

#[test]
fn several_devices_must_be_chosen_among() {
    let trace = public("msr-like.csv.gz");
    let error = refused(&["compare", &trace, "--parse-only"]);
    assert!(error.contains("has 3 devices: srv.0 (212 I/Os), srv.2 (101 I/Os), srv.1 (87 I/Os)"), "{error}");
    let chosen = done(&["compare", &format!("{trace}:device=srv.2,timing=closed"), "--parse-only"]);
    assert!(chosen.contains("101 I/Os of 1 process"), "{chosen}");
    let none = refused(&["compare", &format!("{trace}:device=srv.9"), "--parse-only"]);
    assert!(none.contains("no I/O of device srv.9 is left"), "{none}");
    assert!(error.contains("device=each for a disk of each"), "{error}");
}

#[test]
fn each_device_is_a_disk_of_its_own_if_asked_for() {
    let trace = format!("{}:device=each,timing=closed", public("msr-like.csv.gz"));
    let run = ["--elevators", "mq-deadline,none", "--seeds", "1"];
    let disks = ["--disk", "srv.0=hdd-7200,srv.1=sata-ssd,srv.2=nvme-ssd"];
    let compared = done(&[&["compare", &trace][..], &disks, &run].concat());
    for (device, disk, ios) in [("srv.0", "hdd-7200", 212), ("srv.1", "sata-ssd", 87), ("srv.2", "nvme-ssd", 101)] {
        assert!(compared.contains(&format!("device {device} on {disk}:\n")), "{compared}");
        assert!(compared.contains(&format!("{device}: {ios} I/Os of 1 process")), "{compared}");
    }
    let same = done(&["simulate", &trace, "--elevator", "none", "--disk", "sata-ssd"]);
    assert_eq!(same.matches("on sata-ssd").count(), 3, "{same}");
    let lacking = refused(&["compare", &trace, "--disk", "srv.0=hdd-7200,srv.1=sata-ssd"]);
    assert!(lacking.contains("no disk for device srv.2; the trace has srv.2, srv.1, srv.0"), "{lacking}");
    let file = refused(&["compare", &trace, "--csv"]);
    assert!(file.contains("--csv is about one disk"), "{file}");
    let beside = refused(&["compare", &trace, "dd"]);
    assert!(beside.contains("with one trace and nothing beside it"), "{beside}");
}

#[test]
fn a_tracefs_text_without_bios_is_read_from_insertions_with_a_note() {
    let text = done(&["compare", &format!("{RECORDED}tracefs-mq-deadline.txt.gz"), "--parse-only"]);
    assert!(text.contains("no block_bio_queue: submissions are taken from block_rq_insert"), "{text}");
}

#[test]
fn what_is_converted_says_the_same_in_every_format() {
    let folder = Folder::new();
    let trace = format!("{RECORDED}mq-deadline.blktrace.0");
    let of = |name: &str| {
        let info = json(name);
        let latency = &info["kinds"]["read"]["latency_ns"]["p99"];
        (info["ios"].clone(), info["kinds"]["write"]["bytes"].clone(), info["span_ns"].clone(), latency.clone())
    };
    let (csv, blktrace) = (folder.text("out.csv"), folder.text("out.blktrace.0"));
    done(&["trace", "convert", &trace, &csv]);
    done(&["trace", "convert", &csv, &blktrace]);
    let (ours, theirs) = (of(&csv), of(&trace));
    assert_eq!((&ours.0, &ours.1, &ours.3), (&theirs.0, &theirs.1, &theirs.3));
    assert_eq!(of(&blktrace), ours);
    let iolog = folder.text("out.iolog");
    done(&["trace", "convert", &trace, &iolog]);
    assert_eq!(json(&iolog)["ios"], ours.0);
    let parquet = folder.text("out.parquet");
    done(&["trace", "convert", &trace, &parquet]);
    let bytes = fs::read(&parquet).unwrap();
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1") && bytes.len() < fs::read(&csv).unwrap().len());
    let again = refused(&["trace", "convert", &trace, &csv]);
    assert!(again.contains("already exists"), "{again}");
    let ending = refused(&["trace", "convert", &trace, &folder.text("out.txt")]);
    assert!(ending.contains("expected --to csv, iolog, blktrace or parquet"), "{ending}");
    assert_eq!(fs::read_dir(&*folder).unwrap().count(), 4, "nothing half-written is left");
}

#[test]
fn a_cut_is_a_part_and_needs_one() {
    let folder = Folder::new();
    let (trace, out) = (public("msr-like.csv.gz"), folder.text("part.csv"));
    done(&["trace", "cut", &format!("{trace}:device=srv.0,op=read,from=10s,to=20s"), &out]);
    let info = json(&out);
    assert!(info["ios"].as_u64().unwrap() > 5 && info["span_ns"].as_u64().unwrap() < 11_000_000_000, "{info}");
    assert_eq!((&info["kinds"]["write"]["ios"], info["devices"].as_array().unwrap().len()), (&0.into(), 1));
    let error = refused(&["trace", "cut", &trace, &folder.text("all.csv")]);
    assert!(error.contains("nothing to cut: expected device="), "{error}");
    let error = refused(&["trace", "cut", &format!("{trace}:op=flush"), &folder.text("none.csv")]);
    assert!(error.contains("no I/O is left"), "{error}");
    assert_eq!(fs::read_dir(&*folder).unwrap().count(), 1, "nothing half-written is left");
}

#[test]
fn an_anonymous_trace_keeps_order_and_distances_and_no_name() {
    let folder = Folder::new();
    let (trace, out) = (public("fiu-like.txt.gz"), folder.text("anonymous.csv"));
    done(&["trace", "anonymise", &trace, &out]);
    let text = fs::read_to_string(&out).unwrap();
    assert!(!text.contains("httpd") && !text.contains("find") && text.contains("p1"), "{}", &text[..300]);
    let (before, after) = (json(&trace), json(&out));
    for key in ["ios", "span_ns"] {
        assert_eq!(before[key], after[key], "{key}");
    }
    let reach = |info: &serde_json::Value| -> Vec<u64> {
        let of = |device: &serde_json::Value| {
            device["end_sector"].as_u64().unwrap() - device["first_sector"].as_u64().unwrap()
        };
        let mut reach: Vec<u64> = info["devices"].as_array().unwrap().iter().map(of).collect();
        reach.sort_unstable();
        reach
    };
    assert_eq!(reach(&before), reach(&after));
    assert_eq!(after["devices"][0]["first_sector"], 0);
}

/// 400,000 rows over four minutes; a second's worth of rows waits to be put in order.
#[cfg(target_os = "linux")]
#[test]
fn a_long_trace_is_looked_through_in_little_memory() {
    let folder = Folder::new();
    let path = folder.text("long.csv");
    let mut out = std::io::BufWriter::new(fs::File::create(&path).unwrap());
    for row in 0..400_000_u64 {
        let (volume, offset) = (row % 50, row * 7919 % 1_000_000 * 4096);
        writeln!(out, "{volume},R,{offset},4096,{}", 1_577_808_000_000_000 + row * 600).unwrap();
    }
    out.into_inner().unwrap();
    // Held in memory, its events alone would need 40 MB and its recording as much again. The program itself does not
    // count.
    let limited = format!("ulimit -d 5000; exec {} trace info --json {path}", env!("CARGO_BIN_EXE_blksched"));
    let output = blksched_testkit::output(std::process::Command::new("sh").args(["-c", &limited])).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let info: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(info["traces"][0]["ios"], 400_000);
}

#[test]
fn what_is_said_wrongly_is_named_with_the_nearest() {
    let trace = public("msr-like.csv.gz");
    let said = |said: &str| refused(&["trace", "info", &format!("{trace}:{said}")]);
    assert!(said("colums=time").contains("did you mean `columns`?"));
    assert!(said("columns=time,op,ofset,size").contains("did you mean `offset`?"));
    assert!(said("from=soon").contains("expected a time, as in 10s"));
    assert!(said("timing=closed").contains("is for replays, and nothing is replayed here"));
    let damaged = said("columns=time@100ns,host,disk,op,offset@B,size@B");
    assert!(damaged.contains("msr-like.csv.gz:1:") && damaged.contains("one column too many: expected 6"), "{damaged}");
    assert!(refused(&["trace", "info", "nowhere.csv"]).contains("there is no such file"));
}
