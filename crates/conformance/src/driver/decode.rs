//! Bytes to scripts. Every byte string is a valid script, so that a fuzzer never wastes one.

use blksched::surroundings::{DispatchAhead, Driver, FlushCommand, WakeRule};
use blksched::{Class, Group, GroupId, Hints, Limits, Outcome, Plugging, Priority, QueueConfig, Slots, Span};

use super::script::{BioKind, BioPlace, BioPlan, KnobValue, Length, Pass, Script, ScriptStep, SleepPolicy, Successor};

/// Reads bytes, and zeros after the end.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((&first, rest)) => {
                self.0 = rest;
                first
            }
            None => 0,
        }
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::from(self.byte()) % from.len()]
    }
}

pub(super) fn script(bytes: &[u8]) -> Script {
    let mut bytes = Bytes(bytes);
    let config = config(&mut bytes);
    let sleep_policy = bytes.pick(&[SleepPolicy::Patient, SleepPolicy::Patient, SleepPolicy::Impatient]);
    let mut steps = Vec::new();
    while !bytes.0.is_empty() {
        steps.push(step(&mut bytes));
    }
    Script { config, sleep_policy, steps }
}

fn config(bytes: &mut Bytes<'_>) -> QueueConfig {
    let cache = bytes.byte();
    let limits = Limits {
        max_sectors: bytes.pick(&[1024, 64, 16, 8]),
        max_segments: bytes.pick(&[128, 3, 2, 1]),
        rotational: cache & 1 == 0,
        volatile_cache: cache & 2 == 0,
        fua: cache & 4 == 0,
        ..Limits::default()
    };
    let delays = [Span::from_ms(3), Span::ZERO, Span::from_ms(1000)];
    let plugging = match bytes.byte() % 4 {
        0 => Plugging::Never,
        1 => Plugging::Queue { threshold: bytes.pick(&[4, 1, 2, 32]), delay: bytes.pick(&delays) },
        2 => Plugging::Submitter { requests: bytes.pick(&[16, 1, 2, 5]) },
        _ => bytes.pick(&[
            Plugging::LINUX_2_5,
            Plugging::LINUX_2_6,
            Plugging::LINUX_3,
            Plugging::LINUX_6,
            Plugging::TaskQueue,
        ]),
    };
    QueueConfig {
        limits,
        depth: bytes.pick(&[1, 1, 2, 3, 8, 32]),
        plugging,
        slots: slots(bytes),
        driver: bytes.pick(&[Driver::default(), AHEAD, ALONE]),
        ..QueueConfig::default()
    }
}

const AHEAD: Driver = Driver { ahead: DispatchAhead::OneMore, flush: FlushCommand::Queued };
const ALONE: Driver = Driver { ahead: DispatchAhead::Budget, flush: FlushCommand::Alone };

fn slots(bytes: &mut Bytes<'_>) -> Slots {
    let wake = match bytes.byte() % 4 {
        0 => WakeRule::AtFree(bytes.pick(&[1, 2, 8, 32])),
        1 => bytes.pick(&[WakeRule::One { free: 32 }, WakeRule::All { free: 32 }, WakeRule::One { free: 1 }]),
        _ => {
            WakeRule::Batcher { requests: bytes.pick(&[1, 4, 32]), time: bytes.pick(&[Span::ZERO, Span::from_ms(20)]) }
        }
    };
    let nr_requests = bytes.pick(&[128, 16, 4, 2, 1]);
    match bytes.byte() % 4 {
        0 => Slots::Unlimited,
        1 => Slots::PerDirection { nr_requests, wake },
        2 => bytes.pick(&[Slots::LINUX_6_1, Slots::LINUX_6_12]).with_nr_requests(nr_requests),
        _ => bytes.pick(&[Slots::LINUX_2_5, Slots::LINUX_2_6, Slots::LINUX_6_1]),
    }
}

fn step(bytes: &mut Bytes<'_>) -> ScriptStep {
    match bytes.byte() % 32 {
        0..=9 => ScriptStep::Submit(plan(bytes)),
        10 => ScriptStep::Bridge(plan(bytes)),
        11 | 12 => ScriptStep::Waits { who: bytes.byte() },
        13 => ScriptStep::Forget { who: bytes.byte() },
        14..=18 => ScriptStep::Ask,
        19..=24 => ScriptStep::Complete { nth: bytes.byte(), outcome: Outcome::Ok },
        25 => ScriptStep::Complete { nth: bytes.byte(), outcome: Outcome::Failed },
        26 => ScriptStep::Requeue { nth: bytes.byte() },
        27 => ScriptStep::Set { nth: bytes.byte(), value: knob_value(bytes) },
        28 | 29 => ScriptStep::Pass(pass(bytes)),
        30 => group(bytes),
        _ => switch(bytes),
    }
}

fn plan(bytes: &mut Bytes<'_>) -> BioPlan {
    let who = bytes.byte();
    let what = match bytes.byte() % 32 {
        0..=9 => BioKind::Read,
        10 => BioKind::ReadAhead,
        11..=19 => BioKind::WriteBack,
        20..=25 => BioKind::Write,
        26 => BioKind::Discard,
        27 | 28 => BioKind::Flush,
        29 => BioKind::Fua,
        30 => BioKind::Preflush,
        _ => BioKind::PreflushFua,
    };
    let place = match bytes.byte() {
        at @ 0..=127 => BioPlace::At(u32::from(at) * 8),
        128..=165 => BioPlace::Behind,
        166..=199 => BioPlace::Before,
        200..=219 => BioPlace::BehindAHole,
        220..=239 => BioPlace::Same,
        240..=255 => BioPlace::Inside,
    };
    let length = match bytes.byte() % 16 {
        0..=11 => Length::Sectors(8),
        12 => Length::Sectors(1),
        13 => Length::Sectors(24),
        14 => Length::Sectors(u32::MAX),
        _ => Length::Oversize(1 + u32::from(who % 3)),
    };
    // Most submitters keep one priority: merging within blk-mq depends on it.
    let (class, level) = match who / 8 {
        0..=23 => (Class::BestEffort, 4),
        24..=26 => (Class::RealTime, who % 8),
        27..=29 => (Class::Idle, 7),
        _ => (Class::None, 0),
    };
    let hints = Hints {
        meta: who.is_multiple_of(13),
        no_idle: who.is_multiple_of(17),
        req_sync: who.is_multiple_of(5),
        ..Hints::default()
    };
    BioPlan { who, what, place, length, priority: Priority { class, level }, group: GroupId(u32::from(who % 3)), hints }
}

fn knob_value(bytes: &mut Bytes<'_>) -> KnobValue {
    match bytes.byte() {
        nth @ 0..=159 => KnobValue::Sweep(nth),
        160..=185 => KnobValue::Default,
        186..=205 => KnobValue::Least,
        206..=215 => KnobValue::Greatest,
        216..=235 => KnobValue::Below,
        236..=255 => KnobValue::Above,
    }
}

fn pass(bytes: &mut Bytes<'_>) -> Pass {
    match bytes.byte() {
        0..=39 => Pass::By(Span::ZERO),
        us @ 40..=119 => Pass::By(Span::from_us(u64::from(us))),
        ms @ 120..=189 => Pass::By(Span::from_ms(u64::from(ms - 119))),
        s @ 190..=199 => Pass::By(Span::from_secs(u64::from(s - 189))),
        200..=229 => Pass::ToDeadline,
        ms @ 230..=255 => Pass::PastDeadline(Span::from_ms(u64::from(ms - 229))),
    }
}

/// The groups of [`plan`] and some more, in a tree; some of them must be refused by a queue.
fn group(bytes: &mut Bytes<'_>) -> ScriptStep {
    let which = bytes.byte();
    let id = GroupId(u32::from(which % 5));
    if which >= 160 {
        return ScriptStep::Ungroup(id);
    }
    let parent = GroupId(bytes.pick(&[0, 0, 0, 1, 3]));
    let weights = [100, 1, 10, 300, 1000, 10_000, 0, 10_001];
    ScriptStep::Group(id, Group { parent, weight: bytes.pick(&weights), leaf_weight: bytes.pick(&weights) })
}

fn switch(bytes: &mut Bytes<'_>) -> ScriptStep {
    ScriptStep::Switch(bytes.pick(&[
        Successor::Fresh,
        Successor::Fresh,
        Successor::Other("cfq"),
        Successor::Other("cfq@4.20+groups=on"),
        Successor::Other("bfq"),
        Successor::Other("kyber"),
        Successor::Other("mq-deadline"),
        Successor::Other("anticipatory"),
        Successor::Fresh,
        Successor::Fresh,
        Successor::Other("noop"),
        Successor::Other("deadline@2.6.33"),
        Successor::Other("deadline@2.5.45"),
        Successor::Other("deadline@2.5.45+order=tree"),
        Successor::Other("deadline@4.20"),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_bytes_are_a_script_without_steps_and_every_byte_string_is_some_script() {
        assert_eq!(Script::from_bytes(&[]).steps, []);
        for byte in 0..=255 {
            let steps = Script::from_bytes(&[byte; 64]).steps.len();
            assert!((10..=64).contains(&steps), "{steps} steps of {byte}");
        }
    }

    #[test]
    fn a_seed_always_makes_the_same_script_and_another_seed_another() {
        assert_eq!(Script::from_seed(7, 100), Script::from_seed(7, 100));
        assert_ne!(Script::from_seed(7, 100), Script::from_seed(8, 100));
    }

    #[test]
    fn scripts_reach_every_kind_of_step_and_surrounding() {
        let word = |text: String| text.split([' ', '(', '{']).next().unwrap_or_default().to_owned();
        let (mut steps, mut plans, mut plugs, mut slots) =
            (BTreeSet::new(), BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for seed in 0..64 {
            let script = Script::from_seed(seed, 400);
            plugs.insert(word(format!("{:?}", script.config.plugging)));
            slots.insert(word(format!("{:?}", script.config.slots)));
            for step in script.steps {
                steps.insert(word(format!("{step:?}")));
                if let ScriptStep::Submit(plan) = step {
                    plans.insert(word(format!("{:?}", plan.what)));
                    plans.insert(word(format!("{:?}", plan.place)));
                    plans.insert(word(format!("{:?}", plan.length)));
                }
            }
        }
        assert_eq!((steps.len(), plans.len(), plugs.len(), slots.len()), (12, 17, 5, 3));
    }
}
