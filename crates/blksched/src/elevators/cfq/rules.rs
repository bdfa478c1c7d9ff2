//! The differences between the eras of CFQ, with the kernel or mail from which each variant comes; each is described
//! once, and can be switched separately.
//!
//! The documentation of each is what `blksched list cfq` prints. The effect of each variant is described where it is
//! applied: `decide/` and `steps/`.

use crate::elevators::hz::hz_without_300;
use crate::entry::Mechanism;
use crate::mechanism;
use crate::mechanism::mechanisms;

mechanism! {
    /// what happens to a queue that continues close to where the active one stopped
    pub enum CooperationRule = "cooperation" {
        /// none is searched for
        None = "none",
        /// it is served next, once: 2.6.31, 2.6.32
        Jump = "jump",
        /// the queues are merged until they seek: 2.6.33 (mail of 2009-10-23)
        MergeSplit = "merge_split",
    }
}

mechanism! {
    /// how a queue is judged to be seeky
    pub enum Seeks = "seeks" {
        /// each process's mean distance, with its write-back: 2.6.31, 2.6.32
        PerProcess = "per_process",
        /// each queue's mean distance: 2.6.33
        PerQueue = "per_queue",
        /// each queue's last 32 requests, one bit each: 4.20
        History = "history",
    }
}

mechanism! {
    /// whether a process's or queue's first request is a seek, where mean distances decide
    pub enum FirstSeek = "first_seek" {
        /// it is not: 2.6.31 to 2.6.33
        None = "none",
        /// it is, from sector 0: before the fix of 2009 (MEMORY; not recorded)
        FromZero = "from_zero",
    }
}

mechanism! {
    /// how much write-back may be in flight with `low_latency`
    pub enum AsyncDepth = "async_depth" {
        /// as much as `quantum` allows: 2.6.31
        Unlimited = "unlimited",
        /// one per slice_sync since a sync request ended: 2.6.32
        SinceLastSync = "since_last_sync",
        /// one per slice_sync since a sync request ended late: 2.6.33
        SinceDelayedSync = "since_delayed_sync",
        /// that, times the rest of the slice: the patch of 2009-11-26
        RemainingSlice = "remaining_slice",
    }
}

mechanism! {
    /// how many service trees there are
    pub enum Trees = "trees" {
        /// one, by class: 2.6.31, 2.6.32
        Single = "single",
        /// one per class and kind of load, which share the time: 2.6.33
        ByWorkload = "by_workload",
        /// the same in each group, within target_latency: 4.20
        InGroups = "in_groups",
    }
}

mechanism! {
    /// what happens to the time left when a slice ends early
    pub enum Residual = "residual" {
        /// the queue waits longer, a wrong sign: 2.6.31
        Added = "added",
        /// the queue's next slice is due earlier: 2.6.32, 2.6.33
        Subtracted = "subtracted",
        /// also for a slice without a completion: 4.20
        Whole = "whole",
    }
}

mechanism! {
    /// for which queues the disk may idle
    pub enum Idling = "idling" {
        /// not for seeky queues if the disk has NCQ: 2.6.31
        UnlessSeeky = "unless_seeky",
        /// for seeky queues if their think time is at most 2 ms: 2.6.32
        SeekyShortly = "seeky_shortly",
        /// not for seeky queues, unless four requests are queued at once: 2.6.33
        UnlessSeekyAndShallow = "unless_shallow",
        /// nor for a service tree with a long think time; also for groups (group_idle): 4.20
        TreeThinks = "tree_thinks",
    }
}

mechanism! {
    /// which arrivals take the disk from the active queue
    pub enum Preemption = "preempt" {
        /// also a close request while the disk idles: 2.6.31
        Close = "close",
        /// a close request, once per cooperator: 2.6.32
        CloseOnce = "close_once",
        /// classes are compared first: 2.6.33
        ClassFirst = "class_first",
        /// only within a group; any arrival if the active queue is empty and not idled for: 4.20
        SameGroup = "same_group",
    }
}

mechanism! {
    /// how many requests of a queue may be in flight
    pub enum Depth = "depth" {
        /// quantum, or four times that while no other queue waits: 2.6.31
        Quantum = "quantum",
        /// write-back drains before a reader is served: 2.6.32
        Drain = "drain",
        /// as drain, without a limit while no other queue waits: 2.6.33
        DrainOrAlone = "drain_or_alone",
        /// half of quantum, all of it while the slice lasts; no limit for the only reader: 4.20
        WhileSliceLasts = "while_slice_lasts",
    }
}

mechanism! {
    /// from where the next request is chosen
    pub enum NextRequest = "next" {
        /// from the disk's position; age changes nothing: 2.6.31
        Kept = "kept",
        /// from the disk's position: 2.6.32
        FromDisk = "from_disk",
        /// from the request taken: 2.6.33
        FromTaken = "from_taken",
    }
}

mechanism! {
    /// from when a request's age counts
    pub enum Fifo = "fifo" {
        /// from its creation, by its queue's knob: 2.6.31
        SinceMade = "since_made",
        /// from its insertion, by its own knob: 2.6.32, 2.6.33
        SinceInserted = "since_inserted",
        /// the same, and an expired request bypasses all limits: 4.20
        PastLimits = "past_limits",
    }
}

mechanism! {
    /// how often it is decided whether the disk has NCQ
    pub enum Ncq = "ncq" {
        /// every 50 completions: 2.6.31, 2.6.32
        Recurring = "recurring",
        /// until it does: 2.6.33
        UntilYes = "until_yes",
    }
}

mechanism! {
    /// when a queue that was idled for is marked to survive the end of its slice
    pub enum WhileIdling = "while_idling" {
        /// always, even after its request was dispatched: 2.6.31, 2.6.32
        MarkAfterRun = "mark_after_run",
        /// only if its request is not dispatched at once: 2.6.33
        MarkOrRun = "mark_or_run",
    }
}

mechanism! {
    /// the unit of time
    pub enum Clock = "clock" {
        /// ticks of hz: 2.6.31 to 2.6.33
        Jiffies = "jiffies",
        /// nanoseconds; an idle-class queue's place no longer depends on the queue before it: 4.20
        Nanoseconds = "nanoseconds",
    }
}

mechanism! {
    /// what think times are averaged over
    pub enum Think = "think" {
        /// each process's requests, write-back included: 2.6.31 to 2.6.33
        PerProcess = "per_process",
        /// each process's, each service tree's and each group's: 4.20
        ThreeLevels = "three_levels",
    }
}

mechanism! {
    /// what happens to two requests of a queue with the same first sector
    pub enum Alias = "alias" {
        /// the older is forced out, bypassing all limits: 2.6.31 to 2.6.33
        Forced = "forced",
        /// the newer is queued behind it: 4.20
        Behind = "behind",
    }
}

mechanism! {
    /// which write-back queue a process uses when its priority changes
    pub enum WriteBack = "write_back" {
        /// that of the new level, or its present one if that level has none: 2.6.31 to 2.6.33
        Moves = "moves",
        /// that of its previous priority: 4.20
        LagsBehind = "lags",
    }
}

mechanism! {
    /// whether metadata raises its queue to best effort, level 4
    pub enum Boost = "boost" {
        /// it does not: 2.6.31 to 2.6.33
        Off = "off",
        /// until the process's next request: 4.20
        On = "on",
    }
}

mechanism! {
    /// whether groups share the disk by weight
    pub enum Grouping = "groups" {
        /// all processes are in one group: 4.20 without group scheduling
        Off = "off",
        /// by weight and virtual disk time: 4.20 with group scheduling; not recorded for 2.6.33
        On = "on",
    }
}

mechanism! {
    /// what groups are charged for
    pub enum Charge = "charge" {
        /// the time of their slices, on any disk
        Time = "time",
        /// requests, if the disk has NCQ and slice_idle is 0 (IOPS mode); otherwise time: 4.20
        RequestsWithoutIdling = "requests",
    }
}

mechanisms! {
    /// Everything that can be switched separately.
    pub struct Mechanisms {
        /// What happens to close cooperators.
        cooperation: CooperationRule;
        /// How a queue is judged to be seeky.
        seeks: Seeks;
        /// Whether a first request is a seek.
        first_seek: FirstSeek, or FirstSeek::None;
        /// How deep write-back may go.
        async_depth: AsyncDepth;
        /// How many service trees there are.
        trees: Trees;
        /// What happens to the time left when a slice ends early.
        residual: Residual;
        /// For which queues the disk may idle.
        idling: Idling;
        /// Which arrivals preempt.
        preemption: Preemption;
        /// How many requests of a queue may be in flight.
        depth: Depth;
        /// From where the next request is chosen.
        next_request: NextRequest;
        /// From when a request's age counts.
        fifo: Fifo;
        /// How often it is decided whether the disk queues.
        ncq: Ncq;
        /// When a queue that was idled for is marked.
        while_idling: WhileIdling;
        /// The unit in which time is counted.
        clock: Clock;
        /// What think times are averaged over.
        think: Think;
        /// What happens to requests with the same first sector.
        alias: Alias;
        /// What happens to write-back when a process's priority changes.
        write_back: WriteBack;
        /// Whether metadata can boost its queue.
        boost: Boost;
        /// Whether groups count.
        groups: Grouping, or Grouping::Off;
        /// What groups are charged for.
        charge: Charge, or Charge::Time;
    }
    also [HZ]
}

const HZ: Mechanism =
    hz_without_300("the kernel's ticks per second (CONFIG_HZ); at 100 its default slice_idle is 0 until 2.6.33");
