//! What a trial found, as text.

use blksched_lab::live::{Finish, LiveArm, LiveContrast, LiveVerdict, RATE, Sitting};
use blksched_measure::Cell;

use super::predicted::{Prediction, Proven};
use super::written::TrialReport;
use crate::output::{TableStyle, paragraph, render, words};

/// Of whom.
pub(super) fn whose(one: &LiveContrast) -> String {
    let (task, kind) = &one.stream;
    format!("{} {}", task.as_deref().unwrap_or("all"), kind.name())
}

/// Why a trial ended before its time.
pub(super) fn ended(finish: &Finish, arms: &[LiveArm]) -> String {
    match finish {
        Finish::Whole => "all periods were measured".to_owned(),
        Finish::Clear => "ended early, as it is clear".to_owned(),
        Finish::Guarded(guard, arm) => format!("ended under {}: {guard}", arms[*arm]),
        Finish::Changed(place, was, is) => {
            format!("ended, as something else set {} from {was} to {is}, which was left so", place.path())
        }
        Finish::Stopped => "interrupted".to_owned(),
        Finish::Failed(why) => format!("ended: {why}"),
    }
}

/// How a trial ended, in a word for machines.
pub(super) fn kind_of_end(finish: &Finish) -> &'static str {
    match finish {
        Finish::Whole => "whole",
        Finish::Clear => "clear",
        Finish::Guarded(..) => "guarded",
        Finish::Changed(..) => "changed",
        Finish::Stopped => "stopped",
        Finish::Failed(_) => "failed",
    }
}

/// A part of the load's mix: "share of I/Os of cp write".
fn mixed(one: &LiveContrast) -> String {
    format!("{} of {}", one.figure, whose(one))
}

/// How many times as much; where there was nothing, that is infinitely many, and is not given as a number.
fn times(ratio: f64) -> String {
    match ratio {
        1000.0.. => "was more than 1000 times as much".to_owned(),
        ..0.001 => "was less than a 1000th as much".to_owned(),
        ratio => format!("was {ratio:.2} times as much"),
    }
}

pub(super) fn sentence(one: &LiveContrast, arms: &[LiveArm], blocks: usize) -> String {
    let (base, here) = (&arms[0], &arms[one.arm]);
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    let interval = format!(
        "95 %: {:+.0} to {:+.0} %, {blocks} pairs of neighbouring periods, p {:.4}",
        percent(one.paired.low),
        percent(one.paired.high),
        one.p
    );
    let what = format!("{} of {}", one.figure.trim_end_matches(" ms"), whose(one));
    match one.is_proven() {
        true => format!("{here} against {base}: {what} {:+.0} % ({interval}).", percent(one.paired.ratio)),
        false => format!("{here} against {base}: no difference is proven in {what} ({interval})."),
    }
}

/// What was predicted of these settings, before the trial begins.
pub(super) fn foretold(prediction: Option<&Prediction>, arms: &[LiveArm]) -> String {
    let Some(prediction) = prediction else { return String::new() };
    if !prediction.is_against(&arms[0]) {
        return format!("{}: not against {}, so nothing of it is compared.\n", prediction.origin(), arms[0]);
    }
    let of = |arm: &LiveArm| {
        let all = prediction.of_setting(&arm.to_string())?;
        Some(format!("{arm} {all} as against {}", arms[0]))
    };
    let said: Vec<String> = arms.iter().skip(1).filter_map(of).collect();
    if said.is_empty() { String::new() } else { format!("{}: {}.\n", prediction.origin(), said.join("; ")) }
}

/// What of a prediction was measured.
fn proof(prediction: &Prediction, proven: &[Proven<'_>], arms: &[LiveArm]) -> String {
    let columns = ["setting", "whose", "figure", "predicted", "measured", "95 %", "within"];
    let mut table = words(&prediction.origin(), &columns.map(|column| (column, column)));
    for one in proven {
        let paired = &one.measured.paired;
        let row = [
            arms[one.measured.arm].to_string(),
            whose(one.measured),
            one.foretold.figure.clone(),
            format!("{:.2}", one.foretold.ratio),
            format!("{:.2}", paired.ratio),
            format!("{:.2}-{:.2}", paired.low, paired.high),
            if one.is_within() { "yes" } else { "no" }.to_owned(),
        ];
        table.row(row.into_iter().map(Cell::from));
    }
    let directions: Vec<bool> = proven.iter().filter_map(Proven::is_of_one_direction).collect();
    let right = directions.iter().filter(|right| **right).count();
    table.note(match directions.len() {
        0 => "no difference is proven, so none has a direction that could have been predicted".to_owned(),
        all => format!("{right} of {all} proven differences were predicted in their direction"),
    });
    render(&table, TableStyle::Text)
}

/// What is proven to be done less under this arm: the rate of all I/Os of the main figure's kind; and if the arm holds
/// groups back, also the part of one process, which waits where no latency shows it.
pub(super) fn did_less<'s>(sat: &'s Sitting, arms: &[LiveArm], arm: usize) -> Option<&'s LiveContrast> {
    let main = sat.verdict.main.iter().find(|main| main.arm == arm)?;
    let is_it = |one: &&LiveContrast| {
        let is_whole = one.stream == main.stream && (one.figure == RATE || one.figure == "KiB/s");
        let is_part = arms[arm].holds_back() && one.stream.0.is_some() && one.figure != "KiB per I/O";
        let is_done = is_whole || is_part && !one.figure.ends_with("ms") && !one.figure.ends_with('%');
        one.arm == arm && is_done && one.is_proven() && one.paired.ratio < 1.0
    };
    sat.verdict.drift.iter().chain(&sat.verdict.contrasts).find(is_it)
}

/// What a better figure is worth where less was done for it.
fn for_less(main: &LiveContrast, arms: &[LiveArm], sat: &Sitting) -> Option<String> {
    let less = did_less(sat, arms, main.arm).filter(|_| main.is_proven() && main.paired.ratio < 1.0)?;
    let arm = &arms[main.arm];
    let held = match arm.holds_back() {
        true => " It holds groups back: whether that is better no latency says.",
        false => "",
    };
    Some(format!(
        "Under {arm} less was done ({} of {} {:+.0} %), and what waits before it is submitted is in no latency.{held}",
        less.figure,
        whose(less),
        (less.paired.ratio - 1.0) * 100.0
    ))
}

/// The answer, and what else is to be known, a sentence each.
pub(super) fn sentences(arms: &[LiveArm], sat: &Sitting, lost: u64) -> Vec<String> {
    let LiveVerdict { blocks, main, drift, over_time, .. } = &sat.verdict;
    let mut said: Vec<String> = main.iter().map(|one| sentence(one, arms, *blocks)).collect();
    said.extend(main.iter().filter_map(|one| for_less(one, arms, sat)));
    if main.is_empty() {
        said.push("No verdict: no I/O in most periods.".to_owned());
    }
    said.push(format!("How it ended: {}.", ended(&sat.finish, arms)));
    let (both, loads): (Vec<_>, Vec<_>) = drift.iter().partition(|one| one.may_be_the_settings());
    said.extend(loads.into_iter().map(|one| {
        format!(
            "The load itself differed: {} {} under {} as under {} (p {:.4}), so that the settings were not compared \
             under the same load.",
            mixed(one),
            times(one.paired.ratio),
            arms[one.arm],
            arms[0],
            one.p
        )
    }));
    said.extend(both.into_iter().map(|one| {
        format!(
            "The load or what it was given differed: {} {} under {} as under {} (p {:.4}): whoever is served sooner \
             asks sooner; otherwise the settings did not meet the same load.",
            mixed(one),
            times(one.paired.ratio),
            arms[one.arm],
            arms[0],
            one.p
        )
    }));
    said.extend(over_time.iter().map(|one| {
        format!(
            "The load changed: {} {} in the second half as in the first (p {:.4}). Neighbouring periods were \
             compared, so this favours no setting, but the answer is about both loads together.",
            mixed(one),
            times(one.paired.ratio),
            one.p
        )
    }));
    if sat.left_out > 0 {
        said.push(format!(
            "{} blocks were left out: after the settling time the queue still held I/O of the former \
             setting.",
            sat.left_out
        ));
    }
    if lost > 0 {
        said.push(format!("{lost} events of the tracer were lost: latencies are of the rest."));
    }
    said.push(match &sat.restored {
        Ok(()) => "All settings are as they were.".to_owned(),
        Err(why) => format!("NOT as it was: {why}."),
    });
    said
}

pub(super) fn text(of: &TrialReport<'_>) -> String {
    let TrialReport { disk: name, arms, sat, lost, foretold, .. } = of;
    let mut text: String = sentences(arms, sat, *lost).iter().map(|sentence| paragraph(sentence)).collect();
    if sat.verdict.contrasts.is_empty() {
        return text;
    }
    let columns = ["setting", "whose", "figure", "first", "here", "ratio", "95 %", "p", "proven"];
    let mut table = words(&format!("{name}, under its own load"), &columns.map(|column| (column, column)));
    for one in &sat.verdict.contrasts {
        let row = [
            arms[one.arm].to_string(),
            whose(one),
            one.figure.to_owned(),
            format!("{:.2}", one.base),
            format!("{:.2}", one.here),
            format!("{:.2}", one.paired.ratio),
            format!("{:.2}-{:.2}", one.paired.low, one.paired.high),
            format!("{:.4}", one.p),
            if one.is_proven() { "yes" } else { "no" }.to_owned(),
        ];
        table.row(row.into_iter().map(Cell::from));
    }
    text += &render(&table, TableStyle::Text);
    if let Some(prediction) = foretold {
        let proven = prediction.beside(arms, sat);
        if !proven.is_empty() {
            text += &("\n".to_owned() + &proof(prediction, &proven, arms));
        }
    }
    text
}
