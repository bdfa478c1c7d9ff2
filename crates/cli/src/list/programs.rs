//! `blksched list programs` and `list measures`: what an experiment of one's own can call and ask for.

use blksched_measure::Table;
use blksched_simulate::experiment::measures as all_measures;
use blksched_workloads::programs::{Kind, PROGRAMS};

use super::words;

/// Every program with its parameters.
pub(super) fn programs() -> Table {
    let columns = [
        ("program", "program"),
        ("parameter", "parameter"),
        ("default", "default"),
        ("kind", "kind"),
        ("doc", "meaning"),
    ];
    let mut table = words("programs, for an experiment's [[workload]]", &columns);
    for program in PROGRAMS {
        table.row([program.name.into(), "".into(), "".into(), "".into(), program.about.into()]);
        for parameter in program.parameters {
            let kind = match parameter.kind {
                Kind::Count => "whole number".to_owned(),
                Kind::Number => "number".to_owned(),
                Kind::Bytes => "size".to_owned(),
                Kind::Time => "time".to_owned(),
                Kind::Place => "place on the disk".to_owned(),
                Kind::Word(known) => known.join("|"),
            };
            table.row(["".into(), parameter.name.into(), parameter.default.into(), kind.into(), parameter.doc.into()]);
        }
    }
    table.note("each also takes `start`, the time at which it begins; docs/experiments.md shows how to write one down");
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
