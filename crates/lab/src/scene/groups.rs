//! Notes about cgroup files that have no effect under a scheduler.

use blksched::cgroup::files::{COST_RATE, CostQos, Written, parse};
use blksched::elevators::cfq::rules::Grouping;
use blksched::elevators::mq_deadline::Classes;
use blksched::{Choice, GroupId, Priority};
use blksched_workloads::{GroupPlan, JobPlan, Plan, Syncs};

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
    let weightless = unweighed(contenders, plan).map(|under| {
        let why = "only BFQ, CFQ with +groups and io.cost share by weights";
        nothing(("cgroup_weight", why.to_owned(), under))
    });
    let asked_in_vain = contenders.iter().flat_map(|contender| in_vain(contender, plan));
    let others = alone(plan).into_iter().chain(unheard(contenders, plan));
    found.into_iter().map(nothing).chain(weightless).chain(asked_in_vain).chain(others).collect()
}

/// The schedulers that do not share by the weights that jobs give their groups; `None` if there are none of either.
fn unweighed<'a>(contenders: &'a [Contender], plan: &Plan) -> Option<Vec<&'a str>> {
    plan.groups.iter().find(|group| group.weight != USUAL_WEIGHT)?;
    let is_deaf = |one: &&Contender| {
        let has_cost = one.choice.io_cost.is_some() || is_switched_on(plan);
        !(has_groups(&one.choice) || has_cost && one.choice.preset.slots.era().is_some())
    };
    let under: Vec<&str> = contenders.iter().filter(is_deaf).map(|one| one.name.as_str()).collect();
    (!under.is_empty()).then_some(under)
}

/// A group's weight if nobody sets it.
const USUAL_WEIGHT: u32 = 100;

/// Weights below a parent that has no other group: a weight divides what the parent has among its children.
fn alone(plan: &Plan) -> Vec<String> {
    let id = |nth: usize| GroupId(nth as u32 + 1);
    let group = |id: GroupId| (id != GroupId::ROOT).then(|| &plan.groups[id.0 as usize - 1]);
    let way_up = |from: GroupId| core::iter::successors(Some(from), |one| group(*one).map(|group| group.parent));
    let has_jobs = |above: GroupId| plan.jobs.iter().any(|job| way_up(job.cgroup).any(|one| one == above));
    let mut notes = Vec::new();
    for (nth, own) in plan.groups.iter().enumerate() {
        let is_weight = |(file, _): &&(String, String)| matches!(file.as_str(), "io.weight" | "io.bfq.weight");
        let written = own.files.iter().find(is_weight).map(|(file, _)| file.as_str());
        let weight = written.or((own.weight != USUAL_WEIGHT).then_some("cgroup_weight"));
        let (Some(file), Some(above)) = (weight.filter(|_| has_jobs(id(nth))), group(own.parent)) else { continue };
        let is_sibling =
            |(other, it): (usize, &GroupPlan)| other != nth && it.parent == own.parent && has_jobs(id(other));
        let shares =
            plan.jobs.iter().any(|job| job.cgroup == own.parent) || plan.groups.iter().enumerate().any(is_sibling);
        if !shares {
            notes.push(format!(
                "{file} of {} divides nothing: {} has no other group with a job; the weight of {} is what counts",
                own.name, above.name, above.name
            ));
        }
    }
    notes
}

/// Priorities that nobody hears: of buffered writes, which the flusher sends in its own name unless a sync sends them
/// in the job's, and under schedulers without classes.
fn unheard(contenders: &[Contender], plan: &Plan) -> Vec<String> {
    let is_said = |priority: Priority| ![Priority::default(), Priority::NORMAL].contains(&priority);
    let names = |is_so: &dyn Fn(&JobPlan) -> bool| {
        let mut names: Vec<&str> = Vec::new();
        for job in plan.jobs.iter().filter(|job| is_said(job.priority) && is_so(job)) {
            if !names.contains(&job.name.as_str()) {
                names.push(&job.name);
            }
        }
        names.join(", ")
    };
    let mut notes = Vec::new();
    // With O_SYNC, all writes are the job's own.
    for (syncs, except) in [(Syncs::Never, ""), (Syncs::Calls, ", except what its syncs write")] {
        let flushed = names(&|job| job.is_buffered && job.character.writes && job.character.syncs == syncs);
        if !flushed.is_empty() {
            notes.push(format!(
                "the I/O priority of {flushed} does not reach the disk with buffered writes{except}: the flusher sends \
                 them in its own name; direct=1 or a group's weight does"
            ));
        }
    }
    let deaf: Vec<&str> =
        contenders.iter().filter(|one| !has_classes(&one.choice)).map(|one| one.name.as_str()).collect();
    let all = names(&|_| true);
    if !(all.is_empty() || deaf.is_empty()) {
        notes.push(format!("the I/O priority of {all} does nothing under {}: no classes there", deaf.join(", ")));
    }
    notes
}

/// What BFQ has in place of `io.weight`, and what systemd writes there: it sets both files from `IOWeight=`, the second
/// one by a map of 1, 100, 10000 to 1, 100, 1000.
fn of_bfq(text: &str) -> String {
    let weight = text.trim().trim_start_matches("default").trim().parse::<u32>().ok();
    let systemd = weight.map(|weight| {
        let mapped = if weight <= 100 { weight } else { 100 + (weight - 100) * 900 / 9900 };
        format!(" (systemd's IOWeight={weight} writes {mapped} there)")
    });
    format!("; the weight of BFQ is io.bfq.weight{}", systemd.unwrap_or_default())
}

/// Whether a scheduler shares the disk by its groups' weights.
fn has_groups(choice: &Choice) -> bool {
    choice.entry.name == "bfq" || (choice.entry.name == "cfq" && choice.way_if_any() == Some(Grouping::On))
}

/// Whether a scheduler obeys I/O priorities: BFQ and CFQ always do, mq-deadline in kernels in which it has classes.
fn has_classes(choice: &Choice) -> bool {
    match choice.way_if_any::<Classes>() {
        Some(classes) => classes != Classes::One,
        None => matches!(choice.entry.name, "bfq" | "cfq"),
    }
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
    let is_cost = matches!(file, "io.weight" | "io.cost.qos" | "io.cost.model" | COST_RATE);
    if (is_cost || file == "io.latency") && !is_blk_mq {
        let controller = if is_cost { "io.cost" } else { "io.latency" };
        return Some(format!("{controller} exists only with blk-mq, and that kernel's schedulers are older"));
    }
    if is_cost && cost == CostSwitch::Off && !matches!(file, "io.cost.qos") {
        let instead = if name == "bfq" && file == "io.weight" { of_bfq(text) } else { String::new() };
        return Some(format!(
            "io.cost is off; `io.cost.qos: enable=1`, or +io.cost after the scheduler's name, switches it on{instead}"
        ));
    }
    if file == "io.bfq.weight" && !has_groups(choice) {
        return Some("it is the weight of BFQ's groups".to_owned());
    }
    if file == "io.prio.class" && !has_classes(choice) && text.trim() != "no-change" {
        let where_from = if name == "mq-deadline" { " up to 5.10" } else { "" };
        return Some(format!("{name}{where_from} ignores priorities"));
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
        let said = notes(&["mq-deadline@5.10", "mq-deadline@5.15"], "io.prio.class: idle");
        assert!(
            said.len() == 1 && said[0].contains("under mq-deadline@5.10: mq-deadline up to 5.10 ignores"),
            "{said:?}"
        );
        let said = notes(&["bfq", "none+io.cost"], "io.cost.vrate: 50.00");
        assert!(
            said.len() == 1 && said[0].starts_with("io.cost.vrate does nothing under bfq: io.cost is off"),
            "{said:?}"
        );
        assert!(!said[0].contains("io.bfq.weight"), "{said:?}");
    }

    fn said(elevators: &[&str], jobs: &str) -> Vec<String> {
        let names: Vec<String> = elevators.iter().map(|&name| name.to_owned()).collect();
        let contenders = contenders("--elevators", &names, &[], &Catalogue::builtin()).unwrap();
        let text = format!("[global]\nrw=read\nsize=1m\n{jobs}");
        notes_on_files(&contenders, &JobFile::parse(&text, "a.fio").unwrap().plan(1 << 30).unwrap())
    }

    #[test]
    fn what_systemd_writes_for_a_weight_is_told_where_bfq_does_not_hear_it() {
        // systemd #7057: IOWeight 666 became io.bfq.weight 151.
        assert!(
            said(&["bfq"], "[a]\ncgroup=a\ncgroup_files=io.weight: 666\n[b]\n")[0].contains("IOWeight=666 writes 151")
        );
        assert_eq!(
            (of_bfq("default 10000").contains("writes 1000 "), of_bfq("50").contains("writes 50 ")),
            (true, true)
        );
    }

    #[test]
    fn a_weight_without_a_sibling_divides_nothing() {
        let one = |group: &str| format!("[{group}]\ncgroup=pod-{group}/c\ncgroup_files=io.bfq.weight: 900\n");
        let notes = said(&["bfq"], &(one("a") + &one("b")));
        assert_eq!(notes.len(), 2, "{notes:?}");
        assert_eq!(
            notes[0],
            "io.bfq.weight of pod-a/c divides nothing: pod-a has no other group with a job; the weight of pod-a is \
             what counts"
        );
        let outer = "[a]\ncgroup=a\ncgroup_files=io.bfq.weight: 900\n[b]\ncgroup=b\n";
        assert_eq!(said(&["bfq"], outer), [""; 0]);
        let sharing = "[a]\ncgroup=pod/a\ncgroup_files=io.bfq.weight: 900\n[b]\ncgroup=pod/b\n";
        assert_eq!(said(&["bfq"], sharing), [""; 0]);
    }

    #[test]
    fn priorities_that_nobody_hears_are_named() {
        let notes = said(&["none", "bfq"], "[a]\nrw=write\nprioclass=3\n[b]\ndirect=1\n");
        assert_eq!(notes.len(), 2, "{notes:?}");
        assert!(
            notes[0].starts_with("the I/O priority of a does not reach the disk with buffered writes"),
            "{notes:?}"
        );
        assert_eq!(notes[1], "the I/O priority of a does nothing under none: no classes there");
        assert_eq!(said(&["bfq"], "[a]\ndirect=1\nprioclass=3\n"), [""; 0]);
        let syncs = said(&["bfq"], "[a]\nrw=write\nfsync=1\nprioclass=3\n");
        assert!(syncs.len() == 1 && syncs[0].contains("buffered writes, except what its syncs write: "), "{syncs:?}");
        assert_eq!(said(&["bfq"], "[a]\nrw=write\nsync=1\nprioclass=3\n"), [""; 0]);
        let old = said(&["mq-deadline@5.10", "mq-deadline"], "[a]\ndirect=1\nprioclass=3\n");
        assert_eq!(old, ["the I/O priority of a does nothing under mq-deadline@5.10: no classes there"]);
    }

    #[test]
    fn a_weight_that_a_job_gives_its_group_and_nobody_heeds_is_named() {
        let jobs = "[a]\ncgroup=a\ncgroup_weight=300\n[b]\ncgroup=b\n";
        let notes = said(&["none", "bfq", "none+io.cost", "cfq", "cfq@4.20+groups"], jobs);
        let why = "only BFQ, CFQ with +groups and io.cost share by weights";
        assert_eq!(notes, [format!("cgroup_weight does nothing under none, cfq@4.20: {why}")]);
        assert_eq!(said(&["none"], &jobs.replace("weight=300", "weight=100")), [""; 0]);
        let alone = said(&["bfq"], "[a]\ncgroup=pod/a\ncgroup_weight=300\n[b]\n");
        assert!(alone[0].starts_with("cgroup_weight of pod/a divides nothing: pod has no other group"), "{alone:?}");
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
