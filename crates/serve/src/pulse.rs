//! Whether a disk that is to end still does something: its thread tells of each of its turns, and the front end looks.
//!
//! **Rule** The end of the server waits for a disk while something comes back from it. It goes on without one from
//! which nothing has come back for [`SILENT`] although something is in it, and without one whose thread has not turned
//! for that long: it hangs in the kernel. A sync may take [`SYNCS`], but only on a block device or one of the kernel's
//! own file systems: a drive that writes its cache says nothing for seconds, and the kernel would keep the process for
//! as long anyway.
//!
//! **Cost of a mistake** Too early: clients do not get the answers to their last requests, and what was answered but
//! not flushed is not made stable at the end, as with SIGKILL. Too late: the restart of a server waits.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// How long nothing may come back from a disk that has something to do.
pub const SILENT: Duration = Duration::from_secs(1);
/// How long a sync may take on what is the kernel's own.
pub const SYNCS: Duration = Duration::from_secs(60);
/// A look that comes later than this was late itself, and the disk is not to blame for that time.
const LATE: Duration = Duration::from_millis(100);

/// What a disk's end waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Awaits {
    /// For nothing in the disk; perhaps for clients, or for the disk model.
    #[default]
    Clients,
    /// For operations in the disk.
    Operations,
    /// For one that makes data stable on a device or a file system of the kernel's own.
    Sync,
}

impl Awaits {
    /// All of them, by number.
    const ALL: [Awaits; 3] = [Awaits::Clients, Awaits::Operations, Awaits::Sync];

    fn limit(self) -> Duration {
        if self == Awaits::Sync { SYNCS } else { SILENT }
    }
}

/// What is known of a disk that is to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beat {
    /// How many turns its thread has made since it was told.
    pub turns: u64,
    /// How many operations have come back from the disk.
    pub back: u64,
    /// What it waits for.
    pub awaits: Awaits,
}

/// The last beat, written by the disk's thread.
#[derive(Debug, Default)]
pub struct Pulse {
    turns: AtomicU64,
    back: AtomicU64,
    awaits: AtomicU8,
}

impl Pulse {
    /// One more turn: so many operations have come back by now, and it waits for this.
    pub fn beat(&self, back: u64, awaits: Awaits) {
        self.back.store(back, Relaxed);
        self.awaits.store(awaits as u8, Relaxed);
        self.turns.fetch_add(1, Relaxed);
    }

    /// The last one.
    pub fn last(&self) -> Beat {
        let awaits = Awaits::ALL[usize::from(self.awaits.load(Relaxed))];
        Beat { turns: self.turns.load(Relaxed), back: self.back.load(Relaxed), awaits }
    }
}

/// Somebody who looks at a pulse.
pub struct Watch {
    last: Beat,
    looked: Instant,
    /// Since when the thread has not turned.
    thread: Instant,
    /// Since when the disk has had something, and nothing has come back.
    disk: Instant,
    /// The end of all patience.
    until: Instant,
}

impl Watch {
    /// Begins to look; not beyond `until`.
    pub fn new(now: Instant, until: Instant) -> Watch {
        Watch { last: Beat::default(), looked: now, thread: now, disk: now, until }
    }

    /// Whether it is not to be waited for any longer.
    pub fn gives_up(&mut self, now: Instant, beat: Beat) -> bool {
        let late = now.saturating_duration_since(self.looked + LATE);
        (self.thread, self.disk) = (self.thread + late, self.disk + late);
        if beat.turns != self.last.turns {
            self.thread = now;
        }
        if beat.back != self.last.back || beat.awaits == Awaits::Clients {
            self.disk = now;
        }
        (self.last, self.looked) = (beat, now);
        let silent = |since: Instant| now.saturating_duration_since(since) >= beat.awaits.limit();
        silent(self.thread) || silent(self.disk) || now >= self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After how many looks, one each 10 ms, it gives up; what it sees at a look is told by its number.
    fn looks(mut sees: impl FnMut(u64) -> Beat) -> u64 {
        let begin = Instant::now();
        let at = |look: u64| begin + Duration::from_millis(10 * look);
        let mut watch = Watch::new(begin, at(8000));
        (1..).find(|&look| watch.gives_up(at(look), sees(look))).unwrap()
    }

    #[test]
    fn a_disk_from_which_nothing_comes_back_is_waited_for_a_second() {
        let stuck = |look| Beat { turns: look, back: 5, awaits: Awaits::Operations };
        assert_eq!(looks(stuck), 101, "its first beat was news");
        // The last of ten comes back after half a second each.
        let slow = |look: u64| Beat { turns: look, back: (look / 50).min(10), awaits: Awaits::Operations };
        assert_eq!(looks(slow), 600);
    }

    #[test]
    fn a_thread_that_does_not_turn_is_waited_for_a_second_even_if_it_never_heard_that_it_shall_end() {
        assert_eq!(looks(|_| Beat::default()), 100);
        let hangs = |look: u64| Beat { turns: look.min(50), back: 0, awaits: Awaits::Clients };
        assert_eq!(looks(hangs), 150);
    }

    #[test]
    fn a_sync_of_the_kernels_own_may_take_a_minute_and_clients_may_take_their_time() {
        let syncs =
            |look: u64| Beat { turns: 1, back: 0, awaits: if look == 0 { Awaits::Clients } else { Awaits::Sync } };
        assert_eq!(looks(syncs), 6000);
        assert_eq!(looks(|look| Beat { turns: look, back: 0, awaits: Awaits::Clients }), 8000, "all patience");
    }

    #[test]
    fn who_looks_late_does_not_blame_the_disk() {
        let begin = Instant::now();
        let mut watch = Watch::new(begin, begin + Duration::from_secs(100));
        let beat = Beat { turns: 1, back: 0, awaits: Awaits::Operations };
        // The process was stopped for ten seconds.
        let looks = (1..=5).chain(105..200).map(|tenth| tenth * 100);
        let mut gives_up = looks.filter(|&ms| watch.gives_up(begin + Duration::from_millis(ms), beat));
        assert_eq!(gives_up.next(), Some(10_900), "half a second before, half a second after");
    }

    #[test]
    fn a_beat_is_seen_as_it_was_told() {
        let pulse = Pulse::default();
        assert_eq!(pulse.last(), Beat::default());
        for (nth, awaits) in Awaits::ALL.into_iter().enumerate() {
            pulse.beat(7, awaits);
            assert_eq!(pulse.last(), Beat { turns: nth as u64 + 1, back: 7, awaits });
        }
    }
}
