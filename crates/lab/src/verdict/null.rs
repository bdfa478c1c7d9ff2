//! The null test: one scheduler under two labels, the same load seeds, different random delays. At most 16 of 200 such
//! tables may show any difference or propose a scheduler, whatever the number of seeds.

use std::sync::Arc;

use blksched::Catalogue;
use blksched_simulate::{Grid, Length, Starts, Surroundings, Trial};
use blksched_workloads::fio::JobFile;

use crate::runs::measured::Measured;
use crate::runs::outcome::Outcome;
use crate::scene::{Contender, contenders};
use crate::verdict::action::choose;
use crate::verdict::contrast::contrasts;
use crate::verdict::goal::Goal;

/// A load that BFQ takes for two interactive processes and a stream, and merges or not depending on how they happen to
/// begin.
const LOAD: &str = "[global]
direct=1
time_based
runtime=20
size=64m
[reader]
rw=randread
bs=4k
thinktime=1ms
[log]
rw=write
bs=4k
fsync=4
[stream]
rw=read
bs=64k
ioengine=libaio
iodepth=4
";
const TABLES: u64 = 200;
const MOST_ALARMS: usize = 16;

/// How many tables of this many seeds raise an alarm. Each table has its own seeds.
fn alarms(scheduler: &str, disk: &str, limit_ms: u64, seeds: u64) -> usize {
    let contender = contenders("", &[scheduler.to_owned()], &[], &Catalogue::builtin()).unwrap().remove(0);
    let spec = Arc::new(blksched_disks::builtin(disk).unwrap());
    let plan = JobFile::parse(LOAD, "load").unwrap().plan(spec.build(0).facts().sectors).unwrap();
    let limit = blksched::Span::from_ms(limit_ms);
    let plan = Arc::new(Length::of(limit).cut(&plan));
    let trial = |draw| Trial {
        elevator: contender.choice.clone(),
        knobs: Vec::new(),
        surroundings: Surroundings { starts: Starts::Drawn(draw), ..Surroundings::default() },
        disk: spec.clone(),
        plan: plan.clone(),
        seed: 0,
        limit,
        other_disks: Vec::new(),
        beside: Default::default(),
    };
    let table = |nth: u64| {
        let own = (0..seeds).map(|seed| nth * seeds + seed).collect();
        let runs =
            Grid::new(vec![trial(1), trial(2)], own).run(|run| Outcome::of(&plan, &run), || {}, || false).unwrap();
        let measured = |runs: &Vec<Outcome>| of(&contender, &plan, runs);
        let measured: Vec<Arc<Measured>> = runs.iter().map(measured).collect();
        let contrasts = contrasts(&measured, 1);
        let action = choose(&measured, &contrasts, Goal::Roles, 1).expect("there is a default");
        contrasts.iter().flatten().any(|contrast| contrast.differs()) || action.chosen().is_some()
    };
    (0..TABLES).filter(|&nth| table(nth)).count()
}

fn of(contender: &Contender, plan: &blksched_workloads::Plan, runs: &[Outcome]) -> Arc<Measured> {
    Arc::new(Measured::of(contender, plan, runs))
}

#[test]
fn one_scheduler_under_two_labels_seldom_differs_from_itself() {
    let found = alarms("bfq", "sata-ssd-ideal", 20, 3);
    assert!(found <= MOST_ALARMS, "{found} of {TABLES}");
}

#[test]
#[ignore = "slow: 200 tables of up to 20 seeds, on a spinning disk and on flash"]
fn one_scheduler_under_two_labels_seldom_differs_from_itself_at_any_number_of_seeds() {
    for (scheduler, disk, limit_ms) in [
        ("bfq", "hdd-7200-ideal", 3000),
        ("mq-deadline", "hdd-7200-ideal", 3000),
        ("bfq", "sata-ssd-ideal", 100),
        ("none", "nvme-ssd-ideal", 30),
    ] {
        for seeds in [3, 5, 10, 20] {
            let found = alarms(scheduler, disk, limit_ms, seeds);
            assert!(found <= MOST_ALARMS, "{scheduler} on {disk}, {seeds} seeds: {found} of {TABLES}");
        }
    }
}
