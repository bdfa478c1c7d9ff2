//! A queue's idle window: whether the disk is left idle for it when it runs empty.
//!
//! **Rule** A queue's window is judged at each of its insertions (`decide/idle_window.rs`). A queue that had four
//! requests queued at once is deep: since 2.6.33 the disk idles for it even if it seeks.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c5 and #c33.4.
//! **In the kernel** `cfq_mark_cfqq_idle_window`, `cfq_mark_cfqq_deep`.

use crate::request::Waiter;

/// Whether the disk is left idle for a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WindowState {
    Open,
    Closed,
}

/// Whether a queue has had many requests queued at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueDepth {
    Shallow,
    /// Four or more.
    Deep,
}

/// A queue's idle window, and its depth.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdleWindow {
    window: WindowState,
    depth: QueueDepth,
}

impl IdleWindow {
    pub(crate) fn new(waiter: Waiter) -> IdleWindow {
        let window = if waiter == Waiter::Sync { WindowState::Open } else { WindowState::Closed };
        IdleWindow { window, depth: QueueDepth::Shallow }
    }

    pub(crate) fn of(window: WindowState, depth: QueueDepth) -> IdleWindow {
        IdleWindow { window, depth }
    }

    #[inline]
    pub(crate) fn state(self) -> WindowState {
        self.window
    }

    #[inline]
    pub(crate) fn depth(self) -> QueueDepth {
        self.depth
    }

    /// It is neither deep nor worth idling for.
    pub(crate) fn give_up(&mut self) {
        *self = IdleWindow { window: WindowState::Closed, depth: QueueDepth::Shallow };
    }

    /// It no longer counts as deep.
    pub(crate) fn become_shallow(&mut self) {
        self.depth = QueueDepth::Shallow;
    }

    #[inline]
    pub(crate) fn is_open(self) -> bool {
        self.window == WindowState::Open
    }

    pub(crate) fn close(&mut self) {
        self.window = WindowState::Closed;
    }
}
