//! Proposals, and the reasons that forbid them, on invented samples.

use blksched::Dir;
use blksched_measure::Work;

use super::*;
use crate::runs::lasting::Lasting;
use crate::runs::measured::{Availability, HalfMeasure, JobEnd, Total, WorkMeasure};
use crate::verdict::brief::{Advice, Brief, BriefFrom};
use crate::verdict::contrast::contrasts;

fn sample(values: &[f64]) -> Sample {
    Sample::of(values.to_vec())
}

/// A job that reads with these latencies \[ns\], seed by seed, and this longest stall \[ns\].
fn reader(name: &str, latencies: &[f64], stall: f64) -> JobMeasure {
    let constant = |value: f64| sample(&vec![value; latencies.len()]);
    let work = WorkMeasure {
        ios: constant(1000.0),
        bandwidth: sample(&latencies.iter().map(|ns| 4096e9 / ns).collect::<Vec<_>>()),
        iops: sample(&latencies.iter().map(|ns| 1e9 / ns).collect::<Vec<_>>()),
        sleeps: false,
        clat: [1.0, 1.0, 2.0, 2.0, 3.0].map(|times| sample(&latencies.iter().map(|ns| times * ns).collect::<Vec<_>>())),
        halves: [0, 1].map(|_| half(latencies)),
    };
    JobMeasure {
        disk: None,
        name: name.to_owned(),
        processes: 1,
        role: (Role::Latency, "it waits for each read"),
        yields: false,
        stable: false,
        end: JobEnd::Time,
        ran: None,
        finish: None,
        stall: constant(stall),
        asked: constant(1.0),
        given: constant(0.5),
        priority: None,
        work: vec![(Work::Read, work)],
    }
}

/// Half of a run in which reads take so long.
fn half(latencies: &[f64]) -> HalfMeasure {
    HalfMeasure { iops: sample(&latencies.iter().map(|ns| 1e9 / ns).collect::<Vec<_>>()), mean: sample(latencies) }
}

fn scheduler(name: &'static str, jobs: Vec<JobMeasure>) -> Measured {
    let constant = |value: f64| sample(&vec![value; jobs[0].stall.values().len()]);
    let total = || Total {
        bandwidth: constant(1e6),
        mean: constant(1e6),
        p99: constant(2e6),
        slept: 0.0,
        waited: Vec::new(),
        service: 1e6,
        in_memory: None,
    };
    Measured {
        disk: None,
        beside: Vec::new(),
        name: name.to_owned(),
        scheduler: name,
        availability: Availability::Present,
        knobs: Vec::new(),
        controls: Vec::new(),
        busy: constant(1.0),
        seeking: constant(0.5),
        in_disk: 1.0,
        jain: constant(1.0),
        misplaced: None,
        kept: None,
        memory: None,
        cpu: None,
        capped: None,
        cost_rates: Vec::new(),
        totals: Dir::BOTH.map(|dir| (dir, total())),
        companies: Vec::new(),
        finished: false,
        hashes: Vec::new(),
        jobs,
    }
}

const USUAL: [f64; 6] = [100e6, 101e6, 99e6, 100e6, 102e6, 98e6];

fn times(factor: f64) -> Vec<f64> {
    // Not all alike, or there would be no variance to test against.
    USUAL.iter().zip([1.0, 1.01, 0.99, 1.0, 1.01, 0.99]).map(|(ns, noise)| ns * factor * noise).collect()
}

/// The name of the scheduler recommended instead of `base`, and the sentences.
fn verdict(base: Measured, here: Measured, goal: Option<&str>) -> (Option<String>, String) {
    let measured = [Arc::new(base), Arc::new(here)];
    let goal = Goal::read(goal, &measured[0].jobs).expect("a goal");
    let action = choose(&measured, &contrasts(&measured, 1), goal, 1).expect("there is a default");
    (action.chosen().map(|chosen| chosen.scheduler.label()), action.sentences().join(" "))
}

#[test]
fn what_is_better_is_proposed_and_what_is_not_is_not() {
    let base = || scheduler("a", vec![reader("db", &USUAL, 0.1e9)]);
    let with = |factor| scheduler("b", vec![reader("db", &times(factor), 0.1e9)]);
    assert_eq!(verdict(base(), with(0.5), None).0.as_deref(), Some("b"));
    assert_eq!(verdict(base(), with(0.98), None).0, None);
    assert_eq!(verdict(base(), with(2.0), None).0, None);
}

#[test]
fn nobody_is_proposed_over_a_stall_of_more_than_a_second_in_a_job_that_had_none() {
    let both = |name, factor: f64, stall: f64| {
        scheduler(name, vec![reader("db", &times(factor), 0.1e9), reader("other", &USUAL, stall)])
    };
    let (chosen, said) = verdict(both("a", 1.0, 0.9e9), both("b", 0.2, 1.1e9), None);
    assert_eq!(chosen, None, "{said}");
    assert!(said.contains("other makes no progress for 1.10s (under a for 900ms at most)"), "{said}");
    // A job that stood still before may continue to; below a second it is not called a standstill.
    assert_eq!(verdict(both("a", 1.0, 1.2e9), both("b", 0.2, 3.0e9), None).0.as_deref(), Some("b"));
    assert_eq!(verdict(both("a", 1.0, 0.1e9), both("b", 0.2, 0.9e9), None).0.as_deref(), Some("b"));
    // If the goal names the other job, the standstill is only a price.
    let (chosen, said) = verdict(both("a", 1.0, 0.1e9), both("b", 0.2, 1.1e9), Some("db: mean read"));
    assert_eq!(chosen.as_deref(), Some("b"));
    assert!(said.contains("The price: other makes no progress for 1.10s"), "{said}");
    assert_eq!(verdict(both("a", 1.0, 0.1e9), both("b", 0.2, 1.1e9), Some("other: mean read, db: mean read")).0, None);
}

#[test]
fn a_job_that_somebody_waits_for_pays_a_quarter_more_at_most_unless_a_goal_chooses() {
    let both = |name, db: f64, other: f64| {
        scheduler(name, vec![reader("db", &times(db), 0.1e9), reader("other", &times(other), 0.1e9)])
    };
    let base = || scheduler("a", vec![reader("db", &USUAL, 0.1e9), reader("other", &USUAL, 0.1e9)]);
    let (chosen, said) = verdict(base(), both("b", 0.2, 1.24), None);
    assert_eq!(chosen.as_deref(), Some("b"), "{said}");
    assert!(said.contains("The price: other: mean read latency is 1.24 times longer"), "{said}");
    let (chosen, said) = verdict(base(), both("b", 0.2, 1.26), None);
    assert_eq!(chosen, None, "{said}");
    assert!(said.contains("b helps db: mean read latency is 5.00 times shorter"), "{said}");
    assert!(said.contains("it harms other") && said.contains("is 1.26 times longer (126ms, not 100ms"), "{said}");
    assert!(said.ends_with("choose with --goal. Keep a until --goal says what counts."), "{said}");
    let (chosen, said) = verdict(base(), both("b", 0.2, 1.26), Some("db: mean read"));
    assert_eq!(chosen.as_deref(), Some("b"), "{said}");
}

#[test]
fn a_background_job_keeps_a_tenth_of_its_rate() {
    let both = |name, db: &[f64], backup: &[f64]| {
        let backup = JobMeasure { role: (Role::Background, "its name"), ..reader("backup", backup, 0.1e9) };
        scheduler(name, vec![reader("db", db, 0.1e9), backup])
    };
    let base = || both("a", &USUAL, &USUAL);
    let (chosen, said) = verdict(base(), both("b", &times(0.5), &times(9.8)), None);
    assert_eq!(chosen.as_deref(), Some("b"), "{said}");
    let (chosen, said) = verdict(base(), both("b", &times(0.5), &times(10.2)), None);
    assert_eq!(chosen, None, "{said}");
    assert!(said.contains("it harms backup") && said.contains("read bandwidth is 10 times lower"), "{said}");
}

#[test]
fn bfq_is_not_proposed_by_runs_that_its_favour_for_what_is_new_may_fill() {
    let chosen = |name, seen: Span, finished: bool| {
        let base = Measured { finished, ..scheduler("a", vec![reader("db", &USUAL, 0.1e9)]) };
        let measured = [base, scheduler(name, vec![reader("db", &times(0.5), 0.1e9)])].map(Arc::new);
        let action = choose(&measured, &contrasts(&measured, 1), Goal::Roles, 1).expect("there is a default");
        let action = action.in_runs_of(seen, seen);
        (action.chosen().is_some(), action.sentences().join(" "))
    };
    let (long, short) = (Length::MODES, Length::MODES - Span::from_ns(1));
    assert!(chosen("bfq", long, false).0);
    let (proposed, said) = chosen("bfq", short, false);
    assert!(!proposed && said.contains("it favours what is new for up to 25 s"), "{said}");
    assert!(chosen("bfq", short, true).0, "every job ran to its end");
    assert!(chosen("kyber", short, false).0, "no other scheduler does that");
}

#[test]
fn nobody_is_proposed_whose_runs_fall_into_two_modes_though_both_are_better() {
    let base = scheduler("a", vec![reader("db", &USUAL, 0.1e9)]);
    let split = [50e6, 5e6, 51e6, 5.1e6, 49e6, 4.9e6];
    let (chosen, said) = verdict(base, scheduler("b", vec![reader("db", &split, 0.1e9)]), None);
    assert_eq!(chosen, None, "{said}");
    assert!(said.contains("two modes: db's mean read latency is 5.00ms in 3 of 6, 50.0ms in 3"), "{said}");
}

#[test]
fn a_background_jobs_two_modes_are_told_and_no_reason_against_a_scheduler() {
    let backup =
        |latencies: &[f64]| JobMeasure { role: (Role::Background, "its name"), ..reader("backup", latencies, 0.1e9) };
    let base = scheduler("a", vec![reader("db", &USUAL, 0.1e9), backup(&USUAL)]);
    let torn = [5e6, 50e6, 5e6, 50e6, 5e6, 5e6];
    let here = || scheduler("b", vec![reader("db", &times(0.5), 0.1e9), backup(&torn)]);
    let all = [scheduler("a", vec![reader("db", &USUAL, 0.1e9), backup(&USUAL)]), here()].map(Arc::new);
    let told = crate::verdict::words::differences(&all, &contrasts(&all, 1)).sentences.join(" ");
    assert!(told.contains("two modes: backup's read bandwidth is 80.0KiB/s in 2 of 6, 800KiB/s in 4"), "{told}");
    assert_eq!(verdict(base, here(), None).0.as_deref(), Some("b"));
}

#[test]
fn two_modes_of_a_figure_that_does_not_count_are_told_and_no_reason_against_a_scheduler() {
    let job = |reads: &[f64], writes: &[f64]| {
        let mut job = reader("db", reads, 0.1e9);
        job.work.extend(reader("db", writes, 0.1e9).work.into_iter().map(|(_, measure)| (Work::Write, measure)));
        job
    };
    let torn = [5e6, 50e6, 5e6, 50e6, 5e6, 5e6];
    let pair = || (scheduler("a", vec![job(&USUAL, &USUAL)]), scheduler("b", vec![job(&times(0.5), &torn)]));
    let all = <[Measured; 2]>::from(pair()).map(Arc::new);
    let told = crate::verdict::words::differences(&all, &contrasts(&all, 1)).sentences.join(" ");
    assert!(told.contains("two modes: db's mean write latency is 5.00ms in 4 of 6, 50.0ms in 2"), "{told}");
    let (base, here) = pair();
    // It waits for reads, so that its writes do not count.
    assert_eq!(verdict(base, here, None).0.as_deref(), Some("b"));
    let (base, here) = pair();
    let (chosen, said) = verdict(base, here, Some("db: mean read, db: mean write"));
    assert_eq!(chosen, None, "{said}");
}

#[test]
fn where_the_defaults_runs_fall_into_two_modes_the_better_of_them_counts() {
    let split = || scheduler("a", vec![reader("db", &[100e6, 10e6, 101e6, 10.1e6, 99e6, 9.9e6], 0.1e9)]);
    let with = |ns: f64| scheduler("b", vec![reader("db", &USUAL.map(|usual| usual * ns / 100e6), 0.1e9)]);
    assert_eq!(verdict(split(), with(5e6), None).0.as_deref(), Some("b"));
    let (chosen, said) = verdict(split(), with(9.8e6), None);
    assert_eq!(chosen, None, "{said}");
    assert!(said.contains("is no better than the better mode") || said.contains("chance"), "{said}");
}

#[test]
fn where_only_the_defaults_two_modes_speak_against_the_better_the_runs_do_not_say() {
    let split = || scheduler("a", vec![reader("db", &[100e6, 10e6, 101e6, 102e6, 99e6, 98e6], 0.1e9)]);
    let with = |ns: f64| scheduler("b", vec![reader("db", &USUAL.map(|usual| usual * ns / 100e6), 0.1e9)]);
    let (chosen, said) = verdict(split(), with(9.8e6), None);
    assert_eq!(chosen, None, "{said}");
    assert!(said.contains("Keep a: no mean over its two modes says whether b is better."), "{said}");
    // In memory nobody waits for the disk.
    let fast = [1.3e3, 100.0, 1.3e3, 1.3e3, 1.3e3, 1.3e3];
    let (_, said) = verdict(scheduler("a", vec![reader("db", &fast, 0.1e9)]), with(700.0), None);
    assert!(!said.contains("two modes"), "{said}");
}

#[test]
fn a_job_that_gets_nothing_forbids_it() {
    let base = scheduler("a", vec![reader("db", &USUAL, 0.1e9), reader("other", &USUAL, 0.1e9)]);
    let starved = JobMeasure { work: Vec::new(), ..reader("other", &USUAL, 0.1e9) };
    let (chosen, said) = verdict(base, scheduler("b", vec![reader("db", &times(0.2), 0.1e9), starved]), None);
    assert!(chosen.is_none() && said.contains("other gets nothing at all"), "{said}");
}

#[test]
fn clones_that_report_each_for_itself_are_told_once_with_their_number() {
    let clones = |name, factors: [f64; 3], stalls: [f64; 3]| {
        let jobs = factors.iter().zip(stalls).map(|(factor, stall)| reader("deliver", &times(*factor), stall));
        scheduler(name, jobs.collect())
    };
    let base = || scheduler("a", (0..3).map(|_| reader("deliver", &USUAL, 0.1e9)).collect());
    let better = clones("b", [0.5, 0.4, 0.5], [0.1e9; 3]);
    let measured = [base(), better].map(Arc::new);
    let said = crate::verdict::words::differences(&measured, &contrasts(&measured, 1)).sentences.join(" ");
    assert!(said.contains("Roles assumed: deliver ×3 is latency-bound (it waits for each read);"), "{said}");
    let both = "deliver ×3: mean read latency is 2.00 to 2.50 times shorter (40.0ms to 50.0ms, not 100ms), ";
    assert!(said.contains(both) && said.matches("deliver").count() == 2, "{said}");
    let (chosen, said) = verdict(base(), clones("b", [0.5, 0.4, 0.5], [0.1e9; 3]), None);
    assert!(chosen.as_deref() == Some("b") && said.matches("mean read latency").count() == 1, "{said}");
    // For some of the clones, the number is given; the longest standstill is named.
    let one = clones("b", [0.5, 1.0, 1.0], [0.1e9, 1.1e9, 1.3e9]);
    let (chosen, said) = verdict(base(), one, None);
    assert_eq!(chosen, None, "{said}");
    assert!(said.contains("deliver ×2 makes no progress for 1.30s (under a for 100ms at most)"), "{said}");
    // A goal that names the job means every clone, and two clones weigh no more than one job.
    let goal =
        Goal::read(Some("deliver: p99 read < 90ms"), &[reader("deliver", &USUAL, 0.0), reader("deliver", &USUAL, 0.0)]);
    assert_eq!(goal.expect("a goal").bounds().next().map(|(clause, _)| clause.figures.len()), Some(2));
}

#[test]
fn that_no_scheduler_keeps_the_priorities_is_not_said_with_the_name_of_one() {
    let jobs = || vec![reader("deliver", &USUAL, 0.0)];
    let with = |name, part: f64| Measured { misplaced: Some(sample(&[part; 2])), ..scheduler(name, jobs()) };
    let said = |parts: [f64; 2]| priorities(&[with("none", parts[0]), with("bfq", parts[1])].map(Arc::new)).unwrap();
    let neither = said([0.4, 0.5]);
    assert!(neither.ends_with(": none 40.0%, bfq 50.0%. No scheduler keeps the priorities."), "{neither}");
    let both = said([0.0, 0.0]);
    assert!(both.ends_with(": none 0.0%, bfq 0.0%. All of them keep the priorities."), "{both}");
    let one = said([0.4, 0.0]);
    assert!(one.ends_with(": bfq 0.0% (priorities kept); none 40.0% (not kept)."), "{one}");
}

/// The answer in a few lines where a key figure may become this many times worse.
fn brief(base: Measured, here: Measured, goal: Option<&str>, max_price: f64) -> Brief {
    let measured = [Arc::new(base), Arc::new(here)];
    let goal = Goal::read(goal, &measured[0].jobs).expect("a goal");
    let action = choose(&measured, &contrasts(&measured, 1), goal, 1).expect("there is a default").within(max_price);
    let lasting = Lasting::given(Span::from_secs(30));
    let from = BriefFrom {
        measured: &measured,
        action: Some(&action),
        unranked: None,
        causes: &[],
        phases: &[],
        not_full: None,
        lasting: &lasting,
        hangs_on: None,
        checked: "Never checked.".to_owned(),
    };
    from.brief()
}

#[test]
fn the_answer_says_what_to_do_the_price_and_how_sure_it_is() {
    let both = |name, db: f64, other: f64| {
        scheduler(name, vec![reader("db", &times(db), 0.1e9), reader("other", &times(other), 0.1e9)])
    };
    let base = || scheduler("a", vec![reader("db", &USUAL, 0.1e9), reader("other", &USUAL, 0.1e9)]);
    let found = brief(base(), both("b", 0.5, 1.2), None, 1.25);
    assert_eq!(found.advice, Advice::Use);
    assert_eq!(
        found.to_string(),
        "Use b: db: mean read latency 50.0ms instead of 100ms.\n\
         Price: other: mean read latency 120ms instead of 100ms.\n\
         How sure: 6 runs of at most 30s each say 1.28 to 1.30 times better over all.\n\
         Never checked.\n"
    );
    let free = brief(base(), both("b", 0.5, 0.9), None, 1.25).to_string();
    assert!(free.contains("\nPrice: nothing that counts gets worse.\n"), "{free}");
    let kept = brief(base(), both("b", 0.99, 1.0), None, 1.25);
    assert_eq!(kept.advice, Advice::Keep);
    assert!(kept.to_string().starts_with("Keep a: nothing is at least 5 % better for db and other.\n"), "{kept}");
}

#[test]
fn whoever_is_harmed_too_much_makes_it_a_choice_and_a_goal_or_a_higher_price_makes_it() {
    let both = |name, db: f64, other: f64| {
        scheduler(name, vec![reader("db", &times(db), 0.1e9), reader("other", &times(other), 0.1e9)])
    };
    let base = || scheduler("a", vec![reader("db", &USUAL, 0.1e9), reader("other", &USUAL, 0.1e9)]);
    let with = |goal, max_price| brief(base(), both("b", 0.2, 1.4), goal, max_price);
    let found = with(None, 1.25);
    assert_eq!(found.advice, Advice::Choose);
    let text = found.to_string();
    let choice = "Choose: b helps (db: mean read latency 20.0ms instead of 100ms) and harms (other: mean read latency \
                  140ms instead of 100ms).\n";
    assert!(text.starts_with(choice), "{text}");
    assert!(text.contains("keep a: --goal 'db: mean read' does, or a --max-price above 1.25.\n"), "{text}");
    assert_eq!(with(None, 1.5).advice, Advice::Use, "a price that was allowed");
    assert_eq!(with(Some("db: mean read"), 1.25).advice, Advice::Use, "a goal that chooses");
}

#[test]
fn a_stall_is_told_with_the_goal_under_which_it_would_not_count() {
    let both = |name, db: f64, stall: f64| {
        scheduler(name, vec![reader("db", &times(db), 0.1e9), reader("other", &USUAL, stall)])
    };
    let found = brief(both("a", 1.0, 0.1e9), both("b", 0.2, 2.6e9), None, 1.25);
    assert_eq!(found.advice, Advice::Keep);
    let text = found.to_string();
    assert!(
        text.starts_with("Keep a.\nNot b, though 2.24 times better over all: other makes no progress for"),
        "{text}"
    );
    assert!(text.contains(" If that is fine: --goal 'db: mean read'.\n"), "{text}");
}

#[test]
fn settings_of_the_default_that_do_as_much_are_the_smaller_change() {
    let with = |name, knobs: &[&str], factor| {
        let knobs = knobs.iter().map(|knob| (*knob).to_owned()).collect();
        Arc::new(Measured { knobs, ..scheduler(name, vec![reader("db", &times(factor), 0.1e9)]) })
    };
    let chosen = |setting: f64| {
        let measured = [with("a", &[], 1.0), with("a", &["fifo_batch=1"], setting), with("b", &[], 0.5)];
        let action = choose(&measured, &contrasts(&measured, 1), Goal::Roles, 1).expect("there is a default");
        let label = |found: Option<&Challenger>| found.map(|one| one.scheduler.label());
        let best = action.candidates.iter().find(|one| one.scheduler.name == "b").expect("it is a candidate");
        (label(action.chosen()), label(action.as_good()), label(action.explained(best)))
    };
    let (setting, other) = (|| Some("a fifo_batch=1".to_owned()), || Some("b".to_owned()));
    assert_eq!(chosen(0.5), (setting(), other(), setting()), "digit for digit");
    assert_eq!(chosen(0.51), (setting(), other(), setting()), "2 % behind");
    assert_eq!(chosen(0.52), (other(), None, setting()), "4 % behind, though most of the gain");
    assert_eq!(chosen(0.75), (other(), None, None), "less than half of it");
    assert_eq!(chosen(1.0), (other(), None, None));
}

/// A scheduler under which the only job's reads take so long in each half of the runs.
fn in_halves(name: &'static str, first: f64, second: f64) -> Arc<Measured> {
    let mut one = scheduler(name, vec![reader("db", &times((first + second) / 2.0), 0.1e9)]);
    one.jobs[0].work[0].1.halves = [half(&times(first)), half(&times(second))];
    Arc::new(one)
}

#[test]
fn halves_that_disagree_are_noticed_and_forbid_an_advice() {
    let said = |here: Arc<Measured>| {
        let measured = [in_halves("a", 1.0, 1.0), here];
        let found = halves::unsteady(&Goal::Roles, &measured);
        let action = choose(&measured, &contrasts(&measured, 1), Goal::Roles, 1).unwrap().at_rest();
        (found, action.chosen().is_some(), action.too_short())
    };
    let (found, is_chosen, why) = said(in_halves("b", 0.5, 0.5));
    assert!(found.is_empty() && is_chosen && why.is_none(), "{found:?} {why:?}");
    // Better at first only: not proposed, and the default stays.
    let (found, is_chosen, why) = said(in_halves("b", 0.2, 1.0));
    assert_eq!(
        found.iter().map(halves::Unsteady::text).collect::<Vec<_>>(),
        ["db's mean read latency under b by 5.00 times"]
    );
    assert!(!is_chosen && why.is_none(), "{why:?}");
    // Better at last only: nothing can be said.
    let (found, is_chosen, why) = said(in_halves("b", 1.0, 0.2));
    assert!(found.len() == 1 && !is_chosen, "{found:?}");
    let why = why.expect("it is worth a change in the second half");
    assert!(why.starts_with("No verdict on b: ") && why.contains("5.00 times in the second"), "{why}");
    // Both by a little: no advice depends on it.
    let (found, is_chosen, why) = said(in_halves("b", 0.52, 0.5));
    assert!(found.is_empty() && is_chosen && why.is_none(), "{found:?} {why:?}");
}
