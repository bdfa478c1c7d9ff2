//! `--vmstat`: each run second by second, in vmstat's layout. What is not simulated shows a dash.

use blksched_simulate::experiment::{Experiment, Outcome, Second};

/// The timer of 2.5 on a PC interrupts so often a second; vmstat counts it in.
const TIMER: u64 = 1000;

const HEAD: &str = concat!(
    "   procs                      memory      swap          io     system         cpu\n",
    " r  b  w   swpd   free   buff  cache   si   so    bi    bo   in    cs  us  sy  id\n",
);

/// The first seed's runs.
pub(super) fn text(experiment: &Experiment, outcomes: &[Outcome], seeds: usize) -> String {
    let run = |(nth, run): (usize, &blksched_simulate::experiment::Run)| {
        let lines: String = outcomes[nth * seeds].timeline.seconds().iter().map(line).collect();
        format!("{}, seed {}\n{HEAD}{lines}\n", run.name, experiment.first_seed)
    };
    experiment.runs.iter().enumerate().map(run).collect()
}

fn line(second: &Second) -> String {
    let Second { read, written, interrupts } = second;
    let (bi, bo, irqs) = (read / 2, written / 2, TIMER + interrupts);
    format!(" -  -  -      -      -      -      -    -    - {bi:>5} {bo:>5} {irqs:>4}     -   -   -   -\n")
}
