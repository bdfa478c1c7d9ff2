//! A comparison as CSV: a row per scheduler, seed, job, direction and figure, in base units. docs/schema.md says more.

use std::fmt::Write;

use blksched_measure::{Quantity, Sample, Work};

use super::Comparison;
use super::figure::What;
use super::measured::{JobMeasure, Measured};

const HEADER: &str = "workload,disk,scheduler,settings,seed,job,processes,role,what,figure,unit,value\n";

const FIGURES: [What; 7] = [What::Bandwidth, What::Iops, What::Mean, What::P50, What::P99, What::P999, What::Max];

pub(super) fn text(comparison: &Comparison<'_>) -> String {
    let mut text = HEADER.to_owned();
    let Comparison { stage, measured, first, .. } = comparison;
    let run = format!("{},{}", quoted(&stage.workload.name), quoted(&stage.disk.name));
    for measured in *measured {
        let lead = format!("{run},{},{}", quoted(&measured.name), quoted(&measured.knobs.join(" ")));
        for (row, job) in measured.jobs.iter().enumerate() {
            of_job(&mut text, &lead, *first, measured, row, job);
        }
    }
    text
}

fn of_job(text: &mut String, lead: &str, seed: u64, measured: &Measured, row: usize, job: &JobMeasure) {
    let mut put = |what: &str, figure: &str, unit: Quantity, sample: &Sample| {
        for (nth, value) in sample.values().iter().enumerate().filter(|(_, value)| value.is_finite()) {
            let seed = seed.wrapping_add(nth as u64);
            let (name, processes, role) = (quoted(&job.name), job.processes, job.role.0.name());
            let unit = unit.unit();
            let line = writeln!(text, "{lead},{seed},{name},{processes},{role},{what},{figure},{unit},{value}");
            line.expect("memory takes any text");
        }
    };
    for (work, measure) in &job.work {
        put(work.name(), "ios", Quantity::Count, &measure.ios);
        for what in FIGURES.into_iter().filter(|what| *work != Work::Sync || *what != What::Bandwidth) {
            put(work.name(), what.key(), what.unit(), measure.get(what).expect("it is one of a direction's"));
        }
    }
    put("", "stall", Quantity::Time, &job.stall);
    put("", "demand", Quantity::Fraction, &job.asked);
    put("", "service_time_share", Quantity::Fraction, &job.given);
    if let Some(finish) = &job.finish {
        put("", "finish", Quantity::Time, finish);
    }
    if row == 0 {
        put("", "utilisation", Quantity::Fraction, &measured.busy);
        put("", "fairness", Quantity::Ratio, &measured.jain);
    }
}

/// As RFC 4180 has it.
pub(crate) fn quoted(text: &str) -> String {
    let plain = !text.contains([',', '"', '\n', '\r']);
    if plain { text.to_owned() } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_commas_is_quoted() {
        assert_eq!(quoted("plain"), "plain");
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
    }
}
