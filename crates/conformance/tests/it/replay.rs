//! The replayer: every recording at hand agrees, and every mistake planted in one is found.

use std::path::{Path, PathBuf};

use crate::elevators::company::Company;
use blksched_conformance::replay::{Divergence, Report, Setup, replay, replay_file, replay_with};
use blksched_traces::elevator_transcript::{AddResult, Event, Kick, MergeKind, Transcript, What};
use blksched_traces::fs_recording::is_recording;

fn transcripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/transcripts")
}

fn cases(folder: &Path) -> Vec<PathBuf> {
    let mut cases = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            cases.extend(self::cases(&path));
        } else if path.to_string_lossy().contains(".jsonl") {
            cases.push(path);
        }
    }
    cases.sort();
    cases
}

#[test]
fn every_recording_replays_without_a_divergence() {
    let mut cases = cases(&transcripts());
    // Those of file systems are the simulator's to replay.
    cases.retain(|case| !is_recording(case).unwrap());
    assert!(cases.len() >= 50, "{} recordings", cases.len());
    for case in cases {
        let report = replay_file(&case).unwrap();
        assert!(report.events > 0 && report.divergence.is_none(), "{}: {report:?}", case.display());
    }
}

// ---- a recording of 2.4, with mistakes planted in its states of the list, the counters and the pool

/// Plants a mistake where `plant` first succeeds; it must be noticed there, with a message that begins with `what`.
fn noticed_in_2_4(what: &str, plant: impl Fn(&mut Event) -> bool) {
    let path = transcripts().join("linus-2.4.21/e02-retry.jsonl.gz");
    let mut case = Transcript::open(&path).unwrap();
    let at = case.events.iter_mut().position(plant).expect("such an event");
    let report = replay(&case, &path, &blksched::Catalogue::builtin()).unwrap();
    let divergence = report.divergence.expect("the planted mistake is noticed");
    assert_eq!(divergence.line, at + 2, "{divergence:?}");
    assert!(divergence.what.contains(what), "{}", divergence.what);
}

#[test]
fn a_wrong_place_counter_or_pool_is_noticed_where_it_stands() {
    noticed_in_2_4("it stands behind", |event| event.after.as_mut().is_some_and(|after| after.take().is_some()));
    noticed_in_2_4("the smallest counter", |event| event.min_seq.as_mut().map(|least| *least += 1).is_some());
    noticed_in_2_4("free are", |event| event.free.as_mut().map(|free| free.1 += 1).is_some());
}

#[test]
fn who_waits_and_who_is_woken_is_compared() {
    noticed_in_2_4("was woken and found a request here", |event| match &mut event.what {
        What::Retry { id, .. } => {
            *id += 1;
            true
        }
        _ => false,
    });
    noticed_in_2_4("Asleep", |event| match &mut event.what {
        What::Add(add) if add.result == AddResult::Word("wait".to_owned()) => {
            add.result = AddResult::Word("insert".to_owned());
            true
        }
        _ => false,
    });
}

#[test]
fn a_retry_that_is_not_recorded_is_noticed_before_anything_else_happens() {
    let path = transcripts().join("linus-2.4.21/e02-retry.jsonl.gz");
    let mut case = Transcript::open(&path).unwrap();
    let at = first(&case.events, |what| matches!(what, What::Retry { .. }));
    case.events.remove(at);
    let report = replay(&case, &path, &blksched::Catalogue::builtin()).unwrap();
    let divergence = report.divergence.expect("it is noticed");
    assert!(divergence.what.contains("was woken and found a request here"), "{}", divergence.what);
}

// ---- a recording of 2.6, with mistakes planted in its inputs and outputs

/// A recording of 2.6.33 with a coalescing, and its path.
fn deadline_case() -> (Transcript, PathBuf) {
    let cases = cases(&transcripts().join("deadline-2.6.33")).into_iter();
    let mut read = cases.map(|path| (Transcript::open(&path).unwrap(), path));
    let coalesces = |case: &Transcript| case.events.iter().any(|event| matches!(event.what, What::Coalesce { .. }));
    read.find(|(case, _)| coalesces(case)).expect("a recording with a coalescing")
}

/// Plants a mistake: `plant` changes the events and returns the one at which a divergence must be noticed.
fn noticed(plant: impl FnOnce(&mut Vec<Event>) -> usize) -> Divergence {
    let (mut case, path) = deadline_case();
    let at = plant(&mut case.events);
    let report = replay(&case, &path, &blksched::Catalogue::builtin()).unwrap();
    let divergence = report.divergence.expect("the planted mistake is noticed");
    assert_eq!(divergence.line, at + 2, "{divergence:?}");
    divergence
}

fn first(events: &[Event], wanted: impl Fn(&What) -> bool) -> usize {
    events.iter().position(|event| wanted(&event.what)).expect("such an event")
}

fn merged(what: &What) -> bool {
    matches!(what, What::Add(add) if matches!(add.result, AddResult::Merge { .. }))
}

#[test]
fn a_changed_merge_is_noticed_where_it_stands() {
    let back_or_front = noticed(|events| {
        let at = first(events, merged);
        let What::Add(add) = &mut events[at].what else { unreachable!() };
        let AddResult::Merge { merge, .. } = &mut add.result else { unreachable!() };
        *merge = if *merge == MergeKind::Back { MergeKind::Front } else { MergeKind::Back };
        at
    });
    assert!(back_or_front.what.contains("here it merged at"), "{}", back_or_front.what);
    noticed(|events| {
        let at = first(events, merged);
        let What::Add(add) = &mut events[at].what else { unreachable!() };
        add.result = AddResult::Word("insert".to_owned());
        at
    });
    let added = noticed(|events| {
        let at = first(events, |what| matches!(what, What::Add(add) if add.result == AddResult::Word("insert".into())));
        let What::Add(add) = &mut events[at].what else { unreachable!() };
        add.result = AddResult::Merge { merge: MergeKind::Back, into: 0 };
        at
    });
    assert!(added.what.contains("Inserted"), "{}", added.what);
}

#[test]
fn swapped_dispatches_are_noticed_at_the_first_of_them() {
    let divergence = noticed(|events| {
        let got = |event: &Event| match &event.what {
            What::Dispatch(got) => got.got.map(|_| got.clone()),
            _ => None,
        };
        let mut both = events.iter().enumerate().filter_map(|(at, event)| got(event).map(|got| (at, got)));
        let (Some((a, got_a)), Some((b, got_b))) = (both.next(), both.next()) else { panic!("two dispatches") };
        events[a].what = What::Dispatch(got_b);
        events[b].what = What::Dispatch(got_a);
        a
    });
    assert!(divergence.what.starts_with("the driver got"), "{}", divergence.what);
}

#[test]
fn a_dispatch_that_got_nothing_or_another_length_is_noticed() {
    let issue = |what: &What| matches!(what, What::Dispatch(got) if got.got.is_some());
    noticed(|events| {
        let at = first(events, issue);
        let What::Dispatch(got) = &mut events[at].what else { unreachable!() };
        (got.got, got.sector, got.sectors) = (None, None, None);
        at
    });
    noticed(|events| {
        let at = first(events, issue);
        let What::Dispatch(got) = &mut events[at].what else { unreachable!() };
        got.sectors = got.sectors.map(|sectors| sectors + 1);
        at
    });
}

#[test]
fn a_coalescing_that_is_missing_of_others_or_too_much_is_noticed() {
    let coalesce = |what: &What| matches!(what, What::Coalesce { .. });
    let missing = noticed(|events| {
        let at = first(events, coalesce);
        events.remove(at);
        at
    });
    assert!(missing.what.contains("which is not recorded"), "{}", missing.what);
    noticed(|events| {
        let at = first(events, coalesce);
        let What::Coalesce { id, into } = &mut events[at].what else { unreachable!() };
        std::mem::swap(id, into);
        at
    });
    let too_much = noticed(|events| {
        let at = first(events, coalesce);
        let again = events[at].clone();
        events.insert(at + 1, again);
        at + 1
    });
    assert!(too_much.what.contains("but not here"), "{}", too_much.what);
}

#[test]
fn a_coalescing_missing_at_the_very_end_is_noticed() {
    let (mut case, path) = deadline_case();
    let at = first(&case.events, |what| matches!(what, What::Coalesce { .. }));
    case.events.truncate(at);
    let report = replay(&case, &path, &blksched::Catalogue::builtin()).unwrap();
    assert!(report.divergence.expect("noticed").what.contains("which is not recorded"));
}

#[test]
fn a_kick_or_a_timer_that_deadline_never_has_is_noticed() {
    let add = |what: &What| matches!(what, What::Add(_));
    noticed(|events| {
        let at = first(events, add);
        events[at].kick = Some(Kick::Later);
        at
    });
    noticed(|events| {
        let at = first(events, add);
        events[at].idle_until = Some(events[at].t + 8);
        at
    });
    noticed(|events| {
        let at = first(events, add);
        let timer = Event { what: What::Timer { model: None }, ..events[at].clone() };
        events.insert(at, timer);
        at
    });
}

#[test]
fn a_divergence_shows_twenty_events_before_it() {
    let divergence = noticed(|events| {
        let at = events.len() - 1;
        events[at].kick = Some(Kick::Later);
        at
    });
    assert_eq!(divergence.before.len(), 21);
    assert!(divergence.before[20].contains(r#""kick":"later""#), "{}", divergence.before[20]);
}

// ---- an elevator with a timer, and a case written by hand from its rule

/// 8 ms at HZ 1000 are 8 ticks. Three requests are enough; a timer requests a run later, the third request an immediate
/// one.
const COMPANY: &str = include_str!("../company.jsonl");

fn company(plant: impl FnOnce(&mut Vec<Event>)) -> Report {
    let mut case = Transcript::read(COMPANY.as_bytes(), Path::new("company")).unwrap();
    plant(&mut case.events);
    let setup = Setup::with("company", Box::new(Company::default()), &case.header).unwrap();
    replay_with(&case, setup)
}

fn noticed_at(nth: usize, plant: impl FnOnce(&mut Vec<Event>)) -> String {
    let divergence = company(plant).divergence.expect("the planted mistake is noticed");
    assert_eq!(divergence.line, nth + 2, "{divergence:?}");
    divergence.what
}

const ARMED: usize = 0;
const QUIET: usize = 2;
const TIMER: usize = 4;
const ENOUGH: usize = 11;
const LAST: usize = 16;

#[test]
fn the_case_written_by_hand_replays() {
    let report = company(|_| {});
    assert_eq!((report.events, report.divergence.map(|found| found.what)), (LAST + 1, None));
}

#[test]
fn a_dropped_timer_is_noticed_at_the_next_event() {
    let what = noticed_at(TIMER, |events| drop(events.remove(TIMER)));
    assert!(what.contains("fires here, but not in the recording"), "{what}");
}

#[test]
fn a_timer_too_early_too_late_or_that_none_armed_is_noticed() {
    assert!(noticed_at(TIMER, |events| events[TIMER].t = 107).contains("here it is due"));
    let late = noticed_at(TIMER, |events| events[TIMER..].iter_mut().for_each(|event| event.t += 1));
    assert!(late.contains("timer"), "{late}");
    let timer = |events: &mut Vec<Event>| {
        let again = events[TIMER].clone();
        events.insert(TIMER + 1, again);
    };
    assert!(noticed_at(TIMER + 1, timer).contains("none is armed here"));
}

#[test]
fn a_shifted_added_or_missing_idle_until_is_noticed() {
    assert!(noticed_at(ARMED, |events| events[ARMED].idle_until = Some(109)).contains("idle_until"));
    assert!(noticed_at(ARMED, |events| events[ARMED].idle_until = None).contains("idle_until"));
    assert!(noticed_at(QUIET, |events| events[QUIET].idle_until = Some(111)).contains("idle_until"));
}

#[test]
fn an_added_a_missing_and_another_kick_are_noticed() {
    assert!(noticed_at(QUIET, |events| events[QUIET].kick = Some(Kick::Now)).contains("kick"));
    assert!(noticed_at(ENOUGH, |events| events[ENOUGH].kick = None).contains("kick"));
    assert!(noticed_at(ENOUGH, |events| events[ENOUGH].kick = Some(Kick::Later)).contains("kick"));
    assert!(noticed_at(TIMER, |events| events[TIMER].kick = None).contains("kick"));
    assert!(noticed_at(LAST, |events| events[LAST].kick = Some(Kick::Later)).contains("kick"));
}

#[test]
fn a_recording_whose_time_runs_backwards_is_noticed() {
    assert!(noticed_at(QUIET, |events| events[QUIET].t = 99).contains("backwards"));
}

#[test]
fn a_request_that_completes_but_was_never_got_is_noticed() {
    noticed_at(LAST, |events| events[LAST].what = What::Complete { id: 77 });
}

#[test]
fn a_header_that_describes_no_queue_is_an_error_and_no_panic() {
    let path = Path::new("case.jsonl");
    let good = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../traces/tests/case.jsonl")).unwrap();
    let good = good.replace("\"cfq\"", "\"deadline\"").replace("{\"quantum\":4}", "{}");
    for (from, to) in
        [("\"hz\":1000", "\"hz\":0"), ("\"depth\":4", "\"depth\":0"), ("1024", "0"), ("128", "4000000000")]
    {
        let text = good.replacen(from, to, 1);
        let transcript = Transcript::read(text.as_bytes(), path).unwrap();
        let error = replay(&transcript, path, &blksched::Catalogue::builtin()).unwrap_err().to_string();
        assert!(error.starts_with("case.jsonl:1: `"), "{error}");
    }
    let backwards = good.replace("\"ev\":\"complete\",\"id\":1", "\"ev\":\"complete\",\"id\":7");
    let transcript = Transcript::read(backwards.as_bytes(), path).unwrap();
    assert!(replay(&transcript, path, &blksched::Catalogue::builtin()).unwrap().divergence.is_some());
}
