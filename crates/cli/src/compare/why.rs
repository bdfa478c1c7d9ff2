//! `compare --why A,B`: the first moment at which two schedulers decide differently, with both reasons.

use blksched::{Catalogue, Dir, Instant, Op};
use blksched_lab::Scene;
use blksched_lab::scene::{Contender, Stage, contenders};
use blksched_lab::why::names::Names;
use blksched_lab::why::parting::Parting;
use blksched_lab::why::reason::reason;
use blksched_measure::Quantity;
use blksched_simulate::story::{Close, Sent};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output;

/// One of the two schedulers at the moment in question.
struct Side<'a> {
    contender: &'a Contender,
    close: Close,
}

pub(super) fn run(
    scene: &Scene,
    as_json: bool,
    stage: &Stage,
    two: &[String],
    catalogue: &Catalogue,
) -> Result<(), Failure> {
    let contenders = contenders("--why", two, &scene.set, catalogue)?;
    let [one, other] = &contenders[..] else {
        return Err(Failure::Input(format!(
            "--why {}: expected two schedulers, as in mq-deadline,bfq; there are {}",
            two.join(","),
            contenders.len()
        )));
    };
    let names = Names::of(&stage.plan);
    let parting = Parting::of(scene, stage, [one, other])?;
    let heading = format!("{} on {}, seed {}", stage.workload.name, stage.disk.name, scene.seed);
    let Some([here, there]) = parting.sides else {
        let text = format!(
            "{heading}: {} and {} decide alike for the whole run, {} commands.",
            one.name, other.name, parting.alike
        );
        let value = json!({ "schema": "blksched/why/1", "alike": parting.alike, "sides": null });
        return Ok(output::print(&if as_json { format!("{value:#}\n") } else { output::paragraph(&text) })?);
    };
    let sides = [Side { contender: one, close: here }, Side { contender: other, close: there }];
    let text = match as_json {
        true => format!("{:#}\n", document(parting.alike, &sides, &names)),
        false => text(&heading, parting.alike, &sides, &names),
    };
    Ok(output::print(&text)?)
}

fn text(heading: &str, nth: usize, sides: &[Side<'_>; 2], names: &Names) -> String {
    let [one, other] = sides;
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

fn document(nth: usize, sides: &[Side<'_>; 2], names: &Names) -> Value {
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
