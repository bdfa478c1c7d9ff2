//! Experiments as a user writes them: what is understood, what is refused and how, what comes out.

use blksched::Catalogue;
use blksched_simulate::experiment::{Experiment, ExperimentAnswer, ExperimentError, RunOutcome};

/// A reader beside a writer, two runs.
const SMALL: &str = r#"
title = "a cat beside a dd"
source = "nobody"
seeds = 2
until = "cat"
time = "60s"
elevator = "deadline@2.5.38"
disk.preset = "ide-2002"

[[workload]]
program = "dd"

[[workload]]
program = "cat"
start = "1s"
files = 4

[[run]]
name = "batch{knob.fifo_batch}"
sweep.knob.fifo_batch = [64, 16]

[[table]]
title = "how long the cat takes"
value = "finish(cat)"
unit = "s"
rows = [
  { run = "batch64", mail = 1.0, low = 0.2, high = 2.0 },
  { label = "one to the other", value = "finish(cat)@batch64 / finish(cat)@batch16", low = 100 },
  { run = "batch16" },
]

[[why]]
run = "batch64"
say = "{waited_for(read, moved):.0} % of the reads' waiting, {count(reads_first):.0} times first"

[[fit]]
what = "cat.files"
why = "to be short"
"#;

fn parse(text: &str) -> Result<Experiment, ExperimentError> {
    Experiment::parse("small", "small.toml", text, &Catalogue::builtin(), &|name| Err(format!("no file {name}")))
}

/// The error about `SMALL` with one piece of text replaced.
fn refused(from: &str, to: &str) -> String {
    assert_eq!(SMALL.matches(from).count(), 1, "{from}");
    match parse(&SMALL.replace(from, to)) {
        Ok(_) => panic!("{to} was accepted"),
        Err(error) => error.to_string(),
    }
}

fn run(experiment: &Experiment, seeds: u32) -> (Vec<RunOutcome>, ExperimentAnswer) {
    let simulate = |(run, seed): (usize, u64)| experiment.runs[run].simulate(seed).unwrap();
    let outcomes: Vec<RunOutcome> = experiment.simulations(seeds).into_iter().map(simulate).collect();
    let answer = experiment.answer(&outcomes);
    (outcomes, answer)
}

#[test]
fn an_experiment_is_rows_beside_what_was_published_and_why() {
    let experiment = parse(SMALL).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(experiment.runs.iter().map(|run| run.name.as_str()).collect::<Vec<_>>(), ["batch64", "batch16"]);
    assert_eq!(experiment.fits[0].value, "4");
    let (_, answer) = run(&experiment, 2);
    let rows: Vec<_> = answer.rows().collect();
    assert_eq!((rows[0].inside, rows[0].claimed, rows[0].mail), (Some(true), true, Some(1.0)));
    assert!(rows[0].ours_min <= rows[0].ours && rows[0].ours <= rows[0].ours_max);
    assert_eq!((rows[2].inside, rows[2].claimed, rows[2].label.as_str()), (None, false, "batch16"));
    // Most of the time the disk writes out what it was given, so few reads are behind the batch's own commands.
    assert!(answer.why[0].starts_with("100 % of the reads' waiting, "), "{}", answer.why[0]);
    assert_eq!(answer.broken().map(|row| row.label.as_str()).collect::<Vec<_>>(), ["one to the other"]);
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_seed_another() {
    let experiment = parse(SMALL).unwrap();
    let hashes = |outcomes: &[RunOutcome]| outcomes.iter().map(|outcome| outcome.hash).collect::<Vec<_>>();
    let (first, again) = (hashes(&run(&experiment, 2).0), hashes(&run(&experiment, 2).0));
    assert_eq!(first, again);
    assert_ne!(first[0], first[1]);
}

/// Nothing waits for the cat: without more the runs last for their whole time.
fn unawaited(from: &str, to: &str) -> Experiment {
    let text = SMALL.replace("until = \"cat\"\ntime = \"60s\"", "time = \"9s\"").replace(from, to);
    parse(&text).unwrap_or_else(|e| panic!("{e}"))
}

/// As much of each run with the first seed as is asked.
fn as_asked(experiment: &Experiment) -> Vec<RunOutcome> {
    let asked = experiment.asked();
    experiment.runs.iter().zip(&asked).map(|(run, asked)| run.simulate_asked(1, asked).unwrap()).collect()
}

#[test]
fn a_run_goes_no_further_than_its_rows_ask_and_they_are_the_same() {
    let said = "{waited_for(read, moved):.0} % of the reads' waiting, {count(reads_first):.0} times first";
    let experiment = unawaited(said, "{bi(1s..3s)} KiB/s, {finish(cat)@batch16}");
    let (whole, answer) = run(&experiment, 1);
    let outcomes = as_asked(&experiment);
    let shorter = experiment.answer(&outcomes);
    assert_eq!(format!("{answer:?}"), format!("{shorter:?}"));
    let seconds = |outcomes: &[RunOutcome]| outcomes.iter().map(|o| o.elapsed.as_secs_f64()).collect::<Vec<_>>();
    assert_eq!(seconds(&whole), [9.0, 9.0]);
    // The first must go on until the window is over, the second only until the cat has exited.
    let ended = seconds(&outcomes);
    assert!(ended[0] >= 3.0 && ended[0] < 9.0 && ended[1] < ended[0], "{ended:?}");
}

#[test]
fn a_run_whose_reasons_are_asked_goes_on_to_its_end_and_counts_the_same() {
    let experiment = unawaited("waited_for(read, moved)", "count(reads_first)");
    let (whole, answer) = run(&experiment, 1);
    let outcomes = as_asked(&experiment);
    assert_eq!(format!("{answer:?}"), format!("{:?}", experiment.answer(&outcomes)));
    // The sentence is about the first run only.
    assert_eq!(outcomes[0].elapsed, whole[0].elapsed);
    assert!(outcomes[1].elapsed < whole[1].elapsed);
    assert_eq!(outcomes[0].hash, whole[0].hash);
}

#[test]
fn a_word_that_is_unknown_is_named_with_its_place_and_the_nearest_one() {
    let place_of = |word: &str, text: &str| {
        let at = text.find(word).expect("the word is there");
        let line = text[..at].matches('\n').count() + 1;
        format!("small.toml:{line}:{}: ", at - text[..at].rfind('\n').unwrap())
    };
    for (from, to, word, nearest) in [
        ("seeds = 2", "sedes = 2", "sedes", "seeds"),
        ("program = \"dd\"", "program = \"ddd\"", "\"ddd\"", "dd"),
        ("files = 4", "flies = 4", "4", "files"),
        ("elevator = \"deadline@2.5.38\"", "elevator = \"deadlien\"", "\"deadlien\"", "deadline"),
        ("disk.preset = \"ide-2002\"", "disk.preset = \"ide-2020\"", "\"ide-2020\"", "ide-2002"),
        ("disk.preset", "disk.seek.mni = \"1ms\"\ndisk.preset", "\"1ms\"", "min"),
        ("value = \"finish(cat)\"", "value = \"finsih(cat)\"", "\"finsih(cat)\"", "finish"),
        ("value = \"finish(cat)\"", "value = \"finish(cta)\"", "\"finish(cta)\"", "cat"),
        ("{ run = \"batch16\" }", "{ run = \"bacth16\" }", "\"bacth16\"", "batch16"),
        ("until = \"cat\"", "until = \"cta\"", "\"cta\"", "cat"),
        ("sweep.knob", "set.knbo.fifo_batch = 7\nsweep.knob", "7\nsweep", "knob"),
        ("what = \"cat.files\"", "what = \"cat.flies\"", "\"cat.flies\"", "cat.files"),
        ("count(reads_first)", "count(read_first)", "\"{waited_for", "reads_first"),
    ] {
        let text = SMALL.replace(from, to);
        let (complaint, place) = (refused(from, to), place_of(word, &text));
        // A word may occur in the text more than once: then the line is what matters.
        if text.matches(word).count() == 1 {
            assert!(complaint.starts_with(&place), "{complaint} should be at {place}");
        }
        assert!(complaint.contains(&format!("`{nearest}`")), "{complaint}");
    }
}

#[test]
fn what_makes_no_sense_is_refused_in_words() {
    for (from, to, words) in [
        ("knob.fifo_batch = [64, 16]", "knob.fifo_batch = [64, 16, 99999999999]", "out of range"),
        ("knob.fifo_batch = [64, 16]", "knob.fifo_batch = []", "takes no value at all"),
        ("name = \"batch{knob.fifo_batch}\"", "name = \"batch\"", "there are two runs called `batch`"),
        ("name = \"batch{knob.fifo_batch}\"", "name = \"batch{knob.x}\"", "is not swept over"),
        ("low = 0.2, high = 2.0", "low = 2.0, high = 0.2", "`low` is more than `high`"),
        ("{ run = \"batch16\" }", "{ run = \"batch16\", claimed = true }", "a row that is claimed needs"),
        ("time = \"60s\"", "time = \"60 parsecs\"", " is not a value of `time`"),
        ("title = \"a cat beside a dd\"", "", "lacks the key `title`"),
        ("[[workload]]\nprogram = \"cat\"", "[[workload]]\nprogram = \"cat\"\njob = \"x\"", "needs one of"),
        ("start = \"1s\"", "start = \"1s\"\nat = \"100%\"", "leaves 0.0 GiB of the disk"),
        ("start = \"1s\"", "start = [\"1s\", \"2s\"]", "a list belongs in a run's `sweep`"),
        ("say = \"{waited", "say = \"{{waited", "in `{waited"),
        ("seeds = 2", "seeds = 0", "`seeds` is 0: expected 1 to 10000"),
    ] {
        let complaint = refused(from, to);
        assert!(complaint.contains(words), "{complaint} should say {words}");
    }
}

#[test]
fn a_job_file_is_a_workload_and_a_sweep_may_set_its_variables() {
    let text = r#"
title = "a job file"
source = "nobody"
elevator = "noop"
disk.preset = "hdd-7200-ideal"
time = "2s"
[[workload]]
name = "mine"
job = "mine.fio"
[[run]]
name = "bs{mine.BS}"
sweep.mine.BS = ["4k", "64k"]
[[table]]
title = "rates"
value = "rate(mine.*)"
rows = [{ run = "bs4k" }, { run = "bs64k" }, { label = "more", value = "rate(*)@bs64k / rate(*)@bs4k", low = 8 }]
"#;
    let files = |name: &str| match name {
        "mine.fio" => Ok("include common.fio\n[reads]\nrw=randread\nbs=${BS}\nsize=1g\n".to_owned()),
        // Its includes are read from the same place.
        "common.fio" => Ok("[global]\ndirect=1\n".to_owned()),
        other => Err(format!("no file {other}")),
    };
    let experiment = Experiment::parse("x", "x.toml", text, &Catalogue::builtin(), &files);
    let experiment = experiment.unwrap_or_else(|e| panic!("{e}"));
    let (_, answer) = run(&experiment, 1);
    assert_eq!(answer.broken().count(), 0, "{answer:?}");
}

/// An experiment over one job file, `mine.fio`.
fn with_job(row: &str, workload: &str, job: &'static str) -> Result<Experiment, ExperimentError> {
    let text = format!(
        "title = \"a job file\"\nsource = \"nobody\"\nelevator = \"noop\"\ndisk.preset = \"hdd-7200-ideal\"\n\
         time = \"9s\"\n[[workload]]\nname = \"mine\"\njob = \"mine.fio\"\n{workload}\n[[run]]\nname = \"it\"\n\
         [[table]]\ntitle = \"t\"\nrows = [{row}]\n"
    );
    Experiment::parse("x", "x.toml", &text, &Catalogue::builtin(), &|_| Ok(job.to_owned()))
}

#[test]
fn a_job_that_begins_later_runs_from_then_on() {
    let job = "[late]\nstartdelay=5\nruntime=2\ntime_based\nrw=randread\ndirect=1\nsize=1g\n";
    let row = "{ label = \"l\", run = \"it\", value = \"finish(mine.late)\", low = 1.9, high = 2.1 }";
    let (_, answer) = run(&with_job(row, "", job).unwrap_or_else(|e| panic!("{e}")), 1);
    assert_eq!(answer.broken().count(), 0, "{answer:?}");
}

#[test]
fn a_job_files_start_is_its_own_and_not_ignored_in_silence() {
    let row = "{ label = \"l\", run = \"it\", value = \"finish(*)\" }";
    let job = "[a]\nrw=randread\ndirect=1\nsize=1g\n";
    let complaint = with_job(row, "start = \"1s\"", job).expect_err("refused").to_string();
    assert!(complaint.contains("`startdelay`"), "{complaint}");
}
