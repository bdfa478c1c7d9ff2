//! Pages of the stripe cache that are read or written together, and windows of the rebuild: sent, and ended.

use blksched::author::RequestId;
use blksched::{Command, Instant, Op, Sector, SubmitterId};

use super::layout::PAGE;
use super::member::Owner;
use super::parity::{Fresh, MemberPiece, Members, ParityRow};
use super::stripes::Full;
use super::{DueEntry, Raid, RaidJob, end};
use crate::{Activity, CommandOutcome, Finished};

/// The submitter of a rebuild's commands: none.
const REBUILD: SubmitterId = SubmitterId(u32::MAX);

/// Neighbouring pages that are read or written together.
#[derive(Clone, Debug)]
pub(super) struct PageBatch {
    pages: Vec<DueEntry>,
    writes: bool,
    /// Whether they were read before.
    has_read: bool,
    model: Command,
    /// Commands that have not ended.
    left: u32,
    outcome: CommandOutcome,
    /// The service of reading them first.
    before: Activity,
}

impl Raid {
    /// Arrived writes join the pages of the stripe cache that they need, as far as there is room, and what is then
    /// ready is sent. `touched` are pages of which more is already wanted.
    pub(super) fn gather(&mut self, now: Instant, mut touched: Vec<u32>) {
        if now > self.given {
            self.stripes.moves_on();
        }
        let mut cache_is_full = false;
        let mut arriving = core::mem::take(&mut self.arriving);
        arriving.retain(|&job| !self.arrive(job, &mut cache_is_full, &mut touched));
        self.arriving = arriving;
        self.given = now;
        let (mut write, mut read) = (Vec::new(), Vec::new());
        self.stripes.judge(&self.layout, &touched, &mut write, &mut read);
        self.go(now, write, read);
    }

    /// As much of a write as possible joins; true if that is all.
    fn arrive(&mut self, job: u32, cache_is_full: &mut bool, touched: &mut Vec<u32>) -> bool {
        let RaidJob { command, at, .. } = *self.job(job);
        for part in self.layout.parts(at, end(&command)) {
            let member = self.layout.data(part.stripe, part.column);
            let start = part.stripe * self.layout.chunk;
            for page in part.low / PAGE..part.high.div_ceil(PAGE) {
                let (low, high) = (part.low.max(page * PAGE), part.high.min((page + 1) * PAGE));
                let members = Members::of([member].into_iter());
                let whole = high - low == PAGE;
                let fresh = if whole {
                    Fresh { whole: members, ..Fresh::default() }
                } else {
                    Fresh { part: members, ..Fresh::default() }
                };
                let joined = match self.stripes.join(start / PAGE + page, fresh, job, !*cache_is_full) {
                    Ok(entry) => entry,
                    Err(full) => {
                        *cache_is_full |= full == Full::Cache;
                        return false;
                    }
                };
                touched.push(joined);
                let it = self.job(job);
                it.left += 1;
                it.at += high - low;
            }
        }
        true
    }

    /// Releases what is held.
    pub(super) fn release(&mut self, now: Instant) {
        let (mut write, mut read) = (Vec::new(), Vec::new());
        self.stripes.release(&self.layout, &mut write, &mut read);
        self.go(now, write, read);
    }

    fn go(&mut self, now: Instant, write: Vec<DueEntry>, read: Vec<DueEntry>) {
        for (mut pages, writes) in [(write, true), (read, false)] {
            pages.sort_by_key(|due| due.row);
            for run in pages.chunk_by(|one, next| one.row + 1 == next.row) {
                let (pages, has_read, before) = (run.to_vec(), false, Activity::default());
                let (left, outcome) = (0, CommandOutcome::Ok);
                let model = self.model(run);
                self.send_batch(now, PageBatch { pages, writes, has_read, model, left, outcome, before });
            }
        }
    }

    /// A command for all that want these pages: the first of them counts as the submitter.
    fn model(&self, pages: &[DueEntry]) -> Command {
        let jobs = pages.iter().flat_map(|due| self.stripes.jobs(due.entry));
        let commands = || jobs.clone().filter_map(|&job| self.jobs[job as usize].as_ref()).map(|job| job.command);
        let first = commands().next().expect("somebody wants it");
        Command { fua: commands().any(|command| command.fua), ..first }
    }

    fn send_batch(&mut self, now: Instant, mut batch: PageBatch) {
        self.pieces.clear();
        for due in &batch.pages {
            let (start, end) = (due.row * PAGE, (due.row + 1) * PAGE);
            self.pieces.extend(due.members.iter().map(|member| MemberPiece { member, start, end }));
        }
        let place = self.batches.iter().position(Option::is_none).unwrap_or(self.batches.len());
        let op = if batch.writes { Op::Write } else { Op::Read };
        let model = Command { op, fua: batch.model.fua && batch.writes, ..batch.model };
        batch.left = self.send(now, Owner::Batch(place as u32), model);
        let nothing = batch.left == 0;
        if place == self.batches.len() {
            self.batches.push(None);
        }
        self.batches[place] = Some(batch);
        if nothing {
            // Every member concerned has failed.
            self.batch_is_over(place, now, Activity::default());
        }
    }

    pub(super) fn batch_ended(&mut self, batch: u32, finished: &Finished) {
        let it = self.batches[batch as usize].as_mut().expect("a batch ends once");
        it.left -= 1;
        if finished.outcome != CommandOutcome::Ok {
            it.outcome = finished.outcome;
        }
        if it.left == 0 {
            self.batch_is_over(batch as usize, finished.at, finished.service);
        }
    }

    fn batch_is_over(&mut self, place: usize, at: Instant, service: Activity) {
        let mut batch = self.batches[place].take().expect("a batch ends once");
        let mut total = batch.before;
        total += &service;
        if !batch.writes && batch.outcome == CommandOutcome::Ok {
            let pages = batch.pages.iter().map(|&due| self.stripes.has_read(&self.layout, due)).collect();
            (batch.pages, batch.writes, batch.has_read, batch.before) = (pages, true, true, total);
            return self.send_batch(at, batch);
        }
        let (mut touched, mut jobs) = (Vec::new(), Vec::new());
        for &due in &batch.pages {
            let more = if batch.writes {
                self.stripes.has_written(due, batch.has_read, &mut jobs)
            } else {
                self.stripes.has_failed(due, &mut jobs)
            };
            if more {
                touched.push(due.entry);
            }
        }
        for job in jobs {
            self.part_ended(job, at, batch.outcome, total);
        }
        self.gather(at, touched);
    }

    /// Reads the next window of the rebuild.
    pub(super) fn begin_window(&mut self, at: Instant) {
        let rebuild = self.rebuild.as_mut().expect("it is due");
        let (member, (place, window)) = (rebuild.member, rebuild.begin(at));
        self.pieces.clear();
        match self.layout.parities() {
            0 => {
                let first = member / self.layout.mirrors() * self.layout.mirrors();
                let (start, end) = (window.start, window.end);
                self.pieces.push(MemberPiece { member: self.mirror(first, start, end), start, end });
            }
            _ => {
                for row in window.start / PAGE..window.end.div_ceil(PAGE) {
                    let (start, end) = (row * PAGE, (row + 1) * PAGE);
                    let survivors = ParityRow::new(&self.layout, row);
                    self.pieces.extend(survivors.survivors().map(|member| MemberPiece { member, start, end }));
                }
            }
        }
        self.send_window(at, place, Op::Read);
    }

    fn send_window(&mut self, at: Instant, place: usize, op: Op) {
        let (rq, start) = (RequestId::from_index(0), Sector(0));
        let model = Command { rq, op, start, sectors: 0, fua: false, submitter: REBUILD };
        let left = self.send(at, Owner::Window(place as u32), model);
        let window = self.rebuild.as_mut().and_then(|rebuild| rebuild.windows[place].as_mut()).expect("begun");
        (window.left, window.writes) = (left, op == Op::Write);
    }

    pub(super) fn window_ended(&mut self, place: u32, at: Instant) {
        let rebuild = self.rebuild.as_mut().expect("a window is in flight");
        let member = rebuild.member;
        let window = rebuild.windows[place as usize].as_mut().expect("begun");
        window.left -= 1;
        match *window {
            super::rebuild::RebuildWindow { left: 1.., .. } => {}
            super::rebuild::RebuildWindow { start, end, writes: false, .. } => {
                self.pieces.clear();
                self.pieces.push(MemberPiece { member, start, end });
                self.send_window(at, place as usize, Op::Write);
            }
            _ => {
                rebuild.ended(at, place as usize);
                self.layout.rebuilding = Some((member, rebuild.done()));
            }
        }
    }
}
