//! DiskSim's files as disks of ours, held to the response times that real drives took.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use blksched_disks::disksim::demerit::{Demerit, Measured, demerit, parse, replay};
use blksched_disks::disksim::import;
use blksched_disks::{DiskSpec, Model};
use flate2::read::GzDecoder;

fn data(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/disksim").join(file)
}

fn imported(drive: &str) -> DiskSpec {
    let text = import(&data(&format!("{drive}.model"))).unwrap_or_else(|error| panic!("{error}"));
    blksched_disks::parse(&format!("{drive}.toml"), &text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn trace(drive: &str) -> Vec<Measured> {
    let mut text = String::new();
    let file = fs::File::open(data(&format!("{drive}.trace.gz"))).unwrap();
    GzDecoder::new(file).read_to_string(&mut text).unwrap();
    parse(&text).unwrap()
}

fn held_to(drive: &str) -> Demerit {
    let (spec, trace) = (imported(drive), trace(drive));
    demerit(&replay(&spec, &trace, 1).unwrap(), &trace)
}

/// Drive, and DiskSim's own rms \[ms\].
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
