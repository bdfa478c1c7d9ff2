//! The short path of a job that only reads and writes: no rate, no think time, no trims, no flushes in between, no log,
//! nothing to read back, no bound on latency, one I/O per call.
//!
//! **Rule** It does what the long path (`process.rs`) does when all those questions are answered by no; whether a job
//! qualifies is known when it is created. The job takes this path while it runs; its beginning, its end, and a failed
//! I/O and everything after it take the long path. A test compares the two.

use blksched::{Bio, Durability, Hints, Instant, Op, Tag};

use super::pace::RateLimit;
use super::reap::ReapStep;
use super::{CompleteIo, Phase, Process, Script};
use crate::fio::ddir::Ddir;
use crate::fio::settings::Mix;
use crate::{Emission, LoneBurst, TakenIo};

/// Whether the script uses no rare option.
pub(super) fn is_plain(script: &Script) -> bool {
    let transfers = matches!(script.mix, Mix::Read | Mix::Write | Mix::Both);
    let free = Ddir::ALL.into_iter().all(|ddir| {
        script.limits[ddir] == RateLimit::None && script.commands[ddir].is_empty() && !script.tolerates[ddir]
    });
    let unwatched = script.floor.is_none() && script.max_latency.is_none() && script.profile.is_none();
    let alone = script.flow.is_none() && script.log.is_none();
    let straight = script.flush_after.is_none() && script.read_back.is_none() && script.think.time.is_zero();
    transfers && free && unwatched && alone && straight && script.batch.submit == 1
}

impl Process {
    /// Whether it is such a job, and has begun.
    #[inline]
    pub(super) fn is_underway(&self) -> bool {
        let awake = !self.stopped && !self.asleep && self.burst == 0;
        let calls = self.call.is_some() || !self.returned.is_empty();
        self.plain && self.phase == Phase::Running && self.has_more() && awake && !calls
    }

    #[inline]
    fn has_more(&self) -> bool {
        self.submitted_ios < self.script.ios && self.submitted_bytes < self.script.bytes
    }

    /// Whether it also continues.
    #[inline]
    pub(super) fn goes_plainly(&self, now: Instant) -> bool {
        self.is_underway() && now < self.end
    }

    #[inline]
    pub(super) fn next_plainly(&self) -> Option<Instant> {
        if self.reaper.takes(false) > 0 {
            return Some(self.ready);
        }
        self.reaper.has_room().then(|| self.ready.min(self.end))
    }

    /// One of its I/Os completed.
    #[inline]
    pub(super) fn done_plainly(&mut self, now: Instant, tag: Tag, failed: bool) -> Option<Instant> {
        assert!(tag.0 < self.next_tag, "{tag:?} was never submitted");
        self.ready = self.ready.max(now);
        self.reaper.completed(CompleteIo { tag, failed });
        self.next_plainly()
    }

    pub(super) fn emit_plainly(&mut self, now: Instant, out: &mut Vec<Emission>) {
        self.take_plainly(now, out);
        if self.stopped {
            // One failed.
            return self.emit_rest(now, out);
        }
        if !self.reaper.has_room() || self.ready > now {
            return;
        }
        let Some(bio) = self.submit_plainly(now) else { return self.emit_rest(now, out) };
        out.push(Emission::Submit(bio));
        out.push(Emission::Waits);
    }

    /// The short path of a step that takes one completion or none, and submits.
    #[inline]
    pub(super) fn turn_plainly(&mut self, now: Instant, out: &mut Vec<Emission>) -> Option<LoneBurst> {
        let taken = match self.reaper.step() {
            ReapStep::Submits => None,
            ReapStep::TakesAndSubmits(CompleteIo { tag, .. }) => {
                Some(TakenIo { tag, accepted: self.slept.accepted(tag) })
            }
            ReapStep::Other => {
                self.emit_plainly(now, out);
                return None;
            }
        };
        let Some(bio) = self.submit_plainly(now) else {
            out.extend(taken.map(|TakenIo { tag, accepted }| Emission::Taken { tag, accepted }));
            self.emit_rest(now, out);
            return None;
        };
        // The other I/Os are still in flight.
        let next = if self.has_more() { self.next_plainly() } else { self.work_out_next() };
        Some(LoneBurst { taken, bio, next })
    }

    #[inline]
    fn take_plainly(&mut self, now: Instant, out: &mut Vec<Emission>) {
        loop {
            let takes = self.reaper.takes(self.stopped);
            for _ in 0..takes {
                let Some(CompleteIo { tag, failed }) = self.reaper.take() else { break };
                out.push(Emission::Taken { tag, accepted: self.slept.accepted(tag) });
                if failed {
                    self.judge(now, tag, failed);
                }
            }
            if takes == 0 {
                return;
            }
            self.reaper.settle();
            if self.reaper.has_room() && !self.stopped {
                return;
            }
        }
    }

    #[inline]
    fn submit_plainly(&mut self, now: Instant) -> Option<Bio> {
        let Some((dir, (start, sectors))) = self.choose_plainly(now) else {
            self.slept.begin();
            self.stopped = true;
            return None;
        };
        self.reaper.submitted();
        self.slept.alone(self.next_tag);
        self.submitted_ios += 1;
        if now >= self.counts {
            (self.submitted_ios, self.counts) = (1, Instant::NEVER);
        }
        self.submitted_bytes = self.submitted_bytes.saturating_add(u64::from(sectors) * 512);
        let (priority, group) = (self.script.priority, self.script.group);
        let bio = Bio { priority, group, ..Bio::read(self.next_tag, self.script.submitter, start, sectors) };
        self.next_tag += 1;
        if dir == Ddir::Read {
            return Some(bio);
        }
        self.writes_since_flush += 1;
        let op = self.script.written_as;
        let fua = op == Op::Write && self.script.durable.is_required();
        let hints = Hints { req_sync: op == Op::Write, ..bio.hints };
        Some(Bio { op, hints, durability: Durability { fua, ..Durability::default() }, ..bio })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use blksched::Span;

    use super::*;
    use crate::fio::JobFile;
    use crate::plan::Origin;
    use crate::{Delivered, Source};

    /// Jobs that take the short path.
    const PLAIN: &[&str] = &[
        "rw=randread\niodepth=8\nruntime=40ms\ntime_based",
        "rw=randrw\nrwmixread=30\nbs=4k,16k\niodepth=3\nsize=1m\nfsync_on_close=1",
        "rw=read\nbsrange=4k-64k\niodepth=16\niodepth_low=4\nsize=700k\nloops=2",
        "rw=write\niodepth=8\niodepth_batch_complete_min=3\niodepth_batch_complete_max=5\nsize=2m\nend_fsync=1",
        "rw=randwrite\niodepth=8\niodepth_batch_complete_min=0\nnumber_ios=60\nramp_time=5ms\nsize=4m",
        "rw=randread\nnorandommap\nrandom_distribution=zipf:1.1\niodepth=4\nio_size=900k\nnrfiles=3\nsize=900k",
        "rw=rw\nioengine=sync\nsync=1\nsize=300k\nstartdelay=3ms",
        "rw=randread\nioengine=io_uring\niodepth=5\npercentage_random=50\nsize=500k",
    ];
    /// And some that do not.
    const OTHERS: &[&str] = &[
        "rw=randread\nrate_iops=200",
        "rw=write\nfsync=4",
        "rw=randread\nthinktime=1ms",
        "rw=randtrim",
        "rw=randread\niodepth=8\niodepth_batch=4",
        "rw=randread\nmax_latency=1s",
    ];

    fn script(options: &str) -> Arc<Script> {
        let engine = if options.contains("ioengine") { "" } else { "ioengine=libaio\n" };
        let job = format!("[j]\nfilename=/dev/sda\ndirect=1\n{engine}{options}\n");
        let plan = JobFile::parse(&job, "test").and_then(|file| file.plan(1 << 24)).expect("a job file");
        let Origin::Job(scripted) = &plan.origins[0] else { panic!("it is a job's") };
        scripted.script().clone()
    }

    /// The actions of a process on a disk of its own whose I/Os complete in random order, some of them after a sleep,
    /// and of which one may fail.
    fn life(mut process: Process, mut random: u64, fails: Option<u64>) -> Vec<String> {
        let mut draw = |below: u64| {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (random >> 33) % below
        };
        let (mut now, mut out, mut told) = (Instant::ZERO, Vec::new(), Vec::new());
        let mut open: Vec<Tag> = Vec::new();
        for _ in 0..3000 {
            let next = process.next();
            told.push(format!("{now:?} next {next:?}"));
            if process.is_finished() {
                break;
            }
            if next.is_some_and(|next| next <= now) {
                if let Some(LoneBurst { taken, bio, next }) = process.turn(now, &mut out) {
                    out.extend(taken.map(|TakenIo { tag, accepted }| Emission::Taken { tag, accepted }));
                    out.extend([Emission::Submit(bio), Emission::Waits]);
                    assert_eq!(process.next(), next);
                }
                for emission in out.drain(..) {
                    told.push(format!("{emission:?}"));
                    let Emission::Submit(bio) = emission else { continue };
                    open.push(bio.tag);
                    if draw(9) == 0 {
                        process.asleep();
                        now += Span::from_us(draw(300));
                        process.delivered(now, Delivered::Awake);
                    }
                }
                continue;
            }
            now += Span::from_us(draw(700));
            if open.is_empty() || (draw(4) == 0 && next.is_some()) {
                now = next.map_or(now, |next| now.max(next));
                continue;
            }
            let tag = open.swap_remove(draw(open.len() as u64) as usize);
            let next = process.done(now, tag, fails == Some(tag.0));
            assert_eq!(process.next(), next);
        }
        told
    }

    #[test]
    fn the_short_way_does_what_the_long_one_does() {
        for (options, seed) in PLAIN.iter().flat_map(|options| (0..6).map(move |seed| (options, seed))) {
            let script = script(options);
            let long = Process { plain: false, ..Process::new(script.clone(), Span::ZERO, seed) };
            let short = Process::new(script, Span::ZERO, seed);
            assert!(short.plain, "{options}");
            let fails = (seed % 3 == 2).then_some(5 + seed);
            let (long, short) = (life(long, seed, fails), life(short, seed, fails));
            let differs = long.iter().zip(&short).position(|(long, short)| long != short);
            assert_eq!(differs.map(|at| (&long[at], &short[at])), None, "{options}, seed {seed}");
            assert_eq!(long.len(), short.len(), "{options}");
            assert!(long.iter().filter(|line| line.starts_with("Submit")).count() > 4, "{options}: {long:#?}");
        }
    }

    #[test]
    fn a_job_that_asks_for_more_takes_the_long_way() {
        for options in OTHERS {
            assert!(!is_plain(&script(options)), "{options}");
        }
    }
}
