//! The differences between the eras of BFQ; each is described once, and can be switched separately.
//!
//! The documentation of each is what `blksched list bfq` prints.

use crate::elevators::hz::hz_without_300;
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
    }
    also [HZ]
}

const HZ: Mechanism = hz_without_300("the kernel's ticks per second (CONFIG_HZ)");
