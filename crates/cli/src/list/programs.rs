//! `blksched list programs`, `list dd` and `list measures`: the programs that can be run and the measures that can be
//! used.

use blksched_measure::{Cell, Table};
use blksched_simulate::experiment::measures as all_measures;
use blksched_workloads::programs::{COMMON, Parameter, Program};
use blksched_workloads::replay::PARAMETERS;

use crate::output::words;

const OF_A_PARAMETER: [(&str, &str); 4] =
    [("parameter", "parameter"), ("default", "default"), ("kind", "kind"), ("doc", "meaning")];

fn cells(parameter: &Parameter) -> [Cell; 4] {
    [parameter.name.into(), parameter.default.into(), parameter.kind.word().into(), parameter.doc.into()]
}

/// The parameters of a replayed trace.
pub(super) fn replay() -> Table {
    let title = "replay of a recorded trace: FILE:PARAMETER=VALUE,… as a workload";
    let mut table = words(title, &OF_A_PARAMETER);
    for parameter in PARAMETERS {
        table.row(cells(parameter));
    }
    table.note(
        "traces: blktrace's files (x.blktrace.0, or x for all CPUs'), blkparse's and tracefs's text, public formats; \
         how to read one, or parts of it: docs/traces.md, `blksched trace formats`",
    );
    also(&mut table, "it");
    table
}

fn also(table: &mut Table, who: &str) {
    for common in COMMON {
        table.note(format!("{who} also takes `{}`: {} ({})", common.name, common.doc, common.default));
    }
}

/// Programs with their parameters.
pub(super) fn programs(programs: &[Program]) -> Table {
    let columns: Vec<_> = [("program", "program")].into_iter().chain(OF_A_PARAMETER).collect();
    let mut table = words("programs: NAME:PARAMETER=VALUE,… as a workload, or an experiment's [[workload]]", &columns);
    for program in programs {
        let about = format!("{} ({})", program.about, program.source);
        table.row([program.name.into(), "".into(), "".into(), "".into(), about.into()]);
        for parameter in program.parameters {
            table.row([Cell::from("")].into_iter().chain(cells(parameter)));
        }
    }
    also(&mut table, "each");
    table.note("docs/programs.md has all of them; docs/experiments.md shows how to describe one in an experiment");
    table
}

/// Every measure.
pub(super) fn measures() -> Table {
    let columns = [("form", "measure"), ("unit", "unit"), ("doc", "meaning")];
    let mut table = words("measures, for an experiment's rows", &columns);
    for measure in all_measures() {
        table.row([measure.form().into(), measure.unit.into(), measure.doc.into()]);
    }
    table.note(
        "min, second to seventh, max, mean, median and sum reduce many values to one; + - * / and parentheses combine \
         them",
    );
    table.note("`measure(…)@run` is that of another run; * in a name stands for anything");
    table
}
