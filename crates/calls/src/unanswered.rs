//! Calls of a log that can always be made again, and whose answers their caller does not need.

use blksched::{Group, GroupId, Instant, Listener, SubmitterId};
use blksched_traces::call_log::Call;

use crate::LoggedQueue;

/// Make such a call.
///
/// # Panics
/// If it is one of those that take or give something: the caller makes them.
pub fn make<L: Listener>(queue: &mut LoggedQueue<L>, now: Instant, call: &Call) {
    match call {
        Call::Waits { submitter } => queue.waits(now, SubmitterId(*submitter)),
        Call::Forget { submitter } => queue.forget(now, SubmitterId(*submitter)),
        Call::Set { knob, raw } => _ = queue.set(now, knob, *raw),
        Call::Group { id, parent, weight, leaf_weight } => {
            let group = Group { parent: GroupId(*parent), weight: *weight, leaf_weight: *leaf_weight };
            _ = queue.set_group(now, GroupId(*id), group);
        }
        Call::File { id, file, text } => _ = queue.write_group_file(now, GroupId(*id), file, text),
        Call::Ungroup { id } => _ = queue.remove_group(now, GroupId(*id)),
        Call::Elapse {} => queue.elapse(now),
        other => unreachable!("{other:?} is not made blindly"),
    }
}
