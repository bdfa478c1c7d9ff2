//! The parts of io_uring and of shared memory that the ublk driver needs: its commands are sent as IORING_OP_URING_CMD,
//! and the descriptions of requests are in mapped pages. One of three files with `unsafe` code.
//!
//! Why it is sound: memory whose addresses the kernel is given (an inbox, data to be sent, a control command's buffer)
//! is on the heap and owned here until its completion has arrived; a ring that is dropped before that leaks it.
//! Commands of tags carry no addresses: their data is read and written at the character device. The mapped pages are
//! only read, byte by byte, and unmapped when nothing here can read them any more.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::abi::{self, DESCRIPTION, Tell};

/// How much is received at once \[bytes\].
const INBOX: usize = 256 << 10;
/// Tokens of operations; tags are below.
const RECEIVE: u64 = 1 << 32;
const SEND: u64 = RECEIVE + 1;

/// A ring for commands of the control device, one at a time.
pub struct ControlRing {
    ring: IoUring<squeue::Entry128>,
    device: OwnedFd,
    asked: u64,
}

impl ControlRing {
    /// A ring for the control device.
    ///
    /// # Errors
    /// If there is no io_uring, or none with long entries (Linux 5.19).
    pub fn new(device: OwnedFd) -> io::Result<ControlRing> {
        Ok(ControlRing { ring: IoUring::builder().build(4)?, device, asked: 0 })
    }

    /// Executes a command; its buffer contains the data sent, and then the data received.
    ///
    /// # Errors
    /// The driver's error, or ETIME if it has not answered in this time.
    pub fn ask(
        &mut self,
        what: abi::Control,
        device: u32,
        said: &[u8],
        data: u64,
        by: Duration,
    ) -> io::Result<Vec<u8>> {
        let mut buffer = said.to_vec().into_boxed_slice();
        let address = if buffer.is_empty() { 0 } else { buffer.as_mut_ptr() as u64 };
        let mut command = [0; 80];
        command[..abi::CONTROL].copy_from_slice(&what.bytes(device, (address, buffer.len() as u16), data));
        self.asked += 1;
        let entry = opcode::UringCmd80::new(Fd(self.device.as_raw_fd()), what.number()).cmd(command);
        let entry = entry.build().user_data(self.asked);
        // SAFETY: the command names `buffer`, which stays until the completion has come, or for ever.
        unsafe { self.ring.submission().push(&entry) }.map_err(|_| io::Error::from_raw_os_error(libc::EBUSY))?;
        let until = Instant::now() + by;
        loop {
            let left = Timespec::from(until.saturating_duration_since(Instant::now()));
            let waited = self.ring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&left));
            if let Some(ended) = self.ring.completion().find(|ended| ended.user_data() == self.asked) {
                return match ended.result() {
                    result if result < 0 => Err(io::Error::from_raw_os_error(-result)),
                    _ => Ok(buffer.into_vec()),
                };
            }
            match waited {
                Err(error) if !matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY)) => {
                    std::mem::forget(buffer);
                    return Err(error);
                }
                _ => {}
            }
        }
    }
}

/// A completed operation.
#[derive(Debug, PartialEq, Eq)]
pub enum Ended {
    /// This tag carries a request, or never will again.
    Tag(u16, Result<(), i32>),
    /// This much is in the inbox.
    Received(Result<usize, i32>),
    /// This much was sent.
    Sent(Result<usize, i32>),
}

/// One queue's ring: its tags, and one socket.
pub struct QueueRing {
    ring: IoUring,
    device: Arc<OwnedFd>,
    queue: u16,
    descriptions: Descriptions,
    inbox: Box<[u8]>,
    receiving: bool,
    /// What is being sent, and from which offset.
    sending: Option<(Vec<u8>, usize)>,
}

impl QueueRing {
    /// A ring for a queue with this many tags. It belongs to the thread that creates it.
    ///
    /// # Errors
    /// If there can be none.
    pub fn new(device: Arc<OwnedFd>, queue: u16, depth: u16) -> io::Result<QueueRing> {
        let mut builder = IoUring::builder();
        builder.setup_single_issuer().setup_coop_taskrun();
        let ring = builder.build(u32::from(depth) + 2)?;
        let descriptions = Descriptions::map(&device, queue, depth)?;
        let inbox = vec![0; INBOX].into_boxed_slice();
        Ok(QueueRing { ring, device, queue, descriptions, inbox, receiving: false, sending: None })
    }

    /// Sends the driver a message about a tag.
    pub fn tell(&mut self, what: Tell, tag: u16, result: i32) {
        let command = abi::of_tag(self.queue, tag, result);
        let entry = opcode::UringCmd16::new(Fd(self.device.as_raw_fd()), what.number()).cmd(command);
        self.push(&entry.build().user_data(u64::from(tag)));
    }

    /// Receives what arrives; one receive at a time.
    pub fn receive(&mut self, socket: &OwnedFd) {
        assert!(!std::mem::replace(&mut self.receiving, true), "one at a time");
        let (start, length) = (self.inbox.as_mut_ptr(), self.inbox.len() as u32);
        let entry = opcode::Recv::new(Fd(socket.as_raw_fd()), start, length);
        self.push(&entry.build().user_data(RECEIVE));
    }

    /// Sends this from this offset on; one send at a time.
    pub fn send(&mut self, socket: &OwnedFd, what: Vec<u8>, from: usize) {
        assert!(self.sending.is_none(), "one at a time");
        let (what, from) = self.sending.insert((what, from));
        let rest = &what[*from..];
        let entry = opcode::Send::new(Fd(socket.as_raw_fd()), rest.as_ptr(), rest.len() as u32);
        let entry = entry.flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL).build().user_data(SEND);
        self.push(&entry);
    }

    /// What was sent last, and from which offset.
    pub fn sent(&mut self) -> Option<(Vec<u8>, usize)> {
        self.sending.take()
    }

    /// Whether a socket is waited for.
    pub fn is_busy(&self) -> bool {
        self.receiving || self.sending.is_some()
    }

    /// Whether something is being sent.
    pub fn is_sending(&self) -> bool {
        self.sending.is_some()
    }

    /// The inbox with received data; it must be [given back](QueueRing::give_inbox) before more is received.
    pub fn take_inbox(&mut self) -> Box<[u8]> {
        assert!(!self.receiving, "the kernel writes there");
        std::mem::take(&mut self.inbox)
    }

    /// It has been read.
    pub fn give_inbox(&mut self, inbox: Box<[u8]>) {
        self.inbox = inbox;
    }

    /// A tag's request.
    pub fn description(&self, tag: u16) -> [u8; DESCRIPTION] {
        self.descriptions.read(tag)
    }

    /// Submits entries without waiting.
    ///
    /// # Errors
    /// If the ring has failed.
    pub fn submit(&mut self) -> io::Result<()> {
        self.ring.submit().map(drop)
    }

    /// Waits until something completes.
    ///
    /// # Errors
    /// If the ring has failed.
    pub fn wait(&mut self, ended: &mut Vec<Ended>) -> io::Result<()> {
        let waited = self.ring.submit_and_wait(1);
        for completion in self.ring.completion() {
            let result = completion.result();
            let count = if result < 0 { Err(-result) } else { Ok(result as usize) };
            ended.push(match completion.user_data() {
                RECEIVE => {
                    self.receiving = false;
                    Ended::Received(count)
                }
                SEND => Ended::Sent(count),
                tag => Ended::Tag(tag as u16, count.map(drop)),
            });
        }
        match waited {
            Ok(_) => Ok(()),
            Err(error) if matches!(error.raw_os_error(), Some(libc::EINTR | libc::EBUSY | libc::EAGAIN)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn push(&mut self, entry: &squeue::Entry) {
        // SAFETY: what the entry points to is `inbox` or in `sending`, which stay until its completion has come.
        while unsafe { self.ring.submission().push(entry) }.is_err() {
            if self.ring.submit().is_err() {
                std::thread::yield_now();
            }
        }
    }
}

impl Drop for QueueRing {
    fn drop(&mut self) {
        if self.receiving {
            std::mem::forget(std::mem::take(&mut self.inbox));
        }
        std::mem::forget(self.sending.take());
    }
}

/// The pages where the driver describes a queue's requests.
struct Descriptions {
    start: *const u8,
    length: usize,
}

impl Descriptions {
    fn map(device: &OwnedFd, queue: u16, depth: u16) -> io::Result<Descriptions> {
        let (at, length) = abi::descriptions(queue, depth, rustix::param::page_size());
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: the kernel chooses where; nothing else of this process is there.
        let start = unsafe { mmap(std::ptr::null_mut(), length, ProtFlags::READ, flags, device, at) }?;
        Ok(Descriptions { start: start.cast(), length })
    }

    fn read(&self, tag: u16) -> [u8; DESCRIPTION] {
        let at = usize::from(tag) * DESCRIPTION;
        assert!(at + DESCRIPTION <= self.length, "there is such a tag");
        // SAFETY: the bytes are within the mapping. The driver has written them before it gave the tag to us, and does
        // not until it has it back; were it otherwise, they would be other bytes, each of which is some request.
        std::array::from_fn(|nth| unsafe { self.start.add(at + nth).read_volatile() })
    }
}

impl Drop for Descriptions {
    fn drop(&mut self) {
        // SAFETY: it is our mapping, and `self` was the only way to it.
        let _ = unsafe { munmap(self.start.cast_mut().cast(), self.length) };
    }
}
