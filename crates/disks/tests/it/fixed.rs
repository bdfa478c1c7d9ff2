//! The disk whose every command costs the same: one time for all, or one for reads and one for writes.

use blksched::{Command, Op, Span};
use blksched_disks::probe::ProbeAccess;
use blksched_disks::{DiskSpec, FixedSpec, Model, load_changed, parse};

use crate::probe::{compare, probed, volume_parameters};
use crate::support::*;

const PRESET: &str = include_str!("../../presets/fixed.toml");

/// The preset with other lines for its time and its rate.
fn text(service: &str, rate: &str) -> String {
    let line = |line: &str| match line.split_once(" = ") {
        Some(("service", value)) if value.contains('#') => format!("{service}\n"),
        Some(("rate", value)) if value.contains('#') => format!("{rate}\n"),
        _ => format!("{line}\n"),
    };
    PRESET.split("\n[fit]").next().expect("there is a first").lines().map(line).collect()
}

const TIMES: &str = "service = { read = \"3ms\", write = \"4ms\" }";
const RATES: &str = "rate = { read = \"400MB/s\", write = \"100MB/s\" }";

fn apart() -> DiskSpec {
    parse("mine.toml", &text(TIMES, RATES)).unwrap()
}

fn fixed(spec: &DiskSpec) -> &FixedSpec {
    match &spec.model {
        Model::Fixed(fixed) => fixed,
        other => panic!("{other:?} is not a fixed disk"),
    }
}

#[test]
fn reads_and_writes_may_cost_other_times_and_what_moves_no_data_costs_a_writes() {
    let spec = apart();
    let took = |command: Command| run(&spec, 1, 1, [command]).latencies().next().unwrap();
    let way = |rate: f64| Span::from_ns((131_072.0 / rate * 1e9) as u64);
    assert_eq!(took(read(0, 256)), Span::from_ms(3) + way(400e6));
    assert_eq!(took(write(0, 256)), Span::from_ms(4) + way(100e6));
    assert_eq!(took(flush()), Span::from_ms(4));
    for op in [Op::Discard, Op::WriteZeroes] {
        assert_eq!(took(Command { op, ..read(0, 256) }), Span::from_ms(4), "{op:?}");
    }
    let deep = run(&spec, 1, 31, (0..310).map(|n| if n % 2 == 0 { read(n * 8, 8) } else { write(n * 8, 8) }));
    let longest = spec.longest(Op::Read, 8);
    assert!(deep.latencies().all(|latency| latency <= longest), "a read may stand behind writes alone");
}

#[test]
fn the_short_form_is_both() {
    let short = parse("mine.toml", &text("service = \"3ms\"", "rate = \"400MB/s\"")).unwrap();
    let long =
        text("service = { read = \"3ms\", write = \"3ms\" }", "rate = { read = \"400MB/s\", write = \"400MB/s\" }");
    assert_eq!(short, parse("mine.toml", &long).unwrap());
    let table = text("", "") + "[service]\nread = \"3ms\"\nwrite = \"4ms\"\n";
    let table = parse("mine.toml", &table).unwrap();
    assert_eq!((fixed(&table).read.service, fixed(&table).write.service), (Span::from_ms(3), Span::from_ms(4)));
    assert_eq!((fixed(&table).read.rate, fixed(&table).write.rate), (None, None));
}

#[test]
fn what_is_neither_a_time_nor_two_is_refused_with_its_place() {
    let error = |service: &str, rate: &str| parse("my.toml", &text(service, rate)).unwrap_err().to_string();
    let wrong = error("service = \"3 millis\"", "");
    assert_eq!(
        wrong,
        "my.toml:9:11: \"3 millis\" is not a value for `service`: expected a time from 0s to 10s, as in \"3ms\", or \
         a table of two: { read = …, write = … }"
    );
    assert!(
        error("service = { read = \"3ms\" }", "")
            .ends_with("[service] lacks the key `write`, a time from 0s to 10s, as in \"3ms\"")
    );
    let wrong = error("service = { read = \"3ms\", wirte = \"4ms\" }", "");
    assert!(wrong.contains("unknown key `wirte`") && wrong.ends_with("did you mean `write`?"), "{wrong}");
    let wrong = error(TIMES, "rate = { read = \"1GB/s\", write = \"1B/s\" }");
    assert!(wrong.starts_with("my.toml:10:34: \"1B/s\" is not a value for `write`"), "{wrong}");
    assert!(error("", RATES).contains("the file lacks the key `service`, a time from 0s to 10s"));
}

#[test]
fn a_sensitivity_run_and_a_sweep_reach_each_of_the_two() {
    let fit = "\n[fit]\nservice.read = \"2ms to 4ms\"\nrate.write = \"50MB/s to 200MB/s\"\n";
    let text = text(TIMES, RATES) + fit;
    let spec = parse("mine.toml", &text).unwrap();
    let keys: Vec<(&str, &str)> = spec.fits.iter().map(|fit| (&*fit.key, &*fit.value)).collect();
    assert_eq!(keys, [("rate.write", "100MB/s"), ("service.read", "3ms")]);
    let path = std::env::temp_dir().join(format!("blksched-fixed-{}.toml", std::process::id()));
    std::fs::write(&path, text).unwrap();
    let changed = load_changed(path.to_str().unwrap(), &[("service.read".to_owned(), "2ms".to_owned())]);
    std::fs::remove_file(&path).unwrap();
    let changed = changed.unwrap();
    assert_eq!(fixed(&changed).read.service, Span::from_ms(2));
    assert_eq!(fixed(&changed).write, fixed(&spec).write);
}

#[test]
fn a_prober_that_may_write_finds_both_and_one_that_may_not_takes_reads_for_writes() {
    let real = apart();
    let found = probed(&real, ProbeAccess::Destroy);
    compare("reads and writes apart", &volume_parameters(&found.spec, &real), &found);
    assert!(found.toml.contains("service = { read = "), "{}", found.toml);
    let reads = probed(&real, ProbeAccess::ReadOnly);
    let fixed = fixed(&reads.spec);
    assert_eq!(fixed.read, fixed.write, "{}", reads.toml);
    assert!((fixed.read.service.as_ms_f64() / 3.0 - 1.0).abs() < 0.05, "{}", reads.toml);
}
