//! blk-mq's dispatch list: requests that have left the elevator, or bypassed it, and wait for the device.
//!
//! **Rule** The list goes first; while it cannot be sent, the elevator is not asked. When the device is full, one more
//! request leaves the elevator and waits here, unmergeable ([`DispatchAhead::OneMore`]), unless the device's host
//! counts its requests (SCSI and so SATA). Flushes go to its head. A flush that cannot be queued in the drive waits
//! until the drive is empty and holds everything up behind it ([`FlushCommand::Alone`]).
//! **Origin** docs/behaviour/blk-mq-6.x.md#d2 to #d4, #f4 and #f5.
//! **In the kernel** `hctx`, `blk_mq_hw_ctx`, `blk_mq_dispatch_rq_list`, `blk_mq_sched_dispatch_requests`,
//! `blk_mq_request_bypass_insert`.

use crate::request::{Op, RequestId, Requests};
use alloc::collections::VecDeque;

/// Whether a request may leave the elevator although the device is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum DispatchAhead {
    /// No: a budget of the host is asked first (SCSI, SATA).
    #[default]
    Budget,
    /// One may: it finds no tag of the device and stays on the list (NVMe, virtio, loop).
    OneMore,
}

/// How a device executes a flush.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum FlushCommand {
    /// Among its other commands.
    #[default]
    Queued,
    /// Alone: everything before it must have completed, and nothing else begins (SATA).
    Alone,
}

/// The properties of a driver that affect the order of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Driver {
    /// Whether a request may leave the elevator although the device is full.
    pub ahead: DispatchAhead,
    /// How the device executes a flush.
    pub flush: FlushCommand,
}

/// Why a request is on the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum From {
    /// The elevator chose it.
    Elevator,
    /// It bypasses the elevator.
    Bypass,
}

/// Requests that wait for the device.
#[derive(Debug, Default)]
pub(super) struct DispatchList {
    waiting: VecDeque<(RequestId, From)>,
    flush_in_device: bool,
}

impl DispatchList {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether the list is empty and the device has no flush that must run alone.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && !self.flush_in_device
    }

    pub(super) fn front(&self) -> Option<RequestId> {
        self.waiting.front().map(|&(rq, _)| rq)
    }

    pub(super) fn pop_front(&mut self) -> Option<RequestId> {
        self.waiting.pop_front().map(|(rq, _)| rq)
    }

    pub(super) fn push_front(&mut self, rq: RequestId, from: From) {
        self.waiting.push_front((rq, from));
    }

    pub(super) fn push_back(&mut self, rq: RequestId, from: From) {
        self.waiting.push_back((rq, from));
    }

    /// The requests that came from the elevator.
    pub(super) fn of_elevator(&self) -> impl Iterator<Item = RequestId> + '_ {
        self.waiting.iter().filter(|(_, from)| *from == From::Elevator).map(|(rq, _)| *rq)
    }

    /// All requests except flushes.
    pub(super) fn data<'a>(&'a self, requests: &'a Requests) -> impl Iterator<Item = RequestId> + 'a {
        self.waiting.iter().map(|(rq, _)| *rq).filter(|&rq| requests[rq].op != Op::Flush)
    }

    /// Whether the device has a flush.
    pub(super) fn has_flush_out(&self) -> bool {
        self.flush_in_device
    }

    pub(super) fn flush_is_out(&mut self) {
        self.flush_in_device = true;
    }

    pub(super) fn flush_is_back(&mut self) {
        self.flush_in_device = false;
    }
}
