//! Is this machine fast enough for a disk in real time? One reader, and as many as the disk has tags, without a
//! scheduler: within 10 % of the model alone.

use anyhow::Result;
use blksched_simulate::reality::{RealitySetting, Row, Set};

use super::chain::Chain;

const TOLERANCE: f64 = 0.1;

/// The job with this depth.
pub fn job(depth: u32) -> String {
    format!(
        "[global]\ndirect=1\nbs=4k\nfilename=/dev/sda\ntime_based\nruntime=4\n[r]\nrw=randread\nsize=4g\n\
         ioengine=libaio\niodepth={depth}\n"
    )
}

/// What is wrong with the setting, and what was measured.
pub fn refused(set: &Set, setting: &RealitySetting, chain: &Chain<'_>) -> Result<(Option<String>, String)> {
    let rows = |depth| chain.run("self-check", &job(depth), "none", 0).map(|ran| (depth, ran.rows));
    held(set, setting, &[rows(1)?, rows(setting.tags)?])
}

/// The same for measurements at these depths.
pub fn held(set: &Set, setting: &RealitySetting, measured: &[(u32, Vec<Row>)]) -> Result<(Option<String>, String)> {
    let (mut seen, mut refused) = (Vec::new(), None);
    for (depth, rows) in measured {
        let real = rate(rows);
        let bench = set.bench(setting, 0.0).map_err(anyhow::Error::msg)?;
        let text = job(*depth);
        let bare = rate(&set.predict(&bench, ("self-check", &text), ["none"]).map_err(anyhow::Error::msg)?);
        seen.push(format!("depth {depth}: {:.1} % of the model alone", 100.0 * real / bare));
        let off = (real / bare - 1.0).abs();
        if off.is_nan() || off > TOLERANCE {
            refused = Some(format!("too slow a machine: {}", seen.join(", ")));
        }
    }
    Ok((refused, seen.join(", ")))
}

fn rate(rows: &[Row]) -> f64 {
    rows.iter().map(|row| row.bandwidth).sum::<f64>() / rows.len() as f64
}
