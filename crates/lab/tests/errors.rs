//! What a question that is not understood gets back as data: the word, what was expected, and the nearest.

use blksched_lab::{Comparison, Error, Expected, Scene};
use blksched_workloads::fio::Typed;

const JOB: &str = "[app]\nrw=randread\nsize=64m\n[log]\nrw=write\nsize=64m\n";

fn scene() -> Scene {
    Scene { time: "10ms".parse().ok(), ..Scene::of_jobs("my.fio", JOB, "null") }
}

fn refused(comparison: &Comparison) -> Error {
    comparison.answer().err().expect("it is wrong")
}

/// What was expected, the word, its column, and the nearest.
fn of_word(comparison: &Comparison) -> (Expected, String, Option<usize>, Option<String>) {
    let error = refused(comparison);
    assert!(error.place().is_none(), "{error}");
    match &error {
        Error::Word(found) => {
            assert!(found.message.contains(&found.word) && error.to_string() == found.message, "{error}");
            assert_eq!((error.word(), error.nearest()), (Some(found.word.as_str()), found.nearest.as_deref()));
            (found.expected, found.word.clone(), found.column, found.nearest.clone())
        }
        other => panic!("{other:?}"),
    }
}

fn schedulers(names: &[&str]) -> Comparison {
    Comparison { elevators: names.iter().map(|&name| name.to_owned()).collect(), ..Comparison::of(scene(), 1) }
}

fn is(
    expected: Expected,
    word: &str,
    column: Option<usize>,
    nearest: Option<&str>,
) -> (Expected, String, Option<usize>, Option<String>) {
    (expected, word.to_owned(), column, nearest.map(str::to_owned))
}

#[test]
fn each_part_of_a_schedulers_name_has_its_column_and_the_nearest() {
    use Expected::{Knob, Scheduler, Value};
    for (name, answer) in [
        ("bqf", is(Scheduler, "bqf", Some(1), Some("bfq"))),
        ("bananas", is(Scheduler, "bananas", Some(1), None)),
        ("bfq@9.1", is(Scheduler, "9.1", Some(5), Some("7.3"))),
        ("deadline@2.5.45+ordr=tree", is(Scheduler, "ordr", Some(17), Some("order"))),
        ("bfq:slice_idel=0", is(Knob, "slice_idel", None, Some("slice_idle"))),
        ("bfq:nr_request=8", is(Knob, "nr_request", None, Some("nr_requests"))),
        ("bfq:slice_idle", is(Knob, "slice_idle", None, None)),
        ("bfq:slice_idle=soon", is(Value, "soon", None, None)),
        ("bfq:nr_requests=0", is(Value, "0", None, None)),
    ] {
        assert_eq!(of_word(&schedulers(&["none", name])), answer, "{name}");
    }
}

#[test]
fn settings_for_schedulers_are_words_too() {
    let set = |text: &str| {
        let scene = Scene { set: vec![text.to_owned()], ..scene() };
        of_word(&Comparison { elevators: vec!["bfq".to_owned()], ..Comparison::of(scene, 1) })
    };
    assert_eq!(set("bfq.slice_idel=0"), is(Expected::Knob, "slice_idel", None, Some("slice_idle")));
    assert_eq!(set("bfqq.slice_idle=0"), is(Expected::Contender, "bfqq", None, Some("bfq")));
}

#[test]
fn a_load_a_program_a_disk_and_a_goal_are_words_too() {
    let of_load = |name: &str| {
        of_word(&Comparison::of(Scene { jobs: vec![name.to_owned()], typed: Typed::default(), ..scene() }, 1))
    };
    assert_eq!(of_load("reader-and-writr"), is(Expected::Load, "reader-and-writr", None, Some("reader-and-writer")));
    assert_eq!(of_load("dd:sise=1g"), is(Expected::Setting, "sise", None, Some("size")));
    let disk = refused(&Comparison::of(Scene { disk: "hdd-7201".to_owned(), ..scene() }, 1));
    assert_eq!((disk.word(), disk.nearest()), (Some("hdd-7201"), Some("hdd-7200")));
    let goal = |text: &str| of_word(&Comparison { goal: Some(text.to_owned()), ..schedulers(&["none", "kyber"]) });
    assert_eq!(goal("fairnes"), is(Expected::Goal, "fairnes", None, Some("fairness")));
    assert_eq!(goal("ap: p99 read"), is(Expected::Job, "ap", None, Some("app")));
    assert_eq!(goal("app: p98 read"), is(Expected::Figure, "p98", None, Some("p99")));
}

#[test]
fn a_job_file_has_the_place_the_word_and_the_nearest() {
    let of = |text: &str| refused(&Comparison::of(Scene::of_jobs("my.fio", text, "null"), 1));
    let error = of("[a]\nrw=raedrand\n");
    let place = error.place().expect("a place");
    assert_eq!((place.file.as_str(), place.line, place.column), ("my.fio", 2, 4));
    assert_eq!((error.word(), error.nearest()), (Some("raedrand"), Some("randread")));
    let error = of("[a]\nrw=read\nsizee=1m\n");
    assert_eq!((error.word(), error.nearest()), (Some("sizee"), Some("size")));
    let error = of("[a]\nrw=read\nsize=soon\n");
    assert_eq!((error.word(), error.nearest()), (Some("soon"), None));
}
