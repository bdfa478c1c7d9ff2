//! `demerit`: our disk compared with real drives, from DiskSim's files and measured response times.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use blksched_disks::disksim::demerit::{Demerit, demerit, parse, replay};
use blksched_disks::disksim::import;
use flate2::read::GzDecoder;

use crate::Verdict;
use crate::shell;

/// DiskSim's own rms \[ms\] for the drives whose figures are known.
const DISKSIM: [(&str, f64); 5] =
    [("barracuda", 0.348), ("cheetah9LP", 0.107), ("ibm18es", 0.136), ("atlas_III", 0.378), ("hp_c3323a", 0.306)];
/// The limits for every drive, and for all but one \[parts of DiskSim's rms\].
const MOST: f64 = 1.3;
const USUAL: f64 = 1.1;
/// One drive.
struct Row {
    drive: String,
    found: Demerit,
    disksim: Option<f64>,
}

/// Compares every `DRIVE.model` of `folder` with `DRIVE.trace.gz` beside it.
///
/// # Errors
/// If a file cannot be read or is invalid.
pub fn run(folder: Option<PathBuf>) -> Result<Verdict> {
    let folder = folder.unwrap_or_else(|| shell::root().join("testdata/disksim"));
    let mut models: Vec<PathBuf> = fs::read_dir(&folder)
        .with_context(|| folder.display().to_string())?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "model"))
        .collect();
    models.sort();
    if models.is_empty() {
        bail!("{}: no `.model` files", folder.display());
    }
    let rows = models.iter().map(|model| measure(model)).collect::<Result<Vec<Row>>>()?;
    Ok(print(&rows))
}

fn measure(model: &Path) -> Result<Row> {
    let drive = model.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let text = import(model).map_err(|error| anyhow!("{error}"))?;
    let spec = blksched_disks::parse(&format!("{drive}.toml"), &text).map_err(|error| anyhow!("{error}"))?;
    let path = model.with_extension("trace.gz");
    let mut lines = String::new();
    let file = File::open(&path).with_context(|| path.display().to_string())?;
    GzDecoder::new(file).read_to_string(&mut lines).with_context(|| path.display().to_string())?;
    let trace = parse(&lines).map_err(|problem| anyhow!("{}: {problem}", path.display()))?;
    let responses = replay(&spec, &trace, 1).map_err(|problem| anyhow!("{}: {problem}", path.display()))?;
    let disksim = DISKSIM.iter().find(|(name, _)| *name == drive).map(|(_, rms)| *rms);
    Ok(Row { drive, found: demerit(&responses, &trace), disksim })
}

fn print(rows: &[Row]) -> Verdict {
    println!(
        "{:<12} {:>9} {:>9} {:>9} {:>7} {:>11} {:>6}",
        "drive", "mean ms", "ours ms", "rms ms", "rms %", "DiskSim ms", "ratio"
    );
    let (mut above, mut worst) = (0, 0.0f64);
    for row in rows {
        let Demerit { rms_ms: rms, mean_ms, model_mean_ms, .. } = row.found;
        let beside = row.disksim.map_or(("-".to_owned(), "-".to_owned()), |disksim| {
            let ratio = rms / disksim;
            above += usize::from(ratio > USUAL);
            worst = worst.max(ratio);
            (format!("{disksim:.3}"), format!("{ratio:.2}"))
        });
        let percent = 100.0 * rms / mean_ms;
        println!(
            "{:<12} {mean_ms:>9.2} {model_mean_ms:>9.2} {rms:>9.3} {percent:>7.1} {:>11} {:>6}",
            row.drive, beside.0, beside.1
        );
    }
    println!(
        "promised: at most {USUAL} of DiskSim's on all but one, {MOST} on that; {above} above {USUAL}, worst {worst:.2}"
    );
    Verdict::when(above <= 1 && worst <= MOST)
}
