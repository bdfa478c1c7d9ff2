//! The preset of each kernel: the mechanisms that it has.

use alloc::boxed::Box;

use super::data::Bfq;
use super::rules::{
    AskedWhile, Asymmetry, BurstOf, Chains, Competition, Cooperators, EmptyPreempted, FittedBudget, Grouping,
    InjectionRule, IoBound, KeptBudget, LateMerge, Lone, Measurable, Moved, Newcomer, OnlySeeks, Preemption, Protected,
    Queueing, Raisable, Rules, SavedState, SeekySoft, Sequential, ShortThink, SlicePosition, SmallRequest, SoftStart,
    StableMerges, TagShares, ThinkOf, Wakers, WriteBackCost, WriteLimits,
};
use super::tunables::BfqTunables;
use crate::elevators::ioprio::MergePriorities;
use crate::elevators::tags::Tags;
use crate::entry::{Bound, Choice, Entry, Home, Preset, Wait};
use crate::kernel::{RHEL_8_3, V4_19, V5_10, V5_15, V6_1, V6_12, V6_18, V7_3};
use crate::mechanism::{Pair, differing};
use crate::queue::{Plugging, Slots};

/// The rows, newest first: each is that of a later kernel, and what was different before.
const ROW_6_12: [Pair; 38] = [
    Grouping::On.row(),
    Competition::TwoPending.row(),
    Newcomer::IsNew.row(),
    Tags::All.row(),
    WriteLimits::Tags.row(),
    TagShares::On.row(),
    AskedWhile::Queued.row(),
    Wakers::Window.row(),
    Chains::End.row(),
    LateMerge::CarriedOut.row(),
    Moved::ToThePlanned.row(),
    Cooperators::NotOnFlash.row(),
    StableMerges::On.row(),
    SavedState::All.row(),
    Raisable::DefaultWeight.row(),
    SoftStart::AndAtEnd.row(),
    SeekySoft::Returns.row(),
    OnlySeeks::AllSeeks.row(),
    BurstOf::AtRest.row(),
    Preemption::UnlessIdling.row(),
    KeptBudget::IfLeft.row(),
    Lone::Needed.row(),
    Protected::OfProcesses.row(),
    Asymmetry::ClassesAndWeights.row(),
    WriteBackCost::Symmetric.row(),
    InjectionRule::Measured.row(),
    Measurable::LoneRequest.row(),
    SmallRequest::NotFaster.row(),
    IoBound::Intensity.row(),
    ThinkOf::AfterIdling.row(),
    ShortThink::Half.row(),
    Queueing::MoreThanThree.row(),
    Sequential::NearOrLarge.row(),
    FittedBudget::AtLeastServed.row(),
    EmptyPreempted::Stays.row(),
    SlicePosition::Zero.row(),
    MergePriorities::Same.row(),
    ("hz", "250"),
];
const ROW_7_3: [Pair; 38] = differing(ROW_6_12, &[WriteLimits::AsyncDepth.row()]);
const ROW_6_1: [Pair; 38] =
    differing(ROW_6_12, &[Competition::Woken.row(), Newcomer::StartsAnew.row(), Tags::PerWord.row()]);
const ROW_5_15: [Pair; 38] =
    differing(ROW_6_1, &[AskedWhile::Busy.row(), Wakers::AnyTime.row(), Chains::OneStep.row(), TagShares::Off.row()]);
const ROW_5_10: [Pair; 38] = differing(
    ROW_5_15,
    &[
        AskedWhile::BusyOrInDevice.row(),
        Wakers::Off.row(),
        Chains::End.row(),
        Raisable::AnyWeight.row(),
        Preemption::Higher.row(),
        Lone::NotNeeded.row(),
        IoBound::InTime.row(),
        StableMerges::Off.row(),
        Measurable::EmptyQueue.row(),
        ThinkOf::AllRequests.row(),
        ShortThink::IdleTime.row(),
        SoftStart::NotInteractive.row(),
        SeekySoft::Ends.row(),
        SavedState::WithoutInjection.row(),
    ],
);
const ROW_RHEL_8_3: [Pair; 38] = differing(
    ROW_5_10,
    &[
        AskedWhile::Busy.row(),
        Chains::OneStep.row(),
        LateMerge::Dropped.row(),
        OnlySeeks::AnySeek.row(),
        SlicePosition::Last.row(),
    ],
);
const ROW_4_19: [Pair; 38] = differing(
    ROW_5_10,
    &[
        AskedWhile::Busy.row(),
        Chains::OneStep.row(),
        LateMerge::Dropped.row(),
        Moved::ToItsProcess.row(),
        Cooperators::AllDevices.row(),
        SavedState::WithoutWeight.row(),
        SoftStart::Always.row(),
        SeekySoft::Stays.row(),
        BurstOf::AllNew.row(),
        Preemption::Raised.row(),
        KeptBudget::EvenIfSpent.row(),
        Protected::OutsideBursts.row(),
        Asymmetry::Weights.row(),
        WriteBackCost::Always.row(),
        InjectionRule::BesideSeekers.row(),
        SmallRequest::OutOfTime.row(),
        Queueing::MoreThanFour.row(),
        Sequential::Near.row(),
        FittedBudget::Next.row(),
        EmptyPreempted::Leaves.row(),
        MergePriorities::Any.row(),
    ],
);

/// The preset of current kernels.
const LATEST: Preset = Preset {
    kernel: V6_18,
    source: "recordings of 6.18.2; decides as 6.12 in every recording of either",
    row: &ROW_6_12,
    plugging: Plugging::LINUX_6,
    slots: Slots::LINUX_6_12,
    max_sectors: 2560,
};

/// The surroundings of 6.1, which are assumed for earlier kernels, too.
const OLDER: Preset = Preset { slots: Slots::LINUX_6_1, ..LATEST };

/// BFQ in the catalogue.
pub const ENTRY: Entry = Entry {
    name: "bfq",
    summary: "a budget of sectors and a share of throughput per process, by weight; newly active ones go first",
    presets: &[
        Preset {
            kernel: RHEL_8_3,
            source: "recordings of 4.18.0-240.el8 without groups (those are 6.1's): RHEL 8.3, nearly 5.10",
            row: &ROW_RHEL_8_3,
            ..OLDER
        },
        Preset {
            kernel: V4_19,
            source: "recordings of 4.19.222 without groups (those are 6.1's)",
            row: &ROW_4_19,
            ..OLDER
        },
        Preset {
            kernel: V5_10,
            source: "recordings of 5.10.262 without groups (those are 6.1's)",
            row: &ROW_5_10,
            ..OLDER
        },
        Preset {
            kernel: V5_15,
            source: "recordings of 5.15.167 without groups (those are 6.1's)",
            row: &ROW_5_15,
            ..OLDER
        },
        Preset { kernel: V6_1, source: "recordings of 6.1.192, with groups and without", row: &ROW_6_1, ..OLDER },
        Preset {
            kernel: V6_12,
            source: "recordings of 6.12.117, with groups and without; disks with several actuators differ (README)",
            ..LATEST
        },
        LATEST,
        Preset {
            kernel: V7_3,
            source: "recordings of 7.3.4; decides as 6.18, but limits writes by async_depth, an attribute of the queue",
            row: &ROW_7_3,
            ..LATEST
        },
    ],
    home: Home::Mainline,
    mechanisms: Rules::TABLE,
    knobs: BfqTunables::KNOBS,
    bound,
    build: |choice: &Choice| {
        let knobs = BfqTunables::defaults(choice.kernel(), choice.hz());
        Box::new(Bfq::new(knobs, Rules::of(choice), choice.hz()))
    },
};

/// No bound in requests: slices are measured in service, and the real-time class is strict.
fn bound(_: &Choice) -> Bound {
    let none = Wait::None("the real-time class goes before everybody else, as long as it has requests");
    Bound { reads: none, writes: none }
}
