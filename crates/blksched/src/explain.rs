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
mod ends;
mod listeners;
mod service;

pub use batch::{BatchEnd, BatchStart};
pub use budget::{Injected, Raised, RaisingEnd};
pub use class::ClassTurn;
pub use domain::{DepthChange, Domain, DomainTurn, Latency, LatencyStatus};
pub use ends::{End, Index, Unplug, WaitEnd};
pub use listeners::{Listener, NoListener};
pub use service::{Charged, DepthRule, HeldBack, NotIdled, Preempt, ServiceType, SliceEnd, SliceStart};

/// An event and its reason. Flat and small; new kinds may be added.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    // ---- the block queue
    /// A new request was created and given to the elevator.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    Inserted {
        /// The request.
        rq: RequestId,
        /// Its direction.
        dir: Dir,
        /// Its first sector at this moment.
        start: Sector,
        /// Its length \[sectors\] at this moment.
        sectors: u32,
        /// The submitter that created it.
        submitter: SubmitterId,
    },
    /// A bio joined a request.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    Merged {
        /// The request that grew.
        into: RequestId,
        /// The end that the bio joined.
        end: End,
    },
    /// Two requests became adjacent and one absorbed the other.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    Coalesced {
        /// The survivor.
        into: RequestId,
        /// The absorbed request.
        victim: RequestId,
    },
    /// A merge would have exceeded the largest request; nothing more merges into this one.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    Oversize {
        /// The request.
        rq: RequestId,
    },
    /// The queue was empty and now holds back dispatch, so that requests can merge.
    Plugged,
    /// The queue was unplugged.
    Unplugged(Unplug),
    /// The elevator limits the next request to this many tags: of each word of the tag map, or of all (`Admission`).
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    Limited {
        /// Tags.
        shallow: u32,
    },
    /// A policy (writeback throttling, io.cost) holds a bio back; its submitter sleeps.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    HeldByPolicy {
        /// The submitter.
        submitter: SubmitterId,
        /// The policy.
        by: &'static str,
    },
    /// `io.max` holds a bio back; its submitter continues.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    HeldByMax {
        /// The submitter.
        submitter: SubmitterId,
        /// The group whose limit, or whose ancestor's limit, it is.
        group: GroupId,
    },
    /// `io.max` lets a held bio pass.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    PassedMax {
        /// The submitter.
        submitter: SubmitterId,
        /// The bio's group.
        group: GroupId,
    },
    /// No request slot was free in this direction: the submitter sleeps.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    Slept {
        /// The submitter.
        submitter: SubmitterId,
        /// The direction of the slot it waits for.
        dir: Dir,
    },
    /// A slot became free, and the submitter continues.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    Woke {
        /// The submitter.
        submitter: SubmitterId,
    },
    /// The elevator chose a request, and the device has it.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    Issued {
        /// The request.
        rq: RequestId,
        /// Its direction.
        dir: Dir,
        /// Its length \[sectors\] at this moment.
        sectors: u32,
        /// The submitter that created it.
        submitter: SubmitterId,
    },
    /// The device has completed a request.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    Completed {
        /// The request.
        rq: RequestId,
        /// Its direction.
        dir: Dir,
        /// Its length \[sectors\] at this moment.
        sectors: u32,
        /// The submitter that created it.
        submitter: SubmitterId,
    },
    /// The device returned a request untried; it will be issued again.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    Requeued {
        /// The request.
        rq: RequestId,
    },
    /// A bio waits for the next flush of the disk's cache.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    FlushAsked {
        /// The submitter of the bio.
        submitter: SubmitterId,
    },
    /// A flush of the disk's cache was sent, for all bios that have asked since the last one.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    FlushSent {
        /// The number of bios that wait for it.
        bios: u32,
    },
    /// Another elevator took over this many queued requests.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    Switched {
        /// Requests handed over.
        requests: u32,
    },

    // ---- time
    /// The elevator set its deadline to this moment (also if it was set already).
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    Armed {
        /// When.
        until: Instant,
        /// The process, group or purpose of the wait.
        why: IdleFor,
    },
    /// The elevator cancelled its deadline.
    Cancelled,
    /// The elevator's deadline passed, and the elevator was called.
    Elapsed,
    /// The elevator requested a run.
    WishedRun(Run),

    // ---- decisions: batches (deadline and its kin)
    /// A batch of requests in sector order begins.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    BatchBegan {
        /// Its direction.
        dir: Dir,
        /// Its first request.
        rq: RequestId,
        /// Why it begins there.
        why: BatchStart,
    },
    /// The batch continues in sector order.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    BatchContinued {
        /// Its next request.
        rq: RequestId,
        /// Its 1-based index in the batch: 2 or more.
        nth: u32,
    },
    /// 2.5: a whole batch was moved to the dispatch list at once; arrivals wait for all of it.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    BatchMoved {
        /// Its direction.
        dir: Dir,
        /// The number of requests.
        requests: u32,
        /// Why it ends there.
        end: BatchEnd,
    },
    /// Both directions wait, and reads went first.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    ReadsFirst {
        /// The number of times in a row that writes have been passed over.
        starved: i32,
    },
    /// Both directions wait, and reads have gone first often enough.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    WritesStarved {
        /// The number of times that writes were passed over.
        starved: i32,
    },
    /// Two requests have the same first sector, and one of them is dispatched at once: the older (2.6), or the newer
    /// (2.5 with the tree).
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    AliasForced {
        /// The request that is dispatched out of order.
        rq: RequestId,
    },

    /// A batch or a queue's slice took its oldest request out of sector order, because it had expired.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    TookOldest {
        /// The request.
        rq: RequestId,
        /// By how much it was late.
        late: Span,
    },
    /// The next batch waits until the device has completed everything.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    BatchDrains {
        /// The class of the next batch.
        to: Waiter,
        /// Requests still in flight.
        in_flight: u32,
    },
    /// The number of requests that a batch of writes may take, adjusted to the duration of the last batch.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    BatchFitted {
        /// Requests in the next batch of writes.
        requests: u32,
    },

    // ---- decisions: places in one list (linus)
    /// How much further the queued request with the smallest counter may be passed; at 0 and below it is a wall.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    Patience {
        /// The smallest counter of all queued requests.
        least: i32,
    },

    // ---- decisions: leaving the disk idle
    /// The disk will be left idle for a submitter's next request, once its present one completes.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    WaitsForCompletion {
        /// The submitter.
        submitter: SubmitterId,
    },
    /// The disk is not, or no longer, left idle for a submitter's next request.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    WaitEnds {
        /// The submitter.
        submitter: SubmitterId,
        /// The reason.
        why: WaitEnd,
    },

    // ---- decisions: slices (CFQ). A queue is named by the process that made it, and by whether its requests are
    // synchronous.
    /// A queue is being served.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    SliceBegan {
        /// The queue's owner.
        owner: SubmitterId,
        /// Its own requests, or write-back of its priority level.
        waiter: Waiter,
        /// Why this queue.
        why: SliceStart,
    },
    /// A queue is no longer being served.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    SliceEnded {
        /// The queue's owner.
        owner: SubmitterId,
        /// Its own requests, or write-back of its priority level.
        waiter: Waiter,
        /// The reason.
        why: SliceEnd,
    },
    /// The next kind of load is served.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    WorkloadBegan {
        /// Its class.
        class: Class,
        /// Its kind.
        kind: ServiceType,
        /// Its duration.
        length: Span,
    },
    /// The queue ran empty, and the disk is not left idle for it.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    NotIdled {
        /// The queue's owner.
        owner: SubmitterId,
        /// The reason.
        why: NotIdled,
    },
    /// The queue has requests but may not send one now.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    HeldBack {
        /// The queue's owner.
        owner: SubmitterId,
        /// Its own requests, or write-back of its priority level.
        waiter: Waiter,
        /// The reason.
        why: HeldBack,
    },
    /// The amount of write-back that may be in flight now.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    AsyncDepth {
        /// Requests.
        depth: u32,
        /// The formula that determines it.
        rule: DepthRule,
    },
    /// Another queue's next request is close to the disk's position.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    CooperatorFound {
        /// The owner of the queue that ran empty.
        owner: SubmitterId,
        /// The owner of the other queue.
        other: SubmitterId,
        /// Its distance from the disk's position \[sectors\].
        distance: u64,
    },
    /// Two queues that read side by side will become one, process by process.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    MergePlanned {
        /// The queue to leave.
        from: SubmitterId,
        /// The queue to join.
        into: SubmitterId,
    },
    /// A process changed to the queue it shares from now on.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    QueueMerged {
        /// The submitter whose queue changed.
        submitter: SubmitterId,
        /// The owner of the queue that it joined.
        into: SubmitterId,
    },
    /// A shared queue seeks, so this process has one of its own again.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    QueueSplit {
        /// The submitter.
        submitter: SubmitterId,
    },

    // ---- decisions: budgets and weights (BFQ)
    /// The service that a queue may get in its next slice.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    BudgetAssigned {
        /// The queue's owner.
        owner: SubmitterId,
        /// Its own requests, or write-back of its priority level.
        waiter: Waiter,
        /// The budget \[sectors\].
        sectors: i64,
    },
    /// A slow queue is charged for the time that it had the disk, beyond its service.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    ChargedForTime {
        /// The queue's owner.
        owner: SubmitterId,
        /// The additional charge \[sectors\].
        sectors: i64,
    },
    /// A queue's weight is raised, or is now raised for another reason.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    WeightRaised {
        /// The queue's owner.
        owner: SubmitterId,
        /// Its own requests, or write-back of its priority level.
        waiter: Waiter,
        /// The reason.
        why: Raised,
        /// The factor by which its weight is raised.
        times: u32,
    },
    /// A queue has its own weight again.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    RaisingEnded {
        /// The queue's owner.
        owner: SubmitterId,
        /// The reason.
        why: RaisingEnd,
    },
    /// A queue was created in a large burst, so it is not raised.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    InLargeBurst {
        /// The queue's owner.
        owner: SubmitterId,
    },
    /// The next request is another queue's, while the in-service queue is empty.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    Injected {
        /// The owner of the in-service queue.
        into: SubmitterId,
        /// The owner of the request.
        from: SubmitterId,
        /// The reason.
        why: Injected,
    },
    /// The number of requests that the device may have while the in-service queue is empty.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    InjectionLimit {
        /// The queue's owner.
        owner: SubmitterId,
        /// Requests.
        limit: u32,
    },
    /// A process regularly sends requests right after another's have completed.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    WakerFound {
        /// The submitter.
        owner: SubmitterId,
        /// The submitter that wakes it.
        waker: SubmitterId,
    },
    /// The device's rate for sequential I/O, and the budget that follows from it.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    PeakRate {
        /// Sectors per second.
        sectors_per_s: u64,
        /// The greatest budget \[sectors\].
        max_budget: i64,
    },
    /// Whether the device works on several requests at a time.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    DiskQueues {
        /// True if it does.
        queues: bool,
    },

    // ---- decisions: priority classes (mq-deadline), reported while requests of several classes are in flight
    /// A class has the next request.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    ClassServed {
        /// The class.
        class: Class,
        /// Why this class.
        why: ClassTurn,
    },
    /// Lower classes have requests, but one of this class is still in flight.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    ClassBlocks {
        /// The class.
        class: Class,
    },

    // ---- decisions: groups
    /// Another group has the disk: the one that has had least of its share.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    GroupServed {
        /// The group.
        group: GroupId,
    },
    /// A slice of one of its queues has ended, and the group's virtual time advances by its service over its share.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    GroupCharged {
        /// The group.
        group: GroupId,
        /// What it is charged for.
        charged: Charged,
        /// Its share of the disk among the active groups, in units of 1/4096.
        fraction: u32,
    },
    /// A group's only queue is empty, and the disk is left idle: the group's requests in flight will bring more.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    GroupKeepsDisk {
        /// The group.
        group: GroupId,
    },

    // ---- decisions: tokens (Kyber)
    /// A request of a domain took a token.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    TokenTaken {
        /// The domain.
        domain: Domain,
        /// Its number.
        token: u32,
    },
    /// A domain has requests but no token for one.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    Throttled {
        /// The domain.
        domain: Domain,
    },
    /// It is another domain's turn.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    DomainBegan {
        /// The domain.
        domain: Domain,
        /// Why the previous domain's turn ended.
        why: DomainTurn,
    },
    /// A domain's latencies were evaluated.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    LatencyJudged {
        /// The domain.
        domain: Domain,
        /// Which latency.
        latency: Latency,
        /// Nearly all were within this many quarters of the domain's target; 8 means 8 or more.
        quarters: u32,
    },
    /// A domain's limit of requests in flight changes.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    TokensChanged {
        /// The domain.
        domain: Domain,
        /// The old limit.
        from: u32,
        /// The new limit.
        to: u32,
        /// The reason.
        why: DepthChange,
    },

    // ---- decisions: predicted batches (ADIOS)
    /// A batch was filled.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    BatchFilled {
        /// The number of requests in it.
        requests: u32,
        /// The sum of their predicted latencies.
        predicted: Span,
    },
    /// A kind's latency model was updated.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    Learned {
        /// The kind.
        domain: Domain,
        /// The latency of up to 4 KiB \[ns\]; 0: not known.
        base: u64,
        /// The latency of each further KiB \[ns\].
        slope: u64,
    },

    // ---- what it cost
    /// A search examined this many nodes.
    #[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
    Searched {
        /// The index.
        index: Index,
        /// Nodes visited or comparisons made.
        steps: u32,
    },
}
