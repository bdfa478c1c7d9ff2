//! **What for**: dm-crypt's work: when a bio's data has been encrypted or decrypted, and who sends writes on.
//!
//! **Rule**: by default each bio is work for an unbound workqueue of as many workers as the host has processors;
//! encrypted writes go to one thread, which sends those that wait in the order of their sectors, so that the scheduler
//! sees one process instead of many. `no_read_workqueue` and `no_write_workqueue` do the work at once where the bio
//! is: one bio after the other of the same process; such writes are sent on by their own process, unsorted. Being woken
//! costs a worker and the thread `hop`, unless it is at work already. Without `allow_discards` there are no discards:
//! they fail. Reads and writes are cut at `max_read_size` and `max_write_size`.
//! **Origin** `admin-guide/device-mapper/dm-crypt.rst` (`same_cpu_crypt`, `submit_from_crypt_cpus`,
//! `no_read_workqueue`, `no_write_workqueue`, `allow_discards`, `max_read_size`, `max_write_size`: recorded,
//! too), and the message of commit 39d42fa96ba1.
//! Where a host's processors do the work, `hosted.rs` says who does it and when; here it takes its time beside them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use blksched::{Instant, Op, Span, SubmitterId};

use super::takes;

/// What dm-crypt does with each bio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CryptSpec {
    /// The speed of encryption on one processor \[MiB/s\].
    pub encrypts: u64,
    /// The speed of decryption on one processor \[MiB/s\].
    pub decrypts: u64,
    /// Reads are work for the workqueue.
    pub read_workqueue: bool,
    /// Writes are work for the workqueue and its thread.
    pub write_workqueue: bool,
    /// How long a worker or the thread takes until it runs.
    pub hop: Span,
    /// A longer read is cut \[512-byte sectors\].
    pub most_read: u32,
    /// A longer write is.
    pub most_written: u32,
    /// Discards pass; otherwise they fail, as the device says that it has none.
    pub allow_discards: bool,
}

impl Default for CryptSpec {
    /// aes-xts with a key of 512 bits, LUKS2's default, of `cryptsetup benchmark` on one machine of 2017
    /// (<https://gist.github.com/ceremcem/3736cb684291df9c333539ce164ec1fd>): 1494.2 and 1486.1 MiB/s. `hop` is from
    /// Cloudflare's report of 2020 (<https://blog.cloudflare.com/speeding-up-linux-disk-encryption/>): on a RAM disk an
    /// I/O, half of them writes, takes 13.24 µs, and 11.77 µs without the thread; so the thread costs a write 2.9 µs.
    fn default() -> CryptSpec {
        CryptSpec {
            encrypts: 1494,
            decrypts: 1486,
            read_workqueue: true,
            write_workqueue: true,
            hop: Span::from_us(3),
            most_read: USUALLY_CUT,
            most_written: USUALLY_CUT,
            allow_discards: false,
        }
    }
}

/// `max_read_size` and `max_write_size`, dm-crypt's parameters since 6.12: 128 KiB \[512-byte sectors\].
const USUALLY_CUT: u32 = 256;

/// A bio with the volume: its number there.
pub(super) type Slot = u32;

/// What the work is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CryptWork {
    Encrypt,
    Decrypt,
}

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CryptDone {
    /// The bio's data has been worked on, where it is.
    Worked(Slot),
    /// The thread sends this write on.
    Sent(Slot),
}

/// Work that a worker does, or that is done where the bio is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct UnderWork {
    ends: Instant,
    order: u64,
    slot: Slot,
    by_worker: bool,
    to_thread: bool,
}

/// dm-crypt at work.
#[derive(Clone, Debug)]
pub(super) struct CryptQueues {
    spec: CryptSpec,
    workers: u32,
    at_work: u32,
    waiting: VecDeque<(Slot, Span, bool)>,
    under_work: BinaryHeap<Reverse<UnderWork>>,
    /// Until when each process is busy with what it does itself.
    busy: BTreeMap<SubmitterId, Instant>,
    /// Encrypted writes, by their sectors, and when the thread comes for them.
    sorted: BTreeMap<(u64, u64), Slot>,
    thread_comes: Option<Instant>,
    order: u64,
}

impl CryptQueues {
    pub(super) fn new(spec: CryptSpec, processors: u32) -> CryptQueues {
        CryptQueues {
            spec,
            workers: processors.max(1),
            at_work: 0,
            waiting: VecDeque::new(),
            under_work: BinaryHeap::new(),
            busy: BTreeMap::new(),
            sorted: BTreeMap::new(),
            thread_comes: None,
            order: 0,
        }
    }

    pub(super) fn spec(&self) -> &CryptSpec {
        &self.spec
    }

    /// The longest bio of this kind \[512-byte sectors\].
    pub(super) fn most(&self, op: Op) -> u32 {
        match op {
            Op::Read => self.spec.most_read,
            Op::Write => self.spec.most_written,
            _ => u32::MAX,
        }
    }

    /// The data of a bio of so many sectors is to be worked on.
    pub(super) fn work(&mut self, now: Instant, slot: Slot, by: SubmitterId, work: CryptWork, sectors: u32) {
        let (speed, queued) = match work {
            CryptWork::Encrypt => (self.spec.encrypts, self.spec.write_workqueue),
            CryptWork::Decrypt => (self.spec.decrypts, self.spec.read_workqueue),
        };
        let takes = takes(speed, sectors);
        let to_thread = work == CryptWork::Encrypt && queued;
        if !queued {
            let busy = self.busy.entry(by).or_insert(Instant::ZERO);
            *busy = (*busy).max(now) + takes;
            let ends = *busy;
            return self.begin(ends, slot, false, to_thread);
        }
        if self.at_work < self.workers {
            self.at_work += 1;
            self.begin(now + self.spec.hop + takes, slot, true, to_thread);
        } else {
            self.waiting.push_back((slot, takes, to_thread));
        }
    }

    fn begin(&mut self, ends: Instant, slot: Slot, by_worker: bool, to_thread: bool) {
        self.order += 1;
        self.under_work.push(Reverse(UnderWork { ends, order: self.order, slot, by_worker, to_thread }));
    }

    /// When anything is due next.
    pub(super) fn next(&self) -> Option<Instant> {
        let worked = self.under_work.peek().map(|Reverse(first)| first.ends);
        worked.into_iter().chain(self.thread_comes).min()
    }

    /// Does what is due; `sector` is where a bio begins.
    pub(super) fn elapse(&mut self, now: Instant, sector: impl Fn(Slot) -> u64, done: &mut Vec<CryptDone>) {
        while let Some(Reverse(first)) = self.under_work.peek().copied().filter(|Reverse(first)| first.ends <= now) {
            self.under_work.pop();
            if first.by_worker {
                self.next_of_worker(first.ends);
            }
            if first.to_thread {
                self.order += 1;
                self.sorted.insert((sector(first.slot), self.order), first.slot);
                self.thread_comes = self.thread_comes.or(Some(first.ends + self.spec.hop));
            } else {
                done.push(CryptDone::Worked(first.slot));
            }
        }
        if self.thread_comes.is_some_and(|comes| comes <= now) {
            self.thread_comes = None;
            done.extend(core::mem::take(&mut self.sorted).into_values().map(CryptDone::Sent));
        }
    }

    fn next_of_worker(&mut self, now: Instant) {
        match self.waiting.pop_front() {
            Some((slot, takes, to_thread)) => self.begin(now + takes, slot, true, to_thread),
            None => self.at_work -= 1,
        }
    }
}
