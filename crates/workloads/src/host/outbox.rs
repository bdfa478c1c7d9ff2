//! The host's requests to its driver, in order; those of submitters that sleep for a request slot have to wait.
//!
//! **Rule** a submitter that found no slot sleeps in the kernel: whatever it would do next, submit another bio or
//! return from its call, comes after it woke.

use std::collections::{BTreeMap, VecDeque};

use blksched::{Bio, Instant, SubmitterId, Tag};

/// Something that the driver must do for the host, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Submit this bio to the queue. Its tag is the host's, to be returned to
    /// [`Host::completed`](super::Host::completed).
    Submit(Bio),
    /// The submitter's burst is over: its plug opens.
    Waits(SubmitterId),
    /// A bio that was given to [`Host::bypass`](super::Host::bypass) may go to the queue now, unchanged.
    GoOn(Bio),
    /// A direct write that was given to [`Host::landed`](super::Host::landed) may be told to its process.
    Landed(Bio),
    /// A writer of this submitter sleeps because too much memory is dirty, for the information of the policy that
    /// throttles write-back.
    WaitedForMemory(SubmitterId),
    /// A call returns.
    Return {
        /// The submitter.
        submitter: SubmitterId,
        /// The tag.
        tag: Tag,
        /// Whether the disk failed to do what it needed.
        failed: bool,
        /// When the device began with the last transfer that it waited for; `None` if it needed none.
        issued_at: Option<Instant>,
    },
}

impl Wish {
    fn whose(&self) -> SubmitterId {
        match self {
            Wish::Submit(bio) | Wish::GoOn(bio) | Wish::Landed(bio) => bio.submitter,
            Wish::Waits(submitter) | Wish::WaitedForMemory(submitter) | Wish::Return { submitter, .. } => *submitter,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Outbox {
    wishes: VecDeque<Wish>,
    /// The sleeping processes, with what each would do next.
    asleep: BTreeMap<SubmitterId, Vec<Wish>>,
}

impl Outbox {
    pub fn push(&mut self, wish: Wish) {
        self.wishes.push_back(wish);
    }

    pub fn sleeps(&self, submitter: SubmitterId) -> bool {
        self.asleep.contains_key(&submitter)
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.wishes.is_empty()
    }

    /// The next wish of a submitter that is awake.
    pub fn next(&mut self) -> Option<Wish> {
        while let Some(wish) = self.wishes.pop_front() {
            match self.asleep.get_mut(&wish.whose()) {
                Some(held) => held.push(wish),
                None => return Some(wish),
            }
        }
        None
    }

    pub fn fell_asleep(&mut self, submitter: SubmitterId) {
        self.asleep.entry(submitter).or_default();
    }

    /// The submitter's postponed wishes come before those added meanwhile.
    pub fn woke(&mut self, submitter: SubmitterId) {
        for wish in self.asleep.remove(&submitter).unwrap_or_default().into_iter().rev() {
            self.wishes.push_front(wish);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_of_a_sleeper_wait_in_their_order() {
        let (a, b) = (SubmitterId(1), SubmitterId(2));
        let mut out = Outbox::default();
        out.push(Wish::Waits(a));
        out.push(Wish::Submit(Bio::flush(1, a)));
        out.push(Wish::Waits(b));
        out.fell_asleep(a);
        assert_eq!((out.next(), out.next()), (Some(Wish::Waits(b)), None));
        out.push(Wish::Waits(b));
        out.woke(a);
        let order: Vec<Wish> = std::iter::from_fn(|| out.next()).collect();
        assert_eq!(order, [Wish::Waits(a), Wish::Submit(Bio::flush(1, a)), Wish::Waits(b)]);
    }
}
