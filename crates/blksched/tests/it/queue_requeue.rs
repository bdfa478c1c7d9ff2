//! A request that the device returns untried is dispatched first when the device accepts requests again, and merges
//! with nothing.

use crate::queue_kit::Rig;
use blksched::{Catalogue, Next, Outcome, QueueConfig, Reason, Span, Tag};

fn config(depth: u32) -> QueueConfig {
    QueueConfig { depth, ..QueueConfig::default() }
}

/// Every era, and 2.5's tree.
fn all() -> Vec<String> {
    let mut all = Catalogue::builtin().eras();
    all.push("deadline@2.5.45+order=tree".to_owned());
    all
}

/// The elevators that dispatch returned requests first: all but ADIOS, whose lists are taken in the wrong order
/// (docs/behaviour/adios-3.1.md#a6).
fn kind_to_the_handed_back() -> impl Iterator<Item = String> {
    all().into_iter().filter(|spec| !spec.starts_with("adios"))
}

#[test]
fn adios_sends_what_was_handed_back_behind_what_waits_while_it_learns() {
    let mut rig = Rig::new("adios", config(3));
    for start in [100, 200, 300] {
        rig.new_read(start, 8);
    }
    let commands = [rig.issue(), rig.issue(), rig.issue()];
    for command in commands.iter().rev() {
        rig.requeue(command.rq);
    }
    rig.new_read(10, 8);
    assert_eq!(rig.drain(), [10, 300, 200, 100], "new ones first, then in the order in which they came back");
}

#[test]
fn a_request_handed_back_goes_before_anything_else() {
    for spec in kind_to_the_handed_back() {
        let mut rig = Rig::new(&spec, config(1));
        if spec.starts_with("cfq") || spec.starts_with("bfq@4.19") {
            // Otherwise it would leave the disk idle for the reader before it writes.
            rig.queue.set(rig.now, "slice_idle", 0).unwrap();
        }
        for start in [100, 200, 300] {
            rig.new_read(start, 8);
        }
        rig.new_write(50, 8);
        let command = rig.issue();
        rig.requeue(command.rq);
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
    for spec in kind_to_the_handed_back() {
        let mut rig = Rig::new(&spec, config(3));
        for start in [100, 200, 300] {
            rig.new_read(start, 8);
        }
        let commands = [rig.issue(), rig.issue(), rig.issue()];
        // A busy device returns the newest first, so that they keep their order.
        for command in commands.iter().rev() {
            rig.requeue(command.rq);
        }
        assert_eq!([rig.issue(), rig.issue(), rig.issue()], commands, "{spec}");
    }
}

#[test]
fn it_takes_nothing_while_it_waits_for_its_second_chance() {
    for spec in kind_to_the_handed_back() {
        let mut rig = Rig::new(&spec, config(1));
        rig.new_read(100, 8);
        let command = rig.issue();
        rig.requeue(command.rq);
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
            rig.requeue(command.rq);
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
    rig.requeue(first.rq);
    let batches: Vec<u64> = rig.drain();
    assert_eq!(batches, [100, 200, 300, 1000, 50]);
    let began = rig.heard().into_iter().filter(|r| matches!(r, Reason::BatchBegan { .. })).count();
    assert_eq!(began, 4, "100 200 | 300 | 1000 | 50");
}

/// A random number generator that depends only on its seed (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

#[test]
fn what_is_taken_back_is_never_done_and_everything_else_is_done_once() {
    let eras = all();
    for (nth, spec) in eras.iter().enumerate() {
        for seed in 0..6 {
            take_back_at_random(spec, &eras[(nth + 1) % eras.len()], seed * 1000 + nth as u64);
        }
    }
}

fn take_back_at_random(spec: &str, other: &str, seed: u64) {
    let mut numbers = Numbers(seed * 2 + 1);
    let mut rig = Rig::new(spec, config(1 + numbers.below(3) as u32));
    let (mut submitted, mut taken, mut done) = (0, Vec::new(), Vec::new());
    let mut in_device = Vec::new();
    for round in 0.. {
        let ends = round >= 300;
        match numbers.below(if ends { 2 } else { 6 }) {
            0 if !in_device.is_empty() => {
                let rq = in_device.swap_remove(numbers.below(in_device.len() as u64) as usize);
                rig.complete(rq);
            }
            0 | 1 => match rig.next() {
                Next::Issue(command) => {
                    let tags: Vec<u64> = rig.queue.tags(command.rq).map(|tag| tag.0).collect();
                    assert!(!tags.is_empty() || command.sectors == 0, "{spec}: a command of nobody");
                    assert!(tags.iter().all(|tag| !taken.contains(tag)), "{spec}: {tags:?} was taken back");
                    in_device.push(command.rq);
                }
                Next::Empty if ends && in_device.is_empty() => break,
                _ => rig.now += Span::from_ms(1 + numbers.below(20)),
            },
            2 if submitted > 0 => {
                let from = numbers.below(submitted);
                let tags: Vec<Tag> = (from..submitted.min(from + 8)).map(Tag).collect();
                let back = rig.queue.cancel_all(rig.now, &tags);
                rig.queue.check();
                assert!(back.iter().all(|tag| tags.contains(tag) && !taken.contains(&tag.0)), "{spec}");
                taken.extend(back.into_iter().map(|tag| tag.0));
            }
            3 if numbers.below(20) == 0 => {
                rig.queue.switch(rig.now, Catalogue::builtin().build(other).unwrap().elevator);
            }
            _ if ends => {}
            kind => {
                let (start, sectors) = (numbers.below(40) * 8, 8);
                if kind == 5 {
                    rig.write(start, sectors)
                } else {
                    rig.read(start, sectors)
                };
                submitted += 1;
            }
        }
        done.extend(rig.done().into_iter().map(|(tag, _)| tag));
        assert!(round < 20_000, "{spec}: it never ends");
    }
    assert!(rig.queue.requests().is_empty(), "{spec}");
    let mut all: Vec<u64> = done.iter().chain(&taken).copied().collect();
    all.sort_unstable();
    assert_eq!(all, (0..submitted).collect::<Vec<_>>(), "{spec}, seed {seed}: each is done or taken back, once");
}

#[test]
fn what_the_device_has_and_what_somebody_else_has_a_part_in_stays() {
    let mut rig = Rig::new("mq-deadline", config(1));
    rig.read(0, 8);
    rig.issue();
    rig.read(100, 8);
    rig.read(108, 8);
    rig.read(500, 8);
    assert_eq!(rig.queue.cancel_all(rig.now, &[Tag(0), Tag(1), Tag(3)]), [Tag(3)], "0 is in the device, 1 goes with 2");
    assert_eq!(rig.queue.cancel_all(rig.now, &[Tag(1), Tag(2), Tag(3)]), [Tag(1), Tag(2)], "once");
}
