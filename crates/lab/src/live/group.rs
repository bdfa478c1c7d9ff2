//! The files of control groups' I/O controllers (cgroup v2) as parts of an arm.
//!
//! **Rule** Such a file has a line for each disk. Only the line of the trial's disk is read, written and given back, in
//! one form: what stands behind the disk's number, and what holds where the disk has no line. Where the kernel chooses
//! the figures itself (`ctrl=auto`), they change without anybody's doing and are left out. An arm may name a part of a
//! line's keys; the others are as they were. Before figures are set, `ctrl=auto` is written, so that none of another
//! arm's is left.
//! **Source** the kernel's Documentation/admin-guide/cgroup-v2.rst, "IO Interface Files"; docs/behaviour/cgroup-io.md:
//! from 6.12 on, io.cost turns writeback throttling off on its disk, as BFQ does.

use blksched_text::did_you_mean;

use super::Place;

/// One of the files.
struct GroupFile {
    name: &'static str,
    /// It belongs to the root group, which has it for all groups.
    is_of_root: bool,
    /// The keys of a line; none if it is a weight.
    keys: &'static [&'static str],
    /// What holds without a line.
    without: &'static str,
    /// The words that a value may be besides a number.
    words: &'static [&'static str],
}

const FILES: [GroupFile; 6] = [
    GroupFile { name: "io.bfq.weight", is_of_root: false, keys: &[], without: "default", words: &["default"] },
    GroupFile {
        name: "io.cost.model",
        is_of_root: true,
        keys: &["ctrl", "model", "rbps", "rseqiops", "rrandiops", "wbps", "wseqiops", "wrandiops"],
        without: "ctrl=auto",
        words: &["auto", "user", "linear"],
    },
    GroupFile {
        name: "io.cost.qos",
        is_of_root: true,
        keys: &["enable", "ctrl", "rpct", "rlat", "wpct", "wlat", "min", "max"],
        without: "enable=0 ctrl=auto",
        words: &["auto", "user"],
    },
    GroupFile { name: "io.latency", is_of_root: false, keys: &["target"], without: "target=0", words: &[] },
    GroupFile {
        name: "io.max",
        is_of_root: false,
        keys: &["rbps", "wbps", "riops", "wiops"],
        without: "rbps=max wbps=max riops=max wiops=max",
        words: &["max"],
    },
    GroupFile { name: "io.weight", is_of_root: false, keys: &[], without: "default", words: &["default"] },
];

fn file(name: &str) -> Option<&'static GroupFile> {
    FILES.iter().find(|file| file.name == name)
}

/// Whether this word of an arm is meant to be a group's file.
pub(super) fn is_meant(name: &str) -> bool {
    name.contains('/') || name.starts_with("io.")
}

/// Reads `system.slice/postgresql.service/io.max` and what is to be written there.
///
/// # Errors
/// What was not understood, and what was expected.
pub(super) fn parse(name: &str, value: &str) -> Result<(Place, String), String> {
    let (group, last) = name.trim_start_matches('/').rsplit_once('/').unwrap_or(("", name));
    let Some(file) = file(last) else {
        let all: Vec<&str> = FILES.iter().map(|file| file.name).collect();
        let near = did_you_mean(last, all.iter().copied());
        return Err(format!("`{name}`: a group has no file `{last}` here: expected one of {}{near}", all.join(", ")));
    };
    let is_name = |part: &str| {
        let is_plain = |c: char| c.is_alphanumeric() || "-_.@\\+".contains(c);
        !part.is_empty() && !part.contains("..") && part != "." && part.chars().all(is_plain)
    };
    match (file.is_of_root, group) {
        (true, "") => {}
        (true, _) => return Err(format!("`{name}`: {last} is of the root group: expected `{last}=…`")),
        (false, "") => {
            return Err(format!("`{name}`: {last} of which group? expected as in `system.slice/db.service/{last}=…`"));
        }
        (false, group) => {
            if let Some(part) = group.split('/').find(|part| !is_name(part)) {
                return Err(format!("`{name}`: `{part}` is no group's name: expected as in `system.slice/db.service`"));
            }
        }
    }
    let checked = if file.keys.is_empty() { weight(file, value) } else { line(file, value) };
    let value = checked.map_err(|why| format!("`{name}={value}`: {why}"))?;
    Ok((Place::Group { group: group.to_owned(), file: last.to_owned() }, value))
}

fn weight(file: &GroupFile, value: &str) -> Result<String, String> {
    let most = if file.name == "io.bfq.weight" { 1000 } else { 10_000 };
    let value = value.trim();
    let is_weight = value == "default" || value.parse::<u32>().is_ok_and(|weight| (1..=most).contains(&weight));
    let wrong = || format!("`{value}`: expected a weight from 1 to {most}, or `default`");
    is_weight.then(|| value.to_owned()).ok_or_else(wrong)
}

fn line(file: &GroupFile, value: &str) -> Result<String, String> {
    let mut seen: Vec<&str> = Vec::new();
    for word in value.split_whitespace() {
        let keys = || file.keys.join(", ");
        let Some((key, number)) = word.split_once('=') else {
            return Err(format!("`{word}`: expected KEY=VALUE, with a key of {}", keys()));
        };
        if !file.keys.contains(&key) {
            let near = did_you_mean(key, file.keys.iter().copied());
            return Err(format!("`{key}` is no key of {}: expected one of {}{near}", file.name, keys()));
        }
        if seen.contains(&key) {
            return Err(format!("`{key}` is given twice"));
        }
        let is_number = number.parse::<f64>().is_ok_and(|number| number.is_finite() && number >= 0.0);
        // In io.cost.qos `max` is a key, and no value.
        if !is_number && !file.words.contains(&number) {
            let words: String = file.words.iter().map(|word| format!(", or `{word}`")).collect();
            let near = did_you_mean(number, file.words.iter().copied());
            return Err(format!("`{word}`: expected a number, without a unit{words}{near}"));
        }
        seen.push(key);
    }
    if seen.is_empty() { Err("expected KEY=VALUE".to_owned()) } else { Ok(words_of(value).join(" ")) }
}

fn words_of(value: &str) -> Vec<&str> {
    value.split_whitespace().collect()
}

fn pairs(value: &str) -> Vec<(&str, &str)> {
    value.split_whitespace().map(|word| word.split_once('=').unwrap_or((word, ""))).collect()
}

/// The value of a key in a line.
pub(super) fn get<'v>(value: &'v str, key: &str) -> Option<&'v str> {
    pairs(value).into_iter().find(|(own, _)| *own == key).map(|(_, value)| value)
}

/// What a group's file of this name, with this text, says of the disk with this number (`8:0`).
pub fn of_disk(name: &str, text: &str, number: &str) -> String {
    let own = text.lines().find_map(|line| line.trim().strip_prefix(number)?.strip_prefix(' ')).map(str::trim);
    let said = own.filter(|own| !own.is_empty()).or_else(|| Some(file(name)?.without)).unwrap_or_default();
    if get(said, "ctrl") != Some("auto") {
        return words_of(said).join(" ");
    }
    // The kernel's own figures.
    let kept = words_of(said).into_iter().filter(|word| word.starts_with("enable=") || word.starts_with("ctrl="));
    kept.collect::<Vec<_>>().join(" ")
}

/// A line as it was with an arm's words in their place.
pub(super) fn merged(name: &str, was: &str, set: &str) -> String {
    let Some(file) = file(name).filter(|file| !file.keys.is_empty()) else { return set.to_owned() };
    let is_by_hand = pairs(set).iter().any(|(key, _)| !["enable", "ctrl"].contains(key));
    let value = |key: &&'static str| {
        let said = get(set, key).or_else(|| (*key == "ctrl" && is_by_hand).then_some("user"));
        said.or_else(|| get(was, key)).map(|said| format!("{key}={said}"))
    };
    let all = file.keys.iter().filter_map(value).collect::<Vec<_>>().join(" ");
    of_disk(name, &format!("0:0 {all}"), "0:0")
}

/// Whether a file reads what was written: the same figures, however they are spelt.
pub(super) fn agrees(written: &str, reads: &str) -> bool {
    let is_same = |one: &str, other: &str| match (one.parse::<f64>(), other.parse::<f64>()) {
        (Ok(one), Ok(other)) => (one - other).abs() < 0.005,
        _ => one == other,
    };
    pairs(written).into_iter().all(|(key, value)| match value {
        "" => is_same(key, reads),
        value => get(reads, key).is_some_and(|found| is_same(value, found)),
    })
}

/// Whether these words have the kernel's own figures replaced.
pub(super) fn is_by_hand(value: &str) -> bool {
    get(value, "ctrl") == Some("user")
}

/// Whether this switches io.cost on or off.
pub(super) fn switches_cost(place: &Place, value: &str) -> bool {
    matches!(place, Place::Group { file, .. } if file == "io.cost.qos") && get(value, "enable").is_some()
}

/// What puts a group's file of this name back to the kernel's default.
pub fn default_of(name: &str) -> &'static str {
    file(name).map_or("default", |file| file.without)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::{LiveArm, LiveMachine, Saved, conduct, plan, simulated::SimulatedMachine};
    use blksched::Span;

    fn place(group: &str, file: &str) -> Place {
        Place::Group { group: group.to_owned(), file: file.to_owned() }
    }

    #[test]
    fn files_of_groups_are_words_of_an_arm_and_come_back_as_typed() {
        for text in [
            "mq-deadline:io.cost.qos=enable=1 min=50.00 max=150.00",
            "bfq:system.slice/user@1000.service/io.bfq.weight=300",
            "none:web/io.max=rbps=20971520 wiops=max:web/io.weight=default:nr_x=1",
            "none:prod/dev-disk-by\\x2duuid.device/io.latency=target=10000",
        ] {
            assert_eq!(LiveArm::parse(text).unwrap().to_string(), text);
        }
        let arm = LiveArm::parse("none:/web/io.weight=300").unwrap();
        assert_eq!(arm.settings, [(place("web", "io.weight"), "300".to_owned())]);
        assert_eq!(Place::of_path("a/b/io.max"), place("a/b", "io.max"));
        assert_eq!(Place::of_path("io.cost.qos").path(), "io.cost.qos");
    }

    #[test]
    fn what_no_group_has_is_named_with_what_it_has() {
        for (text, word) in [
            ("none:web/io.maks=rbps=1", "did you mean `io.max`?"),
            ("none:io.max=rbps=1", "io.max of which group?"),
            ("none:web/io.cost.qos=enable=1", "of the root group: expected `io.cost.qos=…`"),
            ("none:web/io.max=rbsp=1", "did you mean `rbps`?"),
            ("none:web/io.max=rbps=20M", "expected a number, without a unit, or `max`"),
            ("none:web/io.max=20971520", "expected KEY=VALUE"),
            ("none:web/io.max=rbps=1 rbps=2", "given twice"),
            ("none:web/io.weight=0", "expected a weight from 1 to 10000"),
            ("bfq:web/io.bfq.weight=2000", "from 1 to 1000"),
            ("none:web/io.bfq.weight=300", "only bfq obeys"),
            ("none:../etc/io.max=rbps=1", "`..` is no group's name"),
            ("none:web//io.max=rbps=1", "`` is no group's name"),
            ("none:web/io.weight=1:web/io.weight=2", "set twice"),
        ] {
            let said = LiveArm::parse(text).unwrap_err();
            assert!(said.contains(word), "{text}: {said}");
        }
    }

    #[test]
    fn a_disk_has_its_own_line_and_without_one_what_holds() {
        let max = "8:16 rbps=2097152 wbps=max riops=max wiops=120\n8:0 rbps=max wbps=max riops=9 wiops=max\n";
        assert_eq!(of_disk("io.max", max, "8:0"), "rbps=max wbps=max riops=9 wiops=max");
        assert_eq!(of_disk("io.max", max, "8:1"), "rbps=max wbps=max riops=max wiops=max");
        assert_eq!(of_disk("io.weight", "default 100\n8:0 300\n", "8:0"), "300");
        assert_eq!(of_disk("io.weight", "default 100\n8:0 300\n", "8:16"), "default");
        let auto = "8:0 enable=1 ctrl=auto rpct=0.00 rlat=5000 wpct=0.00 wlat=5000 min=1.00 max=10000.00\n";
        assert_eq!(of_disk("io.cost.qos", auto, "8:0"), "enable=1 ctrl=auto");
        assert_eq!(of_disk("io.cost.qos", "", "8:0"), "enable=0 ctrl=auto");
        assert_eq!(of_disk("io.latency", "", "8:0"), "target=0");
    }

    #[test]
    fn an_arm_may_name_a_part_and_figures_agree_however_spelt() {
        let qos = |was: &str, set: &str| merged("io.cost.qos", was, set);
        assert_eq!(qos("enable=0 ctrl=auto", "enable=1"), "enable=1 ctrl=auto");
        assert_eq!(qos("enable=0 ctrl=auto", "enable=1 min=50"), "enable=1 ctrl=user min=50");
        let was = "enable=1 ctrl=user rpct=95.00 rlat=5000 wpct=95.00 wlat=5000 min=50.00 max=150.00";
        assert_eq!(qos(was, "ctrl=auto"), "enable=1 ctrl=auto");
        assert!(qos(was, "rlat=2500").contains("rlat=2500") && qos(was, "rlat=2500").contains("max=150.00"));
        assert!(agrees("enable=1 min=50", "enable=1 ctrl=user min=50.00 max=150.00"));
        assert!(!agrees("enable=1 min=51", "enable=1 ctrl=user min=50.00") && !agrees("target=9", ""));
        assert!(agrees("300", "300") && agrees("default", "default") && !agrees("300", "default"));
    }

    #[test]
    fn io_cost_and_limits_take_turns_and_everything_is_given_back() {
        let (qos, max) = (place("", "io.cost.qos"), place("web", "io.max"));
        let words = [
            "mq-deadline",
            "mq-deadline:io.cost.qos=enable=1 min=50.00 max=150.00",
            "mq-deadline:web/io.max=rbps=2097152",
            "bfq:web/io.bfq.weight=300",
        ];
        for (of_qos, of_max) in [
            ("enable=0 ctrl=auto", "rbps=max wbps=max riops=max wiops=max"),
            (
                "enable=1 ctrl=user rpct=95.00 rlat=75000 wpct=0.00 wlat=5000 min=25.00 max=200.00",
                "rbps=max wbps=1000 riops=max wiops=max",
            ),
        ] {
            let mut machine = SimulatedMachine::new(1);
            machine.write(&qos, of_qos).unwrap();
            machine.write(&max, of_max).unwrap();
            let arms = words.map(|word| LiveArm::parse(word).unwrap());
            let saved = Saved::read_for(&mut machine, &arms).unwrap();
            assert_eq!((saved.value(&qos), saved.value(&max)), (Some(of_qos), Some(of_max)));
            let plan = plan(4, Span::from_secs(10), Span::from_secs(120), Span::from_secs(2), 1).unwrap();
            machine.written.clear();
            let sat = conduct(&plan, &arms, &[], &saved, &mut machine, &mut |_, _| {});
            assert_eq!((sat.finish, sat.restored), (crate::live::Finish::Whole, Ok(())));
            assert_eq!(saved.again(&mut machine).unwrap(), saved, "throttling, too, which io.cost turns off");
            let wrote = |at: &Place, said: &str| {
                machine.written.iter().any(|(place, value)| place == at && value.contains(said))
            };
            assert!(wrote(&qos, "min=50.00") && wrote(&max, "rbps=2097152") && wrote(&max, &of_max[9..]));
            assert!(wrote(&place("web", "io.bfq.weight"), "300"));
        }
    }

    /// A machine under bfq, in which a group that nobody names has a weight for this disk.
    fn weighted() -> SimulatedMachine {
        let mut machine = SimulatedMachine::new(1);
        machine.write(&Place::Scheduler, "bfq").unwrap();
        machine.write(&place("web", "io.bfq.weight"), "300").unwrap();
        machine
    }

    #[test]
    fn weights_that_a_switch_away_from_bfq_forgets_are_given_back_in_groups_that_nobody_names() {
        let weight = place("web", "io.bfq.weight");
        let plan = plan(2, Span::from_secs(10), Span::from_secs(60), Span::from_secs(2), 1).unwrap();
        for (words, is_saved) in [(["bfq", "none"], true), (["none", "mq-deadline"], true), (["bfq", "bfq"], false)] {
            let mut machine = weighted();
            let arms = words.map(|word| LiveArm::parse(word).unwrap());
            let saved = Saved::read_for(&mut machine, &arms).unwrap();
            assert_eq!(saved.value(&weight), is_saved.then_some("300"), "{words:?}");
            let sat = conduct(&plan, &arms, &[], &saved, &mut machine, &mut |_, _| {});
            assert_eq!((sat.finish, sat.restored), (crate::live::Finish::Whole, Ok(())), "{words:?}");
            assert_eq!(machine.read(&weight).unwrap(), "300", "{words:?}");
        }
        // A group that ends meanwhile needs nothing back, and ends nothing.
        let mut machine = weighted();
        machine.vanishes = Some(blksched::Instant::ZERO + Span::from_secs(25));
        let arms = ["bfq", "none"].map(|word| LiveArm::parse(word).unwrap());
        let saved = Saved::read_for(&mut machine, &arms).unwrap();
        let sat = conduct(&plan, &arms, &[], &saved, &mut machine, &mut |_, _| {});
        assert_eq!((sat.finish, sat.restored), (crate::live::Finish::Whole, Ok(())));
    }

    #[test]
    fn a_group_that_is_gone_ends_it_and_there_is_nothing_to_give_back() {
        let max = place("web", "io.max");
        let mut machine = SimulatedMachine::new(1);
        machine.vanishes = Some(blksched::Instant::ZERO + Span::from_secs(25));
        let arms = ["mq-deadline", "mq-deadline:web/io.max=rbps=2097152"].map(|word| LiveArm::parse(word).unwrap());
        let saved = Saved::read_for(&mut machine, &arms).unwrap();
        let plan = plan(2, Span::from_secs(10), Span::from_secs(60), Span::from_secs(2), 1).unwrap();
        let sat = conduct(&plan, &arms, &[], &saved, &mut machine, &mut |_, _| {});
        assert!(matches!(&sat.finish, crate::live::Finish::Changed(place, ..) if *place == max), "{:?}", sat.finish);
        assert_eq!(sat.restored, Ok(()));
        // And after a reboot, when only the journal knows of it.
        assert_eq!(saved.put(&mut machine, None), Ok(()));
    }
}
