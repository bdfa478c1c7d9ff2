//! Calls that an elevator does not implement ([`Elevator::hooks`](crate::elevator::Elevator::hooks)) are not made; the
//! test here checks that this changes no decision.
//!
//! **In the kernel** `elevator_ops`, `elevator_mq_ops`.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::BlockQueue;
use crate::elevator::{Due, Hook, Hooks};
use crate::{Bio, Catalogue, Delivery, Instant, Next, Outcome, QueueConfig, Sector, Span, SubmitterId};

/// A linear congruential generator; its upper half is used.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % bound
    }
}

/// A queue's answers to some thousand calls, as text.
fn answers(name: &str, asked: Option<Hooks>) -> Vec<String> {
    let built = Catalogue::builtin().build(name).expect("a built-in elevator");
    let slots = built.slots.with_nr_requests(64);
    let config = QueueConfig { slots, plugging: built.plugging, depth: 4, ..QueueConfig::default() };
    let mut queue = BlockQueue::new(config, built.elevator);
    if let Some(asked) = asked {
        (queue.core.state.hooks, queue.core.state.due) = (asked, Due::of(asked));
    }
    let (mut random, mut now) = (Random(1), Instant::ZERO);
    let (mut answers, mut flying, mut out) = (Vec::new(), Vec::new(), 0);
    for step in 0..6_000 {
        now += Span::from_us(random.below(3_000));
        if out < 48 && random.below(2) == 0 {
            let (who, start) = (SubmitterId(1 + random.below(4) as u32), Sector(8 * random.below(200)));
            let bio = match random.below(3) {
                0 => Bio::write_back(step, who, start, 8),
                _ => Bio::read(step, who, start, 8),
            };
            answers.push(format!("{:?}", queue.submit(now, bio)));
            queue.waits(now, who);
            out += 1;
        }
        loop {
            let next = queue.next(now);
            answers.push(format!("{next:?}"));
            let Next::Issue(command) = next else { break };
            flying.push(command);
        }
        if !flying.is_empty() && random.below(2) == 0 {
            let command = flying.swap_remove(random.below(flying.len() as u64) as usize);
            queue.complete(now, command, Outcome::Ok);
        }
        let done = queue.deliveries().filter(|delivery| matches!(delivery, Delivery::Done { .. })).count();
        out -= done;
    }
    answers
}

#[test]
fn an_elevator_decides_the_same_if_it_is_asked_what_it_has_not() {
    for name in Catalogue::builtin().eras() {
        let (its_own, every) = (answers(&name, None), answers(&name, Some(Hooks::ALL)));
        assert!(its_own.len() > 6_000, "{name}");
        assert!(its_own == every, "{name} has a call that it does not name in `hooks`");
    }
}

#[test]
fn a_call_that_is_not_named_is_not_made() {
    // The control of the test above: without its look-up, deadline finds no request to join at the front. (An elevator
    // that is always asked for its deadline never takes the short path, whose steps know the elevator's calls.)
    let without = Hooks::of(&[Hook::Deadline]);
    assert!(answers("deadline@4.20", None) != answers("deadline@4.20", Some(without)));
}
