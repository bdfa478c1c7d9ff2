//! What a recording says that was submitted: bios in a row are one request, with its end.

use std::collections::BTreeMap;

use blksched::{Bio, Instant, Op, SubmitterId};
use blksched_traces::fs_recording::{FsEvent, FsRecording};

use super::scene::{FLUSHER, WORKER};

/// What a request carries, as far as a recording shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carries {
    Data,
    /// In the journal's or the log's place.
    Log,
    /// Metadata elsewhere.
    Home,
    /// Nothing: a flush.
    Flush,
}

/// A request as it can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub by: SubmitterId,
    pub carries: Carries,
    pub sync: bool,
    pub barrier: bool,
    pub sectors: u64,
}

impl Asked {
    /// Whether they differ at most in their lengths.
    pub fn is_like(&self, other: &Asked) -> bool {
        Asked { sectors: other.sectors, ..*self } == *other
    }

    /// Whether it may be a part of a longer one. A log buffer of xfs that a worker sends is a request by itself: the
    /// end of one makes room for another.
    pub fn is_joined(&self) -> bool {
        (self.by, self.carries) != (WORKER, Carries::Log)
    }
}

/// A recorded one.
#[derive(Clone, Debug)]
pub(super) struct Recorded {
    pub asked: Asked,
    /// Its first sector.
    pub sector: u64,
    /// Its line in the file, from 1.
    pub line: usize,
    pub at: Instant,
    pub done: Instant,
}

/// Where the journal lies, and whether flushes are shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub log: (u64, u64),
    pub cache: bool,
}

impl Shape {
    fn carries(&self, sector: u64, sectors: u64, meta: bool) -> Carries {
        match () {
            () if sectors == 0 => Carries::Flush,
            () if (self.log.0..self.log.0 + self.log.1).contains(&sector) => Carries::Log,
            () if meta => Carries::Home,
            () => Carries::Data,
        }
    }

    /// One of ours.
    pub fn ours(&self, bio: &Bio) -> Asked {
        let sectors = if bio.op == Op::Flush { 0 } else { u64::from(bio.sectors) };
        Asked {
            by: bio.submitter,
            carries: self.carries(bio.start.0, sectors, bio.hints.meta),
            sync: bio.hints.req_sync || bio.op == Op::Flush,
            barrier: self.cache && (bio.durability.preflush || bio.op == Op::Flush),
            sectors,
        }
    }
}

/// The writes and flushes of a recording, in the order in which they were submitted.
pub(super) fn requests(recording: &FsRecording, shape: Shape, who: impl Fn(&str) -> SubmitterId) -> Vec<Recorded> {
    let mut found: Vec<Recorded> = Vec::new();
    // Where each task's last request is, and the sector behind it.
    let mut lasts: BTreeMap<&str, (usize, u64)> = BTreeMap::new();
    for (nth, event) in recording.events.iter().enumerate().filter(|(_, event)| event.ev == "bio") {
        let flags = event.text("flags");
        let (sector, sectors) = (event.number("sector").unwrap_or(0), event.number("sectors").unwrap_or(0));
        if flags.contains('R') || flags.contains('D') {
            continue;
        }
        let body = flags.trim_start_matches('F');
        let carries = shape.carries(sector, sectors, body.contains('M'));
        // Workers of one pool do the flusher's work and write a long list of xfs.
        let by = who(&event.task);
        let by = if (by, carries) == (FLUSHER, Carries::Log) { WORKER } else { by };
        let asked = Asked { by, carries, sync: body.contains('S'), barrier: flags.starts_with('F'), sectors };
        let done = at(end(recording, nth, flags, (sector, sectors)));
        let last = lasts.get(event.task.as_str()).filter(|(_, end)| *end == sector).map(|(last, _)| *last);
        let row = last.filter(|&last| found[last].asked.is_like(&asked) && found[last].done > at(event.t));
        let row = row.filter(|_| asked.is_joined());
        let place = row.unwrap_or(found.len());
        match row {
            Some(last) => {
                found[last].asked.sectors += sectors;
                found[last].done = found[last].done.max(done);
            }
            None => found.push(Recorded { asked, sector, line: nth + 2, at: at(event.t), done }),
        }
        lasts.insert(&event.task, (place, sector + sectors));
    }
    found
}

/// When a bio was complete: with the last event that covers it; behind a flush, with the one for the whole.
fn end(recording: &FsRecording, nth: usize, how: &str, (sector, sectors): (u64, u64)) -> u64 {
    let later = recording.events[nth..].iter().filter(|event| event.ev == "complete");
    let is_whole = |event: &FsEvent| {
        !event.text("flags").starts_with("FF")
            && event.number("sectors") == Some(0)
            && event.number("sector") == Some(sector)
    };
    let covers = |event: &FsEvent, at: u64| {
        let (start, length) = (event.number("sector").unwrap_or(u64::MAX), event.number("sectors").unwrap_or(0));
        start <= at && at < start.saturating_add(length)
    };
    let mut later = later;
    let found = match how.starts_with('F') {
        true => later.find(|event| is_whole(event)),
        false => {
            let mut left = vec![sector, sector + sectors.saturating_sub(1)];
            later.find(|event| {
                left.retain(|end| !covers(event, *end));
                left.is_empty()
            })
        }
    };
    let Some(ended) = found else { return u64::MAX };
    // jbd2 goes on when it runs, which on a busy machine was some ms later.
    let of_jbd2 = recording.events[nth].task.starts_with("jbd2");
    let next = recording.events.iter().skip(nth + 1).filter(|event| event.t >= ended.t);
    let mut runs = next.take_while(|event| event.t < ended.t + 10_000_000);
    let runs = runs.find(|event| event.ev.starts_with("jbd2_run_stats"));
    let seals = recording.events[nth + 1..].iter().find(|event| event.ev == "bio" && event.task.starts_with("jbd2"));
    // So does xfs's worker that has moved what a log write held.
    let mut later = recording.events[nth + 1..].iter().skip_while(|event| event.t < ended.t);
    let moves = later.next().is_some_and(|_| recording.header.fs == "xfs" && how == "WSM");
    if moves && let Some(moved) = later.take(40).find(|event| event.ev == "xlog_iclog_callbacks_done") {
        return moved.t;
    }
    // And a process that goes on to force the log.
    let task = &recording.events[nth].task;
    let own = recording.events[nth + 1..].iter().filter(|event| event.task == *task && event.t >= ended.t);
    let mut own = own.take_while(|event| event.t < ended.t + 10_000_000 && event.ev != "bio");
    if let Some(forces) = own.find(|event| event.ev == "xfs_log_force") {
        // A worker takes the list, and some 30 us later has room for it in the buffer (FIT: in xfs/19 a call
        // comes 22 us before the room, and is not in the list).
        let until = forces.t + 10_000_000;
        let later = recording.events[nth + 1..].iter().skip_while(|event| event.t < forces.t);
        let mut later = later.take_while(|event| event.t < until && event.ev != "bio");
        return later
            .find(|event| event.ev == "xlog_iclog_get_space")
            .map_or(forces.t, |pushes| forces.t.max(pushes.t - 30_000));
    }
    match runs {
        Some(runs) if of_jbd2 && seals.is_none_or(|seals| seals.t > runs.t) => runs.t,
        _ => ended.t,
    }
}

/// A recorded moment.
pub(super) fn at(ns: u64) -> Instant {
    Instant::from_ns(ns)
}
