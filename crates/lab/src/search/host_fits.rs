//! What a comparison assumes of the host: which task runs first after a completion, and what I/O costs a processor. A
//! verdict may depend on them as on the disk's fitted values, so they are moved in the same way.
//!
//! **Origin** The ranges are those traced on several hosts: the owner of a completed request ran first in 107 of 496
//! and in 397 of 402 cases, the kernel's worker in 45 of 2178 and in 1143 of 1504, and 90 of 100 is FIT for another
//! host (docs/reality.md). Processors of half and of twice the measured one's speed are in use today.

use blksched_disks::Fit;
use blksched_simulate::Trial;

/// The table of these values in messages.
const TABLE: &str = "host";

/// The values that are moved, for a run like this one.
pub fn fits(trial: &Trial) -> Vec<Fit> {
    if trial.elevator.build().slots.era().is_none() {
        return Vec::new();
    }
    let fit = |key: &str, value: String, [low, high]: [&str; 2]| Fit {
        key: format!("{TABLE}.{key}"),
        value,
        ends: [low.to_owned(), high.to_owned()],
    };
    let odds = trial.surroundings.odds;
    let mut fits = vec![
        fit("owner_first", odds.owner_first.to_string(), ["22", "99"]),
        fit("worker_first", odds.worker_first.to_string(), ["2", "90"]),
    ];
    fits.extend(trial.surroundings.cpus.map(|_| fit("cpu", "100%".to_owned(), ["50%", "200%"])));
    fits
}

/// Whether this value is the host's.
pub fn is_one(fit: &Fit) -> bool {
    fit.section() == TABLE
}

/// Those of the changes that concern the disk.
pub fn of_disk(changes: &[(String, String)]) -> Vec<(String, String)> {
    changes.iter().filter(|(key, _)| of_host(key).is_none()).cloned().collect()
}

/// The name of a value of the host, if this is its key.
fn of_host(key: &str) -> Option<&str> {
    key.strip_prefix(TABLE)?.strip_prefix('.')
}

/// Sets those of the changes that concern the host.
pub fn apply(trial: &mut Trial, changes: &[(String, String)]) {
    for (name, value) in changes.iter().filter_map(|(key, value)| Some((of_host(key)?, value))) {
        if name == "cpu" {
            let percent = value.trim_end_matches('%').parse().unwrap_or(100);
            if let Some(cpus) = &mut trial.surroundings.cpus {
                cpus.costs = cpus.costs.scaled(percent);
            }
        } else {
            let set = trial.surroundings.odds.set(name, value);
            debug_assert_eq!(set, Ok(true), "{name}");
        }
    }
}

#[cfg(test)]
mod tests {
    use blksched::{Catalogue, Span};

    use super::*;
    use crate::files::NoFiles;
    use crate::scene::{Scene, Stage, contenders};

    fn trial(elevator: &str) -> Trial {
        let scene = Scene::of("mixed", "hdd-7200", 1);
        let contender =
            contenders("--elevators", &[elevator.to_owned()], &[], &Catalogue::builtin()).unwrap().remove(0);
        Stage::load(&scene, &NoFiles).unwrap().trial(&scene, &contender, Span::from_secs(1))
    }

    #[test]
    fn each_value_of_the_host_changes_the_run_and_none_of_the_disks() {
        let usual = trial("bfq");
        let fits = fits(&usual);
        assert_eq!(
            fits.iter().map(|fit| fit.key.as_str()).collect::<Vec<_>>(),
            ["host.owner_first", "host.worker_first", "host.cpu"]
        );
        for (fit, end) in fits.iter().flat_map(|fit| fit.ends.iter().map(move |end| (fit, end))) {
            let changes = [(fit.key.clone(), end.clone()), ("cache.size".to_owned(), "1m".to_owned())];
            let mut moved = usual.clone();
            apply(&mut moved, &changes);
            let shown = |trial: &Trial| format!("{:?}", trial.surroundings);
            assert_ne!(shown(&moved), shown(&usual), "{changes:?}");
            assert_eq!(of_disk(&changes), changes[1..]);
        }
        assert!(super::fits(&trial("deadline@2.6.33")).is_empty(), "before blk-mq nothing races");
    }
}
