//! The settings of a disk's queue: what an arm changes, and in which order all is given back.
//!
//! **Rule** A switch of the scheduler makes its knobs anew, gives the queue another `nr_requests`, and turns writeback
//! throttling off or on (`wbt_lat_usec`); so the scheduler is always first, then its knobs, then the queue's files.
//! `wbt_lat_usec` is only written if it reads otherwise, as any write makes it "on by hand"; and then -1 is tried
//! before the number, which gives the kernel's own value back. Files of control groups are before the queue's, since
//! io.cost turns throttling off, too ([`group`](super::group)).
//! **Source** docs/behaviour/blk-wbt.md; the kernel's Documentation/ABI/stable/sysfs-block for -1; the rest was
//! observed on 6.18 (there, -1 is "by hand", too: BFQ no longer turns it off; and mq-deadline's `async_depth` becomes
//! what is written to `nr_requests`, so that everything is written in two rounds).

use std::collections::BTreeSet;
use std::fmt;

use super::group;
use super::place::OF_THE_MEMORY;
use super::{LiveMachine, Place};

/// The queue's files that an arm may change; all of them are saved, as a switch changes some.
const OF_THE_QUEUE: [&str; 7] =
    ["nr_requests", "read_ahead_kb", "max_sectors_kb", "nomerges", "rq_affinity", "wbt_lat_usec", "iostats"];

/// The schedulers of which all knobs are numbers.
const KNOBS_ARE_NUMBERS: [&str; 3] = ["mq-deadline", "kyber", "bfq"];

/// One of the settings that are compared: `bfq:slice_idle=0:nr_requests=128`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveArm {
    /// The scheduler.
    pub scheduler: String,
    /// What else is set.
    pub settings: Vec<(Place, String)>,
}

impl LiveArm {
    /// Reads an arm.
    ///
    /// # Errors
    /// The word that was not understood.
    pub fn parse(text: &str) -> Result<LiveArm, String> {
        let mut words = text.split(':');
        let scheduler = words.next().unwrap_or_default().trim();
        let is_word =
            |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b));
        if !is_word(scheduler) {
            return Err(format!("`{text}`: expected a scheduler, as in `bfq` or `bfq:slice_idle=0`"));
        }
        let settings = words.map(|word| match word.split_once('=') {
            Some((name, value)) if group::is_meant(name) => {
                group::parse(name, value).map_err(|why| format!("`{text}`: {why}"))
            }
            Some((name, value)) if is_word(name) && !value.is_empty() => Ok((LiveArm::place(name), value.to_owned())),
            _ => Err(format!("`{text}`: `{word}`: expected KNOB=VALUE, as in `bfq:slice_idle=0:nr_requests=128`")),
        });
        let settings = settings.collect::<Result<Vec<_>, String>>()?;
        LiveArm::checked(text, scheduler, &settings)?;
        Ok(LiveArm { scheduler: scheduler.to_owned(), settings })
    }

    /// What these settings may not be together.
    fn checked(text: &str, scheduler: &str, settings: &[(Place, String)]) -> Result<(), String> {
        let memory = |place: &Place| matches!(place, Place::Memory(_));
        if let Some((place, _)) = settings.iter().find(|(place, value)| memory(place) && value.trim() == "0") {
            return Err(format!(
                "`{text}`: {} is 0 where the other of its pair is used: expected a limit, as in `dirty_bytes=67108864`",
                place.name()
            ));
        }
        let is_number = |(place, value): &&(Place, String)| match place {
            Place::Queue(name) if name == "wbt_lat_usec" && value == "-1" => true,
            Place::Queue(_) | Place::Memory(_) => value.parse::<u64>().is_ok(),
            // Of others it is not known.
            Place::Knob(_) if KNOBS_ARE_NUMBERS.contains(&scheduler) => value.parse::<i64>().is_ok(),
            _ => true,
        };
        if let Some((place, value)) = settings.iter().find(|one| !is_number(one)) {
            return Err(format!("`{text}`: {}={value}: expected a whole number, without a unit", place.name()));
        }
        let twice = |(nth, (place, _)): &(usize, &(Place, String))| {
            settings[..*nth].iter().any(|(other, _)| other == place || other.is_the_same_knob(place))
        };
        if let Some((_, (place, _))) = settings.iter().enumerate().find(twice) {
            return Err(format!(
                "`{text}`: {} is set twice, or by the other name of the same: expected one",
                place.name()
            ));
        }
        // Observed on 6.18, on a loop device: after 8 under `none`, another scheduler and `none` again, it reads 128
        // and holds 8 requests. Reading back cannot tell whether it was given back, so it is not taken.
        if scheduler == "none" && settings.iter().any(|(place, _)| *place == Place::Queue("nr_requests".to_owned())) {
            return Err(format!(
                "`{text}`: under `none`, `nr_requests` cuts the driver's own tags, and they stay cut under the other \
                 settings and afterwards, whatever the file reads: expected it with a scheduler, as in \
                 `mq-deadline:nr_requests=64`"
            ));
        }
        let is_bfqs = |place: &Place| matches!(place, Place::Group { file, .. } if file == "io.bfq.weight");
        match settings.iter().any(|(place, _)| is_bfqs(place)) && scheduler != "bfq" {
            true => Err(format!("`{text}`: io.bfq.weight: only bfq obeys it: expected it with `bfq`")),
            false => Ok(()),
        }
    }

    /// The names of the files of the queue and of the memory that an arm may set.
    pub fn around() -> Vec<&'static str> {
        OF_THE_QUEUE.into_iter().chain(OF_THE_MEMORY).collect()
    }

    /// Whether it holds I/O back before it counts as waiting in the block layer: limits and shares of groups.
    pub fn holds_back(&self) -> bool {
        let is_limit = |file: &str| file != "io.bfq.weight";
        self.groups().any(|(place, _)| matches!(place, Place::Group { file, .. } if is_limit(file)))
    }

    /// Whether it sets a limit of dirty pages, which is common to all disks.
    pub fn sets_memory(&self) -> bool {
        self.settings.iter().any(|(place, _)| matches!(place, Place::Memory(_)))
    }

    /// Whether it sets figures of io.cost, which finds its rate only in some seconds.
    pub fn sets_io_cost(&self) -> bool {
        let is_of_cost = |file: &str| file.starts_with("io.cost.") || file == "io.weight";
        self.settings.iter().any(|(place, _)| matches!(place, Place::Group { file, .. } if is_of_cost(file)))
    }

    /// The groups' files among its settings.
    pub fn groups(&self) -> impl Iterator<Item = &(Place, String)> {
        self.settings.iter().filter(|(place, _)| matches!(place, Place::Group { .. }))
    }

    /// The same without them.
    pub(super) fn without_groups(&self) -> LiveArm {
        let others = self.settings.iter().filter(|(place, _)| !matches!(place, Place::Group { .. }));
        LiveArm { scheduler: self.scheduler.clone(), settings: others.cloned().collect() }
    }

    fn place(name: &str) -> Place {
        match (OF_THE_QUEUE.contains(&name), OF_THE_MEMORY.contains(&name)) {
            (true, _) => Place::Queue(name.to_owned()),
            (_, true) => Place::Memory(name.to_owned()),
            _ => Place::Knob(name.to_owned()),
        }
    }
}

impl fmt::Display for LiveArm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.scheduler)?;
        self.settings.iter().try_for_each(|(place, value)| write!(f, ":{}={value}", place.name()))
    }
}

/// Every setting of a queue, as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved(pub Vec<(Place, String)>);

impl Saved {
    /// Reads those of the disk.
    ///
    /// # Errors
    /// If the scheduler cannot be read.
    pub fn read(machine: &mut impl LiveMachine) -> Result<Saved, String> {
        let mut all = vec![(Place::Scheduler, machine.read(&Place::Scheduler)?)];
        let knobs = machine.knobs().into_iter().map(Place::Knob);
        let places: Vec<Place> = knobs.chain(OF_THE_QUEUE.map(|name| Place::Queue(name.to_owned()))).collect();
        all.extend(places.into_iter().filter_map(|place| machine.read(&place).ok().map(|value| (place, value))));
        all.sort();
        Ok(Saved(all))
    }

    /// The same, and what of these arms' is not the disk's alone: the groups' files that they set, and the memory's
    /// limits if one of them sets one. Nobody else's trial touches what is common to all disks. If one of them leaves
    /// BFQ, its weights for this disk in all groups are among them.
    ///
    /// # Errors
    /// As [`read`](Saved::read), and of a group's file that the machine does not have, or whose weight cannot be given
    /// back.
    pub fn read_for(machine: &mut impl LiveMachine, arms: &[LiveArm]) -> Result<Saved, String> {
        let saved = Saved::read(machine)?;
        let leaves_bfq = saved.scheduler() == "bfq" && arms.iter().any(|arm| arm.scheduler != "bfq");
        let forgotten = if leaves_bfq { machine.weighted()? } else { Vec::new() };
        let named = arms.iter().flat_map(LiveArm::groups).map(|(place, _)| place);
        let groups: BTreeSet<&Place> = named.chain(&forgotten).collect();
        groups.iter().try_for_each(|place| machine.read(place).map(drop))?;
        let memory = if arms.iter().any(LiveArm::sets_memory) { &OF_THE_MEMORY[..] } else { &[] };
        let memory = memory.iter().map(|name| Place::Memory((*name).to_owned()));
        Ok(saved.extended(machine, groups.into_iter().cloned().chain(memory)))
    }

    /// What these places read now: the disk's, and those besides that are among them.
    ///
    /// # Errors
    /// As [`read`](Saved::read).
    pub(super) fn again(&self, machine: &mut impl LiveMachine) -> Result<Saved, String> {
        let others = self.0.iter().map(|(place, _)| place.clone());
        let others = others.filter(|place| matches!(place, Place::Memory(_) | Place::Group { .. }));
        Ok(Saved::read(machine)?.extended(machine, others))
    }

    fn extended(mut self, machine: &mut impl LiveMachine, places: impl Iterator<Item = Place>) -> Saved {
        self.0.extend(places.filter_map(|place| machine.read(&place).ok().map(|value| (place, value))));
        self.0.sort();
        self
    }

    /// The value of a place.
    pub fn value(&self, place: &Place) -> Option<&str> {
        self.0.iter().find(|(at, _)| at == place).map(|(_, value)| value.as_str())
    }

    /// The scheduler.
    pub fn scheduler(&self) -> &str {
        self.value(&Place::Scheduler).unwrap_or("none")
    }

    /// These settings with an arm's in their place. `fresh` is what a switch to the arm's scheduler gives; it is
    /// `self` for the scheduler that was there, whose knobs are the user's. Throttling is not among them if the arm
    /// switches io.cost on or off, which decides about it, nor is `async_depth` if it sets `nr_requests`.
    pub fn with(&self, arm: &LiveArm, fresh: &Saved) -> Saved {
        let own = self.0.iter().filter(|(place, _)| !is_switched(place));
        let mut all: Vec<(Place, String)> = match arm.scheduler == self.scheduler() {
            true => self.0.clone(),
            false => own.chain(fresh.0.iter().filter(|(place, _)| is_switched(place))).cloned().collect(),
        };
        for (place, value) in &arm.settings {
            all.retain(|(at, _)| at != place && !place.is_the_same_knob(at));
            let value = match place {
                Place::Group { file, .. } => group::merged(file, self.value(place).unwrap_or_default(), value),
                _ => value.clone(),
            };
            all.push((place.clone(), value));
        }
        let throttling = Place::Queue("wbt_lat_usec".to_owned());
        let is_set = |place: &Place| arm.settings.iter().any(|(at, _)| at == place);
        let (tags, depth) = (Place::Queue("nr_requests".to_owned()), Place::Knob("async_depth".to_owned()));
        let has_cost = arm.groups().any(|(place, value)| group::switches_cost(place, value));
        let is_left =
            |place: &Place| (*place == throttling && has_cost || *place == depth && is_set(&tags)) && !is_set(place);
        all.retain(|(place, _)| !is_left(place));
        all.sort();
        Saved(all)
    }

    /// Writes everything that reads otherwise, in the order of [`Place`], except what somebody else has set.
    ///
    /// # Errors
    /// Every setting that is not as it should be afterwards.
    pub fn put(&self, machine: &mut impl LiveMachine, except: Option<&Place>) -> Result<(), String> {
        // What a later file of the first round has changed is written again in the second.
        drop(self.write(machine, except));
        let mut failed = self.write(machine, except);
        let ours = |(place, value): &&(Place, String)| !is_theirs(except, place) && !value.starts_with('-');
        for (place, value) in self.0.iter().filter(ours) {
            match machine.read(place) {
                _ if machine.is_gone(place) => {}
                Ok(now) if now == *value || is_a_groups(place) && group::agrees(value, &now) => {}
                Ok(now) => failed.push(format!("{}: {value} was written, and it reads {now}", place.path())),
                Err(error) => failed.push(error),
            }
        }
        if failed.is_empty() { Ok(()) } else { Err(failed.join("; ")) }
    }

    /// One round of it: what was refused.
    fn write(&self, machine: &mut impl LiveMachine, except: Option<&Place>) -> Vec<String> {
        let mut failed = Vec::new();
        for (place, value) in &self.0 {
            let is_theirs = is_theirs(except, place);
            // A limit of dirty pages is not 0 but unused: the other of its pair, which is written instead, makes it so.
            let is_unused = value == "0" && matches!(place, Place::Memory(_));
            let is_so = |now: String| now == *value || is_a_groups(place) && group::agrees(value, &now);
            if is_theirs || is_unused || machine.is_gone(place) || machine.read(place).is_ok_and(is_so) {
                continue;
            }
            if let Err(error) = give(machine, place, value) {
                failed.push(format!("{} was {value}: {error}", place.path()));
            }
        }
        failed
    }
}

/// Whether a switch to another scheduler gives this place another value.
fn is_switched(place: &Place) -> bool {
    match place {
        Place::Scheduler | Place::Knob(_) => true,
        Place::Queue(name) => ["nr_requests", "wbt_lat_usec"].contains(&name.as_str()),
        Place::Memory(_) => false,
        // A disk's weights in a group are BFQ's own, and go with it.
        Place::Group { file, .. } => file == "io.bfq.weight",
    }
}

/// Whether what somebody else has set decides about this place, too: if it is the scheduler, what came with that, and
/// else what shows the same number under another name or follows it.
fn is_theirs(theirs: Option<&Place>, place: &Place) -> bool {
    let follows = |theirs: &Place| match theirs {
        Place::Queue(name) => name == "nr_requests" && *place == Place::Knob("async_depth".to_owned()),
        Place::Group { file, .. } => file == "io.cost.qos" && *place == Place::Queue("wbt_lat_usec".to_owned()),
        _ => false,
    };
    theirs.is_some_and(|theirs| {
        *theirs == Place::Scheduler && is_switched(place)
            || theirs == place
            || theirs.is_the_same_knob(place)
            || follows(theirs)
    })
}

fn is_a_groups(place: &Place) -> bool {
    matches!(place, Place::Group { .. })
}

/// Writes a value that reads otherwise now. Throttling's is the default if -1 gives it; figures by hand are written
/// over the kernel's own.
fn give(machine: &mut impl LiveMachine, place: &Place, value: &str) -> Result<(), String> {
    let is_throttling = *place == Place::Queue("wbt_lat_usec".to_owned());
    if is_throttling && value != "0" && machine.write(place, "-1").is_ok() && machine.read(place)? == value {
        return Ok(());
    }
    if is_a_groups(place) && group::is_by_hand(value) {
        machine.write(place, "ctrl=auto")?;
    }
    machine.write(place, value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::simulated::SimulatedMachine;

    #[test]
    fn arms_come_back_as_typed_and_wrong_words_are_named() {
        for text in ["none", "bfq:slice_idle=0", "mq-deadline:fifo_batch=1:nr_requests=64:wbt_lat_usec=0"] {
            assert_eq!(LiveArm::parse(text).unwrap().to_string(), text);
        }
        for (text, word) in [("bfq:slice_idle", "`slice_idle`"), ("", "``"), ("bfq:a=", "`a=`"), ("../x", "`../x`")] {
            assert!(LiveArm::parse(text).unwrap_err().contains(word), "{text}");
        }
    }

    #[test]
    fn a_value_that_no_file_takes_is_named() {
        for text in [
            "bfq:nr_requests=0x",
            "bfq:dirty_bytes=64M",
            "mq-deadline:fifo_batch=abc",
            "none:wbt_lat_usec=-5",
            "bfq:read_ahead_kb=",
        ] {
            let said = LiveArm::parse(text).unwrap_err();
            assert!(said.contains("expected a whole number") || said.contains("expected KNOB=VALUE"), "{said}");
        }
        for text in ["none:wbt_lat_usec=-1", "bfq:max_budget=0", "adios:of_words=a b", "kyber:read_lat_nsec=2000000"] {
            LiveArm::parse(text).unwrap();
        }
    }

    #[test]
    fn the_drivers_own_tags_are_not_cut() {
        let refused = LiveArm::parse("none:read_ahead_kb=64:nr_requests=8").unwrap_err();
        assert!(refused.contains("cuts the driver's own tags"), "{refused}");
        LiveArm::parse("none:read_ahead_kb=64").unwrap();
        LiveArm::parse("mq-deadline:nr_requests=8").unwrap();
    }

    #[test]
    fn throttling_is_given_back_as_the_default_if_that_is_what_it_was() {
        let wbt = Place::Queue("wbt_lat_usec".to_owned());
        for (was, attempts) in [("2000", vec!["-1"]), ("750", vec!["-1", "750"]), ("0", vec!["0"])] {
            let mut machine = SimulatedMachine::new(1);
            machine.values.insert(wbt.clone(), was.to_owned());
            let saved = Saved::read(&mut machine).unwrap();
            machine.write(&wbt, "33").unwrap();
            machine.written.clear();
            saved.put(&mut machine, None).unwrap();
            assert_eq!(Saved::read(&mut machine).unwrap(), saved);
            let values: Vec<&str> = machine.written.iter().map(|(_, value)| value.as_str()).collect();
            assert_eq!(values, attempts, "{was}");
        }
    }

    #[test]
    fn a_limit_of_dirty_pages_is_given_back_by_the_one_of_its_pair_that_was_used() {
        let memory = |name: &str| Place::Memory(name.to_owned());
        for (was, value) in [("dirty_ratio", "20"), ("dirty_bytes", "90000000")] {
            let mut machine = SimulatedMachine::new(1);
            machine.write(&memory(was), value).unwrap();
            let arm = LiveArm::parse("mq-deadline:dirty_bytes=64000000:dirty_background_bytes=16000000").unwrap();
            assert_eq!(arm.to_string(), "mq-deadline:dirty_bytes=64000000:dirty_background_bytes=16000000");
            let saved = Saved::read_for(&mut machine, std::slice::from_ref(&arm)).unwrap();
            saved.with(&arm, &saved).put(&mut machine, None).unwrap();
            assert_eq!(machine.read(&memory("dirty_bytes")).unwrap(), "64000000");
            assert_eq!(machine.read(&memory("dirty_ratio")).unwrap(), "0");
            // An arm without them has what was there.
            let plain = LiveArm::parse("mq-deadline").unwrap();
            saved.with(&plain, &saved).put(&mut machine, None).unwrap();
            assert_eq!(saved.again(&mut machine).unwrap(), saved, "{was}");
            // Who sets the bytes meanwhile keeps them: the ratio is not given back.
            machine.write(&memory("dirty_bytes"), "12345678").unwrap();
            saved.put(&mut machine, Some(&memory("dirty_bytes"))).unwrap();
            assert_eq!(machine.read(&memory("dirty_bytes")).unwrap(), "12345678");
        }
        let without = Saved::read_for(&mut SimulatedMachine::new(1), &[LiveArm::parse("bfq").unwrap()]).unwrap();
        assert!(
            !without.0.iter().any(|(place, _)| matches!(place, Place::Memory(_))),
            "it is no business of this trial"
        );
        for (text, word) in
            [("bfq:dirty_bytes=0", "is 0 where"), ("bfq:dirty_bytes=64000000:dirty_ratio=20", "set twice")]
        {
            assert!(LiveArm::parse(text).unwrap_err().contains(word), "{text}");
        }
    }

    #[test]
    fn a_value_that_does_not_take_is_said() {
        let mut machine = SimulatedMachine { deaf: true, ..SimulatedMachine::new(1) };
        let saved = Saved::read(&mut machine).unwrap();
        let arm = LiveArm::parse("mq-deadline:nr_requests=64").unwrap();
        let said = saved.with(&arm, &saved).put(&mut machine, None).unwrap_err();
        assert_eq!(said, "nr_requests: 64 was written, and it reads 256");
    }

    #[test]
    fn everything_is_given_back_after_any_switches() {
        let mut machine = SimulatedMachine::new(1);
        machine.write(&Place::Knob("fifo_batch".to_owned()), "7").unwrap();
        machine.write(&Place::Queue("nr_requests".to_owned()), "33").unwrap();
        let saved = Saved::read(&mut machine).unwrap();
        for scheduler in ["bfq", "none", "kyber", "mq-deadline", "bfq"] {
            machine.write(&Place::Scheduler, scheduler).unwrap();
            machine.write(&Place::Queue("read_ahead_kb".to_owned()), "512").unwrap();
        }
        assert_ne!(Saved::read(&mut machine).unwrap(), saved);
        saved.put(&mut machine, None).unwrap();
        assert_eq!(Saved::read(&mut machine).unwrap(), saved);
    }

    #[test]
    fn a_knob_that_follows_the_tags_follows_them_and_is_given_back() {
        let (tags, depth) = (Place::Queue("nr_requests".to_owned()), Place::Knob("async_depth".to_owned()));
        for was in ["256", "100"] {
            let mut machine = SimulatedMachine::new(1);
            machine.write(&depth, was).unwrap();
            let saved = Saved::read(&mut machine).unwrap();
            for (arm, reads) in [
                ("mq-deadline:nr_requests=64", ["64", "64"]),
                ("mq-deadline", ["256", was]),
                ("mq-deadline:nr_requests=64:async_depth=8", ["64", "8"]),
            ] {
                saved.with(&LiveArm::parse(arm).unwrap(), &saved).put(&mut machine, None).unwrap();
                assert_eq!([&tags, &depth].map(|place| machine.read(place).unwrap()), reads, "{arm}");
            }
            saved.put(&mut machine, None).unwrap();
            assert_eq!(Saved::read(&mut machine).unwrap(), saved);
        }
    }

    #[test]
    fn a_number_with_two_names_is_set_and_given_back() {
        let mut machine = SimulatedMachine::new(1);
        let us = Place::Knob("slice_idle_us".to_owned());
        machine.write(&Place::Scheduler, "bfq").unwrap();
        machine.write(&us, "7500").unwrap();
        let saved = Saved::read(&mut machine).unwrap();
        for (arm, reads) in [("bfq:slice_idle=0", "0"), ("bfq:slice_idle_us=300", "300"), ("bfq", "7500")] {
            saved.with(&LiveArm::parse(arm).unwrap(), &saved).put(&mut machine, None).unwrap();
            assert_eq!(machine.read(&us).unwrap(), reads);
        }
        machine.write(&Place::Knob("slice_idle".to_owned()), "2").unwrap();
        saved.put(&mut machine, None).unwrap();
        assert_eq!(Saved::read(&mut machine).unwrap(), saved);
    }

    #[test]
    fn what_somebody_else_has_set_stays_theirs() {
        let mut machine = SimulatedMachine::new(1);
        let saved = Saved::read(&mut machine).unwrap();
        let theirs = Place::Queue("read_ahead_kb".to_owned());
        machine.write(&Place::Scheduler, "bfq").unwrap();
        machine.write(&theirs, "4096").unwrap();
        saved.put(&mut machine, Some(&theirs)).unwrap();
        assert_eq!(machine.read(&theirs).unwrap(), "4096");
        assert_eq!(machine.read(&Place::Scheduler).unwrap(), "mq-deadline");
    }

    #[test]
    fn throttling_that_reads_as_it_was_is_not_written() {
        let mut machine = SimulatedMachine::new(1);
        let saved = Saved::read(&mut machine).unwrap();
        machine.write(&Place::Scheduler, "bfq").unwrap();
        machine.written.clear();
        saved.put(&mut machine, None).unwrap();
        assert!(machine.written.iter().all(|(place, _)| place.path() != "wbt_lat_usec"), "{:?}", machine.written);
    }
}
