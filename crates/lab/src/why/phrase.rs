//! A story in words.

use blksched::reasons::HeldBack;
use blksched::{Dir, Op, Span, SubmitterId};
use blksched_measure::Quantity;
use blksched_simulate::story::{Batched, Begun, ForJournal, Leg, Part, Rule, Story, Whose};

use super::names::Names;

/// At most this many things are named in a sentence.
const MOST: usize = 5;

/// A length of time for people.
pub fn time(span: Span) -> String {
    Quantity::Time.show(span.as_ns() as f64)
}

/// One thing that a story's time went to, summed over its pieces.
struct TimeShare {
    part: Part,
    time: Span,
    commands: u32,
}

/// `pgdata/3's read of 8KiB at sector 12345`.
pub fn what(story: &Story, names: &Names) -> String {
    let whose = names.process(story.begun.by);
    let size = Quantity::Bytes.show((story.begun.sectors * 512) as f64);
    match story.begun.op {
        Op::Read => format!("{whose}'s read of {size} at sector {}", story.begun.start.0),
        Op::Write | Op::WriteZeroes => format!("{whose}'s write of {size} at sector {}", story.begun.start.0),
        Op::Discard => format!("{whose}'s trim of {size} at sector {}", story.begun.start.0),
        Op::Flush => format!("{whose}'s fsync"),
    }
}

/// The whole story as a sentence.
pub fn sentence(story: &Story, names: &Names) -> String {
    let shares = shares(story);
    let (served, waits): (Vec<&TimeShare>, Vec<&TimeShare>) = shares.iter().partition(|share| share.part.is_service());
    let sum = |shares: &[&TimeShare]| shares.iter().fold(Span::ZERO, |sum, share| sum + share.time);
    let (waited, service) = (sum(&waits), sum(&served));
    let waited_in_all = waited;
    let mut told = waits;
    told.sort_by_key(|share| core::cmp::Reverse(share.time));
    let enough = |share: &&TimeShare| share.time.as_ns() * 100 >= story.latency().as_ns();
    let mut named: Vec<&TimeShare> = told.into_iter().filter(enough).take(MOST).collect();
    named.sort_by_key(|share| story.pieces.iter().position(|piece| piece.part == share.part));
    let rest = waited.saturating_sub(sum(&named));
    let mut phrases: Vec<String> = named.iter().map(|share| phrase(share, story.begun.by, names)).collect();
    if !rest.is_zero() && !phrases.is_empty() && rest.as_ns() * 1000 >= story.latency().as_ns() {
        phrases.push(format!("and {} of smaller waits", time(rest)));
    }
    let waited = format!("waited {}{}", time(waited), for_the_journal(story, waited, names));
    let mut text = match phrases.is_empty() {
        true => waited,
        false => format!("{waited}: {}", phrases.join(", then ").replace(", then and", ", and")),
    };
    if !service.is_zero() {
        let parts: Vec<String> = served.iter().map(|share| service_word(share)).collect();
        let among = match story.journal.waited > waited_in_all {
            true => format!(", with that of {},", names.metadata()),
            false => String::new(),
        };
        text += &format!("; its own service in the disk{among} took {} ({})", time(service), parts.join(", "));
    }
    text
}

/// `a read of 4096B`, `an fsync`.
fn kind(begun: &Begun) -> String {
    let size = Quantity::Bytes.show((begun.sectors * 512) as f64);
    match begun.op {
        Op::Read => format!("a read of {size}"),
        Op::Write | Op::WriteZeroes => format!("a write of {size}"),
        Op::Discard => format!("a trim of {size}"),
        Op::Flush => "an fsync".to_owned(),
    }
}

/// Of an I/O that had not ended when the run did, so long after its begin.
pub(super) fn brief_of_unfinished(begun: &Begun, after: Span, names: &Names) -> String {
    let (whose, what, after) = (names.process(begun.by), kind(begun), time(after));
    let said = format!("{whose}'s slowest I/O, {what}, had not ended {after} after it began, when the run was over");
    said + ": a longer one (--time) tells why."
}

/// What most of its time went to: `append's slowest I/O (7, an fsync) took 9.43s, 5.33s of it for …`.
///
/// **Rule** one division of its time: by the journal, if that had half of it, or else by its largest part.
pub(super) fn brief(story: &Story, names: &Names) -> String {
    let ForJournal { waited, until_deadline, behind, .. } = story.journal;
    let (nth, what) = (story.nth, kind(&story.begun));
    let (latency, shares) = (story.latency(), shares(story));
    let said = format!("{}'s slowest I/O ({nth}, {what}) took {}", names.process(story.begun.by), time(latency));
    let is_served = |share: &&TimeShare| share.part.is_service() && share.part != Part::Flush;
    let served = shares.iter().filter(is_served).fold(Span::ZERO, |sum, share| sum + share.time);
    let longest = shares.iter().filter(|share| !is_served(share)).max_by_key(|share| share.time);
    let (longest, above_all) = match longest.filter(|longest| longest.time > served) {
        Some(flush) if flush.part == Part::Flush => (flush.time, "the flush of the drive's cache".to_owned()),
        Some(wait) => (wait.time, phrase(wait, story.begun.by, names)),
        None => (served, "its own service in the disk".to_owned()),
    };
    let is_all = |span: Span| span.as_ns() * 100 >= latency.as_ns() * 99;
    let is_most = longest.as_ns() * 2 >= latency.as_ns();
    let has_time = above_all.contains(&time(longest));
    let phrase = if has_time { above_all.clone() } else { format!("{above_all} took {}", time(longest)) };
    if waited.is_zero() || waited.as_ns() * 2 < latency.as_ns() {
        return match is_most {
            true if is_all(longest) && !has_time => format!("{said}, all of it {above_all}."),
            true => format!("{said}; above all, {phrase}."),
            false => format!("{said}; the largest part: {phrase}."),
        };
    }
    let stood = stood(waited, until_deadline, behind, names);
    // Of a part of its time nobody knows which pieces were the journal's.
    let rest = match stood.is_empty() && is_all(waited) && is_most {
        true => format!(": {phrase}"),
        false => stood,
    };
    let of_it = if is_all(waited) { "all".to_owned() } else { time(waited) };
    format!("{said}, {of_it} of it for {}{rest}.", names.metadata())
}

/// Behind whom the journal's writes stood until their deadline, if that was most of the wait for them.
fn stood(waited: Span, until_deadline: Span, behind: Option<Whose>, names: &Names) -> String {
    if until_deadline.as_ns() * 2 <= waited.as_ns() {
        return String::new();
    }
    let behind = match behind {
        Some(whose @ Whose::Process(_)) => format!("{}'s", names.whose(whose)),
        _ => "others'".to_owned(),
    };
    let stood = time(until_deadline);
    format!(", which stood behind {behind} in the scheduler for {stood}, until their own deadline")
}

/// In how many trips to the disk a call waited that needed the journal, and what of it was for the journal, if that is
/// a tenth.
fn for_the_journal(story: &Story, all: Span, names: &Names) -> String {
    let ForJournal { waited, until_deadline, trips, behind } = story.journal;
    if waited.as_ns() * 10 < story.latency().as_ns() || waited.is_zero() {
        return String::new();
    }
    let trips = if trips > 1 { format!(" in {trips} trips to the disk") } else { String::new() };
    // Its service in the disk is no wait.
    if waited > all {
        return trips;
    }
    let stood = stood(waited, until_deadline, behind, names);
    format!("{trips}, {} of it for {}{stood}", time(waited), names.metadata())
}

fn shares(story: &Story) -> Vec<TimeShare> {
    let mut shares: Vec<TimeShare> = Vec::new();
    for piece in &story.pieces {
        match shares.iter_mut().find(|share| share.part == piece.part) {
            Some(share) => {
                share.time += piece.length();
                share.commands += piece.commands;
            }
            None => shares.push(TimeShare { part: piece.part, time: piece.length(), commands: piece.commands }),
        }
    }
    shares
}

fn service_word(share: &TimeShare) -> String {
    format!("{} {}", rule(share.part), time(share.time))
}

/// `two of backup's requests`, `3 of its own requests`.
fn requests(whose: Whose, commands: u32, by: SubmitterId, names: &Names, noun: &str) -> String {
    let count = match commands {
        0 | 1 => "one".to_owned(),
        2 => "two".to_owned(),
        3 => "three".to_owned(),
        many => many.to_string(),
    };
    match whose {
        Whose::Process(process) if process == by => format!("{count} of its own {noun}"),
        Whose::Process(process) => format!("{count} of {}'s {noun}", names.process(process)),
        Whose::Flush | Whose::Group(_) | Whose::Nobody => names.whose(whose),
    }
}

fn phrase(share: &TimeShare, by: SubmitterId, names: &Names) -> String {
    let TimeShare { part, time: length, commands } = *share;
    let length = time(length);
    let of = |whose: Whose, noun: &str| requests(whose, commands, by, names, noun);
    let who = |whose: Whose| match whose {
        Whose::Process(process) if process == by => "its own I/O".to_owned(),
        whose => names.whose(whose),
    };
    match part {
        Part::Cpu => format!("the host's processors took {length}"),
        Part::Memory => format!("the host's memory kept it for {length} (copying pages, or waiting for other writers)"),
        Part::Stacked => format!("it was with the stacked device for {length} (encryption, parity, its other parts)"),
        Part::Plug => format!("it was in its own plug for {length}"),
        Part::Slot(whose) => {
            format!("it slept {length} for a request slot (nr_requests) while the disk worked for {}", who(whose))
        }
        Part::Policy(by, whose) => format!("{by} held it back {length} while the disk worked for {}", who(whose)),
        Part::Max(group) if names.is_within(by, group) => format!("its group's io.max held it back {length}"),
        Part::Max(group) => {
            format!("metadata that it needs on the disk stood {length} under the io.max of {}", names.group(group))
        }
        Part::QueuePlug => format!("the queue was plugged for {length}"),
        Part::Behind(whose, rule) => behind(whose, rule, &length, (&of, &who)),
        Part::IdleFor(process) => format!("the disk was kept idle {length} for {}", who(Whose::Process(process))),
        Part::IdleForGroup(_) => format!("the disk was kept idle {length} for a group's next request"),
        Part::Idle => format!("the disk was left idle for {length}"),
        Part::Free => format!("it was in the queue for {length} although the disk was free"),
        Part::Drive(whose, dir) => {
            let noun = if dir == Dir::Read { "reads" } else { "writes" };
            format!("in the drive it was behind {} for {length}", of(whose, noun))
        }
        Part::DriveCache(whose) => {
            format!("the drive wrote out cached writes of {} for {length}", who(whose))
        }
        Part::DriveItself => format!("the drive was busy with its own work for {length} (its cache, its firmware)"),
        Part::FlushWaits(whose) => format!("its flush waited {length} while the disk worked for {}", who(whose)),
        Part::News => format!("its process was told {length} later"),
        Part::Forgotten => format!("{length} of this is older than the oldest record kept"),
        service => format!("{} {length}", rule(service)),
    }
}

type Words<'a> = (&'a dyn Fn(Whose, &str) -> String, &'a dyn Fn(Whose) -> String);

fn behind(whose: Whose, rule: Rule, length: &str, (of, who): Words<'_>) -> String {
    let noun = |dir: Dir| if dir == Dir::Read { "reads" } else { "writes" };
    match rule {
        Rule::Slice => format!("{} held its slice for {length}", who(whose)),
        Rule::WriteBackSlice => format!("write-back of {} held its slice for {length}", who(whose)),
        Rule::InDrive => format!("the drive already had {} for {length}", of(whose, "requests")),
        Rule::Cache => format!("the drive wrote out cached writes of {} for {length}", who(whose)),
        Rule::CacheOf(why) => {
            format!("the drive wrote out cached writes of {} for {length}, because {}", who(whose), filled(why))
        }
        Rule::Drain => format!("the next batch waited {length} until the drive had returned {}", of(whose, "requests")),
        Rule::Token(domain) => {
            format!("there was no token for a {domain} for {length} while the disk had {}", of(whose, "requests"))
        }
        Rule::Held(why) => format!("its turn came, but {} for {length}", held(why)),
        Rule::Batch(dir, Batched::Turn) => format!("a batch of {} went ahead for {length}", of(whose, noun(dir))),
        Rule::Batch(dir, Batched::Expired) => {
            format!("{}, begun because time was up, went ahead for {length}", of(whose, noun(dir)))
        }
        Rule::Batch(dir, Batched::Starved) => {
            format!("{}, passed over often enough, went ahead for {length}", of(whose, noun(dir)))
        }
        Rule::Batch(dir, Batched::Moved) => {
            format!("{} had been moved to the dispatch list at once and went ahead for {length}", of(whose, noun(dir)))
        }
        Rule::First => format!("{} went ahead for {length}", of(whose, "requests")),
    }
}

/// What filled the drive's cache.
fn filled(why: Batched) -> &'static str {
    match why {
        Batched::Turn => "a batch of writes had filled its cache",
        Batched::Expired => "a batch of writes, begun because time was up, had filled its cache",
        Batched::Starved => "a batch of writes, passed over often enough, had filled its cache",
        Batched::Moved => "a batch of writes, moved to the dispatch list at once, had filled its cache",
    }
}

fn held(why: HeldBack) -> &'static str {
    match why {
        HeldBack::AsyncInFlight => "write-back was still in the drive",
        HeldBack::SyncInFlight => "it is write-back, and the drive had synchronous requests",
        HeldBack::Quantum => "it had as many requests in the drive as it may (quantum)",
        HeldBack::AsyncDepth => "the drive already had as much write-back as allowed",
        HeldBack::SliceShort => "what was in the drive would take the rest of its slice",
    }
}

/// The rule as it appears in the blame table and in JSON.
pub fn rule(part: Part) -> &'static str {
    match part {
        Part::Cpu => "the host's processors",
        Part::Memory => "in the host's memory",
        Part::Stacked => "with the stacked device",
        Part::Plug => "in its own plug",
        Part::Slot(_) => "no request slot (nr_requests)",
        Part::Policy(by, _) => by,
        Part::Max(_) => "io.max",
        Part::QueuePlug => "the queue was plugged",
        Part::Behind(_, Rule::InDrive) => "in the drive already when it came",
        Part::Behind(_, Rule::Cache) => "the drive wrote out its cached writes",
        Part::Behind(_, Rule::CacheOf(Batched::Moved)) => "a batch of writes, chosen at once, filled the drive's cache",
        Part::Behind(_, Rule::CacheOf(_)) => "a batch of writes filled the drive's cache",
        Part::Behind(_, Rule::Slice) => "held its turn (slice, budget)",
        Part::Behind(_, Rule::WriteBackSlice) => "write-back held its turn",
        Part::Behind(_, Rule::Batch(Dir::Read, Batched::Expired)) => "a batch of reads: time was up",
        Part::Behind(_, Rule::Batch(Dir::Write, Batched::Expired)) => "a batch of writes: time was up",
        Part::Behind(_, Rule::Batch(Dir::Read, Batched::Moved)) => "a batch of reads, chosen at once",
        Part::Behind(_, Rule::Batch(Dir::Write, Batched::Moved)) => "a batch of writes, chosen at once",
        Part::Behind(_, Rule::Batch(Dir::Read, _)) => "a batch of reads",
        Part::Behind(_, Rule::Batch(Dir::Write, Batched::Starved)) => "a batch of writes passed over often enough",
        Part::Behind(_, Rule::Batch(Dir::Write, Batched::Turn)) => "a batch of writes",
        Part::Behind(_, Rule::Drain) => "the previous batch drains",
        Part::Behind(_, Rule::Token(_)) => "no token",
        Part::Behind(_, Rule::Held(_)) => "its own queue may send no more",
        Part::Behind(_, Rule::First) => "went ahead in the queue",
        Part::IdleFor(_) | Part::IdleForGroup(_) => "the disk was kept idle",
        Part::Idle => "the disk was left idle",
        Part::Free => "the disk was free",
        Part::Drive(..) => "ahead of it in the drive",
        Part::DriveCache(_) => "the drive wrote out its cached writes",
        Part::DriveItself => "the drive was busy with its own work",
        Part::Overhead => "overhead",
        Part::Seek => "seek",
        Part::Settle => "settle",
        Part::Rotation => "rotation",
        Part::Transfer => "transfer",
        Part::Interface => "interface",
        Part::Flush => "flush",
        Part::FlushWaits(_) => "before its flush",
        Part::News => "until its process was told",
        Part::Forgotten => "before the oldest record kept",
    }
}

/// The leg of its way.
pub fn leg(leg: Leg) -> &'static str {
    match leg {
        Leg::Before => "before the scheduler",
        Leg::Elevator => "in the scheduler",
        Leg::Drive => "in the drive, waiting",
        Leg::Service => "in the drive, served",
        Leg::After => "after the drive",
    }
}

#[cfg(feature = "perfetto")]
impl blksched_simulate::story::Words for Names {
    fn process(&self, submitter: SubmitterId) -> String {
        Names::process(self, submitter)
    }

    fn part(&self, part: Part) -> String {
        match part.whose() {
            Whose::Nobody => rule(part).to_owned(),
            whose => format!("{}: {}", rule(part), self.whose(whose)),
        }
    }

    fn story(&self, story: &Story) -> String {
        sentence(story, self)
    }
}
