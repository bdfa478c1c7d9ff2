//! Where an SSD's times vary: each mechanism is a table of its own, with `state = "on"` or `"off"`.

use blksched::Span;
use blksched_text::document::{Complaint, Section};

use super::reader::Quantities as _;
use crate::draw::Chance;

/// The mechanisms by which equal commands take different times; by default none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TailsSpec {
    /// `[pages]`: the pages of one cell are read in different times.
    pub pages: Option<PageTimes>,
    /// `[retry]`: a page that cannot be corrected is read again.
    pub retry: Option<RetrySpec>,
    /// `[map_cache]`: a part of the map is in memory, the rest in flash.
    pub map_cache: Option<MapCacheSpec>,
    /// `[stall]`: the drive programs so many writes at once.
    pub stall: Option<StallSpec>,
}

impl TailsSpec {
    /// The longest time that sensing a page can take, if it takes `read` without these mechanisms.
    pub fn longest_read(&self, read: Span) -> Span {
        let page = self.pages.map_or(read, |pages| pages.times().iter().fold(read, |most, &time| most.max(time)));
        page + self.retry.map_or(Span::ZERO, |retry| retry.step * u64::from(retry.most))
    }

    /// The longest program, if each takes `program` without these mechanisms.
    pub fn longest_program(&self, program: Span) -> Span {
        self.pages.map_or(program, |pages| pages.programs().iter().fold(program, |most, &time| most.max(time)))
    }
}

/// The pages of a cell with several bits: a lower page is told by fewer reference voltages than an upper one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageTimes {
    times: [Span; MOST_LEVELS],
    levels: usize,
    programs: [Span; MOST_LEVELS],
    steps: usize,
}

/// Four bits in a cell.
const MOST_LEVELS: usize = 4;

impl PageTimes {
    /// `None` unless there are two to four.
    pub fn new(times: &[Span]) -> Option<PageTimes> {
        let mut all = [Span::ZERO; MOST_LEVELS];
        (2..=MOST_LEVELS).contains(&times.len()).then(|| {
            all[..times.len()].copy_from_slice(times);
            PageTimes { times: all, levels: times.len(), programs: [Span::ZERO; MOST_LEVELS], steps: 0 }
        })
    }

    /// The same with programs that differ; `None` unless there are two to four of them.
    pub fn with_programs(mut self, programs: &[Span]) -> Option<PageTimes> {
        (2..=MOST_LEVELS).contains(&programs.len()).then(|| {
            self.programs[..programs.len()].copy_from_slice(programs);
            self.steps = programs.len();
            self
        })
    }

    /// What the programs of a cell take, one after the other; empty if each takes `flash.program`.
    pub fn programs(&self) -> &[Span] {
        &self.programs[..self.steps]
    }

    /// The time of each kind of page, of which a drive has equally many.
    pub fn times(&self) -> &[Span] {
        &self.times[..self.levels]
    }
}

/// Reading again with other reference voltages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetrySpec {
    /// How likely the first reading fails.
    pub chance: Chance,
    /// How likely each further one does.
    pub again: Chance,
    /// What a further one takes.
    pub step: Span,
    /// How many there are at most.
    pub most: u32,
}

/// A map that is not wholly in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapCacheSpec {
    /// How much of the disk the part in memory describes \[512-byte sectors\].
    pub covers_sectors: u64,
    /// What one page of the map describes \[512-byte sectors\].
    pub segment_sectors: u64,
}

/// Writes that are programmed in groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StallSpec {
    /// So many writes are a group; at least 1.
    pub every: u32,
    /// Programming one takes this long; meanwhile another is gathered, and then no write is taken.
    pub time: Span,
}

/// Cells that take one bit each, and are emptied into the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlcSpec {
    /// What they hold, of all dies \[512-byte sectors\].
    pub size_sectors: u64,
    /// Programming there.
    pub program: Span,
    /// A die that has programmed nothing for so long begins to empty its part.
    pub idle: Span,
    /// What is done with a write that finds no room.
    pub when_full: SlcWhenFull,
    /// Whether they are full at the start: where the file's `state` is `steady`.
    pub is_full: bool,
}

/// What is done with a write that finds no room in the cells of one bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlcWhenFull {
    /// It goes to the cells of several bits.
    Direct,
    /// As much as it needs is moved there first.
    Fold,
}

/// What a drive went through before the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriveState {
    /// Nothing was ever written: free blocks are as many as the file says.
    Fresh,
    /// All of it was written, in order: no free blocks, whole blocks become stale.
    Filled,
    /// All of it was overwritten at random until its rate no longer changed.
    Steady,
}

impl DriveState {
    /// Each, by the word that a disk's file uses.
    pub const WORDS: [(&'static str, DriveState); 3] =
        [("fresh", DriveState::Fresh), ("filled", DriveState::Filled), ("steady", DriveState::Steady)];
}

/// What holds where nothing varies.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlashTimes {
    /// Reading a page.
    pub(super) read: Span,
    /// Programming.
    pub(super) program: Span,
}

/// Times of a page's reading: those that data sheets and papers give are 20 to 200 us.
const LONGEST_READ: Span = Span::from_ms(10);

/// The same of programs: 0.1 to 5 ms.
const LONGEST_PROGRAM: Span = Span::from_ms(100);

const ON_OFF: [(&str, bool); 2] = [("on", true), ("off", false)];

pub(super) fn read(top: &Section<'_>, usual: FlashTimes) -> Result<TailsSpec, Complaint> {
    Ok(TailsSpec {
        pages: switched(top, "pages", &["state", "times", "programs"], |section| pages(section, usual))?,
        retry: switched(top, "retry", &["state", "chance", "again", "step", "most"], retry)?,
        map_cache: switched(top, "map_cache", &["state", "covers", "segment"], map_cache)?,
        stall: switched(top, "stall", &["state", "every", "time"], stall)?,
    })
}

/// A table that is read even if it is off, so that switching it on cannot fail.
pub(super) fn switched<T>(
    top: &Section<'_>,
    name: &'static str,
    keys: &'static [&'static str],
    read: impl Fn(&Section<'_>) -> Result<T, Complaint>,
) -> Result<Option<T>, Complaint> {
    let Some(section) = top.section(name, keys)? else { return Ok(None) };
    let is_on = section.word("state", &ON_OFF)?;
    let spec = read(&section)?;
    Ok(is_on.then_some(spec))
}

fn pages(section: &Section<'_>, usual: FlashTimes) -> Result<PageTimes, Complaint> {
    let times = times_around(section, "times", LONGEST_READ, ("flash.read", usual.read))?;
    let pages = PageTimes::new(&times).ok_or_else(|| few(section, "times", times.len()))?;
    if !section.has("programs") {
        return Ok(pages);
    }
    let programs = times_around(section, "programs", LONGEST_PROGRAM, ("flash.program", usual.program))?;
    pages.with_programs(&programs).ok_or_else(|| few(section, "programs", programs.len()))
}

fn few(section: &Section<'_>, key: &str, count: usize) -> Complaint {
    section.complain(&section.at_key(key), format!("{count} times: expected one for each page of a cell, 2 to 4"))
}

const SLC: &[&str] = &["state", "size", "program", "idle", "when_full"];

/// `[slc]`, of at least `least` sectors; a drive that has just been overwritten again and again has it full.
pub(super) fn slc(
    top: &Section<'_>,
    (usual, capacity, least): (FlashTimes, u64, u64),
    state: Option<DriveState>,
) -> Result<Option<SlcSpec>, Complaint> {
    switched(top, "slc", SLC, |section| {
        let size = section.capacity("size")?;
        if size > capacity {
            let problem = "`size` is more than the drive's `capacity`".to_owned();
            return Err(section.complain(&section.at_key("size"), problem));
        }
        if size < least {
            let kib = least.div_ceil(2);
            let problem = format!("`size` has no room for a program of each die: expected {kib}KiB or more");
            return Err(section.complain(&section.at_key("size"), problem));
        }
        let program = section.span("program", Span::ZERO..=LONGEST_PROGRAM)?;
        if program.value > usual.program {
            let problem = format!("`program` is longer than `flash.program` ({})", usual.program);
            return Err(section.complain(&program.at, problem));
        }
        Ok(SlcSpec {
            size_sectors: size,
            program: program.value,
            idle: section.span("idle", Span::ZERO..=Span::from_secs(3600))?.value,
            when_full: section.word("when_full", &[("direct", SlcWhenFull::Direct), ("fold", SlcWhenFull::Fold)])?,
            is_full: state == Some(DriveState::Steady),
        })
    })
}

/// A list of times, between which lies the time that holds when this is off.
fn times_around(
    section: &Section<'_>,
    key: &'static str,
    longest: Span,
    (usual_key, usual): (&str, Span),
) -> Result<Vec<Span>, Complaint> {
    let at = section.at_key(key);
    let mut times = Vec::new();
    for word in &section.words(key)? {
        let time: Option<Span> = word.value.parse().ok().filter(|time| *time <= longest);
        let problem = || format!("`{}` is not a time from 0ns to {longest}, as in \"58us\"", word.value);
        times.push(time.ok_or_else(|| section.complain(&word.at, problem()))?);
    }
    let (least, most) = (times.iter().min(), times.iter().max());
    if times.len() > 1 && (least > Some(&usual) || most < Some(&usual)) {
        let problem = format!("`{usual_key}` ({usual}), which holds when this is off, is not between these times");
        return Err(section.complain(&at, problem));
    }
    Ok(times)
}

fn retry(section: &Section<'_>) -> Result<RetrySpec, Complaint> {
    Ok(RetrySpec {
        chance: section.chance("chance")?,
        again: section.chance("again")?,
        step: section.span("step", Span::ZERO..=LONGEST_READ)?.value,
        most: section.count_within("most", 1..=100)?,
    })
}

/// More segments in memory than this would cost more than 32 MiB of ours.
const MOST_SEGMENTS: u64 = 1 << 22;

fn map_cache(section: &Section<'_>) -> Result<MapCacheSpec, Complaint> {
    let segment = section.sectors("segment", 8..=2_097_152)?;
    let covers = section.capacity("covers")?;
    if covers < segment.value || covers / segment.value > MOST_SEGMENTS {
        let problem = format!("`covers` is {} of `segment`: expected 1 to {MOST_SEGMENTS}", covers / segment.value);
        return Err(section.complain(&segment.at, problem));
    }
    Ok(MapCacheSpec { covers_sectors: covers, segment_sectors: segment.value })
}

fn stall(section: &Section<'_>) -> Result<StallSpec, Complaint> {
    Ok(StallSpec {
        every: section.count_within("every", 1..=u32::MAX)?,
        time: section.span("time", Span::ZERO..=Span::from_secs(10))?.value,
    })
}
