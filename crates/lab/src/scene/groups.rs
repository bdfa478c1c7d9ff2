//! Notes about cgroup files that have no effect under a scheduler.

use blksched::Choice;
use blksched::cgroup::files::{CostQos, Written, parse};
use blksched::elevators::cfq::rules::Grouping;
use blksched_workloads::Plan;

use super::contender::Contender;

/// Notes: one per file and reason, with all schedulers that it applies to.
pub fn notes_on_files(contenders: &[Contender], plan: &Plan) -> Vec<String> {
    let mut found: Vec<(&str, String, Vec<&str>)> = Vec::new();
    let always = plan.groups.iter().flat_map(|group| &group.files).map(|file| (file, WriteWhen::Always));
    let if_asked = plan.groups.iter().flat_map(|group| &group.files_if_asked).map(|file| (file, WriteWhen::ByName));
    for ((file, text), asked) in always.chain(if_asked) {
        let is_asked = |choice: &Choice| asked == WriteWhen::Always || choice.asked.contains(&file.as_str());
        for contender in contenders.iter().filter(|contender| is_asked(&contender.choice)) {
            let is_on = contender.choice.io_cost.is_some() || is_switched_on(plan);
            let cost = if is_on { CostSwitch::On } else { CostSwitch::Off };
            let Some(why) = why_nothing(file, text, &contender.choice, cost) else { continue };
            let under = match found.iter_mut().find(|(own, reason, _)| own == file && *reason == why) {
                Some((_, _, under)) => under,
                None => {
                    found.push((file, why, Vec::new()));
                    &mut found.last_mut().expect("one was just pushed").2
                }
            };
            if !under.contains(&contender.name.as_str()) {
                under.push(&contender.name);
            }
        }
    }
    let nothing = |(file, why, under): (&str, String, Vec<&str>)| {
        format!("{file} does nothing under {}: {why}", under.join(", "))
    };
    let asked_in_vain = contenders.iter().flat_map(|contender| in_vain(contender, plan));
    found.into_iter().map(nothing).chain(asked_in_vain).collect()
}

/// When a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WriteWhen {
    Always,
    ByName,
}

/// Controllers that a scheduler's name asks for and that no group has settings for.
fn in_vain<'a>(contender: &'a Contender, plan: &'a Plan) -> impl Iterator<Item = String> {
    let all =
        |file: &str| plan.groups.iter().any(|g| g.files.iter().chain(&g.files_if_asked).any(|(own, _)| own == file));
    contender.choice.asked.iter().filter(move |file| !all(file)).map(|file| {
        format!(
            "{}: no group has anything to write to {file}; a job sets it by cgroup_files_if_asked, as in {file}: {}",
            contender.name,
            match *file {
                "io.max" => "wbps=25%",
                "io.latency" => "target=150%",
                _ => "idle",
            }
        )
    })
}

/// Whether io.cost is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CostSwitch {
    On,
    Off,
}

fn is_switched_on(plan: &Plan) -> bool {
    let on = |(file, text): &(String, String)| {
        matches!(parse(file, text), Ok(Written::CostQos(CostQos { enable: Some(true), .. })))
    };
    plan.groups.iter().flat_map(|group| &group.files).any(on)
}

/// Why the file does nothing; `None` if it does something.
fn why_nothing(file: &str, text: &str, choice: &Choice, cost: CostSwitch) -> Option<String> {
    let name = choice.entry.name;
    let is_blk_mq = choice.preset.slots.era().is_some();
    let is_cost = matches!(file, "io.weight" | "io.cost.qos" | "io.cost.model");
    if (is_cost || file == "io.latency") && !is_blk_mq {
        let controller = if is_cost { "io.cost" } else { "io.latency" };
        return Some(format!("{controller} exists only with blk-mq, and that kernel's schedulers are older"));
    }
    if is_cost && cost == CostSwitch::Off && !matches!(file, "io.cost.qos") {
        let instead = if name == "bfq" { "; the weight of BFQ is io.bfq.weight" } else { "" };
        return Some(format!(
            "io.cost is off; `io.cost.qos: enable=1`, or +io.cost after the scheduler's name, switches it on{instead}"
        ));
    }
    let has_groups = name == "bfq" || (name == "cfq" && choice.way_if_any() == Some(Grouping::On));
    if file == "io.bfq.weight" && !has_groups {
        return Some("it is the weight of BFQ's groups".to_owned());
    }
    let has_classes = ["mq-deadline", "bfq", "cfq"].contains(&name);
    if file == "io.prio.class" && !has_classes && text.trim() != "no-change" {
        return Some(format!("{name} ignores priorities"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::contenders;
    use blksched::Catalogue;
    use blksched_workloads::fio::JobFile;

    fn notes(elevators: &[&str], files: &str) -> Vec<String> {
        let names: Vec<String> = elevators.iter().map(|&name| name.to_owned()).collect();
        let contenders = contenders("--elevators", &names, &[], &Catalogue::builtin()).unwrap();
        let text = format!("[a]\nrw=read\nsize=1m\ncgroup=a\ncgroup_files={files}\n");
        let plan = JobFile::parse(&text, "a.fio").unwrap().plan(1 << 30).unwrap();
        notes_on_files(&contenders, &plan)
    }

    #[test]
    fn a_file_that_does_nothing_is_named_with_where_and_why() {
        let said = notes(&["none", "mq-deadline", "none+io.cost"], "io.weight: 200");
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].starts_with("io.weight does nothing under none, mq-deadline: io.cost is off"), "{said:?}");
        assert!(notes(&["bfq"], "io.weight: 200")[0].contains("io.bfq.weight"));
        let said = notes(&["cfq", "deadline"], "io.latency: target=100");
        assert!(said.len() == 1 && said[0].starts_with("io.latency does nothing under cfq"), "{said:?}");
        assert!(notes(&["none"], "io.bfq.weight: 200")[0].contains("BFQ's groups"));
        assert!(notes(&["none", "kyber"], "io.prio.class: idle")[0].contains("ignores priorities"));
    }

    #[test]
    fn a_controller_that_is_asked_for_in_vain_is_named() {
        let said = notes(&["none+io.max", "none"], "io.latency: target=100");
        assert!(
            said.len() == 1 && said[0].starts_with("none+io.max: no group has anything to write to io.max"),
            "{said:?}"
        );
        assert_eq!(notes(&["none+io.max"], "io.max: rbps=1000000"), [""; 0]);
        let asked =
            notes(&["kyber+io.prio.class", "none"], "io.max: rbps=1\ncgroup_files_if_asked=io.prio.class: idle");
        assert!(
            asked.len() == 1 && asked[0].contains("under kyber+io.prio.class: kyber ignores priorities"),
            "{asked:?}"
        );
    }

    #[test]
    fn a_file_that_does_something_is_not() {
        assert_eq!(notes(&["none", "cfq"], "io.max: rbps=1000000"), [""; 0]);
        assert_eq!(notes(&["none"], "io.weight: 200, io.cost.qos: enable=1"), [""; 0]);
        assert_eq!(notes(&["bfq", "cfq@4.20+groups"], "io.bfq.weight: 200"), [""; 0]);
        assert_eq!(notes(&["mq-deadline", "bfq", "cfq"], "io.prio.class: idle"), [""; 0]);
        assert_eq!(notes(&["none"], "io.latency: target=100, io.prio.class: no-change"), [""; 0]);
    }
}
