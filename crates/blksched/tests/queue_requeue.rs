//! A request that the device hands back untried goes first when it can go again, and merges with nothing.

mod queue_kit;

use blksched::{Catalogue, Next, Outcome, QueueConfig, Reason};
use queue_kit::Rig;

fn config(depth: u32) -> QueueConfig {
    QueueConfig { depth, ..QueueConfig::default() }
}

/// Every era, and 2.5's tree.
fn all() -> Vec<String> {
    let mut all = Catalogue::builtin().eras();
    all.push("deadline@2.5.45+order=tree".to_owned());
    all
}

#[test]
fn a_request_handed_back_goes_before_anything_else() {
    for spec in all() {
        let mut rig = Rig::new(&spec, config(1));
        if spec.starts_with("cfq") {
            // It would leave the disk idle for the reader before it writes.
            rig.queue.set(rig.now, "slice_idle", 0).unwrap();
        }
        for start in [100, 200, 300] {
            rig.new_read(start, 8);
        }
        rig.new_write(50, 8);
        let command = rig.issue();
        rig.queue.requeue(rig.now, command.rq);
        rig.queue.check();
        assert!(rig.heard().contains(&Reason::Requeued { rq: command.rq }), "{spec}");
        assert_eq!((rig.queue.queued(), rig.queue.in_flight()), (4, 0), "{spec}");
        rig.new_read(10, 8);
        assert_eq!(rig.issue(), command, "{spec}: the same again");
        rig.complete(command.rq);
        assert_eq!(rig.drain().len(), 4, "{spec}");
        assert!(rig.queue.requests().is_empty(), "{spec}");
    }
}

#[test]
fn of_several_the_one_handed_back_last_goes_first() {
    for spec in all() {
        let mut rig = Rig::new(&spec, config(3));
        for start in [100, 200, 300] {
            rig.new_read(start, 8);
        }
        let commands = [rig.issue(), rig.issue(), rig.issue()];
        // A device that is busy hands back the newest first, so that they keep their order.
        for command in commands.iter().rev() {
            rig.queue.requeue(rig.now, command.rq);
        }
        assert_eq!([rig.issue(), rig.issue(), rig.issue()], commands, "{spec}");
    }
}

#[test]
fn it_takes_nothing_while_it_waits_for_its_second_chance() {
    for spec in all() {
        let mut rig = Rig::new(&spec, config(1));
        rig.new_read(100, 8);
        let command = rig.issue();
        rig.queue.requeue(rig.now, command.rq);
        rig.new_read(108, 8);
        rig.new_read(92, 8);
        assert_eq!(rig.drain_whole()[0], (100, 8), "{spec}");
    }
}

#[test]
fn it_completes_once_and_may_be_handed_back_often() {
    for spec in all() {
        let mut rig = Rig::new(&spec, config(1));
        rig.new_read(100, 8);
        for _ in 0..5 {
            let command = rig.issue();
            rig.queue.requeue(rig.now, command.rq);
            assert_eq!(rig.done(), [], "{spec}");
        }
        assert_eq!(rig.drain(), [100], "{spec}");
        assert_eq!(rig.done(), [(0, Outcome::Ok)], "{spec}");
        assert_eq!(rig.next(), Next::Empty, "{spec}");
    }
}

#[test]
fn it_does_not_count_towards_the_batch_again() {
    let mut rig = Rig::new("deadline@2.6.33", config(1));
    rig.queue.set(rig.now, "fifo_batch", 2).unwrap();
    for start in [100, 200, 300, 50] {
        rig.new_read(start, 8);
    }
    rig.new_write(1000, 8);
    let first = rig.issue();
    rig.queue.requeue(rig.now, first.rq);
    let batches: Vec<u64> = rig.drain();
    assert_eq!(batches, [100, 200, 300, 1000, 50]);
    let began = rig.heard().into_iter().filter(|r| matches!(r, Reason::BatchBegan { .. })).count();
    assert_eq!(began, 4, "100 200 | 300 | 1000 | 50");
}
