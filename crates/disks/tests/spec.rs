//! Presets load, and a wrong file is told where and why.

use blksched_disks::{Duplex, Model, load, parse, presets};

const IDE: &str = include_str!("../presets/ide-2002.toml");

/// What the loader says about ide-2002 with `from` replaced by `to`.
fn complaint(from: &str, to: &str) -> String {
    assert!(IDE.contains(from), "{from}");
    parse("my.toml", &IDE.replacen(from, to, 1)).unwrap_err().to_string()
}

#[test]
fn every_preset_loads_and_builds() {
    let presets = presets();
    let names: Vec<&str> = presets.iter().map(|preset| preset.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "hdd-7200",
            "hdd-7200-starves",
            "sata-2009",
            "ide-2002",
            "sata-ssd",
            "nvme-ssd",
            "nvme-ssd-aged",
            "usb-stick",
            "sd-card",
            "cloud-gp3",
            "cloud-gp2",
            "fixed",
            "null"
        ]
    );
    for preset in &presets {
        assert!(!preset.description.is_empty());
        assert!(preset.build(1).facts().sectors > 0);
        assert_eq!(load(&preset.name).as_ref(), Ok(preset));
    }
}

#[test]
fn every_number_of_a_preset_has_a_source() {
    for text in [
        IDE,
        include_str!("../presets/sata-2009.toml"),
        include_str!("../presets/hdd-7200.toml"),
        include_str!("../presets/hdd-7200-starves.toml"),
        include_str!("../presets/sata-ssd.toml"),
        include_str!("../presets/nvme-ssd.toml"),
        include_str!("../presets/nvme-ssd-aged.toml"),
        include_str!("../presets/usb-stick.toml"),
        include_str!("../presets/sd-card.toml"),
        include_str!("../presets/cloud-gp3.toml"),
        include_str!("../presets/cloud-gp2.toml"),
        include_str!("../presets/fixed.toml"),
        include_str!("../presets/null.toml"),
    ] {
        // A published figure names its source in a line of its own.
        let parameters = text.split("[[published]]").next().unwrap_or(text);
        for line in parameters.lines().filter(|line| line.contains(" = ")) {
            let word = line.starts_with("kind") || line.starts_with("description");
            let sourced = ["# READ: ", "# MEMORY: ", "# FIT: "].iter().any(|source| line.contains(source));
            assert!(word || sourced, "{line}");
        }
    }
}

#[test]
fn a_users_own_file_works_as_a_preset_does() {
    let path = std::env::temp_dir().join(format!("blksched-disks-{}.toml", std::process::id()));
    std::fs::write(&path, IDE.replacen("7200rpm", "5400rpm", 1)).unwrap();
    let spec = load(path.to_str().unwrap());
    std::fs::remove_file(&path).unwrap();
    let Model::Hdd(hdd) = spec.unwrap().model else { panic!("an hdd") };
    assert_eq!(hdd.rpm, 5_400);
}

#[test]
fn optional_tables_can_be_left_out_or_switched_off() {
    let end = IDE.find("[look_ahead]").unwrap();
    let Model::Hdd(hdd) = parse("x", &IDE[..end]).unwrap().model else { panic!("an hdd") };
    assert!(hdd.look_ahead.is_none() && hdd.write_cache.is_none() && hdd.ncq.is_none());
    let off =
        IDE.replacen("state = \"on\"", "state = \"off\"", 1).replacen("order = \"position\"", "order = \"off\"", 1);
    let Model::Hdd(hdd) = parse("x", &off).unwrap().model else { panic!("an hdd") };
    assert!(hdd.look_ahead.is_none() && hdd.write_cache.is_none());
}

#[test]
fn an_interface_is_half_duplex_unless_the_file_says_otherwise() {
    let text = include_str!("../presets/nvme-ssd.toml");
    let duplex = |from, to| match parse("x", &text.replacen(from, to, 1)).unwrap().model {
        Model::Ssd(ssd) => ssd.interface.duplex,
        other => panic!("{other:?}"),
    };
    assert_eq!(duplex("", ""), Duplex::Full);
    assert_eq!(duplex("duplex = \"full\"", ""), Duplex::Half);
    let wrong = parse("my.toml", &text.replacen("\"full\"", "\"ful\"", 1)).unwrap_err().to_string();
    assert!(wrong.contains("`ful` is not a value of `duplex`: expected one of half, full"), "{wrong}");
}

#[test]
fn an_unknown_name_is_told_the_nearest_and_the_list() {
    assert_eq!(
        load("sata-2090").unwrap_err().to_string(),
        "`sata-2090` is neither a preset nor a file; did you mean `sata-2009`? \
         (known: hdd-7200, hdd-7200-starves, sata-2009, ide-2002, sata-ssd, nvme-ssd, nvme-ssd-aged, \
         usb-stick, sd-card, cloud-gp3, cloud-gp2, fixed, null; \
         the path of a TOML file works too)"
    );
    let missing = load("no/such/disk.toml").unwrap_err().to_string();
    assert!(missing.starts_with("no/such/disk.toml: "), "{missing}");
}

#[test]
fn an_unknown_key_is_told_its_place_and_the_nearest_valid_one() {
    assert_eq!(
        complaint("average = ", "averge = "),
        "my.toml:22:1: unknown key `averge`: expected in [seek] one of min, average, max, head_switch, write_settle, \
         acquire, curve; did you mean `average`?"
    );
    assert_eq!(
        complaint("[zones]", "[zons]"),
        "my.toml:10:2: unknown key `zons`: expected here one of kind, description, attached, capacity, max_command, \
         speed, zones, geometry, seek, overhead, interface, zone, look_ahead, write_cache, ncq, fault, delay, caps, \
         tracer, published; did you mean `zones`?"
    );
}

#[test]
fn a_bad_unit_is_told_its_place_and_what_was_expected() {
    assert_eq!(
        complaint("\"8.9ms\"", "\"8.9 millis\""),
        "my.toml:22:11: \"8.9 millis\" is no value for `average`: expected a time from 0s to 500ms, as in \"8.9ms\""
    );
    assert_eq!(
        complaint("outer = \"40MB/s\"", "outer = 40"),
        "my.toml:12:9: 40 is no value for `outer`: expected a rate from 100kB/s to 100GB/s, as in \"40MB/s\""
    );
    assert_eq!(
        complaint("\"7200rpm\"", "\"7200\""),
        "my.toml:8:9: \"7200\" is no value for `speed`: expected a speed from 1000rpm to 30000rpm, as in \"7200rpm\""
    );
}

#[test]
fn a_value_out_of_range_is_told_the_range() {
    assert_eq!(
        complaint("heads = 4", "heads = 0"),
        "my.toml:16:9: 0 is no value for `heads`: expected a whole number from 1 to 64"
    );
    assert_eq!(
        complaint("segment = \"512KiB\"", "segment = \"1B\""),
        "my.toml:36:11: \"1B\" is no value for `segment`: \
         expected a size in whole sectors of 512 bytes, from 4KiB to 2097152KiB, as in \"512KiB\""
    );
}

#[test]
fn a_wrong_word_is_told_the_valid_ones() {
    assert_eq!(
        complaint("order = \"position\"", "order = \"postion\""),
        "my.toml:41:9: `postion` is not a value of `order`: expected one of off, fifo, position; \
         did you mean `position`?"
    );
    assert_eq!(
        complaint("kind = \"hdd\"", "kind = \"hd\""),
        "my.toml:3:8: `hd` is not a kind of disk: expected one of null, fixed, hdd, ssd, raid; did you mean `hdd`?"
    );
}

#[test]
fn values_that_contradict_each_other_are_told_apart() {
    assert_eq!(
        complaint("inner = \"22MB/s\"", "inner = \"44MB/s\""),
        "my.toml:13:9: `inner` is faster than `outer`: rates fall towards the centre"
    );
    assert_eq!(
        complaint("max = \"18ms\"", "max = \"5ms\""),
        "my.toml:23:7: `max` is less than `average`: seek times rise with the distance"
    );
    assert_eq!(
        complaint("track_skew = \"0.12rev\"", "track_skew = \"0.05rev\""),
        "my.toml:17:14: `track_skew` is 416666ns at 7200rpm, shorter than the head_switch (900us) that it must cover"
    );
}

#[test]
fn what_is_missing_is_named() {
    assert_eq!(
        complaint("average = \"8.9ms\"", "# "),
        "my.toml:20:1: [seek] lacks the key `average`, a time from 0s to 500ms, as in \"8.9ms\""
    );
    assert_eq!(complaint("[interface]\nrate = \"80MB/s\"", ""), "my.toml:1:1: the file lacks the table [interface]");
}

#[test]
fn broken_toml_is_told_its_place() {
    let broken = complaint("count = 16", "count 16");
    assert!(broken.starts_with("my.toml:11:"), "{broken}");
}

#[test]
fn the_drive_that_starves_differs_from_the_one_that_yields_in_its_queue_alone() {
    let [mut yields, starves] = ["hdd-7200", "hdd-7200-starves"].map(|name| load(name).unwrap());
    let (Model::Hdd(starves), Some(yields)) = (&starves.model, yields.hdd_mut()) else { panic!("two hdds") };
    assert_ne!(yields.ncq, starves.ncq);
    yields.ncq = starves.ncq;
    assert_eq!(yields, starves);
}
