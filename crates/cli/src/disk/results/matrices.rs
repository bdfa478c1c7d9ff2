//! `blksched disk fit` from latency matrices: random reads beside a sequential writer.

use std::sync::Arc;

use blksched_disks::Attached;
use blksched_fit::matrix::{
    FittedMatrix, LatencyMatrix, MatrixBounds, MatrixChoice, MatrixDrive, MatrixEffort, MatrixJudgement, MatrixPlace,
    MatrixShares, fit_matrix,
};

use crate::failure::Failure;
use crate::output::warn;

/// The one matrix that was asked for.
fn asked<'a>(matrices: &'a [LatencyMatrix], asked: Option<&str>) -> Result<&'a LatencyMatrix, Failure> {
    let names = || matrices.iter().map(|matrix| matrix.device.as_str()).collect::<Vec<_>>();
    match asked {
        None => match matrices {
            [only] => Ok(only),
            _ => Err(Failure::Input(format!("several drives: give --device, one of {}", names().join(", ")))),
        },
        Some(asked) => matrices.iter().find(|matrix| matrix.device == asked).ok_or_else(|| {
            let nearest = blksched_text::did_you_mean(asked, names());
            Failure::Input(format!("no drive {asked} in it: expected one of {}{nearest}", names().join(", ")))
        }),
    }
}

/// Fits a matrix, tells how far the model is off, and returns the disk's file.
pub(super) fn disk(
    matrices: &[LatencyMatrix],
    device: Option<&str>,
    attached: Option<Attached>,
) -> Result<String, Failure> {
    let mut matrix = asked(matrices, device)?.clone();
    matrix.attached = attached.or(matrix.attached);
    let choice = MatrixChoice::of(&matrix);
    let told = |count: usize| warn(&format!("comparing {count} drives, and refining the values of the best two"));
    let fitted = fit_matrix(&matrix, &choice, MatrixEffort::TRY, &told).map_err(Failure::Input)?;
    let made = Arc::new(fitted.drive.disk().map_err(|error| Failure::Input(error.to_string()))?);
    let judged = MatrixJudgement::of(&matrix, &choice, &made, MatrixBounds::USUAL, MatrixEffort::TELL);
    let judged = judged.map_err(Failure::Input)?;
    tell(&matrix, &choice, &fitted, &judged);
    let (used, all) = (choice.used.len(), matrix.cells.len());
    let description = format!("{}: fitted to {used} of {all} loads of a latency matrix", matrix.device);
    let about = format!("Fitted to (reads, writes; of the highest rates): {}", places(&matrix, &choice.used));
    Ok(fitted.drive.toml(&description.replace(['"', '\\'], " "), &[about]) + &validated(&judged))
}

/// Loads in parts of the highest rates.
fn places(matrix: &LatencyMatrix, places: &[MatrixPlace]) -> String {
    let (reads, writes) = matrix.steps();
    let part = |step: u32, most: u32| 100 * u64::from(step) / u64::from(most.max(1));
    let text = |at: &MatrixPlace| format!("{} %, {} %", part(at.reads, reads), part(at.writes, writes));
    places.iter().map(text).collect::<Vec<_>>().join("; ")
}

fn tell(matrix: &LatencyMatrix, choice: &MatrixChoice, fitted: &FittedMatrix, judged: &MatrixJudgement) {
    let used = places(matrix, &choice.used);
    let (count, all) = (choice.used.len(), matrix.cells.len());
    warn(&format!("used {count} of {all} loads (reads, writes; of the highest rates): {used}"));
    if matrix.attached.is_none() && matches!(fitted.drive, MatrixDrive::Flash(_)) {
        warn("the results do not tell how it is attached: taken for nvme (--attached says it)");
    }
    warn(&format!("off by a factor of {:.2} on these", fitted.error));
    match &fitted.drive {
        MatrixDrive::Flash(flash) => {
            let differ = if flash.programs_differ { "differ by page" } else { "all take the same" };
            let at_a_time = flash.window.map_or_else(String::new, |window| format!(", {window} commands at a time"));
            warn(&format!("flash: {} dies, reads wait for programs, which {differ}{at_a_time}", flash.dies));
        }
        MatrixDrive::Turning(model) => {
            if let Some(law) = model.law() {
                warn(&format!("a spinning drive of {} rpm, {:?}, {} commands ahead", law.rpm, law.order, law.ahead));
            }
        }
    }
    for limit in fitted.drive.at_limits() {
        warn(&format!("{limit}: there the model is wrong"));
    }
    for unknown in fitted.drive.unknown() {
        warn(&format!("the results cannot tell {unknown}"));
    }
    let MatrixShares { right, count } = judged.at_ceiling;
    if count.iter().any(|count| *count > 0) {
        let more = format!("p50 {} of {}, p95 {} of {}", right[0], count[0], right[1], count[1]);
        warn(&format!("of those at the chart's end, the model is there, too: {more}"));
    }
    let Some(model) = shown(&judged.model) else { return warn("no load was left to judge the model") };
    let [p50, p95] = MatrixBounds::USUAL.0;
    warn(&format!(
        "of the figures that the fit did not use, below the chart's end, right are (p50 within {p50} times, p95 {p95}):"
    ));
    warn(&format!("  {:<32} {model}", "this model"));
    if let Some(between) = shown(&judged.between) {
        warn(&format!("  {:<32} {between}", "the loads used, by their distance"));
    }
}

fn shown(shares: &MatrixShares) -> Option<String> {
    let [p50, p95] = shares.percent()?;
    Some(format!("p50 {p50:.0} % of {}, p95 {p95:.0} % of {}", shares.count[0], shares.count[1]))
}

/// What the file says of its own error.
fn validated(judged: &MatrixJudgement) -> String {
    let one = |name: &str, at: usize| {
        let (count, error) = (judged.model.count[at], 100.0 * (judged.mean_error[at] - 1.0));
        format!(
            "\n[[validated]]\nagainst = \"{name} of reads, alone and beside a sequential writer, at {count} pairs of \
             rates that the fit did not use, below the chart's end (mean)\"\nerror = \"{error:.1}%\"\n"
        )
    };
    let judged_at = |&(_, at): &(&str, usize)| judged.model.count[at] > 0;
    [("p50", 0), ("p95", 1)].into_iter().filter(judged_at).map(|(name, at)| one(name, at)).collect()
}
