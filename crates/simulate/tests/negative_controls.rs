//! Negative controls: an experiment must fail when what it is about is taken away. A bound that everything fits into
//! would prove nothing.

use blksched::Catalogue;
use blksched_simulate::experiment::{Answer, Experiment, Outcome};

const HORROR: &str = include_str!("../../../experiments/horror/experiment.toml");

/// The answer of `text` with so many seeds.
fn answer(text: &str, seeds: u32) -> Answer {
    let no_files = |name: &str| Err(format!("no file {name}"));
    let experiment = Experiment::parse("horror", "horror", text, &Catalogue::builtin(), &no_files);
    let experiment = experiment.unwrap_or_else(|e| panic!("{e}"));
    let simulate = |(run, seed): (usize, u64)| experiment.runs[run].simulate(seed).unwrap();
    let outcomes: Vec<Outcome> = experiment.simulations(seeds).into_iter().map(simulate).collect();
    experiment.answer(&outcomes)
}

fn changed(from: &str, to: &str) -> String {
    assert_eq!(HORROR.matches(from).count(), 1, "{from}");
    HORROR.replace(from, to)
}

/// The labels of the rows about fifo_batch that lie outside.
fn outside(answer: &Answer) -> Vec<&str> {
    let rows = &answer.tables[0].rows;
    rows.iter().filter(|row| row.inside != Some(true)).map(|row| row.label.as_str()).collect()
}

const CELLS: [&str; 4] = ["fifo_batch 64", "fifo_batch 32", "fifo_batch 16", "fifo_batch 8"];

#[test]
fn horror_holds_as_it_is() {
    assert_eq!(answer(HORROR, 7).broken().count(), 0);
}

#[test]
fn horror_fails_under_a_deadline_whose_batches_count_requests() {
    let answer = answer(&changed("\"deadline@2.5.38\"", "\"deadline@2.6.33\""), 1);
    let outside = outside(&answer);
    assert!(CELLS.iter().all(|cell| outside.contains(cell)), "{outside:?}");
}

#[test]
fn horror_fails_without_the_disks_write_cache() {
    let text = changed("disk.preset =", "disk.write_cache.order = \"off\"\ndisk.preset =");
    let answer = answer(&text, 1);
    let outside = outside(&answer);
    assert!(CELLS.iter().all(|cell| outside.contains(cell)), "{outside:?}");
}

#[test]
fn horror_fails_without_look_ahead_that_survives_the_writes() {
    let answer = answer(&changed("disk.look_ahead.hold = \"512KiB\"", "disk.look_ahead.hold = \"0B\""), 1);
    assert!(outside(&answer).contains(&"fifo_batch 16"), "{:?}", outside(&answer));
}
