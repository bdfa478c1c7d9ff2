//! Plays a script: the device, the submitters and the clock around one queue.

use blksched::author::{Elevator, Waiter};
use blksched::{
    Bio, BlockQueue, Delivery, Durability, GroupError, InFlight, Instant, Next, Op, Outcome, Sector, Span, Submitted,
    SubmitterId, Tag,
};

use super::script::{BioKind, BioPlace, BioPlan, KnobValue, Length, Pass, Script, ScriptStep, SleepPolicy, Successor};
use super::seen::{KeepingListener, RunObserver, Seen, View};
use super::trace::TraceHash;
use crate::laws::Violation;

/// The number of submitters at a time.
const SUBMITTERS: usize = 6;
/// How often a queue may repeat the same deadline before it counts as polling.
const ROUNDS: u32 = 16;

/// A script being played.
pub struct Run<'a, L: KeepingListener> {
    queue: BlockQueue<L>,
    script: &'a Script,
    make: &'a dyn Fn(Successor) -> Box<dyn Elevator>,
    audience: &'a mut dyn RunObserver,
    now: Instant,
    /// The commands in the device, in the order of issue.
    flying: Vec<InFlight>,
    /// The current submitters; numbers are never reused.
    submitters: [SubmitterId; SUBMITTERS],
    newest_submitter: u32,
    asleep: Vec<SubmitterId>,
    tags: u64,
    last: (u64, u32),
    trace: TraceHash,
}

impl<'a, L: KeepingListener> Run<'a, L> {
    /// Creates a queue as the script describes it, with a new elevator.
    pub fn new(
        script: &'a Script,
        make: &'a dyn Fn(Successor) -> Box<dyn Elevator>,
        listener: L,
        audience: &'a mut dyn RunObserver,
    ) -> Run<'a, L> {
        Run {
            queue: BlockQueue::with_listener(script.config, make(Successor::Fresh), listener),
            script,
            make,
            audience,
            now: Instant::ZERO,
            flying: Vec::new(),
            submitters: core::array::from_fn(|nth| SubmitterId(nth as u32 + 1)),
            newest_submitter: SUBMITTERS as u32,
            asleep: Vec::new(),
            tags: 0,
            last: (0, 8),
            trace: TraceHash::default(),
        }
    }

    /// Plays every step, then lets everything complete. `at` counts the steps, for messages.
    ///
    /// # Errors
    /// If an observer reports a broken law.
    pub fn play(mut self, at: &core::cell::Cell<usize>) -> Result<TraceHash, Violation> {
        for (nth, &step) in self.script.steps.iter().enumerate() {
            at.set(nth);
            self.step(step)?;
        }
        at.set(self.script.steps.len());
        self.drain()?;
        self.audience.finish()?;
        Ok(self.trace)
    }

    fn step(&mut self, step: ScriptStep) -> Result<(), Violation> {
        match step {
            ScriptStep::Submit(plan) => self.submit(plan),
            ScriptStep::Bridge(plan) => {
                let eight = Length::Sectors(8);
                self.submit(BioPlan { length: eight, ..plan })?;
                self.submit(BioPlan { length: eight, place: BioPlace::BehindAHole, ..plan })?;
                self.submit(BioPlan { length: eight, place: BioPlace::Before, ..plan })
            }
            ScriptStep::Waits { who } => self.waits(who),
            ScriptStep::Forget { who } => self.forget(who),
            ScriptStep::Ask => self.ask(),
            ScriptStep::Complete { nth, outcome } => self.complete(nth, outcome),
            ScriptStep::Requeue { nth } => self.requeue(nth),
            ScriptStep::Set { nth, value } => self.set(nth, value),
            ScriptStep::Group(id, group) => self.group(|queue, now| queue.set_group(now, id, group)),
            ScriptStep::Ungroup(id) => self.group(|queue, now| queue.remove_group(now, id)),
            ScriptStep::Pass(pass) => {
                self.pass(pass);
                Ok(())
            }
            ScriptStep::Switch(successor) => self.switch(successor),
        }
    }

    fn begin(&mut self) -> Result<(), Violation> {
        self.audience.see(self.now, &Seen::CallBegins)
    }

    fn see(&mut self, seen: &Seen<'_>) -> Result<(), Violation> {
        self.audience.see(self.now, seen)
    }

    /// Follows every call of the queue: passes on reasons and deliveries, checks invariants.
    fn over(&mut self) -> Result<(), Violation> {
        self.hear()?;
        let deliveries: Vec<Delivery> = self.queue.deliveries().collect();
        for delivery in deliveries {
            self.trace.delivered(self.now, delivery);
            if let Delivery::Awake(submitter) = delivery {
                self.asleep.retain(|&asleep| asleep != submitter);
            }
            self.see(&Seen::Delivered(delivery))?;
        }
        self.queue.check();
        let view = self.view();
        self.see(&Seen::CallOver(view))
    }

    fn hear(&mut self) -> Result<(), Violation> {
        for (at, reason) in self.queue.listener_mut().heard() {
            self.audience.see(at, &Seen::Said(reason))?;
        }
        Ok(())
    }

    fn view(&self) -> View {
        View {
            in_flight: self.queue.in_flight(),
            queued: self.queue.queued(),
            deadline: self.queue.deadline(),
            elevator_deadline: self.queue.elevator().deadline(),
        }
    }

    /// The submitter with this number, unless it sleeps.
    fn awake(&self, who: u8) -> Option<SubmitterId> {
        let submitter = self.submitters[usize::from(who) % SUBMITTERS];
        (self.script.sleep_policy == SleepPolicy::Impatient || !self.asleep.contains(&submitter)).then_some(submitter)
    }

    fn submit(&mut self, plan: BioPlan) -> Result<(), Violation> {
        let Some(submitter) = self.awake(plan.who) else { return Ok(()) };
        let bio = self.bio(plan, submitter);
        self.begin()?;
        let became = self.queue.submit(self.now, bio);
        if became == Submitted::Asleep {
            self.asleep.push(submitter);
        }
        self.see(&Seen::Submitted { bio: &bio, became })?;
        self.over()
    }

    fn bio(&mut self, plan: BioPlan, submitter: SubmitterId) -> Bio {
        let most = self.script.config.limits.max_sectors;
        let sectors = match plan.length {
            Length::Sectors(sectors) => sectors.min(most),
            Length::Oversize(times) => times * most + 1,
        };
        let (start, length) = self.last;
        let start = match plan.place {
            BioPlace::At(sector) => sector.into(),
            BioPlace::Behind => start + u64::from(length),
            BioPlace::Before => start.saturating_sub(sectors.into()),
            BioPlace::BehindAHole => start + u64::from(length) + 8,
            BioPlace::Same => start,
            BioPlace::Inside => start + u64::from(length / 2),
        };
        let (op, waiter, durability) = kind(plan.what);
        let (start, sectors) = if op == Op::Flush { (0, 0) } else { (start, sectors) };
        if op != Op::Flush {
            self.last = (start, sectors);
        }
        self.tags += 1;
        let BioPlan { priority, group, hints, .. } = plan;
        let (tag, start) = (Tag(self.tags), Sector(start));
        Bio { tag, op, start, sectors, waiter, priority, submitter, group, hints, durability }
    }

    fn waits(&mut self, who: u8) -> Result<(), Violation> {
        let Some(submitter) = self.awake(who) else { return Ok(()) };
        self.begin()?;
        self.queue.waits(self.now, submitter);
        self.over()
    }

    fn forget(&mut self, who: u8) -> Result<(), Violation> {
        let Some(submitter) = self.awake(who) else { return Ok(()) };
        self.begin()?;
        self.queue.forget(self.now, submitter);
        self.newest_submitter += 1;
        self.submitters[usize::from(who) % SUBMITTERS] = SubmitterId(self.newest_submitter);
        self.over()
    }

    /// Asks until nothing is issued and every deadline is in the future.
    fn ask(&mut self) -> Result<(), Violation> {
        for _ in 0..ROUNDS {
            let answer = self.ask_once()?;
            let due = self.queue.deadline().is_some_and(|at| at <= self.now);
            if !matches!(answer, Next::Issue(_)) && !due {
                let view = self.view();
                return self.see(&Seen::Settled { answer: &answer, view });
            }
        }
        Err(Violation::new("settles", format!("asked {ROUNDS} times, and a deadline is still due")))
    }

    fn ask_once(&mut self) -> Result<Next, Violation> {
        loop {
            self.begin()?;
            let next = self.queue.next(self.now);
            self.trace.answered(self.now, &next);
            self.hear()?;
            let Next::Issue(command) = next else {
                self.over()?;
                return Ok(next);
            };
            self.see(&Seen::Issued(command.command()))?;
            self.flying.push(command);
            self.over()?;
        }
    }

    fn complete(&mut self, nth: u8, outcome: Outcome) -> Result<(), Violation> {
        let Some(command) = self.land(nth) else { return Ok(()) };
        self.begin()?;
        self.see(&Seen::Ended(command.command(), outcome))?;
        self.queue.complete(self.now, command, outcome);
        self.over()
    }

    fn requeue(&mut self, nth: u8) -> Result<(), Violation> {
        let Some(command) = self.land(nth) else { return Ok(()) };
        self.begin()?;
        self.see(&Seen::Requeued(command.command()))?;
        self.queue.requeue(self.now, command);
        self.over()
    }

    fn land(&mut self, nth: u8) -> Option<InFlight> {
        let nth = usize::from(nth).checked_rem(self.flying.len())?;
        Some(self.flying.remove(nth))
    }

    fn set(&mut self, nth: u8, value: KnobValue) -> Result<(), Violation> {
        let knobs = self.queue.elevator().tunables().knobs();
        let Some(nth) = usize::from(nth).checked_rem(knobs.len()) else { return Ok(()) };
        let knob = knobs[nth];
        let raw = match value {
            KnobValue::Sweep(nth) => knob.sweep.get(usize::from(nth) % knob.sweep.len().max(1)).copied(),
            KnobValue::Default => Some(knob.default),
            KnobValue::Least => Some(knob.min),
            KnobValue::Greatest => Some(knob.max),
            KnobValue::Below => knob.min.checked_sub(1),
            KnobValue::Above => knob.max.checked_add(1),
        };
        let Some(raw) = raw else { return Ok(()) };
        self.begin()?;
        if self.queue.set(self.now, knob.name, raw).is_ok() {
            self.see(&Seen::KnobSet)?;
        }
        self.over()
    }

    /// Creates, changes or removes a group, unless that is impossible.
    fn group(
        &mut self,
        change: impl FnOnce(&mut BlockQueue<L>, Instant) -> Result<(), GroupError>,
    ) -> Result<(), Violation> {
        self.begin()?;
        if change(&mut self.queue, self.now).is_ok() {
            self.see(&Seen::GroupsChanged)?;
        }
        self.over()
    }

    fn pass(&mut self, pass: Pass) {
        let deadline = self.queue.deadline().unwrap_or(self.now).max(self.now);
        self.now = match pass {
            Pass::By(span) => self.now + span,
            Pass::ToDeadline => deadline,
            Pass::PastDeadline(late) => deadline + late,
        };
    }

    fn switch(&mut self, successor: Successor) -> Result<(), Violation> {
        self.begin()?;
        let elevator = (self.make)(successor);
        self.queue.switch(self.now, elevator);
        self.see(&Seen::Switched)?;
        self.over()
    }

    /// Lets everything complete: awake submitters wait, the device works, time passes.
    fn drain(&mut self) -> Result<(), Violation> {
        let patience = 64 * (self.script.steps.len() + 16);
        for _ in 0..patience {
            for who in 0..SUBMITTERS as u8 {
                self.waits(who)?;
            }
            self.ask()?;
            if !self.flying.is_empty() {
                self.complete(0, Outcome::Ok)?;
                continue;
            }
            if self.queue.requests().is_empty() {
                return Ok(());
            }
            match self.queue.deadline() {
                Some(at) => self.now = at.max(self.now + Span::from_ns(1)),
                None => break,
            }
        }
        let left = self.queue.requests().len();
        Err(Violation::new("comes back", format!("{left} requests are left, and nothing will ever happen to them")))
    }
}

fn kind(what: BioKind) -> (Op, Waiter, Durability) {
    let plain = Durability::default();
    match what {
        BioKind::Read => (Op::Read, Waiter::Sync, plain),
        BioKind::ReadAhead => (Op::Read, Waiter::Async, plain),
        BioKind::WriteBack => (Op::Write, Waiter::Async, plain),
        BioKind::Write => (Op::Write, Waiter::Sync, plain),
        BioKind::Discard => (Op::Discard, Waiter::Async, plain),
        BioKind::Flush => (Op::Flush, Waiter::Sync, plain),
        BioKind::Fua => (Op::Write, Waiter::Sync, Durability { fua: true, preflush: false }),
        BioKind::Preflush => (Op::Write, Waiter::Sync, Durability { fua: false, preflush: true }),
        BioKind::PreflushFua => (Op::Write, Waiter::Sync, Durability { fua: true, preflush: true }),
    }
}
