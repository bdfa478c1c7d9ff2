//! For fuzzing: words, schedulers, jobs and texts around them are parsed or refused. Nothing runs, and no file is read.

use blksched::Catalogue;
use blksched_lab::Scene;
use blksched_lab::scene::{Contender, contenders};
use blksched_workloads::Plan;
use blksched_workloads::fio::{Host, JobFile, Style};
use blksched_workloads::programs::Start;
use clap::Parser;

use crate::args::{Arguments, Verb};
use crate::typed;

/// The words of a command line, one per line.
#[doc(hidden)]
pub fn fuzz_arguments(text: &str) {
    let words = std::iter::once("blksched").chain(text.split('\n')).map(std::ffi::OsString::from);
    let (rest, typed) = typed::split(words);
    let Ok(arguments) = Arguments::try_parse_from(rest) else { return };
    let (option, elevators, scene) = match &arguments.verb {
        Verb::Compare(compare) => ("--elevators", compare.elevators.clone(), &compare.scene),
        Verb::Simulate(simulate) => ("--elevator", simulate.elevator.iter().cloned().collect(), &simulate.scene),
        Verb::Explain(explain) => ("--elevator", explain.elevator.iter().cloned().collect(), &explain.scene),
        _ => return,
    };
    let scene = Scene { typed, ..scene.scene() };
    schedulers(option, &elevators, &scene);
    jobs(&scene);
}

/// A text with a job inside, or none.
#[doc(hidden)]
pub fn fuzz_inside(text: &str) {
    match crate::input::job_in("fuzz", text) {
        Ok(Some(found)) => assert!(!found.told.is_empty()),
        Ok(None) => {}
        Err(error) => assert!(error.to_string().contains("fuzz")),
    }
}

fn schedulers(option: &str, elevators: &[String], scene: &Scene) {
    let Ok(contenders) = contenders(option, elevators, &scene.set, &Catalogue::builtin()) else { return };
    for Contender { choice, knobs, .. } in contenders {
        let mut built = choice.build();
        for (name, raw) in knobs {
            let tunables = built.elevator.tunables_mut().expect("it has the knob");
            tunables.set(&name, raw).expect("a value that was understood is in range");
        }
    }
}

/// fio options and programs as typed.
fn jobs(scene: &Scene) {
    const SECTORS: u64 = 1 << 21;
    let mut plan = Plan::default();
    if scene.typed.text.is_some() {
        let file =
            JobFile::read_beside(&Host::default(), &scene.typed, &[], &mut |name| Err(format!("no file {name}")));
        match file.and_then(|file| file.plan(SECTORS)) {
            Ok(jobs) => plan = jobs,
            Err(errors) => assert!(errors.render(Style::Plain).starts_with("error: ")),
        }
    }
    for start in scene.jobs.iter().filter_map(|name| Start::parse(name).ok()) {
        drop(plan.add_program(start, SECTORS));
    }
}
