//! What a verdict was validated against, for machines: the values behind its sentences.

use blksched_lab::verdict::validation::Validation;
use blksched_simulate::reality::so_far::SoFar;
use serde_json::{Value, json};

pub(super) fn json(validation: &Validation) -> Value {
    let Validation { model, here, predictions, .. } = validation;
    let times =
        model.traces.iter().map(|it| json!({ "against": it.against, "error": f64::from(it.error_permille) / 1e3 }));
    json!({
        "model": {
            "published_figures": model.figures.map_or(0, |(count, _)| count),
            "greatest_error": model.figures.map(|(_, off)| off),
            "response_times": times.collect::<Vec<_>>(),
            "members": model.members,
        },
        "this_disk": here,
        "recorded": predictions.iter().map(recorded).collect::<Vec<_>>(),
    })
}

fn recorded(of: &SoFar) -> Value {
    json!({
        "disk": of.disk,
        "kernel": format!("Linux {}", of.kernel),
        "load": of.class.name(),
        "bandwidths": of.within.1,
        "bandwidths_within_20_percent": of.within.0,
        "median_error": f64::from(of.errors.0) / 100.0,
        "p90_error": f64::from(of.errors.1) / 100.0,
        "jobs": of.verdicts.1,
        "best_scheduler_right": of.verdicts.0,
        "pairs": of.pairs.1,
        "pairs_right": of.pairs.0,
    })
}
