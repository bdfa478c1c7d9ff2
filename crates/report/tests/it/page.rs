//! The page without a browser: its types, its colours, its size.

use crate::planted;

use std::path::Path;
use std::process::Command;

use blksched_report::{Detail, MOST_BYTES, html, modules};

#[test]
fn the_modules_types_hold() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("page");
    let Ok(checked) = blksched_testkit::output(Command::new("tsc").arg("--project").arg(&folder)) else {
        println!("skipped: no tsc; node-typescript is not installed");
        return;
    };
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
}

#[test]
fn modules_are_short_and_say_what_they_are_for() {
    for (name, text) in modules() {
        let lines = text.lines().count();
        assert!(lines <= 450, "{name} has {lines} lines");
        assert!(text.starts_with("/** "), "{name} does not say what it is for");
        let wide = text.lines().find(|line| line.chars().count() > 140);
        assert!(wide.is_none(), "{name}: {wide:?}");
    }
}

/// A colour as linear red, green, blue.
type Light = [f64; 3];

fn series(theme: &str) -> Vec<Light> {
    let (_, palette) = modules().find(|(name, _)| *name == "palette.js").unwrap();
    let (_, rest) = palette.split_once(&format!("export const {theme} = {{")).unwrap();
    let (list, _) = rest.split_once('[').unwrap().1.split_once(']').unwrap();
    let linear = |hex: &str| {
        let part = f64::from(u8::from_str_radix(hex, 16).unwrap()) / 255.0;
        if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    };
    let colours = list.split('\'').filter(|word| word.starts_with('#'));
    colours.map(|hex| [linear(&hex[1..3]), linear(&hex[3..5]), linear(&hex[5..7])]).collect()
}

/// How colours are perceived with normal vision, and without the cones for red, green, blue (matrices of Machado,
/// Oliveira and Fernandes, 2009, severity 1).
const SIGHTS: [[[f64; 3]; 3]; 4] = [
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    [[0.152_286, 1.052_583, -0.204_868], [0.114_503, 0.786_281, 0.099_216], [-0.003_882, -0.048_116, 1.051_998]],
    [[0.367_322, 0.860_646, -0.227_968], [0.280_085, 0.672_501, 0.047_413], [-0.011_820, 0.042_940, 0.968_881]],
    [[1.255_528, -0.076_749, -0.178_779], [-0.078_411, 0.930_809, 0.147_602], [0.004_733, 0.691_367, 0.303_900]],
];

/// CIE 1976 L*, a*, b* of the perceived colour.
fn lab(colour: &Light, sight: &[[f64; 3]; 3]) -> [f64; 3] {
    let seen: Vec<f64> =
        sight.iter().map(|row| row.iter().zip(colour).map(|(a, b)| a * b).sum::<f64>().clamp(0.0, 1.0)).collect();
    let mix = |by: [f64; 3], white: f64| by.iter().zip(&seen).map(|(a, b)| a * b).sum::<f64>() / white;
    let root = |value: f64| if value > 0.008_856 { value.cbrt() } else { 7.787 * value + 16.0 / 116.0 };
    let x = root(mix([0.4124, 0.3576, 0.1805], 0.9505));
    let y = root(mix([0.2126, 0.7152, 0.0722], 1.0));
    let z = root(mix([0.0193, 0.1192, 0.9505], 1.089));
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

#[test]
fn the_first_five_colours_are_told_apart_by_everybody() {
    // 12 is about five times the just noticeable difference side by side.
    const LEAST: f64 = 12.0;
    for theme in ["LIGHT", "DARK"] {
        let colours = series(theme);
        assert!(colours.len() >= 7);
        for (nth, sight) in SIGHTS.iter().enumerate() {
            for a in 0..5 {
                for b in a + 1..5 {
                    let (one, other) = (lab(&colours[a], sight), lab(&colours[b], sight));
                    let distance = one.iter().zip(other).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt();
                    assert!(distance >= LEAST, "{theme}: {a} and {b} by sight {nth}: {distance:.1}");
                }
            }
        }
    }
}

#[test]
fn the_file_keeps_its_bound_and_tells_less_only_when_it_must() {
    let mut last = Detail::Everything;
    for ios in [1_000_u64, 100_000, 500_000] {
        let page = html(&planted::report(ios), None).unwrap();
        println!("2 × {ios} I/Os: {:?}, {} bytes", page.detail, page.text.len());
        assert!(page.text.len() <= MOST_BYTES, "{ios}: {} bytes", page.text.len());
        assert!(page.detail >= last);
        last = page.detail;
    }
    assert_eq!(html(&planted::report(1_000), None).unwrap().detail, Detail::Everything);
    assert!(last > Detail::Everything);
    let small = html(&planted::report(20_000), Some(400_000)).unwrap();
    assert!(small.text.len() <= 400_000 && small.detail > Detail::Everything, "{:?}", small.detail);
}

#[test]
fn the_answer_reads_without_a_script() {
    let text = html(&planted::report(10), None).unwrap().text;
    let (header, _) = text.split_once("</header>").unwrap();
    assert!(header.contains("Use nothing: this is a test.") && header.contains("<strong>reader:</strong> waits"));
    assert!(text.contains("default-src 'none'"));
}
