//! `--vmstat`: each run second by second, in vmstat's layout. Values that are not simulated show a dash.

use blksched_simulate::experiment::{Experiment, RunOutcome, Second};

const HEAD: &str = concat!(
    "   procs                      memory      swap          io     system         cpu\n",
    " r  b  w   swpd   free   buff  cache   si   so    bi    bo   in    cs  us  sy  id\n",
);

/// The first seed's runs.
pub(super) fn text(experiment: &Experiment, outcomes: &[RunOutcome], seeds: usize) -> String {
    let run = |(nth, run): (usize, &blksched_simulate::experiment::ExperimentRun)| {
        let lines: String =
            outcomes[nth * seeds].timeline.seconds().iter().map(|second| line(second, experiment.timer)).collect();
        format!("{}, seed {}\n{HEAD}{lines}\n", run.name, experiment.first_seed)
    };
    experiment.runs.iter().enumerate().map(run).collect()
}

/// One line; `timer` is how often the machine's timer interrupts per second, which vmstat counts.
fn line(second: &Second, timer: u32) -> String {
    let Second { read, written, interrupts } = second;
    let (bi, bo, irqs) = (read / 2, written / 2, u64::from(timer) + interrupts);
    format!(" -  -  -      -      -      -      -    -    - {bi:>5} {bo:>5} {irqs:>4}     -   -   -   -\n")
}
