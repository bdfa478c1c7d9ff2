//! A block queue that records every call and its answer, if there is a sink; otherwise just a block queue.

use crate::call_log::{Answer, Call, FORMAT, Header, Record};
use blksched::reasons::NoListener;
use blksched::surroundings::GroupFileError;
use blksched::tunables::KnobError;
use blksched::{
    Bio, BlockQueue, Choice, Delivery, Group, GroupError, GroupId, InFlight, Instant, Limits, Listener, Next, Outcome,
    QueueConfig, Submitted, SubmitterId,
};

use super::convert;

/// The writer of the records.
pub type Sink = Box<dyn FnMut(&Record) + Send>;

/// A [`BlockQueue`] with the same calls; each is recorded in the sink, in order, with its answer.
pub struct LoggedQueue<L: Listener = NoListener> {
    queue: BlockQueue<L>,
    header: Header,
    sink: Option<Sink>,
    /// The last result of [`LoggedQueue::deliveries`].
    delivered: Vec<Delivery>,
}

impl<L: Listener> LoggedQueue<L> {
    /// Creates an empty queue under the chosen elevator. Without a sink nothing is recorded.
    pub fn new(config: QueueConfig, elevator: &Choice, listener: L, sink: Option<Sink>) -> LoggedQueue<L> {
        // A log has one limit for all operations.
        let limits = Limits { max_discard_sectors: config.limits.max_sectors, ..config.limits };
        let config = QueueConfig { limits, ..config };
        let queue = convert::queue_to_file(&config);
        let header = Header { format: FORMAT.to_owned(), elevator: elevator.to_string(), queue };
        let queue = BlockQueue::with_listener(config, elevator.build().elevator, listener);
        LoggedQueue { queue, header, sink, delivered: Vec::new() }
    }

    /// The log's first line.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The queue, for inspection.
    pub fn queue(&self) -> &BlockQueue<L> {
        &self.queue
    }

    /// The listener, for taking something from it.
    pub fn listener_mut(&mut self) -> &mut L {
        self.queue.listener_mut()
    }

    /// As [`BlockQueue::submit`].
    pub fn submit(&mut self, now: Instant, bio: Bio) -> Submitted {
        let submitted = self.queue.submit(now, bio);
        self.log(now, || Call::Submit(convert::bio_to_file(&bio)), || convert::submitted(submitted));
        submitted
    }

    /// As [`BlockQueue::next`].
    pub fn next(&mut self, now: Instant) -> Next {
        let next = self.queue.next(now);
        self.log(now, || Call::Next {}, || convert::next(&next));
        next
    }

    /// As [`BlockQueue::complete`].
    pub fn complete(&mut self, now: Instant, command: InFlight, outcome: Outcome) {
        let rq = command.rq.index() as u32;
        self.queue.complete(now, command, outcome);
        let call = || Call::Complete { rq, ok: outcome == Outcome::Ok };
        self.log(now, call, || Answer::Nothing);
    }

    /// As [`BlockQueue::requeue`].
    pub fn requeue(&mut self, now: Instant, command: InFlight) {
        let rq = command.rq.index() as u32;
        self.queue.requeue(now, command);
        self.log(now, || Call::Requeue { rq }, || Answer::Nothing);
    }

    /// As [`BlockQueue::waits`].
    pub fn waits(&mut self, now: Instant, submitter: SubmitterId) {
        self.queue.waits(now, submitter);
        self.log(now, || Call::Waits { submitter: submitter.0 }, || Answer::Nothing);
    }

    /// As [`BlockQueue::forget`].
    pub fn forget(&mut self, now: Instant, submitter: SubmitterId) {
        self.queue.forget(now, submitter);
        self.log(now, || Call::Forget { submitter: submitter.0 }, || Answer::Nothing);
    }

    /// As [`BlockQueue::set`].
    ///
    /// # Errors
    /// As there.
    pub fn set(&mut self, now: Instant, knob: &str, raw: i64) -> Result<(), KnobError> {
        let result = self.queue.set(now, knob, raw);
        self.log(now, || Call::Set { knob: knob.to_owned(), raw }, || answer_of(&result));
        result
    }

    /// As [`BlockQueue::set_group`].
    ///
    /// # Errors
    /// As there.
    pub fn set_group(&mut self, now: Instant, id: GroupId, group: Group) -> Result<(), GroupError> {
        let result = self.queue.set_group(now, id, group);
        let Group { parent, weight, leaf_weight } = group;
        self.log(now, || Call::Group { id: id.0, parent: parent.0, weight, leaf_weight }, || answer_of(&result));
        result
    }

    /// As [`BlockQueue::write_group_file`].
    ///
    /// # Errors
    /// As there.
    pub fn write_group_file(
        &mut self,
        now: Instant,
        id: GroupId,
        file: &str,
        text: &str,
    ) -> Result<(), GroupFileError> {
        let result = self.queue.write_group_file(now, id, file, text);
        let call = || Call::File { id: id.0, file: file.to_owned(), text: text.to_owned() };
        self.log(now, call, || answer_of(&result));
        result
    }

    /// As [`BlockQueue::remove_group`].
    ///
    /// # Errors
    /// As there.
    pub fn remove_group(&mut self, now: Instant, id: GroupId) -> Result<(), GroupError> {
        let result = self.queue.remove_group(now, id);
        self.log(now, || Call::Ungroup { id: id.0 }, || answer_of(&result));
        result
    }

    /// As [`BlockQueue::switch`]; the old elevator is dropped.
    pub fn switch(&mut self, now: Instant, elevator: &Choice) {
        drop(self.queue.switch(now, elevator.build().elevator));
        self.log(now, || Call::Switch { elevator: elevator.to_string() }, || Answer::Nothing);
    }

    /// As [`BlockQueue::elapse`].
    pub fn elapse(&mut self, now: Instant) {
        self.queue.elapse(now);
        self.log(now, || Call::Elapse {}, || Answer::Nothing);
    }

    /// As [`BlockQueue::deliveries`]; `now` is the time of the last call.
    pub fn deliveries(&mut self, now: Instant) -> impl Iterator<Item = Delivery> + '_ {
        let mut delivered = std::mem::take(&mut self.delivered);
        delivered.clear();
        delivered.extend(self.queue.deliveries());
        if !delivered.is_empty() {
            let answer = || Answer::Delivered(delivered.iter().map(convert::delivery).collect());
            self.log(now, || Call::Deliveries {}, answer);
        }
        self.delivered = delivered;
        self.delivered.drain(..)
    }

    /// As [`BlockQueue::deadline`].
    pub fn deadline(&self) -> Option<Instant> {
        self.queue.deadline()
    }

    #[inline]
    fn log(&mut self, now: Instant, call: impl FnOnce() -> Call, said: impl FnOnce() -> Answer) {
        if let Some(sink) = &mut self.sink {
            let deadline = self.queue.deadline().map(Instant::as_ns);
            sink(&Record { t: now.as_ns(), call: call(), said: said(), deadline });
        }
    }
}

/// The answer of a call that may be refused.
fn answer_of<E: std::fmt::Display>(result: &Result<(), E>) -> Answer {
    match result {
        Ok(()) => Answer::Nothing,
        Err(error) => Answer::Refused(error.to_string()),
    }
}
