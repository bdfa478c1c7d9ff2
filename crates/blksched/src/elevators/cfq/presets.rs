//! The preset of each kernel: the mechanisms that it has.

use alloc::boxed::Box;

use super::data::Cfq;
use super::rules::{
    Alias, AsyncDepth, Boost, Charge, Clock, CooperationRule, Depth, Fifo, FirstSeek, Grouping, Idling, Mechanisms,
    Ncq, NextRequest, Preemption, Residual, Seeks, Think, Trees, WhileIdling, WriteBack,
};
use super::tunables::{CfqTunables, V2_6_31, V2_6_32, V2_6_33, V4_20};
use crate::entry::{Bound, Choice, Entry, Home, Preset, Wait};
use crate::queue::{Plugging, Slots};
use crate::time::Span;

/// CFQ in the catalogue.
pub const ENTRY: Entry = Entry {
    name: "cfq",
    summary: "a queue and a share of the disk's time per process, by priority; idles for sequential readers",
    presets: &[
        Preset {
            kernel: V2_6_31,
            source: "recordings of 2.6.31; `fairness` is the patch of the mail of 2009-09-03",
            row: &[
                CooperationRule::Jump.row(),
                Seeks::PerProcess.row(),
                FirstSeek::None.row(),
                AsyncDepth::Unlimited.row(),
                Trees::Single.row(),
                Residual::Added.row(),
                Idling::UnlessSeeky.row(),
                Preemption::Close.row(),
                Depth::Quantum.row(),
                NextRequest::Kept.row(),
                Fifo::SinceMade.row(),
                Ncq::Recurring.row(),
                WhileIdling::MarkAfterRun.row(),
                Clock::Jiffies.row(),
                Think::PerProcess.row(),
                Alias::Forced.row(),
                WriteBack::Moves.row(),
                Boost::Off.row(),
                ("hz", "1000"),
            ],
            plugging: Plugging::LINUX_2_6,
            slots: Slots::LINUX_2_6,
            max_sectors: 1024,
        },
        Preset {
            kernel: V2_6_32,
            source: "recordings of 2.6.32, and of it with the patch of the mail of 2009-11-26 (async_depth)",
            row: &[
                CooperationRule::Jump.row(),
                Seeks::PerProcess.row(),
                FirstSeek::None.row(),
                AsyncDepth::SinceLastSync.row(),
                Trees::Single.row(),
                Residual::Subtracted.row(),
                Idling::SeekyShortly.row(),
                Preemption::CloseOnce.row(),
                Depth::Drain.row(),
                NextRequest::FromDisk.row(),
                Fifo::SinceInserted.row(),
                Ncq::Recurring.row(),
                WhileIdling::MarkAfterRun.row(),
                Clock::Jiffies.row(),
                Think::PerProcess.row(),
                Alias::Forced.row(),
                WriteBack::Moves.row(),
                Boost::Off.row(),
                ("hz", "1000"),
            ],
            plugging: Plugging::LINUX_2_6,
            slots: Slots::LINUX_2_6,
            max_sectors: 1024,
        },
        Preset {
            kernel: V2_6_33,
            source: "recordings of 2.6.33.7; merged queues are the mail of 2009-10-23",
            row: &[
                CooperationRule::MergeSplit.row(),
                Seeks::PerQueue.row(),
                FirstSeek::None.row(),
                AsyncDepth::SinceDelayedSync.row(),
                Trees::ByWorkload.row(),
                Residual::Subtracted.row(),
                Idling::UnlessSeekyAndShallow.row(),
                Preemption::ClassFirst.row(),
                Depth::DrainOrAlone.row(),
                NextRequest::FromTaken.row(),
                Fifo::SinceInserted.row(),
                Ncq::UntilYes.row(),
                WhileIdling::MarkOrRun.row(),
                Clock::Jiffies.row(),
                Think::PerProcess.row(),
                Alias::Forced.row(),
                WriteBack::Moves.row(),
                Boost::Off.row(),
                Grouping::Off.row(),
                Charge::Time.row(),
                ("hz", "1000"),
            ],
            plugging: Plugging::LINUX_2_6,
            slots: Slots::LINUX_2_6,
            max_sectors: 1024,
        },
        Preset {
            kernel: V4_20,
            source: "recordings of 4.20, without and with group scheduling (+groups); 4.19 decides alike",
            row: &[
                CooperationRule::MergeSplit.row(),
                Seeks::History.row(),
                AsyncDepth::SinceDelayedSync.row(),
                Trees::InGroups.row(),
                Residual::Whole.row(),
                Idling::TreeThinks.row(),
                Preemption::SameGroup.row(),
                Depth::WhileSliceLasts.row(),
                NextRequest::FromTaken.row(),
                Fifo::PastLimits.row(),
                Ncq::UntilYes.row(),
                WhileIdling::MarkOrRun.row(),
                Clock::Nanoseconds.row(),
                Think::ThreeLevels.row(),
                Alias::Behind.row(),
                WriteBack::LagsBehind.row(),
                Boost::On.row(),
                Grouping::Off.row(),
                Charge::RequestsWithoutIdling.row(),
                ("hz", "250"),
            ],
            plugging: Plugging::LINUX_3,
            slots: Slots::LINUX_2_6,
            max_sectors: 2560,
        },
    ],
    home: Home::Mainline,
    mechanisms: Mechanisms::TABLE,
    knobs: CfqTunables::KNOBS,
    bound,
    build: |choice: &Choice| {
        let rules = Mechanisms::of(choice);
        let mut knobs = CfqTunables::defaults(choice.kernel(), choice.hz());
        if rules.groups == Grouping::Off {
            knobs.group_idle = Span::ZERO;
        }
        Box::new(Cfq::new(knobs, rules, choice.hz()))
    },
};

/// No bound in requests: slices are measured in time, and classes are strict.
fn bound(_: &Choice) -> Bound {
    let none = Wait::None("the idle class waits for everybody else, and a queue's requests only for its slice");
    Bound { reads: none, writes: none }
}
