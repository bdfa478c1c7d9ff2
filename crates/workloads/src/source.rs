//! The contract between a workload and its driver.

use blksched::{Bio, Instant, SubmitterId, Tag};

use crate::host::{HostCall, Memory, OpenFile};

/// One submitter: a process of a job file, a thread of a replayed trace.
///
/// The driver calls [`emit`](Source::emit) at [`next`](Source::next), asks `next` again (it may be the same moment: one
/// call emits one *burst*), and passes everything that comes back to the source.
pub trait Source: Send {
    /// When [`emit`](Source::emit) wants to be called next; `None` while it waits for something to be delivered, and
    /// when it has finished.
    fn next(&self) -> Option<Instant>;

    /// Emits what happens at `now`, which is not before [`next`](Source::next): at most one burst, which is what one
    /// system call submits, ended by [`Emission::Waits`]; or [`Emission::Exit`]; or nothing, if only its time is over.
    /// `next` then changes. If called too early, it emits nothing.
    ///
    /// A burst of several I/Os is emitted one bio per call, all at the same time, and the last call ends it.
    ///
    /// There is one burst at a time, so that a submitter that goes to sleep inside it has submitted nothing beyond it.
    fn emit(&mut self, now: Instant, out: &mut Vec<Emission>);

    /// Like `emit`, for a driver that can take a burst of one bio by itself: the burst is returned and nothing is put
    /// into the list. A source may always use the list.
    fn turn(&mut self, now: Instant, out: &mut Vec<Emission>) -> Option<LoneBurst> {
        self.emit(now, out);
        None
    }

    /// Something came back; `next` may have become `now`.
    fn delivered(&mut self, now: Instant, what: Delivered);

    /// Tells the source that one of its bios is complete, or that a call has returned, and returns what
    /// [`next`](Source::next) is from then on: two calls in one.
    fn done(&mut self, now: Instant, tag: Tag, failed: bool) -> Option<Instant> {
        self.delivered(now, Delivered::Done { tag, failed });
        self.next()
    }

    /// The bio just submitted found no request slot: the submitter sleeps inside its system call and submits nothing
    /// until [`Delivered::Awake`].
    fn asleep(&mut self);

    /// False if others sleep in its place when there is no request slot, as the kernel's workers do for io_uring: then
    /// it is never told that it sleeps.
    fn sleeps_for_slots(&self) -> bool {
        true
    }

    /// True once [`Emission::Exit`] has been emitted: nothing more will happen.
    fn is_finished(&self) -> bool;

    /// False once nothing that it does depends on others' exits: it need not be told of them any more.
    fn awaits_exits(&self) -> bool {
        true
    }

    /// Whether an I/O is over when the source says so ([`Emission::Taken`]), and not when it is told.
    fn takes_completions(&self) -> bool {
        false
    }

    /// Whether what it does next also depends on what happens to its counterparts on other disks of the same world:
    /// `next` may change without a call.
    fn hangs_on_other_disks(&self) -> bool {
        false
    }

    /// The submitter of its bios.
    fn submitter(&self) -> SubmitterId;

    /// What has gone wrong with it so far.
    fn trouble(&self) -> Trouble {
        Trouble::default()
    }
}

/// What went wrong with a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trouble {
    /// I/Os that failed.
    pub errors: u64,
    /// Why it ended early, if it did.
    pub gave_up: Option<GaveUp>,
}

/// Why a source ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GaveUp {
    /// An I/O failed.
    Io,
    /// It fell below fio's `rate_min` or `rate_iops_min`.
    RateMin,
    /// An I/O took longer than fio's `max_latency`.
    MaxLatency,
}

impl GaveUp {
    /// The error number that fio reports: EIO, or ETIMEDOUT (tried).
    pub fn errno(self) -> i32 {
        match self {
            GaveUp::Io | GaveUp::RateMin => 5,
            GaveUp::MaxLatency => 110,
        }
    }
}

/// The tag of calls that a source makes for itself and that are none of its I/Os: they are in no report.
pub const UNCOUNTED: Tag = Tag(u64::MAX - 1);

/// A burst of one bio, as most are. In a list it would be [`Emission::Taken`], if a completion is taken,
/// [`Emission::Submit`] and [`Emission::Waits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoneBurst {
    /// The completion that the source takes first.
    pub taken: Option<TakenIo>,
    /// The bio.
    pub bio: Bio,
    /// The value of [`Source::next`] from then on, until a completion arrives or the source falls asleep.
    pub next: Option<Instant>,
}

/// A completion taken by a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TakenIo {
    /// Its tag.
    pub tag: Tag,
    /// When its submission was over, if that was not at once.
    pub accepted: Option<Instant>,
}

/// What a source does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emission {
    /// Give this bio to the queue: direct I/O.
    Submit(Bio),
    /// A system call that goes through the host's page cache; its return is delivered as [`Delivered::Done`].
    Call(HostCall),
    /// The source sets what happens to a file in memory.
    Remember {
        /// The file.
        file: OpenFile,
        /// What happens.
        memory: Memory,
    },
    /// Its burst is over: the system call returns or sleeps, and its plug opens.
    Waits,
    /// Send this to another source at the same time: a pipe, a semaphore, a message. The two define the word's meaning;
    /// a word to a source that has exited is lost.
    Tell {
        /// The recipient.
        to: SubmitterId,
        /// The word.
        word: u64,
    },
    /// The source takes the completion of one of its I/Os: for its own accounting, and so for reports, the I/O ends
    /// now. Only from sources that [take](Source::takes_completions) theirs.
    Taken {
        /// The I/O's tag.
        tag: Tag,
        /// When its submission was over, if that was not at once.
        accepted: Option<Instant>,
    },
    /// The submitter is gone; every other source that awaits exits is told ([`Delivered::Exited`]).
    Exit,
}

/// What comes back to a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivered {
    /// A bio of its own is complete, or a call has returned.
    Done {
        /// Its tag.
        tag: Tag,
        /// Whether the disk failed.
        failed: bool,
    },
    /// A slot came free: the submission that slept went through.
    Awake,
    /// Another source sent a word ([`Emission::Tell`]).
    Told {
        /// The submitter.
        from: SubmitterId,
        /// The word.
        word: u64,
    },
    /// Another submitter has exited. Sent to every source, so that those behind a stonewall can begin.
    Exited(SubmitterId),
}
