//! Stories and the blame table, for programs: docs/schema.md says what each key holds.

use blksched_lab::why::phrase::leg;
use blksched_lab::why::{Explanation, IoStory, Remedies, Remedy, StoryPiece};
use serde_json::{Value, json};

pub(crate) fn text(explanation: &Explanation, remedies: Option<&Remedies>) -> String {
    let Explanation { workload, scheduler, disk, elapsed, stories, blame, matched, notes, .. } = explanation;
    let rows: Vec<Value> = blame
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
        blame.totals.iter().map(|(who, (time, ios))| json!({ "who": who, "ns": time.as_ns(), "ios": ios })).collect();
    let value = json!({
        "schema": "blksched/explain/1",
        "version": env!("CARGO_PKG_VERSION"),
        "workload": workload,
        "scheduler": scheduler,
        "disk": disk,
        "seed": explanation.seed,
        "elapsed_ns": elapsed.as_ns(),
        "answer": explanation.answer(remedies),
        "stories": stories.iter().map(story).collect::<Vec<_>>(),
        "matched": matched,
        "blame": rows,
        "totals": totals,
        "remedies": remedies.map(tried),
        "notes": notes,
    });
    format!("{value:#}\n")
}

fn tried(remedies: &Remedies) -> Value {
    let one = |remedy: &Remedy| {
        let Remedy { what, mean, p99, syncs, mean_write, longest, not_ended, .. } = remedy;
        json!({
            "changed": what,
            "mean_ns": mean,
            "p99_ns": p99,
            "syncs": syncs,
            "not_ended": not_ended,
            "mean_write_ns": mean_write,
            "longest_ns": longest,
        })
    };
    let tried: Vec<Value> = remedies.tried.iter().map(one).collect();
    json!({ "job": remedies.who, "tried": tried, "untried": remedies.untried })
}

fn story(story: &IoStory) -> Value {
    json!({
        "io": story.nth,
        "process": story.process,
        "op": story.op,
        "sector": story.sector,
        "sectors": story.sectors,
        "begun_ns": story.begun_at.as_ns(),
        "latency_ns": story.latency.as_ns(),
        "pieces": story.pieces.iter().map(piece).collect::<Vec<_>>(),
        "sentence": story.sentence,
    })
}

fn piece(piece: &StoryPiece) -> Value {
    json!({
        "from_ns": piece.from.as_ns(),
        "ns": piece.length.as_ns(),
        "where": piece.leg,
        "what": piece.rule,
        "for_whom": piece.whom,
        "commands": piece.commands,
    })
}
