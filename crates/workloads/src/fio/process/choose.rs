//! A process's next I/O: its direction and its offset.

use blksched::{Instant, Sector};
use rand::RngExt;

use super::Process;
use super::read_back::ReadBack;
use crate::fio::ddir::Ddir;
use crate::fio::settings::Mix;

impl Process {
    /// The possible directions of the next I/O.
    pub(super) fn choices(&self) -> &'static [Ddir] {
        match (self.script.mix, self.script.reads_percent) {
            _ if let Some(log) = &self.log => log.choices(),
            _ if self.reads_back() => &[Ddir::Read],
            (Mix::Read, _) | (Mix::Both, 100) => &[Ddir::Read],
            (Mix::Write, _) | (Mix::Both, 0) => &[Ddir::Write],
            (Mix::Both, _) => &[Ddir::Read, Ddir::Write],
            (Mix::TrimWrite, _) if self.trimmed.is_some() => &[Ddir::Write],
            (Mix::Trim | Mix::TrimWrite, _) => &[Ddir::Trim],
        }
    }

    /// Drawn by the mix; but a direction that must wait for its rate lets the other go first.
    #[inline]
    fn direction(&mut self, now: Instant) -> Ddir {
        let [first, second] = *self.choices() else { return self.choices()[0] };
        let reads = self.directions.random_range(0..100) < self.script.reads_percent;
        let (drawn, other) = if reads { (first, second) } else { (second, first) };
        if self.pace[drawn].due() > now { other } else { drawn }
    }

    /// The place of the next I/O of this direction. Trimmed blocks are written, block by block.
    #[inline]
    fn place(&mut self, now: Instant, ddir: Ddir) -> Option<(Sector, u32)> {
        if let Some(log) = &mut self.log {
            return Some(log.submit(now));
        }
        if let Some(back) = self.read_back.as_mut().filter(|back| back.is_reading()) {
            return back.next();
        }
        let Some((start, left)) = self.trimmed.take() else {
            let place = self.files.next(ddir);
            self.trimmed = place.filter(|_| self.script.mix == Mix::TrimWrite);
            return place;
        };
        let length = self.files.length(ddir).min(left);
        self.trimmed = (left > length).then(|| (start + length, left - length));
        Some((start, length))
    }

    /// The next I/O's direction and place; `None` if its last pass over its files is over.
    pub(super) fn choose(&mut self, now: Instant) -> Option<(Ddir, (Sector, u32))> {
        let dir = self.direction(now);
        match self.place(now, dir) {
            Some(place) => Some((dir, place)),
            None => self.choose_in_next_pass(now),
        }
    }

    /// The place of the next I/O for a job that draws it from its files and nothing else.
    #[inline]
    pub(super) fn choose_plainly(&mut self, now: Instant) -> Option<(Ddir, (Sector, u32))> {
        let dir = match self.script.mix {
            Mix::Read => Ddir::Read,
            Mix::Write => Ddir::Write,
            _ => self.direction(now),
        };
        match self.files.next(dir) {
            Some(place) => Some((dir, place)),
            None => self.choose_in_next_pass(now),
        }
    }

    #[cold]
    fn choose_in_next_pass(&mut self, now: Instant) -> Option<(Ddir, (Sector, u32))> {
        self.passes += 1;
        let reads_back = self.read_back.as_ref().is_some_and(ReadBack::has_written);
        if self.passes >= self.script.passes || reads_back {
            return None;
        }
        let dir = self.direction(now);
        // A pass without a single I/O would go on for ever.
        self.place(now, dir).map(|place| (dir, place))
    }
}
