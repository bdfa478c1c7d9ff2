//! The inputs of a recording, given to the queue one by one.

use std::collections::BTreeMap;

use blksched::author::{RequestId, Waiter};
use blksched::{
    Bio, BlockQueue, Class, Durability, Group, GroupId, Hints, InFlight, Instant, Next, Op, Outcome, Priority, Reason,
    Sector, Submitted, SubmitterId, Tag,
};
use blksched_traces::elevator_transcript::{Add, AddResult, Event, Got, OpLetter, What, WrittenValue};

use super::expect::{self, Said};
use super::setup::{self, Outputs, RecordedClock, Setup, Sync, Timers};
use super::waiters::Waiters;

/// The replay of a recording through a queue.
pub(super) struct Replayer {
    pub(super) queue: BlockQueue<Vec<(Instant, Reason)>>,
    clock: RecordedClock,
    outputs: Outputs,
    sync: Sync,
    timers: Timers,
    /// Live requests by their recorded names.
    pub(super) ids: BTreeMap<u64, RequestId>,
    /// The tokens of the requests in flight.
    in_flight: BTreeMap<RequestId, InFlight>,
    /// Absorbed requests whose `coalesce` lines must come next: survivor, victim.
    pub(super) coalesced: Vec<(RequestId, RequestId)>,
    last: Instant,
    /// 2.4: the tasks that wait for a request.
    pub(super) waiters: Waiters,
}

impl Replayer {
    pub(super) fn new(setup: Setup) -> Replayer {
        Replayer {
            queue: setup.queue,
            clock: setup.clock,
            outputs: setup.outputs,
            sync: setup.sync,
            timers: setup.timers,
            ids: BTreeMap::new(),
            in_flight: BTreeMap::new(),
            coalesced: Vec::new(),
            last: Instant::ZERO,
            waiters: Waiters::default(),
        }
    }

    /// Replays one event; `Err` says what was recorded and what happened instead.
    pub(super) fn step(&mut self, event: &Event) -> Result<(), String> {
        let now = self.clock.instant(event.t);
        if now < self.last {
            return Err(format!("the recording's time runs backwards: {now} after {}", self.last));
        }
        self.check_timer(now, event)?;
        self.check_coalesced(event)?;
        self.run_in_vain(now, event)?;
        self.queue.listener_mut().clear();
        let said = self.apply(now, event)?;
        self.check_list(event, &said)?;
        self.last = now;
        let says_nothing = matches!(event.what, What::Coalesce { .. } | What::KickEnd {} | What::End { .. });
        if !says_nothing && self.timers == Timers::Recorded {
            expect::run_and_timer(event, &said, self.outputs, |t| self.clock.instant(t))?;
        }
        self.waiters.hear(self.queue.deliveries());
        Ok(())
    }

    /// Checks the end of the recording.
    pub(super) fn finish(&self) -> Result<(), String> {
        match self.coalesced.first() {
            Some((into, victim)) => {
                Err(format!("{} absorbed {}, which is not recorded", self.name(*into), self.name(*victim)))
            }
            None => Ok(()),
        }
    }

    /// Checks that a timer fires in the recording exactly if it is due here.
    fn check_timer(&self, now: Instant, event: &Event) -> Result<(), String> {
        let due = self.queue.deadline();
        match (&event.what, due) {
            (What::Timer { .. }, None) => Err("a timer fired, but none is armed here".to_owned()),
            (What::Timer { .. }, Some(due)) if due != now && due > self.last => {
                Err(format!("a timer fired at {now}, but here it is due at {due}"))
            }
            (What::Timer { .. } | What::Coalesce { .. } | What::KickEnd {}, _) | (_, None) => Ok(()),
            (_, Some(due)) if due <= now && self.timers == Timers::Recorded => {
                Err(format!("the timer due at {due} fires here, but not in the recording"))
            }
            (_, Some(_)) => Ok(()),
        }
    }

    /// Checks that the `coalesce` lines of an add follow it directly.
    fn check_coalesced(&mut self, event: &Event) -> Result<(), String> {
        match (&event.what, self.coalesced.is_empty()) {
            (What::Coalesce { id, into }, false) => {
                let (survivor, victim) = self.coalesced.remove(0);
                let same = self.ids.get(into) == Some(&survivor) && self.ids.get(id) == Some(&victim);
                self.ids.remove(id);
                if same { Ok(()) } else { Err(format!("{into} absorbed {id}, but here other requests did")) }
            }
            (What::Coalesce { id, into }, true) => Err(format!("{into} absorbed {id}, but not here")),
            (_, true) => Ok(()),
            (_, false) => self.finish(),
        }
    }

    fn apply(&mut self, now: Instant, event: &Event) -> Result<Said, String> {
        match &event.what {
            What::Add(add) => self.add(now, add),
            What::Retry { id, result } => self.retry(now, *id, result),
            What::Dispatch(got) => self.dispatch(now, got),
            What::Complete { id } => {
                let command = self.ids.get(id).and_then(|rq| self.in_flight.remove(rq));
                let command = command.ok_or_else(|| format!("{id} completed, but is not in flight here"))?;
                self.ids.remove(id);
                self.queue.complete(now, command, Outcome::Ok);
                Ok(self.said())
            }
            What::Timer { model } => {
                self.queue.elapse(now);
                let said = self.said();
                expect::models(model.as_deref(), &said).map(|()| said)
            }
            What::Insert { ids, merged } => self.insert_from_list(now, ids, merged),
            What::Set { name, value: WrittenValue::Value(value), .. } => self.write(now, name, *value),
            What::Set { name, value: WrittenValue::Text(text), result } => {
                self.store(now, name, text, result.as_deref().unwrap_or("ok"))
            }
            What::Exit { pid } => {
                self.queue.forget(now, SubmitterId(*pid));
                Ok(self.said())
            }
            What::Weight { group, weight, leaf_weight } => self.weigh(now, *group, *weight, *leaf_weight),
            What::Rmgroup { group } => {
                let removed = self.queue.remove_group(now, GroupId(*group));
                removed.map(|()| self.said()).map_err(|error| error.to_string())
            }
            // A changed priority is carried by the following requests.
            What::Ioprio { .. } | What::Coalesce { .. } | What::KickEnd {} | What::End { .. } => Ok(Said::default()),
        }
    }

    /// Writes those of a group's weights that are given.
    fn weigh(&mut self, now: Instant, id: u32, weight: Option<u32>, leaf: Option<u32>) -> Result<Said, String> {
        let id = GroupId(id);
        let present = self.queue.groups().get(id).copied();
        let present = present.ok_or_else(|| format!("the weight of group {} changed, but it does not exist", id.0))?;
        let weight = weight.unwrap_or(present.weight);
        let leaf_weight = leaf.unwrap_or(present.leaf_weight);
        let written = self.queue.set_group(now, id, Group { weight, leaf_weight, ..present });
        written.map(|()| self.said()).map_err(|error| error.to_string())
    }

    /// Writes a knob.
    fn write(&mut self, now: Instant, name: &str, shown: i64) -> Result<Said, String> {
        let knob = self.queue.elevator().tunables().find(name).map_err(|error| error.to_string())?;
        let raw = setup::written_value(knob, shown);
        self.queue.set(now, knob.name, raw).map(|()| self.said()).map_err(|error| error.to_string())
    }

    fn add(&mut self, now: Instant, add: &Add) -> Result<Said, String> {
        let bio = bio(add, self.sync)?;
        let plugged = matches!(&add.result, AddResult::Word(word) if word == "plugged");
        let submitted = match (plugged, add.at_head) {
            (true, _) => return self.keep(now, add, bio),
            (false, true) => Submitted::Inserted(self.queue.submit_at_head(now, bio)),
            (false, false) => self.queue.submit(now, bio),
        };
        let said = self.said();
        if submitted == Submitted::Asleep {
            self.waiters.sleeps(self.queue.last_asleep(), add);
        }
        if let Some(rq) = expect::submitted(add, submitted, &said, |id| self.ids.get(&id).copied(), |rq| self.name(rq))?
        {
            self.ids.insert(add.id, rq);
        }
        self.coalesced.clone_from(&said.coalesced);
        Ok(said)
    }

    fn dispatch(&mut self, now: Instant, got: &Got) -> Result<Said, String> {
        self.queue.run();
        let next = self.queue.next(now);
        let said = self.said();
        match (&next, got.got) {
            (Next::Issue(command), Some(id)) => {
                let here = (self.ids.get(&id) == Some(&command.rq), command.start.0, command.sectors);
                if here != (true, got.sector.unwrap_or(command.start.0), got.sectors.unwrap_or(command.sectors)) {
                    let name = self.name(command.rq);
                    return Err(format!(
                        "the driver got {id}, but here {name} at {}+{}",
                        command.start, command.sectors
                    ));
                }
            }
            (Next::Issue(command), None) => {
                return Err(format!("the driver got nothing, but here {}", self.name(command.rq)));
            }
            (answer, Some(id)) => return Err(format!("the driver got {id}, but here the answer is {answer:?}")),
            (_, None) => {}
        }
        self.check_answer(now, &next)?;
        if let Next::Issue(command) = next {
            self.in_flight.insert(command.rq, command);
        }
        self.check_absorbed(&got.merged, &said.coalesced)?;
        if got.token.is_some() && got.token != said.token {
            return Err(format!("token {:?} was taken, but here {:?}", got.token, said.token));
        }
        if got.batch != said.moved {
            return Err(format!("a batch of {:?} was moved, but here of {:?}", got.batch, said.moved));
        }
        Ok(said)
    }

    /// Checks rule 3: the meaning of `Empty`, `Idle` and `Wait`.
    fn check_answer(&self, now: Instant, next: &Next) -> Result<(), String> {
        let (queued, in_flight) = (self.queue.queued(), self.queue.in_flight());
        let kept = match next {
            Next::Empty => queued == 0,
            Next::Wait => queued > 0 && in_flight > 0,
            Next::Idle { until, .. } => queued > 0 && *until > now,
            _ => true,
        };
        if kept {
            Ok(())
        } else {
            Err(format!("the answer is {next:?} with {queued} queued and {in_flight} in flight"))
        }
    }

    pub(super) fn said(&mut self) -> Said {
        Said::of(self.queue.listener().iter().map(|(_, reason)| *reason))
    }

    /// The recorded name of a request, for messages.
    pub(super) fn name(&self, rq: RequestId) -> String {
        let named = self.ids.iter().find(|&(_, &known)| known == rq);
        named.map_or_else(|| format!("an unnamed {rq:?}"), |(id, _)| id.to_string())
    }
}

fn bio(add: &Add, sync: Sync) -> Result<Bio, String> {
    if add.sectors == 0 || add.sectors > u32::MAX / 2 || add.sector > u64::MAX / 2 {
        return Err(format!("{} is not a stretch of a disk: {} sectors at {}", add.id, add.sectors, add.sector));
    }
    let op = match add.op {
        OpLetter::R => Op::Read,
        OpLetter::W => Op::Write,
        OpLetter::D => Op::Discard,
        OpLetter::Z => Op::WriteZeroes,
    };
    Ok(Bio {
        tag: Tag(add.id),
        op,
        start: Sector(add.sector),
        sectors: add.sectors,
        waiter: if add.sync || op == Op::Read { Waiter::Sync } else { Waiter::Async },
        priority: priority(&add.prio)?,
        submitter: SubmitterId(add.pid),
        group: GroupId(add.group.unwrap_or(0)),
        hints: Hints {
            meta: add.meta,
            no_idle: add.noidle,
            req_sync: add.sync && (sync == Sync::Flag || op != Op::Read),
            ..Hints::default()
        },
        durability: Durability::default(),
    })
}

fn priority(text: &str) -> Result<Priority, String> {
    let error = || format!("`{text}` is not a priority: expected class/level, as in be/4, or `none` or `idle`");
    let (class, level) = match text {
        "none" | "idle" => (text, "0"),
        _ => text.split_once('/').ok_or_else(error)?,
    };
    let class = match class {
        "none" => Class::None,
        "rt" => Class::RealTime,
        "be" => Class::BestEffort,
        "idle" => Class::Idle,
        _ => return Err(error()),
    };
    Ok(Priority { class, level: level.parse().map_err(|_| error())? })
}
