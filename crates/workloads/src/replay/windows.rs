//! Windows of a recording: what is replayed of a trace that is too long to be replayed whole.
//!
//! **Rule** The recording is divided into equal parts, and in each a window is drawn: so every stretch of it may be
//! seen and all of it is represented (stratified sampling). The windows are replayed one directly after the other. What
//! was in flight where a window begins is not: its first I/Os find a disk that is busy with the end of the one before.

use blksched::Span;
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;

use super::packed::PackedIos;
use super::recording::{RecordedProcess, Recording, ReplayIo};

/// A window is this long at most: longer than any time-out or favour that a scheduler has.
const LONGEST: Span = Span::from_secs(30);
/// There are this many at least.
const FEWEST: u64 = 4;

/// The windows that were drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Windows {
    /// From when to when each goes, in the recording, in order.
    pub of: Vec<(Span, Span)>,
    /// How long the recording is.
    pub whole: Span,
}

impl Windows {
    /// Windows of this much in all of a recording that is longer, drawn by `seed`.
    ///
    /// ```
    /// use blksched::Span;
    /// use blksched_workloads::replay::Windows;
    /// let drawn = Windows::drawn(Span::from_secs(360), Span::from_secs(600), 1);
    /// assert_eq!(drawn.to_string(), "12 windows of 30s, drawn from all 600s");
    /// ```
    pub fn drawn(all: Span, whole: Span, seed: u64) -> Windows {
        let each = LONGEST.min(all / FEWEST).max(Span::from_ns(1));
        let count = (all.as_ns() / each.as_ns()).max(1);
        let part = whole / count;
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let window = |nth: u64| {
            let spare = part.saturating_sub(each).as_ns();
            let from = part * nth + Span::from_ns(random.random_range(0..=spare));
            (from, from + each)
        };
        Windows { of: (0..count).map(window).collect(), whole }
    }

    /// How long they are in all.
    pub fn all(&self) -> Span {
        self.of.iter().fold(Span::ZERO, |sum, (from, until)| sum + until.saturating_sub(*from))
    }
}

impl std::fmt::Display for Windows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let each = self.of.first().map_or(Span::ZERO, |(from, until)| until.saturating_sub(*from));
        let whole = Span::from_secs((self.whole.as_ns() / 1_000_000_000).max(1));
        write!(f, "{} windows of {each}, drawn from all {whole}", self.of.len())
    }
}

impl Recording {
    /// How long it is, and how many I/Os were submitted in the first `limit` of it.
    pub(crate) fn begins_with(&self, limit: Span) -> (Span, usize) {
        let first = |process: usize| self.played(process).take_while(|io| io.at < limit).count();
        (self.whole(), (0..self.processes.len()).map(first).sum())
    }

    /// Only what was submitted in these windows. Its processes keep their numbers.
    ///
    /// # Errors
    /// If a temporary file cannot be written or read.
    pub(crate) fn within(&self, windows: &Windows) -> Result<Recording, String> {
        let mut spool = self.spool();
        let process = |nth: usize| {
            let mut kept = PackedIos::default();
            let mut joined = Joined::new(windows);
            for io in self.played(nth) {
                joined.take(io).iter().for_each(|io| kept.push(io, &mut spool));
            }
            joined.last.iter().for_each(|io| kept.push(io, &mut spool));
            let RecordedProcess { pid, name, .. } = &self.processes[nth];
            RecordedProcess { pid: *pid, name: name.clone(), ios: kept }
        };
        let processes: Vec<RecordedProcess> = (0..self.processes.len()).map(process).collect();
        if let Some(trouble) = self.trouble().or(spool.trouble()) {
            return Err(trouble.to_owned());
        }
        let mut within = self.once(windows.all());
        within.hold(processes, &spool);
        Ok(within)
    }
}

/// A process's I/Os in the windows, on the time of the windows.
struct Joined<'a> {
    windows: &'a [(Span, Span)],
    /// How long the windows before were.
    before: Span,
    /// The one that is not given back yet: what ended its burst may be left out.
    last: Option<ReplayIo>,
    /// Whether one of this window was seen.
    in_window: bool,
}

impl<'a> Joined<'a> {
    fn new(windows: &'a Windows) -> Joined<'a> {
        Joined { windows: &windows.of, before: Span::ZERO, last: None, in_window: false }
    }

    /// Takes the next I/O, and gives the one before back.
    fn take(&mut self, io: ReplayIo) -> Option<ReplayIo> {
        while let Some(&(from, until)) = self.windows.first().filter(|(_, until)| io.at >= *until) {
            self.before += until.saturating_sub(from);
            self.windows = &self.windows[1..];
            self.in_window = false;
        }
        // What lies between windows is left out, and with it the end of the burst to which the I/O before belongs.
        let Some(&(from, _)) = self.windows.first().filter(|(from, _)| io.at >= *from) else {
            self.last.iter_mut().for_each(|before| before.goes_on = false);
            return None;
        };
        let at = self.before + io.at.saturating_sub(from);
        let since = at.saturating_sub(self.last.map_or(Span::ZERO, |before| before.at));
        let pause = if std::mem::replace(&mut self.in_window, true) { io.pause } else { since };
        if pause > io.pause {
            self.last.iter_mut().for_each(|before| before.goes_on = false);
        }
        self.last.replace(ReplayIo { at, pause, ..io })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use blksched::Op;

    use super::super::recording::{TraceAction, TraceEvent, tests::event};
    use super::*;

    fn at(ms: u64) -> Span {
        Span::from_ms(ms)
    }

    /// A read each 100 ms for 10 s, the place in the order of time; and a second process that begins after 5 s.
    fn recording() -> Recording {
        let first = (0..100).map(|nth| event(100_000_000 * nth, TraceAction::Queue, 8 * nth));
        let second = (50..100).map(|nth| TraceEvent {
            pid: 8,
            op: Op::Write,
            ..event(100_000_000 * nth + 1, TraceAction::Queue, 8 * nth)
        });
        Recording::of(first.chain(second).collect(), &BTreeMap::new()).unwrap()
    }

    #[test]
    fn a_window_is_drawn_in_each_part_and_they_differ_by_seed() {
        let drawn = |seed| Windows::drawn(Span::from_secs(360), Span::from_secs(600), seed);
        let windows = drawn(1);
        assert_eq!((windows.of.len(), windows.all()), (12, Span::from_secs(360)));
        for (nth, (from, until)) in windows.of.iter().enumerate() {
            let part = Span::from_secs(50 * nth as u64);
            assert!(*from >= part && *until <= part + Span::from_secs(50), "{nth}: {from} to {until}");
        }
        assert!(drawn(1) == drawn(1) && drawn(1) != drawn(2));
        // Few seconds of a long trace: four windows, and no more.
        assert_eq!(Windows::drawn(at(800), Span::from_secs(600), 1).of.len(), 4);
        assert_eq!(Windows::drawn(Span::from_secs(120), Span::from_secs(600), 1).of.len(), 4);
        assert_eq!(Windows::drawn(Span::from_secs(150), Span::from_secs(600), 1).of.len(), 5);
    }

    #[test]
    fn what_is_in_the_windows_is_joined_and_the_rest_is_gone() {
        let windows = Windows { of: vec![(at(1000), at(1200)), (at(6000), at(6300))], whole: at(10_000) };
        let within = recording().within(&windows).unwrap();
        let seen: Vec<(u64, u64)> =
            within.in_order().iter().map(|io| (io.at.as_ns() / 1_000_000, io.start / 8)).collect();
        assert_eq!(
            seen,
            [(0, 10), (100, 11), (200, 60), (200, 60), (300, 61), (300, 61), (400, 62), (400, 62)],
            "500 ms in all"
        );
        assert_eq!(within.begins_with(at(400)), (at(500), 6));
        assert_eq!(within.processes.len(), 2, "a process keeps its number, whatever is left of it");
    }

    #[test]
    fn a_process_that_waits_keeps_its_distance_and_a_burst_ends_with_its_window() {
        let windows = Windows { of: vec![(at(5050), at(5150)), (at(6050), at(6150))], whole: at(10_000) };
        let within = recording().within(&windows).unwrap();
        let second: Vec<(u64, u64)> =
            within.played(1).map(|io| (io.at.as_ns() / 1_000_000, io.pause.as_ns() / 1_000_000)).collect();
        assert_eq!(second, [(50, 50), (150, 100)]);
        let plugged = Recording::of(
            vec![
                event(0, TraceAction::Queue, 0),
                event(10, TraceAction::Plug, 0),
                event(20, TraceAction::Queue, 8),
                event(21, TraceAction::Queue, 16),
                event(30, TraceAction::Unplug, 0),
                event(90, TraceAction::Queue, 64),
            ],
            &BTreeMap::new(),
        )
        .unwrap();
        let ns = Span::from_ns;
        let cut = plugged.within(&Windows { of: vec![(ns(25), ns(40))], whole: ns(90) }).unwrap();
        let goes_on: Vec<bool> = cut.in_order().iter().map(|io| io.goes_on).collect();
        assert_eq!(goes_on, [true, true, false], "what was queued before goes with the burst at its end");
    }
}
