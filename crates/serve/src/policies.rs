//! The `io` files of cgroups for tenants: the values that a tenant's and a disk's files accept, and what they require
//! to have an effect.
//!
//! **Rule** A tenant is a group of its disk's queue, and a file is written to that group: the state machines are those
//! of `blksched::cgroup`. `io.max`, `io.latency` and `io.weight` hold requests back inside the queue, so the server's
//! own time shares, which would wait for them, must not be in front: they need `--shares scheduler`. `io.weight`
//! belongs to io.cost and needs it. io.cost and io.latency put submitters to sleep, which only blk-mq's queues support;
//! such a queue has tags, which are configured at the start. Settings without an effect are refused.

use std::collections::BTreeMap;

use blksched::cgroup::files::{self, CostQos, Written};
use blksched::surroundings::mq::TagOrder;
use blksched::{GroupId, Slots};

use crate::config::{ServerConfig, Shares};

/// The files of a tenant.
pub const OF_TENANT: [&str; 4] = ["io.weight", "io.max", "io.latency", "io.prio.class"];
/// The files of a disk: those of the root group only.
pub const OF_DISK: [&str; 2] = ["io.cost.qos", "io.cost.model"];

/// The texts written to files, by their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WrittenFiles(BTreeMap<String, String>);

/// What decides which files have an effect on a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// What keeps the tenants' shares.
    pub shares: Shares,
    /// Whether submitters can be put to sleep.
    pub sleeps: bool,
    /// Whether io.cost is on.
    pub cost: bool,
}

impl WrittenFiles {
    /// Checks whether the file accepts this text, without writing it.
    ///
    /// # Errors
    /// What was expected instead.
    pub fn check(file: &str, text: &str) -> Result<(), String> {
        files::parse(file, text).map(drop).map_err(|error| error.to_string())
    }

    /// Records a write: in a file with keys, only the named ones change.
    pub fn write(&mut self, file: &str, text: &str) {
        let old = self.0.get(file).cloned().unwrap_or_default();
        let new: Vec<&str> = text.split_ascii_whitespace().collect();
        let key = |word: &str| word.split_once('=').map(|(key, _)| key.to_owned());
        let stays = |word: &&str| key(word).is_some_and(|own| !new.iter().any(|new| key(new).as_ref() == Some(&own)));
        let words: Vec<&str> = old.split_ascii_whitespace().filter(stays).chain(new.iter().copied()).collect();
        self.0.insert(file.to_owned(), words.join(" "));
    }

    /// A file's content; as in the kernel if it was never written.
    pub fn read(&self, file: &str) -> String {
        let unwritten = match file {
            "io.weight" => "default 100",
            "io.prio.class" => "no-change",
            _ => "",
        };
        self.0.get(file).map_or(unwritten, String::as_str).to_owned()
    }

    /// The files that were written.
    pub fn written(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(file, text)| (file.as_str(), text.as_str()))
    }
}

impl Setting {
    /// The setting of this server's queues at the start.
    pub fn of(config: &ServerConfig) -> Setting {
        let latency = config.exports.iter().any(|export| export.files.0.contains_key("io.latency"));
        let cost = config.disk_files.written().any(|(file, text)| switches_on(file, text) == Some(true));
        Setting { shares: config.shares, sleeps: latency || cost, cost }
    }

    /// The slots of such a queue; `nr_requests` is the number that elevators are told.
    pub fn slots(self, nr_requests: u32) -> Slots {
        match (self.sleeps, Slots::LINUX_6_12) {
            (true, Slots::Tags { era, .. }) => Slots::tags(nr_requests, era, TagOrder::Lowest),
            _ => Slots::Unbounded { nr_requests },
        }
    }

    /// Checks whether this file may be written, and has an effect.
    ///
    /// # Errors
    /// What it would need.
    pub fn allows(self, file: &str) -> Result<(), String> {
        let in_the_queue = file != "io.prio.class";
        if in_the_queue && self.shares == Shares::ByTime {
            return Err(format!("{file}: expected --shares scheduler: the server's own turns stand in front of it"));
        }
        if matches!(file, "io.weight" | "io.cost.model") && !self.cost {
            return Err(format!("{file}: io.cost is off: expected --io-cost-qos 'enable=1'"));
        }
        if matches!(file, "io.latency" | "io.cost.qos" | "io.cost.model") && !self.sleeps {
            let why = "it was started without io.latency and io.cost: expected one of them in its configuration";
            return Err(format!("{file}: {why}"));
        }
        Ok(())
    }
}

/// Whether it switches io.cost on, or off.
pub fn switches_on(file: &str, text: &str) -> Option<bool> {
    match files::parse(file, text) {
        Ok(Written::CostQos(CostQos { enable, .. })) => enable,
        _ => None,
    }
}

/// Checks that all files of this configuration are accepted and have an effect.
///
/// # Errors
/// Which does not, and why.
pub fn check(config: &ServerConfig) -> Result<(), String> {
    let setting = Setting::of(config);
    for export in &config.exports {
        for (file, text) in export.files.written() {
            let one = WrittenFiles::check(file, text).and_then(|()| setting.allows(file));
            one.map_err(|why| format!("export {}: {why}", export.name))?;
        }
    }
    for (file, text) in config.disk_files.written() {
        WrittenFiles::check(file, text)?;
        if file == "io.cost.qos" && !setting.cost {
            return Err("io.cost.qos: io.cost stays off: expected enable=1".to_owned());
        }
        setting.allows(file)?;
    }
    Ok(())
}

/// The group that a disk's file belongs to.
pub const DISK: GroupId = GroupId::ROOT;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_file_with_keys_only_those_change_that_are_named() {
        let mut files = WrittenFiles::default();
        assert_eq!((files.read("io.max"), files.read("io.weight")), (String::new(), "default 100".to_owned()));
        files.write("io.max", "rbps=1000 wiops=5");
        files.write("io.max", "rbps=max riops=7");
        assert_eq!(files.read("io.max"), "wiops=5 rbps=max riops=7");
        files.write("io.weight", "200");
        files.write("io.weight", "300");
        assert_eq!(files.read("io.weight"), "300");
    }

    #[test]
    fn what_would_have_no_effect_is_refused_with_what_it_takes() {
        let all = Setting { shares: Shares::ByScheduler, sleeps: true, cost: true };
        OF_TENANT.iter().chain(&OF_DISK).for_each(|file| assert_eq!(all.allows(file), Ok(())));
        let by_time = Setting { shares: Shares::ByTime, ..all };
        assert!(by_time.allows("io.max").unwrap_err().contains("expected --shares scheduler"));
        assert_eq!(by_time.allows("io.prio.class"), Ok(()));
        let plain = Setting { sleeps: false, cost: false, ..all };
        assert_eq!(plain.allows("io.max"), Ok(()));
        assert!(plain.allows("io.latency").unwrap_err().contains("started without"));
        let latency = Setting { cost: false, ..all };
        assert!(latency.allows("io.weight").unwrap_err().contains("expected --io-cost-qos 'enable=1'"));
        assert_eq!(switches_on("io.cost.qos", "enable=1"), Some(true));
        assert_eq!(switches_on("io.cost.qos", "min=50.00"), None);
    }
}
