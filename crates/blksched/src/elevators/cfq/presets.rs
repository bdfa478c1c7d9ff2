//! Which era has what: the rows of the table.

use super::groups::Grouping;
use super::mechanisms::{MECHANISMS, chosen};
use super::state::Cfq;
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
                ("cooperation", "jump"),
                ("seeks", "per_process"),
                ("first_seek", "none"),
                ("async_depth", "unlimited"),
                ("trees", "single"),
                ("residual", "added"),
                ("idling", "unless_seeky"),
                ("preempt", "close"),
                ("depth", "quantum"),
                ("next", "kept"),
                ("fifo", "since_made"),
                ("ncq", "recurring"),
                ("while_idling", "mark_after_run"),
                ("clock", "jiffies"),
                ("think", "per_process"),
                ("alias", "forced"),
                ("write_back", "moves"),
                ("boost", "off"),
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
                ("cooperation", "jump"),
                ("seeks", "per_process"),
                ("first_seek", "none"),
                ("async_depth", "since_last_sync"),
                ("trees", "single"),
                ("residual", "subtracted"),
                ("idling", "seeky_shortly"),
                ("preempt", "close_once"),
                ("depth", "drain"),
                ("next", "from_disk"),
                ("fifo", "since_inserted"),
                ("ncq", "recurring"),
                ("while_idling", "mark_after_run"),
                ("clock", "jiffies"),
                ("think", "per_process"),
                ("alias", "forced"),
                ("write_back", "moves"),
                ("boost", "off"),
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
                ("cooperation", "merge_split"),
                ("seeks", "per_queue"),
                ("first_seek", "none"),
                ("async_depth", "since_delayed_sync"),
                ("trees", "by_workload"),
                ("residual", "subtracted"),
                ("idling", "unless_shallow"),
                ("preempt", "class_first"),
                ("depth", "drain_or_alone"),
                ("next", "from_taken"),
                ("fifo", "since_inserted"),
                ("ncq", "until_yes"),
                ("while_idling", "mark_or_run"),
                ("clock", "jiffies"),
                ("think", "per_process"),
                ("alias", "forced"),
                ("write_back", "moves"),
                ("boost", "off"),
                ("groups", "off"),
                ("charge", "time"),
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
                ("cooperation", "merge_split"),
                ("seeks", "history"),
                ("async_depth", "since_delayed_sync"),
                ("trees", "in_groups"),
                ("residual", "whole"),
                ("idling", "tree_thinks"),
                ("preempt", "same_group"),
                ("depth", "while_slice_lasts"),
                ("next", "from_taken"),
                ("fifo", "past_limits"),
                ("ncq", "until_yes"),
                ("while_idling", "mark_or_run"),
                ("clock", "nanoseconds"),
                ("think", "three_levels"),
                ("alias", "behind"),
                ("write_back", "lags"),
                ("boost", "on"),
                ("groups", "off"),
                ("charge", "requests"),
                ("hz", "250"),
            ],
            plugging: Plugging::LINUX_3,
            slots: Slots::LINUX_2_6,
            max_sectors: 2560,
        },
    ],
    home: Home::Mainline,
    mechanisms: MECHANISMS,
    knobs: CfqTunables::KNOBS,
    bound,
    build: |choice: &Choice| {
        let rules = chosen(choice);
        let mut knobs = CfqTunables::defaults(choice.kernel(), choice.hz());
        if rules.groups == Grouping::Off {
            knobs.group_idle = Span::ZERO;
        }
        Box::new(Cfq::new(knobs, rules, choice.hz()))
    },
};

/// Turns come round in time, not in requests; and classes are absolute.
fn bound(_: &Choice) -> Bound {
    let none = Wait::None("the idle class waits for everybody else, and a queue's requests only for its turn");
    Bound { reads: none, writes: none }
}
