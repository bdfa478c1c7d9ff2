//! Is this machine fast enough for a disk in real time? One reader, and as many as the disk has tags, without a
//! scheduler: within 10 % of the model alone.

use anyhow::Result;
use blksched_simulate::reality::{Row, Set, Setting};

use super::chain::Chain;

const TOLERANCE: f64 = 0.1;

fn job(depth: u32) -> String {
    format!(
        "[global]\ndirect=1\nbs=4k\nfilename=/dev/sda\ntime_based\nruntime=4\n[r]\nrw=randread\nsize=4g\n\
         ioengine=libaio\niodepth={depth}\n"
    )
}

/// What is wrong with it, and what was seen.
pub fn refused(set: &Set, setting: &Setting, chain: &Chain<'_>) -> Result<(Option<String>, String)> {
    let (mut seen, mut refused) = (Vec::new(), None);
    for depth in [1, setting.tags] {
        let text = job(depth);
        let real = rate(&chain.run("self-check", &text, "none", 0)?.rows);
        let bench = set.bench(setting, 0.0).map_err(anyhow::Error::msg)?;
        let bare = rate(&set.predict(&bench, ("self-check", &text), ["none"]).map_err(anyhow::Error::msg)?);
        seen.push(format!("depth {depth}: {:.1} % of the model alone", 100.0 * real / bare));
        if (real / bare - 1.0).abs() > TOLERANCE {
            refused = Some(format!("too slow a machine: {}", seen.join(", ")));
        }
    }
    Ok((refused, seen.join(", ")))
}

fn rate(rows: &[Row]) -> f64 {
    rows.iter().map(|row| row.bandwidth).sum::<f64>() / rows.len() as f64
}
