//! Models from traces of what had many commands at a time.

use blksched::{Command, Instant};
use blksched_disks::probe::{TraceFit, Traced, fit_trace};
use blksched_disks::{DiskSpec, Model, load, load_changed};

use crate::support::*;

/// `depth` commands in flight: a stream of 64 KiB reads beside random reads and writes of 4 KiB.
fn deep(spec: &DiskSpec, depth: u32) -> Vec<Traced> {
    let mut random = Random(88_172_645_463_325_252);
    let most = spec.build(1).facts().sectors - 1_000_000;
    let commands: Vec<Command> = (0..3_000u64)
        .map(|nth| match nth % 5 {
            0 | 1 => read(nth * 128 % most, 128),
            2 => write(random.below(most), 8),
            _ => read(random.below(most), 8),
        })
        .collect();
    let mut disk = spec.build(5);
    let mut begun: Vec<(Instant, Command)> = Vec::new();
    let mut traced = Vec::new();
    let mut now = Instant::ZERO;
    loop {
        while disk.in_flight() < depth && begun.len() < commands.len() {
            let command = numbered(begun.len() as u32, commands[begun.len()]);
            disk.start(now, command);
            begun.push((now, command));
        }
        if disk.in_flight() == 0 {
            return traced;
        }
        let finished = next_completion(&mut *disk);
        now = finished.at;
        let (issued, Command { op, start, sectors, .. }) = begun[finished.rq.index()];
        traced.push(Traced { op, start: start.0, sectors, issued, completed: now });
    }
}

fn fitted(preset: &str, changes: &[(&str, &str)], depth: u32) -> TraceFit {
    let changes: Vec<(String, String)> = changes.iter().map(|(key, to)| (key.to_string(), to.to_string())).collect();
    fit_trace("mine", deep(&load_changed(preset, &changes).unwrap(), depth)).unwrap()
}

#[test]
fn commands_that_wait_inside_are_told_from_those_that_are_served() {
    for channels in [1u32, 3, 4] {
        let changes = [("service", "2ms"), ("channels", &*channels.to_string()), ("depth", "32")];
        let fit = fitted("fixed", &changes, 32);
        let Model::Fixed(found) = &fit.spec.model else { panic!("{channels}: {}", fit.toml) };
        assert_eq!(found.channels, channels, "{}", fit.toml);
        assert!((found.read.service.as_ms_f64() / 2.0 - 1.0).abs() < 0.03, "{channels}: {}", fit.toml);
        assert!(fit.held_back.unwrap().relative() < 0.05, "{channels}: {}", fit.toml);
        assert!(
            fit.unknown.iter().any(|what| what.starts_with("what a command takes alone: none was;")),
            "{:?}",
            fit.unknown
        );
        assert!(fit.toml.contains("us, if `channels` is right\n"), "{}", fit.toml);
    }
}

#[test]
fn reads_and_writes_have_times_of_their_own() {
    for channels in [1u32, 4] {
        let file = include_str!("../../presets/fixed.toml")
            .replace("service = \"100us\"", "service = { read = \"2ms\", write = \"5ms\" }")
            .replace("channels = 8 ", &format!("channels = {channels} "))
            .replace("service = \"50us to 200us\"\n", "")
            // No two end simultaneously: for two that begin simultaneously a trace does not say which was first.
            + "\n[delay]\ntime = \"0us\"\njitter = \"50us\"\n";
        let real = blksched_disks::parse("apart", &file).unwrap();
        let fit = fit_trace("mine", deep(&real, 31)).unwrap();
        let Model::Fixed(found) = &fit.spec.model else { panic!("{channels}: {}", fit.toml) };
        let times = [found.read.service, found.write.service].map(|time| time.as_ms_f64());
        assert!((times[0] / 2.0 - 1.0).abs() < 0.03 && (times[1] / 5.0 - 1.0).abs() < 0.03, "{}", fit.toml);
        assert!(fit.held_back.unwrap().relative() < 0.05, "{channels}: {}", fit.toml);
    }
}

#[test]
fn what_takes_as_long_near_as_far_may_spread_more_than_an_arm_would() {
    let delayed = include_str!("../../presets/fixed.toml").replace("service = \"100us\"", "service = \"3ms\"")
        + "\n[delay]\ntime = \"0us\"\njitter = \"3.3ms\"\n";
    let real = blksched_disks::parse("delayed", &delayed).unwrap();
    let depth = real.depth().min(4);
    let fit = fit_trace("mine", deep(&real, depth)).unwrap();
    assert!(matches!(fit.spec.model, Model::Fixed(_)), "{}", fit.toml);
    assert!(fit.held_back.unwrap().relative() < 0.1, "{}", fit.toml);
}

#[test]
fn neither_an_arm_nor_flash_is_taken_for_a_constant() {
    for (preset, depth) in [("sata-2009", 1), ("sata-2009", 8), ("hdd-7200-ideal", 16)] {
        let fit = fit_trace("mine", deep(&load(preset).unwrap(), depth)).unwrap();
        assert!(!matches!(fit.spec.model, Model::Fixed(_)), "{preset}, {depth}: {}", fit.toml);
    }
    let fit = fit_trace("mine", deep(&load("sata-ssd-ideal").unwrap(), 1)).unwrap();
    assert!(matches!(fit.spec.model, Model::Ssd(_)), "{}", fit.toml);
}
