//! What is refused before the first switch: found out under way, it would have changed the disk for nothing.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use blksched::Catalogue;
use blksched_lab::live::{Guard, GuardedFigure, LiveArm, Place, Saved};
use blksched_text::did_you_mean;

use crate::failure::Failure;
use crate::half;

/// Refuses knobs that the scheduler does not have. Those of a scheduler that is not in use are seen only once it is: of
/// them only what is nearly a known one is taken for that, as newer kernels have others.
pub(super) fn knobs(arms: &[LiveArm], saved: &Saved) -> Result<(), Failure> {
    let catalogue = Catalogue::builtin();
    for arm in arms {
        let is_used = arm.scheduler == saved.scheduler();
        let known: Vec<String> = if is_used { used(saved) } else { of_catalogue(&catalogue, &arm.scheduler) };
        let is_missing = |name: &&String| !known.contains(name);
        let named = arm.settings.iter().filter_map(|(place, _)| match place {
            Place::Knob(name) => Some(name),
            _ => None,
        });
        for name in named.filter(is_missing) {
            let around = LiveArm::around();
            let near = did_you_mean(name, known.iter().map(String::as_str).chain(around.iter().copied()));
            if is_used || !near.is_empty() {
                let has = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                return Err(Failure::Input(format!(
                    "`{arm}`: {} has no knob `{name}`: expected one of its own ({has}) or of the queue and the memory \
                     ({}){near}",
                    arm.scheduler,
                    around.join(", ")
                )));
            }
        }
    }
    Ok(())
}

/// The knobs of the scheduler in use.
fn used(saved: &Saved) -> Vec<String> {
    let knobs = saved.0.iter().filter_map(|(place, _)| match place {
        Place::Knob(name) => Some(name.clone()),
        _ => None,
    });
    knobs.collect()
}

/// The knobs that any kernel's scheduler of this name has.
fn of_catalogue(catalogue: &Catalogue, scheduler: &str) -> Vec<String> {
    let Ok(choice) = catalogue.parse(scheduler) else { return Vec::new() };
    let built = choice.build();
    let tunables = built.elevator.tunables();
    let (own, of_others) = (tunables.knobs(), tunables.of_all_kernels());
    let mut all: Vec<String> = own.into_iter().chain(of_others).map(|knob| knob.name.to_owned()).collect();
    all.sort();
    all.dedup();
    all
}

/// Refuses guards that could never be hit: a machine without PSI has no `psi full`.
pub(super) fn guards(guards: &[Guard], pressure: &Path) -> Result<(), Failure> {
    let is_known = fs::read_to_string(pressure).is_ok_and(|text| super::counters::stalled_us(&text).is_some());
    let of_pressure = guards.iter().find(|guard| matches!(guard.figure, GuardedFigure::PsiFull(_)));
    match of_pressure.filter(|_| !is_known) {
        Some(guard) => Err(Failure::Input(format!(
            "--abort-if '{guard}': this machine does not tell its pressure ({}), so that would never end the trial: \
             expected `p99 …` or `mean …`, or psi=1 on the kernel's command line",
            pressure.display()
        ))),
        None => Ok(()),
    }
}

/// Refuses a report's file that could not be written at the end, or would be written over.
pub(super) fn share(file: Option<&Path>) -> Result<(), Failure> {
    let Some(file) = file else { return Ok(()) };
    match file.exists() {
        true => Err(Failure::Input(format!("--share {}: already exists: expected a new file's name", file.display()))),
        false => half::has_a_place("--share", file).map_err(Failure::Input),
    }
}

/// Refuses who may not change settings.
pub(super) fn privileges() -> Result<(), Failure> {
    match fs::metadata("/proc/self").is_ok_and(|own| own.uid() != 0) {
        true => {
            Err(Failure::Outside("a trial changes settings of the disk, which needs root (--dry-run does not)".into()))
        }
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use blksched_testkit::Folder;

    use super::*;

    #[test]
    fn misspelt_knobs_are_refused_before_anything_is_changed_and_unheard_of_ones_are_tried() {
        let places = [("scheduler", "mq-deadline"), ("iosched/fifo_batch", "16"), ("iosched/read_expire", "500")];
        let saved = Saved(places.map(|(path, value)| (Place::of_path(path), value.to_owned())).to_vec());
        let check = |arm: &str| match knobs(&[LiveArm::parse("none").unwrap(), LiveArm::parse(arm).unwrap()], &saved) {
            Ok(()) => None,
            Err(Failure::Input(why)) => Some(why),
            Err(other) => panic!("{other:?}"),
        };
        for (arm, near) in [
            ("mq-deadline:fifo_bach=1", "did you mean `fifo_batch`?"),
            ("mq-deadline:nr_request=64", "did you mean `nr_requests`?"),
            ("mq-deadline:slice_idle=0", "mq-deadline has no knob `slice_idle`: expected one of its own (fifo_batch, "),
            ("bfq:slice_idl=0", "did you mean `slice_idle`?"),
            ("kyber:dirty_byte=64000000", "did you mean `dirty_bytes`?"),
        ] {
            assert!(check(arm).is_some_and(|why| why.contains(near)), "{arm}: {:?}", check(arm));
        }
        for arm in ["mq-deadline:fifo_batch=1", "bfq:slice_idle=0:low_latency=0", "bfq:of_a_newer_kernel=1", "none"] {
            assert_eq!(check(arm), None, "{arm}");
        }
    }

    #[test]
    fn a_guard_on_a_pressure_that_nobody_tells_is_refused() {
        let folder = Folder::new();
        let psi = folder.written("io", "some avg10=0.00 total=1\nfull avg10=0.00 total=1\n");
        let of = |text: &str| [text.parse::<Guard>().unwrap()];
        assert!(guards(&of("psi full > 80% for 10s"), &psi).is_ok());
        let none = folder.path("nothing");
        assert!(guards(&of("p99 read > 1s for 10s"), &none).is_ok());
        let refused = format!("{:?}", guards(&of("psi full > 80% for 10s"), &none).unwrap_err());
        assert!(refused.contains("would never end the trial"), "{refused}");
    }
}
