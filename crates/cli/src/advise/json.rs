//! The advice for machines: `blksched/advise/1` (docs/schema.md).

use blksched_lab::advise::{Advised, ModelFrom, ModelTried, Served, WaitingStream};
use serde_json::{Value, json};

use crate::compare;

pub(super) fn text(advised: &Advised, name: &str, next: Option<&str>) -> String {
    let predicted = advised.compared.as_ref().map(|compared| {
        serde_json::from_str::<Value>(&compare::json::text(compared)).expect("it is what was just written")
    });
    let ignored = advised.load.ignored_weights(advised.device.as_ref());
    let ignored: Vec<Value> =
        ignored.iter().map(|(group, weights)| json!({ "group": group, "weights": weights })).collect();
    let value = json!({
        "schema": "blksched/advise/1",
        "version": env!("CARGO_PKG_VERSION"),
        "recording": name,
        "disk": advised.device.as_ref().map(|device| &device.words),
        "knobs": advised.device.as_ref().map(|device| &device.knobs),
        "duration_ns": advised.load.lasts.as_ns(),
        "ios": advised.load.ios,
        "processes": advised.load.streams.iter().map(stream).collect::<Vec<_>>(),
        "ignored_weights": ignored,
        "models": advised.models.iter().enumerate().map(|(at, one)| model(one, advised.nearest == Some(at)))
            .collect::<Vec<_>>(),
        "advice": advised.advice().word(),
        "present": advised.compared.as_ref().and_then(|one| one.contenders.first()).map(|one| one.label()),
        "proposed": advised.proposed(),
        "explained": advised.culprit,
        "next": next,
        "predicted": predicted,
    });
    serde_json::to_string_pretty(&value).expect("every key is a string") + "\n"
}

fn stream(stream: &WaitingStream) -> Value {
    let is_timed = !stream.waits.is_empty();
    let served = |one: &Served| {
        json!({
            "process": one.process, "kind": one.kind.name(), "fraction": one.part, "of_others": one.of_others,
        })
    };
    json!({
        "process": stream.process,
        "group": stream.group,
        "kind": stream.kind.name(),
        "ios": stream.ios,
        "bytes": stream.bytes,
        "completed": stream.waits.count(),
        "latency_mean_ns": is_timed.then(|| stream.waits.mean()),
        "latency_p99_ns": is_timed.then(|| stream.waits.percentile(99.0).as_ns()),
        "alone": stream.alone.count(),
        "latency_mean_alone_ns": (!stream.alone.is_empty()).then(|| stream.alone.mean()),
        "meanwhile": stream.served.iter().map(served).collect::<Vec<_>>(),
    })
}

fn model(one: &ModelTried, is_nearest: bool) -> Value {
    let (from, about) = match &one.offered.from {
        from @ (ModelFrom::Named | ModelFrom::Measured) => (from.word(), None),
        from @ (ModelFrom::Fitted(about) | ModelFrom::Class(about)) => (from.word(), Some(about)),
    };
    json!({
        "name": one.offered.name,
        "from": from,
        "about": about,
        "misses": one.misses.as_ref().ok(),
        "missed": one.missed,
        "why_not": one.misses.as_ref().err(),
        "means": one.means,
        "replayed": one.replayed.word(),
        "nearest": is_nearest,
        "near_enough": one.is_near(),
    })
}
