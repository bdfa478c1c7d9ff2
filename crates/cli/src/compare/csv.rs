//! A comparison as CSV: a row per scheduler, seed, job, direction and figure, in base units. docs/schema.md says more.

use std::fmt::Write;

use super::Comparison;
use super::values::{COLUMNS, each};

pub(super) fn text(comparison: &Comparison<'_>) -> String {
    let mut text = COLUMNS.join(",") + "\n";
    let Comparison { stage, measured, first, .. } = comparison;
    let run = format!("{},{}", quoted(&stage.workload.name), quoted(&stage.disk.name));
    each(measured, *first, &mut |of| {
        let (scheduler, settings) = (quoted(&of.scheduler.name), quoted(&of.scheduler.knobs.join(" ")));
        let (seed, job, processes, role) = (of.seed, quoted(&of.job.name), of.job.processes, of.job.role.0.name());
        let (what, figure, unit, value) = (of.what, of.figure, of.unit.unit(), of.value);
        let line = writeln!(
            text,
            "{run},{scheduler},{settings},{seed},{job},{processes},{role},{what},{figure},{unit},{value}"
        );
        line.expect("memory takes any text");
    });
    text
}

/// Quotes a field as RFC 4180 requires.
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
