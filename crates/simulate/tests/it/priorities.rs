//! Four readers of different priority on one disk: with every CFQ their shares of the disk's time follow `prio`.

use std::sync::Arc;

use blksched::{Catalogue, Span};
use blksched_simulate::{Surroundings, Trial};
use blksched_workloads::fio::JobFile;

const JOBS: &str = "\
[global]
rw=read
bs=64k
size=1g
direct=1
prioclass=2
[be0]
prio=0
[be2]
prio=2
offset=2g
[be4]
prio=4
offset=4g
[be7]
prio=7
offset=6g
";
/// The slices of those levels, as parts of the disk: 180, 140, 100 and 40 ms.
const DUE: [f64; 4] = [180.0 / 460.0, 140.0 / 460.0, 100.0 / 460.0, 40.0 / 460.0];
const ERAS: [&str; 6] = ["cfq@2.6.31", "cfq@2.6.32", "cfq@2.6.33", "cfq@2.6.33+groups", "cfq@4.20", "cfq@4.20+groups"];

/// Each reader's part of the disk's time, with a knob of CFQ changed.
fn shares(elevator: &str, knobs: &[(String, i64)]) -> Vec<f64> {
    let spec = Arc::new(blksched_disks::load("hdd-7200-ideal").unwrap());
    let plan = JobFile::parse(JOBS, "jobs").unwrap().plan(spec.build(0).facts().sectors).unwrap();
    let trial = Trial {
        elevator: Catalogue::builtin().parse(elevator).unwrap(),
        knobs: knobs.to_vec(),
        surroundings: Surroundings::default(),
        disk: spec,
        plan: Arc::new(plan),
        seed: 1,
        limit: Span::from_secs(10),
        other_disks: Vec::new(),
        beside: Default::default(),
    };
    let found = trial.simulate().unwrap();
    let given: Vec<f64> = found.jobs.iter().map(|job| job.share.given.as_ns() as f64).collect();
    let all: f64 = given.iter().sum();
    given.into_iter().map(|given| given / all).collect()
}

#[test]
fn readers_share_the_disks_time_as_their_priorities_ask() {
    for era in ERAS {
        let had = shares(era, &[]);
        assert!(had.is_sorted_by(|more, less| more > less), "{era}: {had:.3?}");
        let near = had.iter().zip(DUE).all(|(had, due)| (had - due).abs() < 0.04);
        assert!(near, "{era}: {had:.3?}, not {DUE:.3?}");
    }
}

#[test]
fn without_idling_priorities_of_readers_mean_next_to_nothing() {
    for era in ERAS {
        let idle = |knob: &str| (knob.to_owned(), 0);
        let mut knobs = vec![idle("slice_idle")];
        if era.starts_with("cfq@4.20") {
            knobs.push(idle("group_idle"));
        }
        let had = shares(era, &knobs);
        // The drive's own queue decides: of the head's time the first gets less than those below it, and the last half
        // as much again as it is due.
        assert!(had[0] < had[1] && had[0] < had[2] && had[3] > 1.5 * DUE[3], "{era}: {had:.3?}");
    }
}
