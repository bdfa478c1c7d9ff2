//! Presets load, and a wrong file is told where and why.

use blksched_disks::{Duplex, Model, TailOf, load, parse, presets};

const IDE: &str = include_str!("../../presets/ide-2002.toml");

/// The loader's error about ide-2002 with `from` replaced by `to`.
fn complaint(from: &str, to: &str) -> String {
    assert!(IDE.contains(from), "{from}");
    parse("my.toml", &IDE.replacen(from, to, 1)).unwrap_err().to_string()
}

#[test]
fn every_preset_loads_and_builds() {
    let presets = presets();
    let short: Vec<(&str, &str)> = blksched_disks::preset_descriptions().collect();
    let whole: Vec<(&str, &str)> = presets.iter().map(|preset| (&*preset.name, &*preset.description)).collect();
    assert_eq!(short, whole, "a list reads what a whole preset says");
    let names: Vec<&str> = presets.iter().map(|preset| preset.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "hdd-7200-ideal",
            "hdd-7200-starves",
            "hdd-dt01aca200",
            "hdd-raptor-10k",
            "hdd-travelstar-7k100",
            "sata-2009",
            "ide-2002",
            "sata-ssd-ideal",
            "sata-ssd-s4610",
            "sata-ssd-crucial-250",
            "sata-ssd-mx200-h420i",
            "nvme-ssd-rocket4plus",
            "nvme-ssd-ideal",
            "nvme-ssd-aged",
            "nvme-cloud-i3",
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
fn names_of_classes_stand_for_measured_drives() {
    for (name, drive) in blksched_disks::standing_names() {
        let (standing, drive) = (load(name).unwrap(), load(drive).unwrap());
        assert_eq!(standing.model, drive.model, "{name}");
        assert!(standing.name == name && !standing.validated.is_empty(), "{name} is asked for, and was measured");
        assert!(blksched_disks::stands_for(&drive.name).is_none());
        // Their members have the same model, and a misspelt one is suggested.
        let array = load(&format!("raid0:2x{name}")).unwrap();
        let Model::Raid(raid) = &array.model else { panic!("an array") };
        assert_eq!(raid.members[0].model, drive.model);
        assert!(load(&format!("{name}x")).unwrap_err().to_string().contains(&format!("did you mean `{name}`?")));
        assert_eq!(blksched_disks::fitted_in(name), blksched_disks::fitted_in(&drive.name));
    }
}

#[test]
fn a_validated_tail_names_what_it_is_of() {
    let of = |words: &str| format!("[[validated]]\nagainst = \"a drive\"\nerror = \"3%\"\np99_of = {words}\n");
    let read = |words: &str| parse("my.toml", &format!("{IDE}\n{}", of(words)));
    let spec = read("[\"reads\", \"writes beside reads\"]").unwrap();
    assert_eq!(spec.validated[0].p99_of, [TailOf::Reads, TailOf::WritesBesideReads]);
    let truth = blksched_disks::sheet::truth(&spec);
    assert_eq!((truth.p99_off(TailOf::Reads, 64), truth.p99_off(TailOf::Writes, 1)), (Some(30), None));
    let shallow = read("[\"reads\"]\nin_flight = 32").unwrap();
    let truth = blksched_disks::sheet::truth(&shallow);
    assert_eq!([1, 32, 33].map(|in_flight| truth.p99_off(TailOf::Reads, in_flight)), [Some(30), Some(30), None]);
    assert!(read("[\"reads\"]\nin_flight = 0").is_err());
    let wrong = read("[\"raeds\"]").unwrap_err().to_string();
    assert!(
        wrong.contains("\"raeds\" is no such I/O: expected one of reads, writes, ") && wrong.contains("`reads`"),
        "{wrong}"
    );
}

#[test]
fn every_number_of_a_preset_has_a_source() {
    for text in [
        IDE,
        include_str!("../../presets/sata-2009.toml"),
        include_str!("../../presets/hdd-7200-ideal.toml"),
        include_str!("../../presets/hdd-dt01aca200.toml"),
        include_str!("../../presets/hdd-raptor-10k.toml"),
        include_str!("../../presets/hdd-travelstar-7k100.toml"),
        include_str!("../../presets/sata-ssd-s4610.toml"),
        include_str!("../../presets/sata-ssd-crucial-250.toml"),
        include_str!("../../presets/sata-ssd-mx200-h420i.toml"),
        include_str!("../../presets/nvme-ssd-rocket4plus.toml"),
        include_str!("../../presets/hdd-7200-starves.toml"),
        include_str!("../../presets/sata-ssd-ideal.toml"),
        include_str!("../../presets/nvme-ssd-ideal.toml"),
        include_str!("../../presets/nvme-ssd-aged.toml"),
        include_str!("../../presets/nvme-cloud-i3.toml"),
        include_str!("../../presets/usb-stick.toml"),
        include_str!("../../presets/sd-card.toml"),
        include_str!("../../presets/cloud-gp3.toml"),
        include_str!("../../presets/cloud-gp2.toml"),
        include_str!("../../presets/fixed.toml"),
        include_str!("../../presets/null.toml"),
    ] {
        // A published figure names its source on a line of its own.
        let parameters = text.split("\n[fit]").next().unwrap_or(text);
        for line in parameters.lines().filter(|line| line.contains(" = ")) {
            let word = line.starts_with("kind") || line.starts_with("description");
            let sourced =
                ["# READ: ", "# MEMORY: ", "# FIT: ", "# MEASURED: "].iter().any(|source| line.contains(source));
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
    let text = include_str!("../../presets/nvme-ssd-ideal.toml");
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
         (known: hdd-7200, sata-ssd, nvme-ssd, hdd-7200-ideal, hdd-7200-starves, hdd-dt01aca200, \
         hdd-raptor-10k, hdd-travelstar-7k100, sata-2009, ide-2002, sata-ssd-ideal, sata-ssd-s4610, \
         sata-ssd-crucial-250, sata-ssd-mx200-h420i, nvme-ssd-rocket4plus, nvme-ssd-ideal, nvme-ssd-aged, \
         nvme-cloud-i3, usb-stick, sd-card, cloud-gp3, cloud-gp2, fixed, null; \
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
         speed, zones, geometry, seek, overhead, interface, zone, look_ahead, write_cache, ncq, fault, power, \
         window, arbitration, controller_cache, caps, coalescing, delay, tracer, published, validated, fit; \
         did you mean `zones`?"
    );
}

#[test]
fn a_bad_unit_is_told_its_place_and_what_was_expected() {
    assert_eq!(
        complaint("\"8.9ms\"", "\"8.9 millis\""),
        "my.toml:22:11: \"8.9 millis\" is not a value for `average`: expected a time from 0s to 500ms, as in \"8.9ms\""
    );
    assert_eq!(
        complaint("outer = \"40MB/s\"", "outer = 40"),
        "my.toml:12:9: 40 is not a value for `outer`: expected a rate from 100kB/s to 100GB/s, as in \"40MB/s\""
    );
    assert_eq!(
        complaint("\"7200rpm\"", "\"7200\""),
        "my.toml:8:9: \"7200\" is not a value for `speed`: expected a speed from 1000rpm to 30000rpm, as in \"7200rpm\""
    );
}

#[test]
fn a_value_out_of_range_is_told_the_range() {
    assert_eq!(
        complaint("heads = 4", "heads = 0"),
        "my.toml:16:9: 0 is not a value for `heads`: expected a whole number from 1 to 64"
    );
    assert_eq!(
        complaint("segment = \"512KiB\"", "segment = \"1B\""),
        "my.toml:36:11: \"1B\" is not a value for `segment`: \
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
    let [mut yields, starves] = ["hdd-7200-ideal", "hdd-7200-starves"].map(|name| load(name).unwrap());
    let (Model::Hdd(starves), Some(yields)) = (&starves.model, yields.hdd_mut()) else { panic!("two hdds") };
    assert_ne!(yields.ncq, starves.ncq);
    yields.ncq = starves.ncq;
    assert_eq!(yields, starves);
}

/// The keys marked as fitted in a preset's text, with their tables.
fn marked(text: &str) -> Vec<String> {
    let (mut table, mut keys) = (String::new(), Vec::new());
    for line in text.split("\n[fit]").next().unwrap_or(text).lines() {
        if let Some(name) = line.strip_prefix('[') {
            table = name.split(']').next().unwrap_or(name).to_owned() + ".";
        } else if line.split_once("# ").is_some_and(|(_, known)| known.starts_with("FIT")) {
            keys.push(table.clone() + line.split(" = ").next().unwrap_or(line));
        }
    }
    keys.sort();
    keys
}

/// The leading number, and what follows it.
fn number(text: &str) -> (f64, &str) {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    (text[..digits].parse().unwrap_or(f64::NAN), &text[digits..])
}

#[test]
fn every_fit_of_a_preset_has_a_range_with_the_value_in_it_and_a_disk_at_both_ends() {
    let mut wrong = Vec::new();
    for preset in presets() {
        let text = std::fs::read_to_string(format!("presets/{}.toml", preset.name)).unwrap();
        let mut known: Vec<String> = preset.fits.iter().map(|fit| fit.key.clone()).collect();
        known.sort();
        assert_eq!(known, marked(&text), "{}", preset.name);
        for fit in &preset.fits {
            assert_ne!(fit.ends[0], fit.ends[1], "{}: {}", preset.name, fit.key);
            for end in &fit.ends {
                let changed = preset.changed(&[(fit.key.clone(), end.clone())]);
                let changed = match changed {
                    Ok(changed) => changed,
                    Err(error) => {
                        wrong.push(error.to_string());
                        continue;
                    }
                };
                assert!(*end == fit.value || changed.model != preset.model || changed != preset, "{}", fit.key);
            }
            let [low, value, high] = [&fit.ends[0], &fit.value, &fit.ends[1]].map(|text| number(text));
            if low.1 == value.1 && value.1 == high.1 && !value.0.is_nan() {
                assert!(low.0 <= value.0 && value.0 <= high.0, "{}: {fit:?}", preset.name);
            }
        }
        // All of a table at once, as a comparison tries them.
        for fit in &preset.fits {
            for end in 0..2 {
                let of = preset.fits.iter().filter(|other| other.section() == fit.section());
                let all: Vec<_> = of.map(|other| (other.key.clone(), other.ends[end].clone())).collect();
                wrong.extend(preset.changed(&all).err().map(|error| format!("{all:?}: {error}")));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let array = load("raid5:4xhdd-7200-ideal").unwrap();
    assert_eq!(array.fitted(), load("hdd-7200-ideal").unwrap().fits, "an array's are its members'");
    let changed = array.changed(&[("write_cache.share".to_owned(), "10%".to_owned())]).unwrap();
    assert_ne!(changed.model, array.model);
}

#[test]
fn a_wrong_range_is_told_where_and_why() {
    let wrong = |from: &str, to: &str| complaint(from, to);
    let text = wrong("zones.inner = \"20MB/s to", "zones.iner = \"20MB/s to");
    assert!(text.contains("`zones.iner` is not in this file") && text.ends_with("did you mean `inner`?"), "{text}");
    let text = wrong("\"20MB/s to 26MB/s\"", "\"20MB/s\"");
    assert!(text.contains("\"20MB/s\" is not a range of `zones.inner`: expected both ends"), "{text}");
    let text = wrong("[fit]", "[fits]");
    assert!(text.contains("unknown key `fits`") && text.ends_with("did you mean `fit`?"), "{text}");
    let text = wrong("[[published]]", "[[validated]]\nagainst = \"a trace\"\nerror = \"3\"\n[[published]]");
    assert!(text.contains("\"3\" is not an error: expected a percentage"), "{text}");
}
