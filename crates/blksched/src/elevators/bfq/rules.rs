//! The differences between the eras of BFQ; each is described once, and can be switched separately.
//!
//! The documentation of each is what `blksched list bfq` prints.

use crate::elevators::hz::hz_without_300;
use crate::elevators::ioprio::MergePriorities;
use crate::elevators::tags::Tags;
use crate::entry::Mechanism;
use crate::mechanism;
use crate::mechanism::mechanisms;

mechanism! {
    /// whether groups share by weight
    pub enum Grouping = "groups" {
        /// all submitters compete directly, as without CONFIG_BFQ_GROUP_IOSCHED
        Off = "off",
        /// by weight, as a hierarchy: distributions' kernels
        On = "on",
    }
}

mechanism! {
    /// when groups compete, so that their shares need idling
    pub enum Competition = "competition" {
        /// as soon as one is busy, alone or not: 6.1
        Woken = "woken",
        /// when two, the root included, have pending requests: 6.6 and later
        TwoPending = "two_pending",
    }
}

mechanism! {
    /// from when a new queue's injection limit counts as last decreased
    pub enum Newcomer = "newcomer" {
        /// from before its creation, so its first request cancels any measurement: 6.1
        StartsAnew = "starts_anew",
        /// from its creation: 6.6 and later
        IsNew = "is_new",
    }
}

mechanism! {
    /// while what is the scheduler asked, so that a slice whose queue ran empty can end
    pub enum AskedWhile = "asked_while" {
        /// a queue is busy, if only in service: 4.19, 5.15
        Busy = "busy",
        /// a queue is busy and a request is queued or in the device: 5.10
        BusyOrInDevice = "busy_or_in_device",
        /// a request is queued: 6.1 and later
        Queued = "queued",
    }
}

mechanism! {
    /// whether a queue that another one wakes is detected, so that the waker is served while the disk idles
    pub enum Wakers = "wakers" {
        /// no: 4.19; 5.10 detects it, to no effect
        Off = "off",
        /// by three detections, however far apart: 5.15
        AnyTime = "any_time",
        /// by three detections within 128 idle times: 6.1 and later
        Window = "window",
    }
}

mechanism! {
    /// to which queue of a chain of planned merges a process goes
    pub enum Chains = "chains" {
        /// to the next, and the last process of a queue keeps it whatever is planned: 4.19, 5.15
        OneStep = "one_step",
        /// to the last: 5.10.262, 6.1 and later
        End = "end",
    }
}

mechanism! {
    /// whether a queue that was served for too long still carries out a merge that is planned
    pub enum LateMerge = "late_merge" {
        /// no: 4.19
        Dropped = "dropped",
        /// yes: 5.10 and later
        CarriedOut = "carried_out",
    }
}

mechanism! {
    /// where a request goes whose process has changed to another queue since it was allocated
    pub enum Moved = "moved" {
        /// to the queue that its process uses now: 4.19
        ToItsProcess = "to_its_process",
        /// to the queue with which a merge is planned: 5.10 and later
        ToThePlanned = "to_the_planned",
    }
}

mechanism! {
    /// on which devices queues with close requests merge
    pub enum Cooperators = "cooperators" {
        /// on all: 4.19
        AllDevices = "all_devices",
        /// not on flash that queues: 5.10 and later
        NotOnFlash = "not_on_flash",
    }
}

mechanism! {
    /// whether queues created shortly after each other merge
    pub enum StableMerges = "stable_merges" {
        /// no: 5.10 and earlier
        Off = "off",
        /// yes: 5.15 and later
        On = "on",
    }
}

mechanism! {
    /// what is saved of a queue while its process shares another
    pub enum SavedState = "saved_state" {
        /// its habits and its raising, but not its weight: 4.19
        WithoutWeight = "without_weight",
        /// its habits, its raising and its weight: 5.10
        WithoutInjection = "without_injection",
        /// what was measured for injection and the service received while raised, too: 5.15 and later
        All = "all",
    }
}

mechanism! {
    /// which weights may be raised
    pub enum Raisable = "raisable" {
        /// any: 5.10 and earlier
        AnyWeight = "any_weight",
        /// the default one: 5.15 and later
        DefaultWeight = "default_weight",
    }
}

mechanism! {
    /// when a queue that ran empty computes from when it may count as soft real-time
    pub enum SoftStart = "soft_start" {
        /// even while raised as interactive: 4.19
        Always = "always",
        /// not while raised as interactive: 5.10
        NotInteractive = "not_interactive",
        /// at the end of its slice, and when its interactive raising ends: 5.15 and later
        AndAtEnd = "and_at_end",
    }
}

mechanism! {
    /// what follows if a soft real-time queue only seeks
    pub enum SeekySoft = "seeky_soft" {
        /// nothing: 4.19
        Stays = "stays",
        /// its raising ends: 5.10
        Ends = "ends",
        /// it returns to the rest of its interactive raising: 5.15 and later
        Returns = "returns",
    }
}

mechanism! {
    /// when a queue only seeks
    pub enum OnlySeeks = "only_seeks" {
        /// if any of its last 32 requests was a seek: RHEL 8.3
        AnySeek = "any_seek",
        /// if all of its last 32 requests were: all others
        AllSeeks = "all_seeks",
    }
}

mechanism! {
    /// which new queues may join a burst
    pub enum BurstOf = "burst_of" {
        /// all: 4.19
        AllNew = "all_new",
        /// those created while no queue is busy, or after another one of the burst: 5.10 and later
        AtRest = "at_rest",
    }
}

mechanism! {
    /// which queues preempt the one in service
    pub enum Preemption = "preemption" {
        /// those with a higher raising that were waited for or may be raised: 4.19
        Raised = "raised",
        /// those waited for, of a higher class or heavier: 5.10
        Higher = "higher",
        /// any, too, if idling for the one in service is not better: 5.15 and later
        UnlessIdling = "unless_idling",
    }
}

mechanism! {
    /// whether a queue that returned in time keeps a budget of which nothing is left
    pub enum KeptBudget = "kept_budget" {
        /// yes: 4.19
        EvenIfSpent = "even_if_spent",
        /// no: 5.10 and later
        IfLeft = "if_left",
    }
}

mechanism! {
    /// whether the disk idles for the only busy queue
    pub enum Lone = "lone" {
        /// only if that raises throughput: 5.10 and earlier
        NotNeeded = "not_needed",
        /// always: 5.15 and later
        Needed = "needed",
    }
}

mechanism! {
    /// for which queues idling protects a share
    pub enum Protected = "protected" {
        /// those that are not in a large burst: 4.19
        OutsideBursts = "outside_bursts",
        /// those that a process holds, also raised ones beside many requests of others: 5.10 and later
        OfProcesses = "of_processes",
    }
}

mechanism! {
    /// when queues do not compete as equals
    pub enum Asymmetry = "asymmetry" {
        /// if two weights are busy: 4.19
        Weights = "weights",
        /// if two classes are, or two weights and the queue's is not the lowest: 5.10 and later
        ClassesAndWeights = "classes_and_weights",
    }
}

mechanism! {
    /// when write-back costs three times its size
    pub enum WriteBackCost = "write_back_cost" {
        /// always: 4.19
        Always = "always",
        /// while queues compete as equals: 5.10 and later
        Symmetric = "symmetric",
    }
}

mechanism! {
    /// what is served while the disk idles for a queue
    pub enum InjectionRule = "injection" {
        /// beside a queue that seeks on flash, a tenth of its service: 4.19
        BesideSeekers = "beside_seekers",
        /// as much as does not delay it, as measured: 5.10 and later
        Measured = "measured",
    }
}

mechanism! {
    /// which arrivals are measured for injection, and count for wakers
    pub enum Measurable = "measurable" {
        /// those in an empty queue: 5.10
        EmptyQueue = "empty_queue",
        /// those of a process without other requests: 5.15 and later
        LoneRequest = "lone_request",
    }
}

mechanism! {
    /// when a small request ends the wait for its queue
    pub enum SmallRequest = "small_request" {
        /// when the slice is out of time: 4.19
        OutOfTime = "out_of_time",
        /// at once, unless idling raises throughput: 5.10 and later
        NotFaster = "not_faster",
    }
}

mechanism! {
    /// when a queue is I/O-bound
    pub enum IoBound = "io_bound" {
        /// until it was idled for in vain, and again after 120 requests in time: 5.10 and earlier
        InTime = "in_time",
        /// if it has something to do for four fifths of the time: 5.15 and later
        Intensity = "intensity",
    }
}

mechanism! {
    /// of which requests the think time is measured
    pub enum ThinkOf = "think_of" {
        /// of all: 5.10 and earlier
        AllRequests = "all_requests",
        /// of those that make the queue busy: 5.15 and later
        AfterIdling = "after_idling",
    }
}

mechanism! {
    /// up to which mean a think time is short
    pub enum ShortThink = "short_think" {
        /// the idle time: 5.10 and earlier
        IdleTime = "idle_time",
        /// half of it: 5.15 and later
        Half = "half",
    }
}

mechanism! {
    /// what shows that a device queues commands
    pub enum Queueing = "queueing" {
        /// more than four at once: 4.19
        MoreThanFour = "more_than_four",
        /// more than three at once, unless the queue in service has few and thinks shortly: 5.10 and later
        MoreThanThree = "more_than_three",
    }
}

mechanism! {
    /// which requests count as sequential for the peak rate
    pub enum Sequential = "sequential" {
        /// those less than 800 sectors away: 4.19
        Near = "near",
        /// on flash also large ones: 5.10 and later
        NearOrLarge = "near_or_large",
    }
}

mechanism! {
    /// to what a waiting queue's budget is adapted when its next request changes
    pub enum FittedBudget = "fitted_budget" {
        /// to that request: 4.19
        Next = "next",
        /// at least to the service already received: 5.10 and later
        AtLeastServed = "at_least_served",
    }
}

mechanism! {
    /// whether an empty queue that was preempted while it needed idling stays on its tree
    pub enum EmptyPreempted = "empty_preempted" {
        /// no: 4.19
        Leaves = "leaves",
        /// yes: 5.10 and later
        Stays = "stays",
    }
}

mechanism! {
    /// what is near the queue in service until its first dispatch
    pub enum SlicePosition = "slice_position" {
        /// where the slice before it ended: RHEL 8.3
        Last = "last",
        /// sector 0: all others
        Zero = "zero",
    }
}

mechanism! {
    /// from what the limits of writes are computed
    pub enum WriteLimits = "write_limits" {
        /// the number of tags: until 6.18
        Tags = "tags",
        /// `async_depth`: 7.x
        AsyncDepth = "async_depth",
    }
}

mechanism! {
    /// whether groups and weights limit the tags of a process
    pub enum TagShares = "tag_shares" {
        /// no: 5.15 and earlier
        Off = "off",
        /// yes: 6.1 and later
        On = "on",
    }
}

mechanisms! {
    /// Everything that can be switched separately.
    pub(crate) struct Rules {
        /// Whether groups are scheduled.
        groups: Grouping;
        /// When groups compete.
        competition: Competition;
        /// From when a new queue's injection limit counts as last decreased.
        newcomer: Newcomer;
        /// What a limit on tags applies to.
        tags: Tags;
        /// From what the limits of writes are computed.
        write_limits: WriteLimits;
        /// Whether shares of tags are limited.
        tag_shares: TagShares;
        /// While what it is asked.
        asked_while: AskedWhile;
        /// Whether wakers are detected.
        wakers: Wakers;
        /// To which queue of a chain of merges a process goes.
        chains: Chains;
        /// Whether planned merges are carried out late.
        late_merge: LateMerge;
        /// Where a moved request goes.
        moved: Moved;
        /// On which devices queues merge.
        cooperators: Cooperators;
        /// Whether new queues merge.
        stable_merges: StableMerges;
        /// What is saved of a shared queue.
        saved_state: SavedState;
        /// Which weights may be raised.
        raisable: Raisable;
        /// When the start of soft real-time is computed.
        soft_start: SoftStart;
        /// What follows if a soft real-time queue only seeks.
        seeky_soft: SeekySoft;
        /// When a queue only seeks.
        only_seeks: OnlySeeks;
        /// Which new queues may join a burst.
        burst_of: BurstOf;
        /// Which queues preempt.
        preemption: Preemption;
        /// Whether a spent budget is kept.
        kept_budget: KeptBudget;
        /// Whether a single queue needs idling.
        lone: Lone;
        /// For which queues idling protects a share.
        protected: Protected;
        /// When queues do not compete as equals.
        asymmetry: Asymmetry;
        /// When write-back costs more.
        write_back_cost: WriteBackCost;
        /// What is injected.
        injection: InjectionRule;
        /// Which arrivals are measured.
        measurable: Measurable;
        /// When a small request ends the wait.
        small_request: SmallRequest;
        /// When a queue is I/O-bound.
        io_bound: IoBound;
        /// Which think times are measured.
        think_of: ThinkOf;
        /// Which think times are short.
        short_think: ShortThink;
        /// What shows that a device queues.
        queueing: Queueing;
        /// Which requests count as sequential.
        sequential: Sequential;
        /// To what a budget is adapted.
        fitted_budget: FittedBudget;
        /// Whether an empty preempted queue stays.
        empty_preempted: EmptyPreempted;
        /// What is near a slice that begins.
        slice_position: SlicePosition;
        /// Whether requests of different priorities merge.
        merge_priorities: MergePriorities;
    }
    also [HZ]
}

const HZ: Mechanism = hz_without_300("the kernel's ticks per second (CONFIG_HZ)");
