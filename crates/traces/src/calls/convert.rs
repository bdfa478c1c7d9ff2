//! Conversion of the library's values to the file's, and back.

use crate::call_log as file;
use blksched::author::Waiter;
use blksched::group::MOST_GROUPS;
use blksched::reasons::End;
use blksched::surroundings::mq::{MqEra, TagOrder};
use blksched::surroundings::{DispatchAhead, Driver, FlushCommand, IoMaxEra, WakeRule, Wakes};
use blksched::{
    Bio, Class, Delivery, Durability, GroupId, Hints, Instant, Limits, Next, Op, Outcome, Plugging, Priority,
    QueueConfig, Sector, Slots, Span, Submitted, SubmitterId, Tag,
};

/// A queue's configuration, as in the header.
pub fn queue_to_file(config: &QueueConfig) -> file::QueueSurroundings {
    let Limits { max_sectors, max_segments, rotational, volatile_cache, fua, .. } = config.limits;
    file::QueueSurroundings {
        born: config.born.as_ns(),
        depth: config.depth,
        max_sectors,
        max_segments,
        rotational,
        volatile_cache,
        fua,
        plugging: match config.plugging {
            Plugging::Never => file::Plugging::Never,
            Plugging::Queue { threshold, delay } => file::Plugging::Queue { threshold, delay: delay.as_ns() },
            Plugging::TaskQueue => file::Plugging::TaskQueue,
            Plugging::Submitter { requests } => file::Plugging::Submitter { requests },
            Plugging::Task { requests, sectors } => file::Plugging::Task { requests, sectors },
        },
        slots: match config.slots {
            Slots::Unlimited => file::Slots::Unlimited,
            Slots::Unbounded { nr_requests } => file::Slots::Unbounded { nr_requests },
            Slots::PerDirection { nr_requests, wake } => {
                file::Slots::PerDirection { nr_requests, wake: wake_to_file(wake) }
            }
            Slots::Tags { nr_requests, made_for, era, order } => file::Slots::Tags {
                nr_requests,
                made_for: (made_for != nr_requests).then_some(made_for),
                era: match era {
                    MqEra::Linux6_1 => file::MqEra::Linux6_1,
                    MqEra::Linux6_12 => file::MqEra::Linux6_12,
                },
                order: match order {
                    TagOrder::Lowest => file::TagOrder::Lowest,
                    TagOrder::RoundRobin => file::TagOrder::RoundRobin,
                },
            },
        },
        driver: match (config.driver.ahead, config.driver.flush) {
            (DispatchAhead::Budget, FlushCommand::Queued) => file::Driver::Budget,
            (DispatchAhead::Budget, FlushCommand::Alone) => file::Driver::BudgetFlushAlone,
            (DispatchAhead::OneMore, FlushCommand::Queued) => file::Driver::OneMore,
            (DispatchAhead::OneMore, FlushCommand::Alone) => file::Driver::OneMoreFlushAlone,
        },
        io_max: match config.io_max {
            IoMaxEra::V6_12 => file::IoMaxEra::Linux6_12,
            IoMaxEra::V6_18 => file::IoMaxEra::Linux6_18,
        },
    }
}

fn wake_to_file(wake: WakeRule) -> file::Wake {
    match wake {
        WakeRule::AtFree(free) => file::Wake::AtFree(free),
        WakeRule::One { free } => file::Wake::One(free),
        WakeRule::All { free } => file::Wake::All(free),
        WakeRule::Batcher { requests, time } => file::Wake::Batcher { requests, time: time.as_ns() },
    }
}

/// The queue's configuration of a header.
pub fn queue_from_file(queue: &file::QueueSurroundings) -> QueueConfig {
    let file::QueueSurroundings { max_sectors, max_segments, rotational, volatile_cache, fua, .. } = *queue;
    QueueConfig {
        limits: Limits { max_sectors, max_discard_sectors: max_sectors, max_segments, rotational, volatile_cache, fua },
        depth: queue.depth,
        plugging: match queue.plugging {
            file::Plugging::Never => Plugging::Never,
            file::Plugging::Queue { threshold, delay } => Plugging::Queue { threshold, delay: Span::from_ns(delay) },
            file::Plugging::TaskQueue => Plugging::TaskQueue,
            file::Plugging::Submitter { requests } => Plugging::Submitter { requests },
            file::Plugging::Task { requests, sectors } => Plugging::Task { requests, sectors },
        },
        slots: match queue.slots {
            file::Slots::Unlimited => Slots::Unlimited,
            file::Slots::Unbounded { nr_requests } => Slots::Unbounded { nr_requests },
            file::Slots::PerDirection { nr_requests, wake } => {
                Slots::PerDirection { nr_requests, wake: wake_from_file(wake) }
            }
            file::Slots::Tags { nr_requests, made_for, era, order } => Slots::Tags {
                nr_requests,
                made_for: made_for.unwrap_or(nr_requests),
                era: match era {
                    file::MqEra::Linux6_1 => MqEra::Linux6_1,
                    file::MqEra::Linux6_12 => MqEra::Linux6_12,
                },
                order: match order {
                    file::TagOrder::Lowest => TagOrder::Lowest,
                    file::TagOrder::RoundRobin => TagOrder::RoundRobin,
                },
            },
        },
        driver: driver_from_file(queue.driver),
        wakes: Wakes::AtOnce,
        io_max: match queue.io_max {
            file::IoMaxEra::Linux6_12 => IoMaxEra::V6_12,
            file::IoMaxEra::Linux6_18 => IoMaxEra::V6_18,
        },
        born: Instant::from_ns(queue.born),
    }
}

fn driver_from_file(driver: file::Driver) -> Driver {
    let (ahead, flush) = match driver {
        file::Driver::Budget => (DispatchAhead::Budget, FlushCommand::Queued),
        file::Driver::BudgetFlushAlone => (DispatchAhead::Budget, FlushCommand::Alone),
        file::Driver::OneMore => (DispatchAhead::OneMore, FlushCommand::Queued),
        file::Driver::OneMoreFlushAlone => (DispatchAhead::OneMore, FlushCommand::Alone),
    };
    Driver { ahead, flush }
}

fn wake_from_file(wake: file::Wake) -> WakeRule {
    match wake {
        file::Wake::AtFree(free) => WakeRule::AtFree(free),
        file::Wake::One(free) => WakeRule::One { free },
        file::Wake::All(free) => WakeRule::All { free },
        file::Wake::Batcher { requests, time } => WakeRule::Batcher { requests, time: Span::from_ns(time) },
    }
}

/// A bio, as in the log.
pub fn bio_to_file(bio: &Bio) -> file::Bio {
    file::Bio {
        tag: bio.tag.0,
        op: match bio.op {
            Op::Read => file::Op::Read,
            Op::Write => file::Op::Write,
            Op::Discard => file::Op::Discard,
            Op::WriteZeroes => file::Op::WriteZeroes,
            Op::Flush => file::Op::Flush,
        },
        start: bio.start.0,
        sectors: bio.sectors,
        sync: bio.waiter == Waiter::Sync,
        class: CLASSES.iter().position(|&class| class == bio.priority.class).expect("all classes are listed") as u8,
        level: bio.priority.level,
        submitter: bio.submitter.0,
        group: bio.group.0,
        meta: bio.hints.meta,
        no_idle: bio.hints.no_idle,
        req_sync: bio.hints.req_sync,
        preflush: bio.durability.preflush,
        fua: bio.durability.fua,
    }
}

/// The classes by ionice's number.
const CLASSES: [Class; 4] = [Class::None, Class::RealTime, Class::BestEffort, Class::Idle];

/// A bio of the log; `None` if its class, group or position is invalid.
pub fn bio_from_file(bio: &file::Bio) -> Option<Bio> {
    let op = match bio.op {
        file::Op::Read => Op::Read,
        file::Op::Write => Op::Write,
        file::Op::Discard => Op::Discard,
        file::Op::WriteZeroes => Op::WriteZeroes,
        file::Op::Flush => Op::Flush,
    };
    let fits = (bio.sectors > 0 || op == Op::Flush)
        && bio.sectors < u32::MAX / 2
        && bio.start < u64::MAX / 2
        && bio.group < MOST_GROUPS;
    let class = *CLASSES.get(usize::from(bio.class))?;
    fits.then_some(Bio {
        tag: Tag(bio.tag),
        op,
        start: Sector(bio.start),
        sectors: bio.sectors,
        waiter: if bio.sync { Waiter::Sync } else { Waiter::Async },
        priority: Priority { class, level: bio.level },
        submitter: SubmitterId(bio.submitter),
        group: GroupId(bio.group),
        hints: Hints { meta: bio.meta, no_idle: bio.no_idle, req_sync: bio.req_sync, ..Hints::default() },
        durability: Durability { preflush: bio.preflush, fua: bio.fua },
    })
}

/// The answer to a submission, as in the log.
pub fn submitted(submitted: Submitted) -> file::Answer {
    let index = |rq: blksched::author::RequestId| rq.index() as u32;
    match submitted {
        Submitted::Inserted(rq) => file::Answer::Inserted(index(rq)),
        Submitted::Merged { into, end } => {
            let end = if end == End::Front { "front" } else { "back" };
            file::Answer::Merged { into: index(into), end: end.to_owned() }
        }
        Submitted::MergedOnInsert { into } => file::Answer::MergedOnInsert(index(into)),
        Submitted::Asleep => file::Answer::Asleep,
        Submitted::Held => file::Answer::Held,
        Submitted::Done => file::Answer::Done,
    }
}

/// The answer to `next`, as in the log.
pub fn next(next: &Next) -> file::Answer {
    match next {
        Next::Issue(command) => file::Answer::Issue {
            rq: command.rq.index() as u32,
            start: command.start.0,
            sectors: command.sectors,
            fua: command.fua,
        },
        Next::Idle { until, why } => file::Answer::Idle { until: until.as_ns(), why: format!("{why:?}") },
        Next::Wait => file::Answer::Wait,
        Next::Empty => file::Answer::Empty,
        Next::Full => file::Answer::Full,
        Next::Plugged { .. } => file::Answer::Plugged,
    }
}

/// A delivery, as in the log.
pub fn delivery(delivery: &Delivery) -> file::Delivery {
    match *delivery {
        Delivery::Done { tag, outcome: Outcome::Ok } => file::Delivery::Done(tag.0),
        Delivery::Done { tag, outcome: Outcome::Failed } => file::Delivery::Failed(tag.0),
        Delivery::Awake(submitter) => file::Delivery::Awake(submitter.0),
        Delivery::Runnable(_) => unreachable!("a logged queue's tasks run by themselves"),
    }
}
