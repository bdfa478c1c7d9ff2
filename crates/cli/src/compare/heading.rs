//! What was run, and with which defaults.

use blksched_lab::Compared;
use blksched_measure::Quantity;

/// The load and the disk.
pub(super) fn title(compared: &Compared) -> String {
    format!("{} on {}", compared.stage.workload.name, compared.stage.on_what())
}

/// What was run, and with which defaults.
pub(super) fn heading(compared: &Compared) -> String {
    let Compared { stage, lasting, first, measured, .. } = compared;
    let length = lasting.length;
    let seeds = measured[0].jain.values().len();
    let seeds = if seeds == 1 { format!("seed {first}") } else { format!("{seeds} seeds from {first}") };
    let limit = length.limit;
    let (phases, warm_up) = (stage.plan.phases(), length.warm_up_of_phase(&stage.plan));
    let phases = match phases {
        1 => String::new(),
        _ => format!(" in {phases} phases of at most {} each", limit / u64::from(phases)),
    };
    let counts = if stage.plan.jobs.iter().any(|job| job.report.ramp == warm_up) {
        format!(", the first {} of which are warm-up", Quantity::Time.show(warm_up.as_ns() as f64))
    } else {
        String::new()
    };
    let work = match (lasting.is_given, lasting.doubled) {
        (true, _) => String::new(),
        (false, doubled) => {
            let used = format!("; {} of {} requests that --effort allows", lasting.work, lasting.most_work);
            if doubled == 0 { used } else { format!("{used}, doubled {doubled} times because their halves disagreed") }
        }
    };
    format!("{}, {seeds}; runs of at most {limit} of simulated time{phases}{counts}{work}", title(compared))
}
