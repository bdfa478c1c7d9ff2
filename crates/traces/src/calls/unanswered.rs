//! The calls of a log that can always be repeated and whose answers the caller does not need.

use crate::call_log::Call;
use blksched::{Group, GroupId, Instant, Listener, SubmitterId};

use super::LoggedQueue;

/// Makes such a call.
///
/// # Panics
/// If it is a call with arguments or answers to handle, which the caller must make.
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
