//! `compare --why A,B`: the first moment at which two schedulers decide differently, with both reasons. Processors cost
//! nothing there, so only decisions make a difference.

use std::cell::RefCell;
use std::rc::Rc;

use blksched::{Catalogue, Dir, Instant, Op, Span};
use blksched_measure::{Quantity, Reasons};
use blksched_simulate::Trial;
use blksched_simulate::story::{Close, DecisionLog, Onlooker, Sent, parting};
use serde_json::{Value, json};

use crate::args::CompareArguments;
use crate::explain::{Names, reason};
use crate::failure::Failure;
use crate::input::{Contender, Stage, contenders};
use crate::output;

/// One of the two schedulers at the moment in question.
struct Side<'a> {
    contender: &'a Contender,
    close: Close,
}

pub(super) fn run(
    arguments: &CompareArguments,
    stage: &Stage,
    two: &[String],
    catalogue: &Catalogue,
) -> Result<(), Failure> {
    let scene = &arguments.scene;
    let contenders = contenders("--why", two, &scene.set, catalogue)?;
    let [one, other] = &contenders[..] else {
        return Err(Failure::Input(format!(
            "--why {}: expected two schedulers, as in mq-deadline,bfq; there are {}",
            two.join(","),
            contenders.len()
        )));
    };
    let limit = stage.length(scene, one)?.limit;
    let names = Names::of(&stage.plan);
    // The schedulers' own processor costs would separate any two at their first command.
    let trial = |contender, limit| {
        let mut trial = stage.trial(scene, contender, limit);
        trial.surroundings.cpus = None;
        trial
    };
    let logs = [one, other].map(|contender| log(&trial(contender, limit)));
    let [one_log, other_log] = logs;
    let (one_log, other_log) = (one_log?, other_log?);
    let heading = format!("{} on {}, seed {}", stage.workload.name, stage.disk.name, scene.seed);
    let Some(nth) = parting(&one_log, &other_log) else {
        let text = format!(
            "{heading}: {} and {} decide alike for the whole run, {} commands.",
            one.name,
            other.name,
            one_log.len()
        );
        let value = json!({ "schema": "blksched/why/1", "alike": one_log.len(), "sides": null });
        return Ok(output::print(&if arguments.json { format!("{value:#}\n") } else { output::paragraph(&text) })?);
    };
    let end = |log: &[Sent]| log.get(nth).map_or(limit, |sent| sent.at.since(Instant::ZERO) + Span::from_ns(1));
    let side = |contender, log: &[Sent]| -> Result<Side<'_>, Failure> {
        let close = before(&trial(contender, end(log).min(limit)), Close::on(nth))?;
        Ok(Side { contender, close })
    };
    let sides = [side(one, &one_log)?, side(other, &other_log)?];
    let text = match arguments.json {
        true => format!("{:#}\n", document(nth, &sides, &names)),
        false => text(&heading, nth, &sides, &names),
    };
    Ok(output::print(&text)?)
}

fn log(trial: &Trial) -> Result<Vec<Sent>, Failure> {
    before(trial, DecisionLog::default()).map(|log| log.sent)
}

fn before<O: Onlooker + 'static>(trial: &Trial, onlooker: O) -> Result<O, Failure> {
    let shared = Rc::new(RefCell::new(onlooker));
    trial.simulate_before(shared.clone(), Reasons::new()).map_err(Failure::input)?;
    Ok(Rc::into_inner(shared).expect("the run is over").into_inner())
}

fn text(heading: &str, nth: usize, sides: &[Side<'_>], names: &Names) -> String {
    let [one, other] = sides else { unreachable!("there are two") };
    let mut text = output::paragraph(&format!(
        "{heading}: {} and {} send the same {nth} commands at the same moments; the next one differs \
         (I/O costs no processor time here, so that only decisions separate them).",
        one.contender.name, other.contender.name
    ));
    for side in sides {
        text += "\n";
        text += &output::paragraph(&format!("{} {}.", side.contender.name, sent(side.close.sent.as_ref(), names)));
        text += &output::paragraph(&format!("  It had to choose from {}.", choice(&side.close, names)));
        let said: Vec<String> =
            side.close.said.iter().map(|(at, why)| format!("{} {}", moment(*at), reason(*why, names))).collect();
        if said.is_empty() {
            text += "  It gave no reason beyond its order.\n";
        }
        const SHOWN: usize = 12;
        if said.len() > SHOWN {
            text += &format!("  {} reasons before these\n", said.len() - SHOWN);
        }
        for line in said.iter().skip(said.len().saturating_sub(SHOWN)) {
            text += &output::paragraph(&format!("  {line}"));
        }
    }
    text
}

fn moment(at: Instant) -> String {
    format!("{:.6}s", at.as_ns() as f64 / 1e9)
}

fn sent(sent: Option<&Sent>, names: &Names) -> String {
    let Some(sent) = sent else { return "sends nothing more".to_owned() };
    let size = Quantity::Bytes.show(f64::from(sent.sectors) * 512.0);
    let what = match sent.op {
        Op::Read => "read",
        Op::Write | Op::WriteZeroes => "write",
        Op::Discard => "trim",
        Op::Flush => return format!("at {} sends a flush of the disk's cache", moment(sent.at)),
    };
    format!("at {} sends {}'s {what} of {size} at sector {}", moment(sent.at), names.process(sent.by), sent.start.0)
}

fn choice(close: &Close, names: &Names) -> String {
    let phrase = |(by, dir, count): &(blksched::SubmitterId, Dir, usize)| {
        format!("{count} {dir}{} of {}", if *count == 1 { "" } else { "s" }, names.process(*by))
    };
    match close.choice.len() {
        0 => "nothing else".to_owned(),
        _ => close.choice.iter().map(phrase).collect::<Vec<_>>().join(", "),
    }
}

fn document(nth: usize, sides: &[Side<'_>], names: &Names) -> Value {
    let side = |side: &Side<'_>| {
        let sent = side.close.sent.map(|sent| {
            json!({
                "at_ns": sent.at.as_ns(), "op": format!("{:?}", sent.op).to_lowercase(), "sector": sent.start.0,
                "sectors": sent.sectors, "process": names.process(sent.by),
            })
        });
        let said = side.close.said.iter();
        let said = said.map(|(at, why)| json!({ "at_ns": at.as_ns(), "reason": reason(*why, names) }));
        let choice = side.close.choice.iter();
        let choice = choice.map(|(by, dir, count)| {
            json!({ "process": names.process(*by), "direction": dir.to_string(), "requests": count })
        });
        json!({
            "scheduler": side.contender.name, "sent": sent, "reasons": said.collect::<Vec<_>>(),
            "queued": choice.collect::<Vec<_>>(),
        })
    };
    json!({ "schema": "blksched/why/1", "alike": nth, "sides": sides.iter().map(side).collect::<Vec<_>>() })
}
