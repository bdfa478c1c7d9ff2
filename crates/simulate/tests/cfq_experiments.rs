//! The experiments about CFQ's mails: what they claim can fail. Negative controls, each a run that must fall outside.

use blksched::Catalogue;
use blksched_simulate::experiment::{BUILTINS, Experiment, Outcome};

fn load(name: &str) -> Experiment {
    let builtin = BUILTINS.iter().find(|builtin| builtin.name == name).expect("built in");
    builtin.load(&Catalogue::builtin()).unwrap_or_else(|e| panic!("{e}"))
}

/// Every run, with the first seed.
fn outcomes(experiment: &Experiment) -> Vec<Outcome> {
    let simulate = |(run, seed): (usize, u64)| experiment.runs[run].simulate(seed).expect("it runs");
    experiment.simulations(1).into_iter().map(simulate).collect()
}

fn run(experiment: &Experiment, name: &str) -> usize {
    experiment.runs.iter().position(|run| run.name == name).unwrap_or_else(|| panic!("no run {name}"))
}

/// Rows that are claimed and lie outside when run `wrong` stands in for run `instead_of`.
fn broken(experiment: &Experiment, outcomes: &[Outcome], instead_of: &str, wrong: &str) -> Vec<String> {
    all_broken(experiment, outcomes, &[(instead_of, wrong)])
}

fn all_broken(experiment: &Experiment, outcomes: &[Outcome], changes: &[(&str, &str)]) -> Vec<String> {
    let mut changed = outcomes.to_vec();
    for (instead_of, wrong) in changes {
        changed[run(experiment, instead_of)] = outcomes[run(experiment, wrong)].clone();
    }
    experiment.answer(&changed).broken().map(|row| row.label.clone()).collect()
}

#[test]
fn dump_without_idling_or_without_merging_falls_outside_of_its_bounds() {
    let experiment = load("dump");
    let outcomes = outcomes(&experiment);
    assert_eq!(experiment.answer(&outcomes).broken().count(), 0);
    let without_idling = broken(&experiment, &outcomes, "jump", "jump, slice_idle 0ms");
    assert!(without_idling.contains(&"vanilla: a cooperator is served next, once".to_owned()), "{without_idling:?}");
    assert!(without_idling.contains(&"patched / vanilla".to_owned()), "{without_idling:?}");
    let without_merging = broken(&experiment, &outcomes, "merge", "jump");
    assert!(without_merging.contains(&"patched: cooperators share a queue".to_owned()), "{without_merging:?}");
    let without_random_access = broken(&experiment, &outcomes, "random", "merge");
    assert_eq!(without_random_access, ["then at random: readers that got one of their own again"]);
}

#[test]
fn nfs_without_idling_for_the_wrong_thread_does_not_fall() {
    let experiment = load("nfs");
    let outcomes = outcomes(&experiment);
    assert_eq!(experiment.answer(&outcomes).broken().count(), 0);
    let merged = broken(&experiment, &outcomes, "jump 8", "merge 8");
    assert!(merged.contains(&"8 / 2 nfsds".to_owned()), "{merged:?}");
}

#[test]
fn readers_without_a_seeky_start_are_no_draw_from_viveks_distribution() {
    let experiment = load("four-dd");
    let outcomes = outcomes(&experiment);
    let clean = broken(&experiment, &outcomes, "vivek", "vivek, 0 seeky reads");
    assert!(clean.contains(&"10 seeky reads first".to_owned()), "{clean:?}");
}

#[test]
fn gitk_with_the_drives_write_cache_falls_outside() {
    let mut experiment = load("async-ramp-up");
    // The sweeps of the other tables take long in a test; what is asked of them is not asked here.
    let kept = |name: &str| name.starts_with("gitk, ") && !name.contains("woken");
    experiment.tables.retain(|table| table.title.starts_with("gitk: time"));
    experiment.runs.retain(|run| kept(&run.name));
    (experiment.shows, experiment.whys) = (Vec::new(), Vec::new());
    let outcomes = outcomes(&experiment);
    assert_eq!(experiment.answer(&outcomes).broken().count(), 0);
    let changes = ["old", "new", "off"].map(|kind| (format!("gitk, {kind}"), format!("gitk, cache, {kind}")));
    let changes: Vec<_> = changes.iter().map(|(run, cached)| (run.as_str(), cached.as_str())).collect();
    let cached = all_broken(&experiment, &outcomes, &changes);
    assert!(cached.contains(&"new / old".to_owned()) && cached.contains(&"off / old".to_owned()), "{cached:?}");
}
