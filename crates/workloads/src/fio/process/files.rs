//! Which of a process's files is next, and where in it.
//!
//! **Rule** A file is *done* when one pass over its region has been submitted; done files are closed, and at most
//! `openfiles` are open. `roundrobin`: after `:N` I/Os the next file by number that is open, or may be opened (tried).
//! `sequential`: each file until it is done. `random`: any file that is open or may be opened. When all are done they
//! start over, as a single file does. With `zipf`, `pareto` and `normal`, files are drawn without end, so a done one
//! starts over at once (tried); the number after them is the distribution's parameter.

use std::collections::BTreeSet;
use std::sync::Arc;

use blksched::Sector;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::offsets::{Area, Offsets, Pattern};
use super::permutation::mix;
use super::skew::Skew;
use crate::fio::ddir::Ddir;
use crate::fio::distribution::Distribution;
use crate::fio::settings::{FileTurn, Service};

/// One file's region.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileArea {
    pub area: Area,
    /// The length of one pass \[bytes\].
    pub bytes: u64,
}

/// The settings of a process's files.
#[derive(Clone, Debug)]
pub(crate) struct FileSet {
    /// At least one.
    pub files: Arc<[FileArea]>,
    /// How many are open at a time.
    pub open: usize,
    pub service: Service,
    pub pieces: Pieces,
}

/// What the regions are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pieces {
    /// One region for each file.
    Files,
    /// Zones of one file, each used until this much was transferred there, however short it is.
    Zones,
}

/// The seeds of offsets and lengths.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileSeeds {
    pub offsets: u64,
    pub lengths: u64,
    pub service: u64,
}

/// A process's files in use.
#[derive(Clone, Debug)]
pub(super) struct FilesInUse {
    set: FileSet,
    pattern: Arc<Pattern>,
    seeds: FileSeeds,
    used: Vec<Option<Box<Used>>>,
    current: usize,
    /// I/Os since the last switch of files.
    served: u64,
    /// I/Os in all.
    asked: u64,
    /// In this pass over all files, one file's pass ended before its bytes were submitted.
    cut_short: bool,
    /// Such a pass is over.
    over: bool,
    choice: FileChoice,
}

#[derive(Clone, Debug)]
struct Used {
    offsets: Offsets,
    /// Submitted in this pass \[bytes\].
    submitted: u64,
}

/// How to choose among files that are not done, by number.
#[derive(Clone, Debug)]
enum FileChoice {
    Only,
    InTurn { open: BTreeSet<usize>, closed: BTreeSet<usize> },
    Drawn { open: Vec<usize>, closed: Vec<usize>, random: Pcg64Mcg },
    Skewed { skew: Skew, random: Pcg64Mcg },
}

impl FilesInUse {
    pub fn new(set: FileSet, pattern: Arc<Pattern>, seeds: FileSeeds) -> FilesInUse {
        let count = set.files.len();
        let mut random = Pcg64Mcg::seed_from_u64(seeds.service);
        let choice = match &set.service.turn {
            _ if count == 1 => FileChoice::Only,
            FileTurn::RoundRobin | FileTurn::Sequential => {
                FileChoice::InTurn { open: BTreeSet::new(), closed: (0..count).collect() }
            }
            FileTurn::Random => FileChoice::Drawn { open: Vec::new(), closed: (0..count).collect(), random },
            FileTurn::Skewed(kind) => FileChoice::Skewed { skew: skew(kind, count, &mut random), random },
        };
        let used = vec![None; count];
        FilesInUse {
            set,
            pattern,
            seeds,
            used,
            current: count - 1,
            served: 0,
            asked: 0,
            cut_short: false,
            over: false,
            choice,
        }
    }

    /// The next I/O of this direction: its first sector and length. `None` if a pass over all files is over before its
    /// bytes are submitted; the next call begins another.
    pub fn next(&mut self, ddir: Ddir) -> Option<(Sector, u32)> {
        loop {
            self.choose();
            if core::mem::take(&mut self.over) {
                self.current = self.set.files.len() - 1;
                return None;
            }
            self.served += 1;
            let nth = self.asked;
            self.asked += 1;
            let used = self.used();
            if let Some((start, sectors)) = used.offsets.next(ddir, nth) {
                used.submitted += u64::from(sectors) * 512;
                return Some((start, sectors));
            }
            let pieces = self.set.pieces;
            if pieces == Pieces::Zones || matches!(self.choice, FileChoice::Only) {
                self.used().offsets.start_over();
            }
            match (pieces, &self.choice) {
                (Pieces::Zones, _) => continue,
                (Pieces::Files, FileChoice::Only) => return None,
                (Pieces::Files, _) => self.cut_short = true,
            }
            let bytes = self.set.files[self.current].bytes;
            self.used().submitted = bytes;
        }
    }

    /// The length of an I/O at a known place.
    pub fn length(&mut self, ddir: Ddir) -> u32 {
        self.used().offsets.length(ddir)
    }

    #[inline]
    fn used(&mut self) -> &mut Used {
        // Usually it was used before.
        if self.used[self.current].is_none() {
            self.use_first();
        }
        self.used[self.current].as_mut().unwrap_or_else(|| unreachable!("it is used"))
    }

    #[cold]
    fn use_first(&mut self) {
        let (file, seeds) = (self.current, self.seeds);
        // The first file has the seeds of a job with a single file.
        let seed = |seed: u64| if file == 0 { seed } else { mix(seed ^ mix(file as u64)) };
        let random = |purpose| Pcg64Mcg::seed_from_u64(seed(purpose));
        let (pattern, area) = (&self.pattern, self.set.files[file].area);
        let offsets = Offsets::new(pattern, area, random(seeds.offsets), random(seeds.lengths));
        self.used[file] = Some(Box::new(Used { offsets, submitted: 0 }));
    }

    fn is_done(&self, file: usize) -> bool {
        self.used[file].as_ref().is_some_and(|used| used.submitted >= self.set.files[file].bytes)
    }

    #[inline]
    fn choose(&mut self) {
        if let FileChoice::Only = self.choice {
            self.current = 0;
            return;
        }
        self.choose_among_several();
    }

    fn choose_among_several(&mut self) {
        let done = self.is_done(self.current);
        let stays =
            self.served > 0 && (self.set.service.turn == FileTurn::Sequential || self.served < self.set.service.every);
        if stays && !done {
            return;
        }
        if done {
            self.close(self.current);
        }
        self.served = 0;
        self.current = self.choice.pick(self.current, self.set.open);
    }

    /// Excludes a file that is done from the choice; after the last, all are included again.
    fn close(&mut self, file: usize) {
        let all = 0..self.set.files.len();
        let start_over = match &mut self.choice {
            FileChoice::Only => return,
            FileChoice::Skewed { .. } => file..file + 1,
            FileChoice::InTurn { open, closed } => {
                open.remove(&file);
                if !(open.is_empty() && closed.is_empty()) {
                    return;
                }
                closed.extend(all.clone());
                all
            }
            FileChoice::Drawn { open, closed, .. } => {
                open.retain(|other| *other != file);
                if !(open.is_empty() && closed.is_empty()) {
                    return;
                }
                closed.extend(all.clone());
                all
            }
        };
        self.over = start_over.len() == self.set.files.len() && core::mem::take(&mut self.cut_short);
        for file in start_over {
            let Some(used) = &mut self.used[file] else { continue };
            used.submitted = 0;
            used.offsets.start_over();
        }
    }
}

impl FileChoice {
    /// The file after `last`; at most `most` may be open.
    fn pick(&mut self, last: usize, most: usize) -> usize {
        match self {
            FileChoice::Only => 0,
            FileChoice::Skewed { skew, random } => skew.draw(random) as usize,
            FileChoice::InTurn { open, closed } => {
                let room = open.len() < most;
                let first = |from: usize| {
                    let opened = closed.range(from..).next().filter(|_| room);
                    open.range(from..).next().into_iter().chain(opened).min().copied()
                };
                let file = first(last + 1).or_else(|| first(0)).expect("a file that is not done");
                closed.remove(&file);
                open.insert(file);
                file
            }
            FileChoice::Drawn { open, closed, random } => {
                let room = if open.len() < most { closed.len() } else { 0 };
                let drawn = random.random_range(0..open.len() + room);
                if drawn >= open.len() {
                    open.push(closed.swap_remove(drawn - open.len()));
                    return open[open.len() - 1];
                }
                open[drawn]
            }
        }
    }
}

/// The ranks of the files are drawn, unless the distribution has a centre.
fn skew(kind: &Distribution, files: usize, random: &mut Pcg64Mcg) -> Skew {
    Skew::new(kind, files as u64, 1, random)
}
