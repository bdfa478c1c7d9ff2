//! The system calls that a process's I/O takes, as far as their processor time differs.

/// How a process calls the kernel for its I/O, and how much it does for several at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallWay {
    /// Its interface.
    pub interface: CallInterface,
    /// Its files are registered with the kernel (io_uring's `registerfiles`).
    pub registered_files: bool,
    /// Its memory is registered with the kernel (io_uring's `fixedbufs`).
    pub fixed_buffers: bool,
    /// It polls the drive for completions, which then does not interrupt (io_uring's `hipri`, IOPOLL).
    pub polls: bool,
    /// A thread of the kernel submits for it (io_uring's `sqthread_poll`, SQPOLL).
    pub has_thread: bool,
    /// The processor of that thread, from 0; by itself it takes any but, if there are several, the process's own.
    pub thread_cpu: Option<u32>,
}

/// A kernel's interface for I/O.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallInterface {
    /// `io_submit` and `io_getevents`, and whatever is not one of the others: what costs were first measured with.
    #[default]
    Aio,
    /// A ring in memory that is shared with the kernel.
    Uring,
    /// A call for each I/O, which returns when it is done: `pread`, `pwrite`.
    Sync,
}
