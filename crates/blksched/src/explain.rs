//! Reasons: the cause of every event.
//!
//! A driver that needs them passes a [`Listener`] to the queue. Metrics (idle time, batch lengths, what a request
//! waited behind) are derived from this stream; elevators keep no counters for display. A listener changes nothing.

use crate::answer::{IdleFor, Run};
use crate::request::{Class, Dir, GroupId, RequestId, Sector, SubmitterId, Waiter};
use crate::time::{Instant, Span};

mod batch;
mod budget;
mod class;
mod domain;
mod listeners;
mod service;

pub use batch::{BatchEnd, BatchStart};
pub use budget::{Injected, Raised, RaisingEnd};
pub use class::ClassTurn;
pub use domain::{DepthChange, Domain, DomainTurn, Latency};
pub use listeners::NoListener;
pub use service::{Charged, DepthRule, HeldBack, NotIdled, Preempt, ServiceType, SliceEnd, SliceStart};

/// Hears every reason, in the order in which things happen.
pub trait Listener {
    /// `reason` held at `at`.
    fn hear(&mut self, at: Instant, reason: Reason);

    /// False if nothing listens: reasons are then not even made.
    fn is_listening(&self) -> bool {
        true
    }
}

/// Which end of a request something joined at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Behind its last sector.
    Back,
    /// Before its first sector.
    Front,
}

/// Why the disk is not, or no longer, left idle for the next request of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitEnd {
    /// It has come.
    Arrived,
    /// It was waited for long enough.
    TimeIsUp,
    /// Its submitter has other requests on their way.
    HasMore,
    /// A request of another process is as near as it would be.
    CloseEnough,
    /// Its submitter is gone, and of such submitters no other goes on in their place.
    Gone,
    /// Its submitter is new, and new ones mostly leave.
    LikelyGone,
    /// Its submitter thinks longer than is waited, or is new, and new ones do.
    ThinksLonger,
    /// A request had to go out of turn.
    OutOfTurn,
}

/// Why a plugged queue opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unplug {
    /// Enough requests are queued.
    Threshold,
    /// It has been plugged long enough.
    Timer,
    /// A submitter waits for its I/O.
    Waiting,
    /// The elevator wished a run.
    Wished,
}

/// Which index a search went through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    /// A sorted list: nodes visited.
    List,
    /// A balanced tree: comparisons made.
    Tree,
    /// The merge hash: entries of the bucket looked at.
    Hash,
}

/// One thing that happened, and why. Flat and small; new kinds may be added.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    // ---- the block queue
    /// A new request was made and given to the elevator.
    Inserted {
        /// The request.
        rq: RequestId,
        /// Its direction.
        dir: Dir,
        /// Its first sector at this moment.
        start: Sector,
        /// Its length \[sectors\] at this moment.
        sectors: u32,
        /// The submitter that made it.
        submitter: SubmitterId,
    },
    /// A bio joined a request.
    Merged {
        /// The request that grew.
        into: RequestId,
        /// At which end.
        end: End,
    },
    /// Two requests became adjacent and one absorbed the other.
    Coalesced {
        /// The survivor.
        into: RequestId,
        /// The request that is gone.
        victim: RequestId,
    },
    /// A merge would have exceeded the largest request; this one takes no more.
    Oversize {
        /// The request.
        rq: RequestId,
    },
    /// The queue was empty and now holds back dispatch, so that requests can merge.
    Plugged,
    /// The plug opened.
    Unplugged(Unplug),
    /// The elevator lets the next request use this many tags only: of each word of the tag map, or of all
    /// (`Admission`).
    Limited {
        /// Tags.
        shallow: u32,
    },
    /// A policy (writeback throttling, io.cost) holds a bio back; its submitter sleeps.
    HeldByPolicy {
        /// The submitter.
        submitter: SubmitterId,
        /// The policy.
        by: &'static str,
    },
    /// `io.max` holds a bio back; its submitter goes on.
    HeldByMax {
        /// The submitter.
        submitter: SubmitterId,
        /// Whose limit, or that of a group above.
        group: GroupId,
    },
    /// It has passed.
    PassedMax {
        /// The submitter.
        submitter: SubmitterId,
        /// Whose.
        group: GroupId,
    },
    /// No request slot was free in this direction: the submitter sleeps.
    Slept {
        /// The submitter.
        submitter: SubmitterId,
        /// Waiting for a slot of this kind.
        dir: Dir,
    },
    /// A slot came free and the submitter goes on.
    Woke {
        /// The submitter.
        submitter: SubmitterId,
    },
    /// The elevator chose, and the device has it.
    Issued {
        /// The request.
        rq: RequestId,
        /// Its direction.
        dir: Dir,
        /// Its length \[sectors\] at this moment.
        sectors: u32,
        /// The submitter that made it.
        submitter: SubmitterId,
    },
    /// The device is done with it.
    Completed {
        /// The request.
        rq: RequestId,
        /// Its direction.
        dir: Dir,
        /// Its length \[sectors\] at this moment.
        sectors: u32,
        /// The submitter that made it.
        submitter: SubmitterId,
    },
    /// The device handed it back untried; it will be issued again.
    Requeued {
        /// The request.
        rq: RequestId,
    },
    /// A bio waits for the next flush of the disk's cache.
    FlushAsked {
        /// The submitter of the bio.
        submitter: SubmitterId,
    },
    /// A flush of the disk's cache was sent for this many bios: for all that have asked since the last one.
    FlushSent {
        /// Bios that wait for it.
        bios: u32,
    },
    /// Another elevator took over this many queued requests.
    Switched {
        /// Requests handed over.
        requests: u32,
    },

    // ---- time
    /// The elevator wants to be told the time then (again, if it was armed already).
    Armed {
        /// When.
        until: Instant,
        /// For whom it waits.
        why: IdleFor,
    },
    /// It no longer does.
    Cancelled,
    /// Its deadline passed and it was told.
    Elapsed,
    /// The elevator wished to be run.
    WishedRun(Run),

    // ---- decisions: batches (deadline and its kin)
    /// A batch of requests in sector order begins.
    BatchBegan {
        /// Its direction.
        dir: Dir,
        /// Its first request.
        rq: RequestId,
        /// Why there.
        why: BatchStart,
    },
    /// The batch goes on in sector order.
    BatchContinued {
        /// Its next request.
        rq: RequestId,
        /// Its 1-based index in the batch: 2 or more.
        nth: u32,
    },
    /// 2.5: a whole batch went to the dispatch list at once; arrivals wait for all of it.
    BatchMoved {
        /// Its direction.
        dir: Dir,
        /// How many requests.
        requests: u32,
        /// Why it stopped there.
        end: BatchEnd,
    },
    /// Both directions wait, and reads went first.
    ReadsFirst {
        /// How often in a row writes have now been passed over.
        starved: i32,
    },
    /// Both directions wait, and reads have gone first often enough.
    WritesStarved {
        /// How often writes were passed over.
        starved: i32,
    },
    /// Two requests have one first sector, and this one is forced out: the older (2.6), or the newer (2.5 with the
    /// tree).
    AliasForced {
        /// The request that goes out of turn.
        rq: RequestId,
    },

    /// A batch or a queue's slice took its oldest request out of sector order: its time was up.
    TookOldest {
        /// The request.
        rq: RequestId,
        /// By how much it was late.
        late: Span,
    },
    /// The next batch waits until the device has returned everything.
    BatchDrains {
        /// The class of the next batch.
        to: Waiter,
        /// What is still on its way.
        in_flight: u32,
    },
    /// This many requests are as long as a batch of writes may take, as far as the last one showed.
    BatchFitted {
        /// Requests of the next batch of writes.
        requests: u32,
    },

    // ---- decisions: places in one list (linus)
    /// How much the queued request that has least left may still be passed by; 0 and below: it is a wall.
    Patience {
        /// Of all that are queued, the least.
        least: i32,
    },

    // ---- decisions: leaving the disk idle
    /// The disk will be left idle for a submitter's next request, from the completion of its present one.
    WaitsForCompletion {
        /// The submitter.
        submitter: SubmitterId,
    },
    /// The disk is not left idle for a submitter's next request, or no longer.
    WaitEnds {
        /// The submitter.
        submitter: SubmitterId,
        /// Why.
        why: WaitEnd,
    },

    // ---- decisions: slices (CFQ). A queue is named by the process that made it, and by whether its requests are
    // synchronous.
    /// A queue is being served.
    SliceBegan {
        /// Whose.
        owner: SubmitterId,
        /// Its own requests, or write-back of its priority level.
        waiter: Waiter,
        /// Why this one.
        why: SliceStart,
    },
    /// It is no longer being served.
    SliceEnded {
        /// Whose.
        owner: SubmitterId,
        /// Its own requests, or write-back of its priority level.
        waiter: Waiter,
        /// Why.
        why: SliceEnd,
    },
    /// The next kind of load has the disk.
    WorkloadBegan {
        /// Its class.
        class: Class,
        /// Its kind.
        kind: ServiceType,
        /// For how long.
        length: Span,
    },
    /// The queue ran empty, and the disk is not left idle for it.
    NotIdled {
        /// Whose queue.
        owner: SubmitterId,
        /// Why.
        why: NotIdled,
    },
    /// The queue has requests but may not send one now.
    HeldBack {
        /// Whose queue.
        owner: SubmitterId,
        /// Its own requests, or write-back of its priority level.
        waiter: Waiter,
        /// Why.
        why: HeldBack,
    },
    /// How much write-back may be in flight now.
    AsyncDepth {
        /// Requests.
        depth: u32,
        /// Which formula says so.
        rule: DepthRule,
    },
    /// Another queue goes on close to where the disk is.
    CooperatorFound {
        /// Whose queue ran empty.
        owner: SubmitterId,
        /// Whose queue goes on.
        other: SubmitterId,
        /// How far from the disk's position it starts \[sectors\].
        distance: u64,
    },
    /// Two queues that read side by side will become one, process by process.
    MergePlanned {
        /// The queue to leave.
        from: SubmitterId,
        /// The queue to join.
        into: SubmitterId,
    },
    /// A process changed to the queue it shares from now on.
    QueueMerged {
        /// The submitter that changed.
        submitter: SubmitterId,
        /// Whose queue it joined.
        into: SubmitterId,
    },
    /// A shared queue seeks, so this process has one of its own again.
    QueueSplit {
        /// The submitter.
        submitter: SubmitterId,
    },

    // ---- decisions: budgets and weights (BFQ)
    /// How much a queue may be served in its next slice.
    BudgetAssigned {
        /// Whose.
        owner: SubmitterId,
        /// Its own requests, or write-back of its priority level.
        waiter: Waiter,
        /// The budget \[sectors\].
        sectors: i64,
    },
    /// A queue that was slow pays for the time that it had the disk, beyond what it moved.
    ChargedForTime {
        /// Whose queue.
        owner: SubmitterId,
        /// What it pays on top \[sectors\].
        sectors: i64,
    },
    /// A queue's weight is raised, or raised for another reason now.
    WeightRaised {
        /// Whose.
        owner: SubmitterId,
        /// Its own requests, or write-back of its priority level.
        waiter: Waiter,
        /// As what.
        why: Raised,
        /// To this many times its own.
        times: u32,
    },
    /// A queue has its own weight again.
    RaisingEnded {
        /// Whose.
        owner: SubmitterId,
        /// Why.
        why: RaisingEnd,
    },
    /// A queue was made among many others: it is not raised.
    InLargeBurst {
        /// Whose.
        owner: SubmitterId,
    },
    /// The next request is another queue's, while the in-service queue is empty.
    Injected {
        /// Whose disk it is.
        into: SubmitterId,
        /// Whose request goes.
        from: SubmitterId,
        /// Why.
        why: Injected,
    },
    /// How many requests the device may have while a queue has the disk and is empty.
    InjectionLimit {
        /// Whose queue.
        owner: SubmitterId,
        /// Requests.
        limit: u32,
    },
    /// A process sends its requests whenever one of another's has come back.
    WakerFound {
        /// The submitter.
        owner: SubmitterId,
        /// The submitter that wakes it.
        waker: SubmitterId,
    },
    /// How fast the device is when it works in order, and what follows for budgets.
    PeakRate {
        /// Sectors per second.
        sectors_per_s: u64,
        /// The greatest budget \[sectors\].
        max_budget: i64,
    },
    /// Whether the device works on several requests at a time.
    DiskQueues {
        /// It does.
        queues: bool,
    },

    // ---- decisions: priority classes (mq-deadline), said while requests of more than one class are under way
    /// A class has the next request.
    ClassServed {
        /// Which.
        class: Class,
        /// Why it and no other.
        why: ClassTurn,
    },
    /// The classes below have requests, but one of this class is still in flight.
    ClassBlocks {
        /// Which.
        class: Class,
    },

    // ---- decisions: groups
    /// Another group has the disk: it has had least of what it is due.
    GroupServed {
        /// Which.
        group: GroupId,
    },
    /// A slice of one of its queues is over, and the group moves back by what it had, over its share.
    GroupCharged {
        /// Which.
        group: GroupId,
        /// For what.
        charged: Charged,
        /// Its share of the disk among the groups that were active, of 4096.
        fraction: u32,
    },
    /// A group's only queue is empty, and the disk is left alone: what the group has in flight will bring more.
    GroupKeepsDisk {
        /// Which.
        group: GroupId,
    },

    // ---- decisions: tokens (Kyber)
    /// A request of a domain took a token.
    TokenTaken {
        /// Which domain.
        domain: Domain,
        /// Its number.
        token: u32,
    },
    /// A domain has requests but no token for one.
    Throttled {
        /// Which.
        domain: Domain,
    },
    /// Another domain has its turn.
    DomainBegan {
        /// Which.
        domain: Domain,
        /// Why the one before it stopped.
        why: DomainTurn,
    },
    /// A domain's latencies were looked at.
    LatencyJudged {
        /// Which.
        domain: Domain,
        /// Which latency.
        latency: Latency,
        /// Nearly all were within this many quarters of the domain's target; 8 and more count as 8.
        quarters: u32,
    },
    /// A domain may have more or fewer requests in flight from now on.
    TokensChanged {
        /// Which.
        domain: Domain,
        /// Until now.
        from: u32,
        /// From now on.
        to: u32,
        /// Why.
        why: DepthChange,
    },

    // ---- decisions: predicted batches (ADIOS)
    /// A batch was filled.
    BatchFilled {
        /// With this many requests.
        requests: u32,
        /// The sum of what they are predicted to take.
        predicted: Span,
    },
    /// A kind's latency model was renewed.
    Learned {
        /// Of which kind.
        domain: Domain,
        /// What up to 4 KiB take \[ns\]; 0: not known.
        base: u64,
        /// What each KiB beyond takes \[ns\].
        slope: u64,
    },

    // ---- what it cost
    /// A search looked at this many nodes.
    Searched {
        /// Where.
        index: Index,
        /// Nodes visited or comparisons made.
        steps: u32,
    },
}
