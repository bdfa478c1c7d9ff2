//! **What for**: a stacked device and its disks as one disk: for whoever has a single queue in front of it, as the
//! server does.
//!
//! **Rule**: each member takes as many commands as it can and lets the others wait in their order; there is no
//! scheduler in front of it. Everything else is the [`Volume`]'s.

use std::borrow::Cow;
use std::collections::VecDeque;

use blksched::author::RequestId;
use blksched::{Bio, Command, Durability, Instant, SubmitterId, Tag};
use blksched_text::document::Source;

use super::file::stack_bindings;
use super::words::{StackWord, StackedWord, stack_word};
use super::{Below, StackSpec, Volume};
use crate::disk::admit;
use crate::{Activity, CommandOutcome, Disk, DiskError, DiskSpec, Facts, Finished, IoError, Ledger, Stint};

/// A disk, or disks with a stacked device above them.
#[derive(Clone, Debug)]
pub enum DiskOrStack {
    /// A disk.
    Disk(Box<DiskSpec>),
    /// Disks, and what is above them.
    Stack(StackedDisks),
}

impl DiskOrStack {
    /// By a preset's name, a TOML file (of a disk, or with a table `[stack]`), or words such as `md-raid1:2xssd`.
    ///
    /// # Errors
    /// The place, the word, what was expected and the nearest word.
    pub fn load(name: &str) -> Result<DiskOrStack, DiskError> {
        if let Some(words) = stack_word(name) {
            return StackedDisks::of(&words?, &crate::load).map(DiskOrStack::Stack);
        }
        let text = if name.ends_with(".toml") { std::fs::read_to_string(name).ok() } else { None };
        match text.and_then(|text| Some((stack_bindings(name, &text)?, text))) {
            Some((bindings, text)) => bound(Source { file: name, text: &text }, &bindings?).map(DiskOrStack::Stack),
            None => crate::load(name).map(|spec| DiskOrStack::Disk(Box::new(spec))),
        }
    }

    /// The disk that it makes.
    pub fn build(&self, seed: u64) -> Box<dyn Disk> {
        match self {
            DiskOrStack::Disk(spec) => spec.build(seed),
            DiskOrStack::Stack(stack) => stack.build(seed),
        }
    }
}

impl From<DiskSpec> for DiskOrStack {
    fn from(spec: DiskSpec) -> DiskOrStack {
        DiskOrStack::Disk(Box::new(spec))
    }
}

/// The device that is above all others of a file.
fn bound(source: Source<'_>, bindings: &[(String, String)]) -> Result<StackedDisks, DiskError> {
    let wrong = |problem: String| DiskError::from(source.complain(&(0..0), problem));
    let mut stacked = Vec::new();
    for (name, word) in bindings {
        if let Some(words) = stack_word(word) {
            stacked.push((name.as_str(), words?));
        }
    }
    let mut members: Vec<&str> = stacked.iter().flat_map(|(_, words)| words.disks()).collect();
    let tops: Vec<&(&str, StackedWord)> = stacked.iter().filter(|(name, _)| !members.contains(name)).collect();
    let [(_, top)] = tops[..] else {
        let all = tops.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        return Err(wrong(match tops.len() {
            0 => "each device is below another: expected disks at the bottom".to_owned(),
            _ => format!("{all} are above all others: expected one such device"),
        }));
    };
    members.retain(|member| bindings.iter().any(|(name, _)| name == member));
    members.sort_unstable();
    if let Some(twice) = members.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(wrong(format!("`{}` is a member twice: expected each disk once", twice[0])));
    }
    StackedDisks::of_named(top, &Named { bindings, stacked: &stacked })
}

/// What the names of a file are.
struct Named<'a> {
    bindings: &'a [(String, String)],
    stacked: &'a [(&'a str, StackedWord)],
}

/// A stacked device with the descriptions of its members.
#[derive(Clone, Debug)]
pub struct StackedDisks {
    spec: StackSpec,
    members: Vec<StackedMember>,
}

#[derive(Clone, Debug)]
enum StackedMember {
    Disk(Box<DiskSpec>),
    Stacked(StackedDisks),
}

/// dm-crypt's workers.
const PROCESSORS: u32 = 4;
/// In whose name its threads work: nobody else has this number.
const THREAD: SubmitterId = SubmitterId(u32::MAX);

impl StackedDisks {
    /// The device of these words, whose disks `load` finds.
    ///
    /// # Errors
    /// A disk that is not found, or members that are too small for any data.
    ///
    /// ```
    /// use blksched_disks::stack::{StackedDisks, stack_word};
    ///
    /// let words = stack_word("md-raid1:2xide-2002").unwrap().unwrap();
    /// let mirror = StackedDisks::of(&words, &blksched_disks::load).unwrap().build(1);
    /// assert_eq!(mirror.facts().sectors, blksched_disks::load("ide-2002").unwrap().build(1).facts().sectors);
    /// ```
    pub fn of(
        words: &StackedWord,
        load: &dyn Fn(&str) -> Result<DiskSpec, DiskError>,
    ) -> Result<StackedDisks, DiskError> {
        let member = |member: &StackWord| match member {
            StackWord::Stacked(inner) => StackedDisks::of(inner, load).map(StackedMember::Stacked),
            StackWord::Disk { word, .. } => load(word).map(|spec| StackedMember::Disk(Box::new(spec))),
        };
        let members = words.members.iter().map(member).collect::<Result<_, _>>()?;
        Ok(StackedDisks { spec: words.spec, members })
    }

    /// The same where members may be names. Each is a member once, and the one above all is none: there is no circle.
    fn of_named(words: &StackedWord, named: &Named<'_>) -> Result<StackedDisks, DiskError> {
        let member = |member: &StackWord| match member {
            StackWord::Stacked(inner) => StackedDisks::of_named(inner, named).map(StackedMember::Stacked),
            StackWord::Disk { word, .. } => match named.stacked.iter().find(|(name, _)| name == word) {
                Some((_, inner)) => StackedDisks::of_named(inner, named).map(StackedMember::Stacked),
                None => {
                    let said = named.bindings.iter().find(|(name, _)| name == word).map_or(word, |(_, said)| said);
                    crate::load(said).map(|spec| StackedMember::Disk(Box::new(spec)))
                }
            },
        };
        let members = words.members.iter().map(member).collect::<Result<_, _>>()?;
        Ok(StackedDisks { spec: words.spec, members })
    }

    /// The disk that it makes.
    pub fn build(&self, seed: u64) -> Box<dyn Disk> {
        let members = self.members.iter().enumerate().map(|(nth, member)| {
            let seed = seed.wrapping_add((nth as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            StackMember::new(match member {
                StackedMember::Disk(spec) => spec.build(seed),
                StackedMember::Stacked(stacked) => stacked.build(seed),
            })
        });
        Box::new(StackedDisk::new(&self.spec, members.collect()))
    }
}

/// A member and the commands that wait for it.
struct StackMember {
    disk: Box<dyn Disk>,
    waiting: VecDeque<(Command, Tag)>,
    free: Vec<u32>,
    /// The part that has this request.
    parts: Vec<Tag>,
}

impl StackMember {
    fn new(disk: Box<dyn Disk>) -> StackMember {
        let depth = disk.facts().depth;
        StackMember {
            disk,
            waiting: VecDeque::new(),
            free: (0..depth).rev().collect(),
            parts: vec![Tag(0); depth as usize],
        }
    }

    fn take(&mut self, now: Instant) {
        while let Some(&place) = self.free.last().filter(|_| !self.waiting.is_empty()) {
            let (command, tag) = self.waiting.pop_front().expect("one waits");
            self.free.pop();
            self.parts[place as usize] = tag;
            self.disk.start(now, Command { rq: RequestId::from_index(place), ..command });
        }
    }
}

struct StackedDisk {
    facts: Facts,
    volume: Volume,
    members: Vec<StackMember>,
    finished: VecDeque<Finished>,
    in_flight: u32,
    out: Vec<Below>,
}

impl StackedDisk {
    fn new(spec: &StackSpec, members: Vec<StackMember>) -> StackedDisk {
        let all = || members.iter().map(|member| member.disk.facts());
        let lengths: Vec<u64> = all().map(|facts| facts.sectors).collect();
        let volume = Volume::new(spec, &lengths, PROCESSORS, THREAD);
        let volume = if all().all(|facts| facts.rotational) { volume } else { volume.with_solid_members() };
        let facts = Facts {
            sectors: volume.map().sectors(),
            rotational: all().any(|facts| facts.rotational),
            depth: all().map(|facts| facts.depth).fold(0, u32::saturating_add),
            max_sectors: all().map(|facts| facts.max_sectors).min().expect("it has members"),
            volatile_cache: all().any(|facts| facts.volatile_cache),
            fua: all().all(|facts| facts.fua),
        };
        StackedDisk { facts, volume, members, finished: VecDeque::new(), in_flight: 0, out: Vec::new() }
    }

    /// Does what the volume wants done.
    fn obey(&mut self, now: Instant) {
        for below in core::mem::take(&mut self.out) {
            match below {
                Below::Submit { member, bio } => {
                    let rq = RequestId::from_index(0);
                    let Bio { op, start, sectors, submitter, tag, .. } = bio;
                    let command = Command { rq, op, start, sectors, fua: bio.durability.fua, submitter };
                    let member = &mut self.members[member as usize];
                    member.waiting.push_back((command, tag));
                    member.take(now);
                }
                Below::Complete { tag, failed } => {
                    let outcome = if failed { CommandOutcome::Failed(IoError::Medium) } else { CommandOutcome::Ok };
                    self.ends(RequestId::from_index(tag.0 as u32), now, outcome);
                }
            }
        }
    }

    fn ends(&mut self, rq: RequestId, at: Instant, outcome: CommandOutcome) {
        self.finished.push_back(Finished { rq, at, outcome, service: Activity::default() });
    }

    /// When a member or the volume does something.
    fn upcoming(&self) -> Option<Instant> {
        let members = self.members.iter().filter_map(|member| member.disk.next());
        members.chain(self.volume.next()).min()
    }

    fn advance(&mut self, now: Instant) {
        while let Some(at) = self.upcoming().filter(|at| *at <= now) {
            if self.volume.next().is_some_and(|next| next <= at) {
                self.volume.elapse(at, &mut self.out);
            }
            for member in &mut self.members {
                while let Some(done) = member.disk.finish(at) {
                    let place = done.rq.index();
                    member.free.push(place as u32);
                    let failed = done.outcome != CommandOutcome::Ok;
                    self.volume.done(at, member.parts[place], failed, &mut self.out);
                }
                member.take(at);
            }
            self.obey(at);
        }
    }
}

impl Disk for StackedDisk {
    fn facts(&self) -> Facts {
        self.facts
    }

    fn start(&mut self, now: Instant, command: Command) {
        let outcome = admit(&self.facts, self.in_flight, &command);
        self.in_flight += 1;
        if outcome != CommandOutcome::Ok {
            return self.ends(command.rq, now, outcome);
        }
        let Command { rq, op, start, sectors, fua, submitter } = command;
        let bio = Bio::read(rq.index() as u64, submitter, start, sectors);
        let bio = Bio { op, durability: Durability { preflush: false, fua }, ..bio };
        self.volume.enter(now, bio, &mut self.out);
        self.obey(now);
    }

    fn next(&self) -> Option<Instant> {
        self.finished.front().map(|done| done.at).or_else(|| self.upcoming())
    }

    fn finish(&mut self, now: Instant) -> Option<Finished> {
        self.advance(now);
        let done = self.finished.pop_front()?;
        self.in_flight -= 1;
        Some(done)
    }

    fn in_flight(&self) -> u32 {
        self.in_flight
    }

    fn ledger(&self) -> Cow<'_, Ledger> {
        Cow::Owned(Ledger::of_all(self.members.iter().map(|member| &*member.disk)))
    }

    fn parts(&self) -> u32 {
        self.members.iter().map(|member| member.disk.parts()).sum()
    }

    fn watch(&mut self) {
        self.members.iter_mut().for_each(|member| member.disk.watch());
    }

    fn stints(&mut self, to: &mut Vec<Stint>) {
        let mut before = 0;
        for member in &mut self.members {
            let known = to.len();
            member.disk.stints(to);
            to[known..].iter_mut().for_each(|stint| stint.part += before);
            before += member.disk.parts();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sectors(text: &str) -> Result<u64, String> {
        let bindings = stack_bindings("a.toml", text).expect("it has a table [stack]").unwrap();
        let stack = bound(Source { file: "a.toml", text }, &bindings).map_err(|error| error.to_string())?;
        Ok(stack.build(1).facts().sectors)
    }

    #[test]
    fn a_file_is_the_device_above_all_others() {
        let disk = crate::load("ide-2002").unwrap().build(1).facts().sectors;
        let alone = "[stack]\nkind = \"md-raid0\"\nmembers = [\"ide-2002\", \"ide-2002\"]\n";
        assert!(sectors(alone).unwrap() > disk * 19 / 10);
        let two = "[stack.top]\nkind = \"crypt\"\nmembers = [\"md0\"]\n[stack.md0]\nkind = \"md-raid1\"\n\
                   members = [\"a\", \"b\"]\n[disks]\na = \"ide-2002\"\nb = \"hdd-7200\"\n";
        assert_eq!(sectors(two), Ok(disk / 8 * 8 - 32_768));
        let twice = sectors(&two.replace("\"b\"]", "\"a\"]")).unwrap_err();
        assert!(twice.contains("`a` is a member twice: expected each disk once"), "{twice}");
        let circle = sectors(&two.replace("[\"a\", \"b\"]", "[\"top\", \"b\"]")).unwrap_err();
        assert!(circle.contains("a.toml:1:1: each device is below another"), "{circle}");
        let apart = two.replace("[\"md0\"]", "[\"ide-2002\"]");
        let apart = sectors(&apart).unwrap_err();
        assert!(apart.contains("top, md0 are above all others: expected one such device"), "{apart}");
    }
}
