//! Stories and the blame table, for programs: docs/schema.md says what each key holds.

use serde_json::{Value, json};

use blksched_simulate::story::{Piece, Story, Whose};

use super::explained::Explained;
use blksched_lab::why::blame::Rows;
use blksched_lab::why::names::Names;
use blksched_lab::why::phrase::{leg, rule, sentence};

pub(super) fn text(explained: &Explained<'_>) -> String {
    let Explained { arguments, workload, scheduler, disk, elapsed, names, teller, notes, .. } = explained;
    let rows = Rows::of(teller.blame(), names, &teller.asked().by);
    let blame: Vec<Value> = rows
        .rows
        .iter()
        .map(|(key, time, ios)| {
            json!({
                "who": key.who, "for_whom": key.whom, "rule": key.rule, "where": leg(key.leg),
                "ns": time.as_ns(), "ios": ios,
            })
        })
        .collect();
    let totals: Vec<Value> =
        rows.totals.iter().map(|(who, (time, ios))| json!({ "who": who, "ns": time.as_ns(), "ios": ios })).collect();
    let value = json!({
        "schema": "blksched/explain/1",
        "version": env!("CARGO_PKG_VERSION"),
        "workload": workload,
        "scheduler": scheduler,
        "disk": disk,
        "seed": arguments.scene.seed,
        "elapsed_ns": elapsed.as_ns(),
        "stories": teller.stories().iter().map(|told| story(told, names)).collect::<Vec<_>>(),
        "matched": teller.matched(),
        "blame": blame,
        "totals": totals,
        "notes": notes,
    });
    format!("{value:#}\n")
}

fn story(story: &Story, names: &Names) -> Value {
    json!({
        "io": story.nth,
        "process": names.process(story.begun.by),
        "op": format!("{:?}", story.begun.op).to_lowercase(),
        "sector": story.begun.start.0,
        "sectors": story.begun.sectors,
        "begun_ns": story.begun_at.as_ns(),
        "latency_ns": story.latency().as_ns(),
        "pieces": story.pieces.iter().map(|told| piece(told, names)).collect::<Vec<_>>(),
        "sentence": sentence(story, names),
    })
}

fn piece(piece: &Piece, names: &Names) -> Value {
    let whom = match piece.part.whose() {
        Whose::Nobody => Value::Null,
        whose => names.whose(whose).into(),
    };
    json!({
        "from_ns": piece.from.as_ns(),
        "ns": piece.length().as_ns(),
        "where": leg(piece.part.leg()),
        "what": rule(piece.part),
        "for_whom": whom,
        "commands": piece.commands,
    })
}
