//! DiskSim's files as disks of ours, held to the response times that real drives took.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use blksched_disks::disksim::demerit::{Demerit, MeasuredRequest, demerit, parse, replay};
use blksched_disks::disksim::import;
use blksched_disks::{DiskSpec, HeadOrder, Model};
use flate2::read::GzDecoder;

fn data(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/disksim").join(file)
}

fn imported(drive: &str) -> DiskSpec {
    let text = import(&data(&format!("{drive}.model"))).unwrap_or_else(|error| panic!("{error}"));
    blksched_disks::parse(&format!("{drive}.toml"), &text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn trace(drive: &str) -> Vec<MeasuredRequest> {
    let mut text = String::new();
    let file = fs::File::open(data(&format!("{drive}.trace.gz"))).unwrap();
    GzDecoder::new(file).read_to_string(&mut text).unwrap();
    parse(&text).unwrap()
}

fn held_to(drive: &str) -> Demerit {
    let (spec, trace) = (imported(drive), trace(drive));
    demerit(&replay(&spec, &trace, 1).unwrap(), &trace)
}

/// A drive, and DiskSim's own rms \[ms\].
const DRIVES: [(&str, f64); 5] =
    [("barracuda", 0.348), ("cheetah9LP", 0.107), ("ibm18es", 0.136), ("atlas_III", 0.378), ("hp_c3323a", 0.306)];

#[test]
fn real_drives_are_met_as_well_as_disksim_meets_them() {
    let ratios = DRIVES.map(|(drive, disksim)| {
        let found = held_to(drive);
        println!("{drive}: {found:?}, {:.2} of DiskSim's", found.rms_ms / disksim);
        found.rms_ms / disksim
    });
    assert!(ratios.iter().all(|&ratio| ratio <= 1.3), "{ratios:?}");
    assert!(ratios.iter().filter(|&&ratio| ratio <= 1.1).count() >= 4, "{ratios:?}");
}

#[test]
fn zones_hold_what_the_drives_say_and_seeks_are_as_measured() {
    for (drive, blocks) in [("barracuda", 4_110_000), ("cheetah9LP", 17_783_240), ("ibm18es", 17_916_240)] {
        let spec = imported(drive);
        let Model::Hdd(hdd) = &spec.model else { panic!("an hdd") };
        assert_eq!(hdd.capacity_sectors, blocks, "{drive}");
        assert!(hdd.layout.as_ref().unwrap().sectors() >= blocks);
        assert!(hdd.seek_curve.len() > 60);
    }
}

/// Imports the drive's files with some text of the model or the specs changed; nothing of it may panic.
fn changed(drive: &str, file: &str, change: impl Fn(&str) -> String) -> Result<DiskSpec, String> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("blksched-import-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let folder = std::env::temp_dir().join(name);
    fs::create_dir_all(&folder).unwrap();
    for extension in ["model", "diskspecs", "seek"] {
        let text = fs::read_to_string(data(&format!("{drive}.{extension}"))).unwrap();
        let text = if extension == file { change(&text) } else { text };
        fs::write(folder.join(format!("{drive}.{extension}")), text).unwrap();
    }
    let imported = import(&folder.join(format!("{drive}.model")));
    fs::remove_dir_all(&folder).unwrap();
    let text = imported.map_err(|error| error.to_string().replace(&folder.display().to_string(), ""))?;
    blksched_disks::parse("imported.toml", &text).map_err(|error| error.to_string())
}

fn replaced(drive: &str, file: &str, from: &str, to: &str) -> Result<DiskSpec, String> {
    changed(drive, file, |text| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    })
}

fn curve(spec: &DiskSpec) -> Vec<(u32, f64)> {
    let Model::Hdd(hdd) = &spec.model else { panic!("an hdd") };
    hdd.seek_curve.iter().map(|(distance, time)| (*distance, time.as_ms_f64())).collect()
}

#[test]
fn seek_times_by_formula_are_what_the_formulas_say() {
    // What the formula needs instead.
    let of = |to: &str| {
        let three = ["Single cylinder seek time", "Full strobe seek time", "Seek type"];
        let changed = changed("barracuda", "model", |text| {
            let left = text.lines().filter(|line| !three.iter().any(|key| line.trim_start().starts_with(key)));
            left.collect::<Vec<_>>().join("\n").replacen("Full seek curve", &format!("{to} Full seek curve"), 1)
        });
        changed.map(|spec| curve(&spec))
    };
    let at = |points: &[(u32, f64)], distance: u32| {
        let behind = points.partition_point(|point| point.0 < distance);
        let ((a, low), (b, high)) = (points[behind.saturating_sub(1)], points[behind]);
        if a == b { low } else { low + (high - low) * f64::from(distance - a) / f64::from(b - a) }
    };
    let hpl = of("Seek type = hpl, HPL seek equation values = [383, 3.24, 0.400, 8.00, 0.008, -1],").unwrap();
    // Ruemmler and Wilkes (1994) on the HP 97560.
    for (distance, expected) in [(1, 3.64), (100, 7.24), (1_000, 16.0), (3_000, 32.0)] {
        assert!((at(&hpl, distance) - expected).abs() < 0.02, "{distance}: {}", at(&hpl, distance));
    }
    let ten = "First ten seek times = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],";
    let both = of(&format!("Seek type = hplplus10, {ten} HPL seek equation values = [383, 3.24, 0.4, 8, 0.008, 1],"));
    let both = both.unwrap();
    assert!((at(&both, 7) - 7.0).abs() < 1e-6 && (at(&both, 100) - 7.24).abs() < 0.02);
    let three = "Single cylinder seek time = 1.0, Average seek time = 8.0, Full strobe seek time = 16.0,";
    // Lee and Katz's equation at a third: 10 / sqrt(3) + 5 / 3 + 1.
    for (kind, third) in [("linear", 8.0), ("curve", 8.44)] {
        let points = of(&format!("Seek type = {kind}, {three}")).unwrap();
        let last = *points.last().unwrap();
        assert!((at(&points, 1) - 1.0).abs() < 1e-6 && (last.1 - 16.0).abs() < 0.2, "{kind}: {last:?}");
        assert!((at(&points, last.0 / 3) - third).abs() < 0.02, "{kind}: {}", at(&points, last.0 / 3));
    }
    assert_eq!(of("Seek type = constant, Average seek time = 5.0,").unwrap()[7].1, 5.0);
    let error = of("Seek type = extractd,").unwrap_err();
    assert!(error.contains("/barracuda.model:182:") && error.ends_with("did you mean `extracted`?"), "{error}");
    assert!(of("Seek type = hpl,").unwrap_err().contains("lacks `HPL seek equation values`"));
    let few = of("Seek type = hpl, HPL seek equation values = [383, 3.24],").unwrap_err();
    assert!(few.contains("expected a list of 6 numbers, not 2"), "{few}");
}

#[test]
fn what_may_be_left_out_or_said_otherwise_is_understood() {
    let same = imported("barracuda").model;
    let lines = |text: &str, without: &str| {
        text.lines().filter(|line| !line.trim_start().starts_with(without)).collect::<Vec<_>>().join("\n")
    };
    let skew = changed("barracuda", "model", |text| lines(text, "Skew units")).unwrap();
    assert_eq!(skew.model, same);
    let commented =
        changed("barracuda", "model", |text| text.replace('\n', "  # a comment, with = and }\r\n")).unwrap();
    assert_eq!(commented.model, same);
    let seek = changed("barracuda", "seek", |text| format!("# by hand\n{}", text.replace(",\t", " "))).unwrap();
    assert_eq!(seek.model, same);
    assert!(changed("barracuda", "diskspecs", |text| lines(text, "Print stats")).is_ok());
    // A list that never ends, and nested lists.
    let open = changed("barracuda", "model", |text| text.replacen("slips = [", "slips = [ 1 }", 1)).unwrap_err();
    assert!(open.contains("`}` in a list"), "{open}");
    let deep = changed("barracuda", "model", |text| text.replacen("slips = [", &"slips = [".repeat(9_000), 1));
    assert!(deep.is_err());
    let nested =
        changed("barracuda", "model", |text| text.replacen("slips = [", &format!("slips = {}", "[".repeat(9_000)), 1));
    assert!(nested.unwrap_err().contains("lists within lists"));
    let error = replaced("barracuda", "seek", "2,\t", "0,\t").unwrap_err();
    assert!(error.starts_with("/barracuda.seek:3:1: "), "{error}");
}

#[test]
fn every_sparing_scheme_and_order_of_heads_of_the_manual_is_a_disk() {
    let of = |from: &str, to: &str| replaced("barracuda", "model", from, to).unwrap();
    for scheme in 0..=10 {
        let spec = of("Sparing scheme used = 8,", &format!("Sparing scheme used = {scheme},"));
        let Model::Hdd(hdd) = &spec.model else { panic!("an hdd") };
        let held = hdd.layout.as_ref().unwrap().sectors();
        // Used where the blocks end where the arm's range does; otherwise the zones are.
        assert!([4_110_000, held].contains(&hdd.capacity_sectors) && held >= 4_110_000, "scheme {scheme}");
    }
    let error = replaced("barracuda", "model", "Sparing scheme used = 8,", "Sparing scheme used = 11,").unwrap_err();
    assert!(error.contains("/barracuda.model:7:29:") && error.contains("up to 10"), "{error}");
    for (scheme, order) in [(1, HeadOrder::Alternating), (2, HeadOrder::AlternatingByCylinder)] {
        let spec = of("mapping scheme = 0,", &format!("mapping scheme = {scheme},"));
        let Model::Hdd(hdd) = &spec.model else { panic!("an hdd") };
        assert_eq!(hdd.layout.as_ref().unwrap().order, order);
    }
    let error = replaced("barracuda", "model", "mapping scheme = 0,", "mapping scheme = 3,").unwrap_err();
    assert!(error.contains("/barracuda.model:6:35: `3` is not a value"), "{error}");
    // A zone's units take precedence over the layout's: whole revolutions are not skews.
    let said = changed("barracuda", "model", |text| {
        text.replace("Offset of first block = ", "Skew units = revolutions, Offset of first block = ")
    });
    assert_ne!(said.unwrap().model, imported("barracuda").model);
}

/// As in DiskSim's maxtor300g and other files of theirs, which have their zones in a file of its own.
#[test]
fn a_layout_may_have_a_file_of_its_own() {
    let folder = std::env::temp_dir().join(format!("blksched-layout-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for name in ["barracuda.seek", "barracuda.diskspecs"] {
        std::fs::copy(data(name), folder.join(name)).unwrap();
    }
    let text = std::fs::read_to_string(data("barracuda.model")).unwrap();
    let begin = text.find("dm_layout_g1").unwrap();
    let open = begin + text[begin..].find('{').unwrap();
    let mut depth = 0;
    let end = open
        + text[open..]
            .find(|letter| {
                depth += i32::from(letter == '{') - i32::from(letter == '}');
                depth == 0
            })
            .unwrap();
    let model = folder.join("barracuda.model");
    let named = format!("{}source a/barracuda.layout{}", &text[..begin], &text[end + 1..]);
    std::fs::write(&model, named).unwrap();
    let alone = import(&model).unwrap_err().to_string();
    std::fs::write(folder.join("barracuda.layout"), format!("dm_layout_g1 own {}", &text[open..=end])).unwrap();
    let apart = import(&model);
    std::fs::write(folder.join("barracuda.layout"), "dm_layout_g4 own { }").unwrap();
    let other = import(&model).unwrap_err().to_string();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(alone.contains("barracuda.layout"), "{alone}");
    assert_eq!(apart.unwrap(), import(&data("barracuda.model")).unwrap());
    assert!(other.contains("barracuda.layout:1:") && other.contains("dm_layout_g1"), "{other}");
}

#[test]
fn what_is_not_read_is_refused_by_its_name() {
    let error = replaced("barracuda", "model", "dm_layout_g1 {", "dm_layout_g4 {").unwrap_err();
    assert!(error.contains("/barracuda.model:5:") && error.contains("`dm_layout_g4 { … }`"), "{error}");
    let error = replaced("barracuda", "model", "trackSwitchPlusRotation", "averageRotation").unwrap_err();
    assert!(error.contains("`averageRotation` is not a value for `Access time type`"), "{error}");
    let error = changed("barracuda", "diskspecs", |_| "Access time (in msecs):\t-2.0\n".to_owned()).unwrap_err();
    assert!(error.starts_with("/barracuda.diskspecs:1:1: no block") && error.contains("older"), "{error}");
    let error = changed("barracuda", "model", |text| text.replacen("dm_disk", "disksim_disk", 1)).unwrap_err();
    assert!(error.contains("expected `dm_disk NAME { … }`"), "{error}");
    // One file with several drives: the one that names this model.
    let other = |text: &str| text.replacen("source ", "source other_", 1).replace("= 3,", "= 1,");
    let both = changed("barracuda", "diskspecs", |text| format!("{}\n{text}", other(text))).unwrap();
    assert_eq!(both.model, imported("barracuda").model);
    let error = changed("barracuda", "diskspecs", |text| format!("{0}\n{0}", other(text))).unwrap_err();
    assert!(error.contains("has `Model = source barracuda.model`"), "{error}");
    let error =
        replaced("barracuda", "model", "Number of data surfaces = 5", "Number of data surfaces = 0").unwrap_err();
    assert!(error.contains("from 1 to 64"), "{error}");
}

#[test]
fn whatever_becomes_of_the_files_they_are_a_disk_or_refused_by_file_line_and_column() {
    let mut state = 1u64;
    let mut draw = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    for case in 0..400 {
        let (file, edits) = (["model", "diskspecs", "seek"][case % 3], [draw(), draw(), draw(), draw()]);
        let outcome = changed("hp_c3323a", file, |text| {
            let mut bytes = text.as_bytes().to_vec();
            for (nth, edit) in edits.into_iter().take(1 + case % 4).enumerate() {
                let at = edit % bytes.len();
                match (edit / 7 + nth) % 4 {
                    0 => bytes[at] = 32 + (edit / 11 % 95) as u8,
                    1 => bytes.insert(at, b'0' + (edit / 11 % 10) as u8),
                    2 => drop(bytes.remove(at)),
                    _ => bytes.truncate(at + 1),
                }
            }
            String::from_utf8_lossy(&bytes).into_owned()
        });
        match outcome {
            Ok(spec) => assert!(spec.build(1).facts().sectors > 0),
            Err(error) => {
                let place = error.splitn(4, ':').skip(1).take(2).all(|number| number.parse::<u32>().is_ok());
                // The error is about DiskSim's files, not about the result.
                assert!(place && error.starts_with("/hp_c3323a."), "{error}");
            }
        }
    }
}
