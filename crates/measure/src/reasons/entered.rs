//! What became of bios on their way to the disk: requests made, merged, plugged, flushed.

use blksched::author::{PerDir, Run};
use blksched::reasons::{End, Unplug};
use blksched::{Dir, Reason};

use crate::moments::Moments;

/// Counts of what the block queue did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entered {
    /// Requests given to the elevator.
    pub inserted: PerDir<u64>,
    /// Bios that joined a request behind its last sector.
    pub merged_back: u64,
    /// Bios that joined a request before its first sector.
    pub merged_front: u64,
    /// Requests that another absorbed.
    pub coalesced: u64,
    /// Submissions whose share of the tags was limited.
    pub limited: u64,
    /// Merges that would have made a request too large.
    pub oversize: u64,
    /// Sizes \[sectors\] of issued requests, flushes left out.
    pub sizes: PerDir<Moments>,
    /// Requests that the device handed back.
    pub requeued: u64,
    /// Flushes sent.
    pub flushes: u64,
    /// Bios that waited for these.
    pub flushed_bios: u64,
    /// How often the queue began to hold back dispatch.
    pub plugged: u64,
    /// Timers that elevators armed, armed again, or cancelled.
    pub armed: u64,
    /// Timers that went off.
    pub elapsed: u64,
    /// How often the elevator asked to be run at all.
    pub wished_run: u64,
    /// Live changes of the elevator.
    pub switched: u64,
    unplugged: [u64; 4],
}

impl Entered {
    /// How often the plug opened for this reason.
    pub fn unplugged(&self, why: Unplug) -> u64 {
        self.unplugged[place(why)]
    }

    /// Bios that joined a request, and requests absorbed, per request given to the elevator; 0 if there was none.
    pub fn merges_per_request(&self) -> f64 {
        let inserted = self.inserted.read + self.inserted.write;
        let merges = self.merged_back + self.merged_front + self.coalesced;
        if inserted == 0 { 0.0 } else { merges as f64 / inserted as f64 }
    }

    pub(super) fn hear(&mut self, reason: Reason) {
        match reason {
            Reason::Inserted { dir, .. } => self.inserted(dir),
            Reason::Merged { end: End::Back, .. } => self.merged_back += 1,
            Reason::Merged { end: End::Front, .. } => self.merged_front += 1,
            Reason::Coalesced { .. } => self.coalesced += 1,
            Reason::Oversize { .. } => self.oversize += 1,
            Reason::Limited { .. } => self.limited += 1,
            Reason::Issued { dir, sectors, .. } => self.issued(dir, sectors),
            Reason::Requeued { .. } => self.requeued += 1,
            Reason::FlushSent { bios } => {
                self.flushes += 1;
                self.flushed_bios += u64::from(bios);
            }
            Reason::Plugged => self.plugged += 1,
            Reason::Unplugged(why) => self.unplugged[place(why)] += 1,
            Reason::Armed { .. } | Reason::Cancelled => self.armed += 1,
            Reason::Elapsed => self.elapsed += 1,
            Reason::WishedRun(run) => self.wished_run += u64::from(run != Run::No),
            Reason::Switched { .. } => self.switched += 1,
            _ => {}
        }
    }

    pub(super) fn inserted(&mut self, dir: Dir) {
        self.inserted[dir] += 1;
    }

    pub(super) fn issued(&mut self, dir: Dir, sectors: u32) {
        if sectors > 0 {
            self.sizes[dir].record(u64::from(sectors));
        }
    }
}

fn place(why: Unplug) -> usize {
    match why {
        Unplug::Threshold => 0,
        Unplug::Timer => 1,
        Unplug::Waiting => 2,
        Unplug::Wished => 3,
    }
}

#[cfg(test)]
mod tests {
    use blksched::author::RequestId;
    use blksched::{Sector, SubmitterId};

    use super::*;

    #[test]
    fn merges_are_per_request_made_and_sizes_leave_flushes_out() {
        let (rq, submitter) = (RequestId::from_index(0), SubmitterId(1));
        let mut entered = Entered::default();
        assert_eq!(entered.merges_per_request(), 0.0);
        for reason in [
            Reason::Inserted { rq, dir: Dir::Read, start: Sector(0), sectors: 8, submitter },
            Reason::Inserted { rq, dir: Dir::Write, start: Sector(0), sectors: 8, submitter },
            Reason::Merged { into: rq, end: End::Back },
            Reason::Merged { into: rq, end: End::Front },
            Reason::Coalesced { into: rq, victim: rq },
            Reason::Issued { rq, dir: Dir::Write, sectors: 24, submitter },
            Reason::Issued { rq, dir: Dir::Write, sectors: 0, submitter },
            Reason::Unplugged(Unplug::Timer),
        ] {
            entered.hear(reason);
        }
        assert_eq!(entered.merges_per_request(), 1.5);
        assert_eq!((entered.sizes.write.count(), entered.sizes.write.mean()), (1, 24.0));
        assert_eq!((entered.unplugged(Unplug::Timer), entered.unplugged(Unplug::Waiting)), (1, 0));
    }
}
