//! `blksched list programs`, `list dd` and `list measures`: what a user or an experiment can call and ask for.

use blksched_measure::Table;
use blksched_simulate::experiment::measures as all_measures;
use blksched_workloads::programs::{COMMON, Program};

use super::words;

/// Programs with their parameters.
pub(super) fn programs(programs: &[Program]) -> Table {
    let columns = [
        ("program", "program"),
        ("parameter", "parameter"),
        ("default", "default"),
        ("kind", "kind"),
        ("doc", "meaning"),
    ];
    let mut table = words("programs: NAME:PARAMETER=VALUE,… as a workload, or an experiment's [[workload]]", &columns);
    for program in programs {
        let about = format!("{} ({})", program.about, program.source);
        table.row([program.name.into(), "".into(), "".into(), "".into(), about.into()]);
        for parameter in program.parameters {
            let kind = parameter.kind.word();
            table.row(["".into(), parameter.name.into(), parameter.default.into(), kind.into(), parameter.doc.into()]);
        }
    }
    for common in COMMON {
        table.note(format!("each also takes `{}`: {} ({})", common.name, common.doc, common.default));
    }
    table.note("docs/programs.md has all of them, docs/experiments.md shows how to write one down in an experiment");
    table
}

/// Every measure.
pub(super) fn measures() -> Table {
    let columns = [("form", "measure"), ("unit", "unit"), ("doc", "meaning")];
    let mut table = words("measures, for an experiment's rows", &columns);
    for measure in all_measures() {
        table.row([measure.form().into(), measure.unit.into(), measure.doc.into()]);
    }
    table.note("min, max, mean, median and sum make one value of many; + - * / and parentheses combine them");
    table.note("`measure(…)@run` is that of another run, and * in a name stands for anything");
    table
}
