//! The settings around a run's scheduler, in one line and for machines.

use blksched_simulate::{Trial, Used};
use serde_json::{Value, json};

/// One line for all schedulers: the common values, and which schedulers differ.
pub(crate) fn line(trials: &[(String, Trial)], cpu: &str) -> String {
    let all: Vec<(&str, Used)> = trials.iter().map(|(name, trial)| (name.as_str(), trial.used())).collect();
    let of = |value: &dyn Fn(&Used) -> String| {
        said(&all.iter().map(|(name, used)| (*name, value(used))).collect::<Vec<_>>())
    };
    let mut parts = vec![format!("attached {}", all[0].1.attached.word())];
    if all.iter().any(|(_, used)| used.queues.is_some()) {
        let mq = |value: fn((u32, u32)) -> u32| {
            move |used: &Used| used.queues.map_or_else(|| "none".to_owned(), |queues| value(queues).to_string())
        };
        parts.push(format!("hardware queues {}", of(&mq(|(queues, _)| queues))));
        parts.push(format!("tags {}", of(&mq(|(_, tags)| tags))));
    }
    parts.push(format!("nr_requests {}", of(&|used| number(used.nr_requests))));
    let budget = if all.iter().all(|(_, used)| used.budget.is_some()) { "budget" } else { "depth" };
    parts.push(format!("{budget} {}", of(&|used| used.depth.to_string())));
    parts.push(format!("max_sectors_kb {}", of(&|used| used.max_sectors_kb.to_string())));
    parts.push(format!("wbt_lat_usec {}", of(&|used| used.wbt_lat_usec.to_string())));
    let cpus = |used: &Used| if used.cpus == 0 { "off".to_owned() } else { format!("{} ({cpu})", used.cpus) };
    parts.push(format!("CPUs {}", of(&cpus)));
    format!("Used: {}.", parts.join(", "))
}

fn number(requests: u32) -> String {
    if requests == u32::MAX { "unlimited".to_owned() } else { requests.to_string() }
}

/// The most common value, and the names behind each other value: `64 (none: 32)`.
fn said(values: &[(&str, String)]) -> String {
    let count = |value: &str| values.iter().filter(|(_, other)| other == value).count();
    let most = values.iter().map(|(_, value)| count(value)).max().unwrap_or(0);
    let common = values.iter().find(|(_, value)| count(value) == most).map_or("", |(_, value)| value);
    let others: Vec<String> =
        values.iter().filter(|(_, value)| value != common).map(|(name, value)| format!("{name}: {value}")).collect();
    if others.is_empty() { common.to_owned() } else { format!("{common} ({})", others.join(", ")) }
}

/// The same as JSON.
pub(crate) fn json(used: &Used) -> Value {
    json!({
        "attached": used.attached.word(),
        "hardware_queues": used.queues.map(|(queues, _)| queues),
        "tags": used.queues.map(|(_, tags)| tags),
        "nr_requests": (used.nr_requests < u32::MAX).then_some(used.nr_requests),
        "queue_depth": used.depth,
        "budget": used.budget,
        "max_sectors_kb": used.max_sectors_kb,
        "wbt_lat_usec": used.wbt_lat_usec,
        "cpus": (used.cpus > 0).then_some(used.cpus),
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_most_have_is_said_once_and_the_others_are_named() {
        let said = |values: &[(&'static str, &str)]| {
            super::said(&values.iter().map(|(name, value)| (*name, (*value).to_owned())).collect::<Vec<_>>())
        };
        assert_eq!(said(&[("a", "64"), ("b", "64")]), "64");
        assert_eq!(said(&[("none", "32"), ("a", "64"), ("b", "64")]), "64 (none: 32)");
    }
}
