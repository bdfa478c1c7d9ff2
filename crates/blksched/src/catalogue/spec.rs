//! The grammar of an elevator's name: `name[@kernel][+mechanism=variant]…`; `+mechanism` alone means `=on`.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{Choice, Distribution, Entry, Preset, SpecError, distributions, releases};
use crate::cgroup::blk_iocost::Overflows;
use crate::entry::StandsFor;
use crate::kernel::Kernel;
use crate::nearest::nearest;

/// An entry at one of its kernels, with all mechanisms as they were.
pub(super) fn of_era(entry: &Entry, preset: &Preset) -> Choice {
    Choice {
        entry: *entry,
        preset: *preset,
        row: preset.row.to_vec(),
        stands_for: None,
        io_cost: None,
        asked: Vec::new(),
    }
}

pub(super) fn parse(entries: &[Entry], text: &str) -> Result<Choice, SpecError> {
    let mut words = text.split('+');
    let head = words.next().unwrap_or_default();
    let (name, kernel) = match head.split_once('@') {
        Some((name, kernel)) => (name, Some(kernel)),
        None => (head, None),
    };
    let names = || entries.iter().map(|entry| entry.name);
    let entry = entries.iter().find(|entry| entry.name == name).ok_or_else(|| SpecError {
        word: name.to_owned(),
        column: 1,
        what: "elevator".to_owned(),
        known: names().map(str::to_owned).collect(),
        nearest: nearest(name, names()).map(str::to_owned),
        note: None,
    })?;
    let mut choice = match kernel {
        Some(kernel) => of_kernel(entry, kernel, name.len() + 2)?,
        None => of_era(entry, entry.present()),
    };
    let mut column = head.len() + 2;
    for word in words {
        switch(&mut choice, word, column)?;
        column += word.len() + 1;
    }
    Ok(choice)
}

/// An era by its kernel, by a kernel that is known to decide alike, or by a distribution.
fn of_kernel(entry: &Entry, kernel: &str, column: usize) -> Result<Choice, SpecError> {
    let known: Vec<String> = entry.presets.iter().map(|preset| preset.kernel.to_string()).collect();
    let distribution = distributions::named(kernel);
    let release = distribution.map(|distribution| distribution.kernel).or_else(|| kernel.parse().ok());
    let changed = distribution.and_then(|distribution| {
        distribution.changed.iter().find_map(|(elevator, how)| (*elevator == entry.name).then_some(*how))
    });
    let preset = entry.presets.iter().find(|preset| Some(preset.kernel) == release);
    let choice = preset.map(|preset| of_era(entry, preset)).or_else(|| between(entry, release?));
    if let (Some(mut choice), None) = (choice, changed) {
        if let Some(distribution) = distribution {
            choice.stands_for = Some(of_distribution(distribution, choice.stands_for.as_ref()));
        }
        return Ok(choice);
    }
    let nearby = release.map(|release| (release, neighbours(entry, release)));
    let names = || distributions::DISTRIBUTIONS.iter().map(|distribution| distribution.name);
    let by_spelling = || nearest(kernel, known.iter().map(String::as_str).chain(names())).map(str::to_owned);
    Err(SpecError {
        word: kernel.to_owned(),
        column,
        what: format!("kernel version for {}", entry.name),
        nearest: match nearby {
            Some((release, _)) => closest(entry, release).map(|kernel| kernel.to_string()),
            None => by_spelling(),
        },
        note: changed.map(|how| format!("{how};")).or_else(|| tell(entry, &nearby?.1)).map(String::into_boxed_str),
        known: known.into_boxed_slice(),
    })
}

/// What is known of a distribution's kernel, and of the release of that number.
fn of_distribution(distribution: &Distribution, release: Option<&StandsFor>) -> StandsFor {
    let Distribution { name, kernel, known, source, .. } = distribution;
    let mut told = format!("{name} shipped with {kernel}; {}: {source}", known.in_words());
    if let Some(StandsFor { source, .. }) = release {
        told += &format!("; {kernel}: {source}");
    }
    StandsFor { release: (*name).to_owned(), source: told }
}

/// The presets before and after a release.
fn neighbours(entry: &Entry, release: Kernel) -> [Option<&'static Preset>; 2] {
    let presets = entry.presets;
    [presets.iter().rfind(|preset| preset.kernel < release), presets.iter().find(|preset| preset.kernel > release)]
}

/// Of the releases that are understood, the one whose number is closest.
fn closest(entry: &Entry, release: Kernel) -> Option<Kernel> {
    let alike = releases::ALIKE.iter().filter(|alike| alike.elevator == entry.name);
    let ends = alike.flat_map(|alike| [Some(alike.releases.first), alike.releases.last]).flatten();
    entry.presets.iter().map(|preset| preset.kernel).chain(ends).min_by_key(|kernel| kernel.distance(release))
}

/// In which mechanisms the neighbours of a release that nobody examined differ.
fn tell(entry: &Entry, nearby: &[Option<&'static Preset>; 2]) -> Option<String> {
    let (before, after) = match nearby {
        [Some(before), Some(after)] => (before, after),
        [Some(last), None] => {
            return Some(format!("Nobody examined it; the last preset is {}@{}.", entry.name, last.kernel));
        }
        [None, Some(first)] => {
            return Some(format!("Nobody examined it; the first preset is {}@{}.", entry.name, first.kernel));
        }
        [None, None] => return None,
    };
    let changed = |pair: &&(&str, &str)| !after.row.contains(pair);
    let is_new = |(name, _): &&(&str, &str)| before.row.iter().all(|(other, _)| other != name);
    let names: Vec<&str> =
        before.row.iter().filter(changed).chain(after.row.iter().filter(is_new)).map(|(name, _)| *name).collect();
    let (name, before, after) = (entry.name, before.kernel, after.kernel);
    Some(match names.is_empty() {
        true => format!("Nobody examined it; {name}@{before} and {name}@{after} have the same mechanisms."),
        false => {
            let all = names.join(", ");
            format!("Nobody examined it; between {name}@{before} and {name}@{after} these mechanisms changed: {all}.")
        }
    })
}

/// A release without a preset of its own, if the preset that decides alike is known.
fn between(entry: &Entry, release: Kernel) -> Option<Choice> {
    let alike = releases::alike(entry.name, release)?;
    let preset = entry.presets.iter().find(|preset| preset.kernel == alike.preset)?;
    let mut choice = of_era(entry, preset);
    for &(name, variant) in alike.switched {
        let own = choice.row.iter_mut().find(|(mechanism, _)| *mechanism == name)?;
        own.1 = variant;
    }
    choice.stands_for = Some(StandsFor { release: release.to_string(), source: alike.source.to_owned() });
    Some(choice)
}

fn switch(choice: &mut Choice, word: &str, column: usize) -> Result<(), SpecError> {
    let (name, variant) = word.split_once('=').unwrap_or((word, "on"));
    if name == IO_COST && choice.kernel() >= SINCE {
        return switch_io_cost(choice, variant, column);
    }
    if let Some(file) = ASKED.iter().find(|file| **file == word && choice.kernel() >= SINCE) {
        if !choice.asked.contains(file) {
            choice.asked.push(file);
        }
        return Ok(());
    }
    let here = choice.row.iter().map(|(mechanism, _)| *mechanism);
    let controllers: &[&str] = if choice.kernel() >= SINCE { &CONTROLLERS } else { &[] };
    let Some(at) = choice.row.iter().position(|(mechanism, _)| *mechanism == name) else {
        return Err(SpecError {
            word: name.to_owned(),
            column,
            what: format!("mechanism of {choice}"),
            known: here.clone().chain(controllers.iter().copied()).map(str::to_owned).collect(),
            nearest: nearest(name, here.chain(controllers.iter().copied())).map(str::to_owned),
            note: None,
        });
    };
    let mechanism = choice.entry.mechanisms.iter().find(|mechanism| mechanism.name == name);
    let variants = mechanism.map_or(&[][..], |mechanism| mechanism.variants);
    let names = || variants.iter().map(|variant| variant.name);
    let Some(found) = names().find(|known| *known == variant) else {
        return Err(SpecError {
            word: variant.to_owned(),
            column: column + name.len() + 1,
            what: format!("variant of {name}"),
            known: names().map(str::to_owned).collect(),
            nearest: nearest(variant, names()).map(str::to_owned),
            note: None,
        });
    };
    choice.row[at].1 = found;
    Ok(())
}

/// The controller that can be in front of any elevator.
const IO_COST: &str = "io.cost";
/// Controllers that are configured by files of groups: a workload may have files that are written only for such a name.
const ASKED: [&str; 3] = ["io.max", "io.latency", "io.prio.class"];
const CONTROLLERS: [&str; 4] = [IO_COST, "io.max", "io.latency", "io.prio.class"];
/// io.cost is between merging and slots of blk-mq's queues, which all schedulers have used since this release.
const SINCE: Kernel = Kernel::new(5, 0, 0);
/// Whether io.cost computes as kernels do, or without the two overflows.
const OVERFLOWS: [(&str, Overflows); 2] = [("on", Overflows::Kernel), ("wide", Overflows::None)];

fn switch_io_cost(choice: &mut Choice, variant: &str, column: usize) -> Result<(), SpecError> {
    let names = || OVERFLOWS.iter().map(|(name, _)| *name);
    let found = OVERFLOWS.iter().find(|(name, _)| *name == variant).ok_or_else(|| SpecError {
        word: variant.to_owned(),
        column: column + IO_COST.len() + 1,
        what: "variant of io.cost".to_owned(),
        known: names().map(str::to_owned).collect(),
        nearest: nearest(variant, names()).map(str::to_owned),
        note: None,
    })?;
    choice.io_cost = Some(found.1);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::Catalogue;

    #[test]
    fn every_era_parses_as_it_prints_and_builds() {
        let catalogue = Catalogue::builtin();
        for era in catalogue.eras() {
            assert_eq!(catalogue.build(&era).map(|built| built.choice.to_string()).as_ref(), Ok(&era));
        }
        for cost in ["none+io.cost", "bfq+io.cost=wide", "none+io.max+io.latency", "mq-deadline+io.prio.class"] {
            assert_eq!(catalogue.parse(cost).unwrap().to_string(), cost);
        }
        let old = catalogue.parse("cfq@2.6.33+io.cost").unwrap_err().to_string();
        assert!(old.starts_with("12: unknown mechanism"), "{old}");
        let wide = catalogue.parse("none+io.cost=wied").unwrap_err().to_string();
        assert!(wide.contains("did you mean `wide`?"), "{wide}");
        let asked = catalogue.parse("none+io.latncy").unwrap_err().to_string();
        assert!(asked.contains("did you mean `io.latency`?"), "{asked}");
        assert!(catalogue.parse("cfq+io.max").is_err(), "a name for kernels that have it");
        let tree = "deadline@2.5.45+order=tree";
        assert_eq!(catalogue.parse(tree).unwrap().to_string(), tree);
    }

    #[test]
    fn a_release_between_two_presets_decides_as_one_of_them_and_says_so() {
        let catalogue = Catalogue::builtin();
        let found = |text| {
            let choice = catalogue.parse(text).unwrap();
            (choice.to_string(), choice.note())
        };
        let (name, note) = found("mq-deadline@6.6");
        assert_eq!(name, "mq-deadline@6.12+at_head=class+tags=per_word");
        assert!(note.unwrap().starts_with("mq-deadline@6.6 decides as mq-deadline@6.12+at_head=class+tags=per_word ("));
        assert_eq!(found("kyber@6.9").0, "kyber@6.12+tags=per_word");
        let (name, note) = found("bfq@6.15");
        assert!(name == "bfq" && note.unwrap().starts_with("bfq@6.15 decides as bfq@6.18 ("));
        assert_eq!(found("deadline@2.6.32").0, "deadline@2.6.33");
        assert_eq!(found("bfq@6.18"), ("bfq".to_owned(), None));
        assert_eq!(found("bfq@6.12"), ("bfq@6.12".to_owned(), None));
    }

    #[test]
    fn every_release_named_as_alike_has_its_preset_and_its_mechanisms() {
        let catalogue = Catalogue::builtin();
        for alike in crate::catalogue::ALIKE {
            let spec = format!("{}@{}", alike.elevator, alike.releases.first);
            let choice = catalogue.parse(&spec).unwrap();
            assert_eq!(choice.kernel(), alike.preset, "{spec}");
            assert!(alike.switched.iter().all(|&(name, variant)| choice.variant(name) == variant), "{spec}");
            assert!(choice.entry.presets.iter().all(|preset| !alike.releases.contain(preset.kernel)), "{spec}");
        }
    }

    #[test]
    fn a_distribution_stands_for_the_kernel_that_it_shipped_with_and_says_how_that_is_known() {
        let catalogue = Catalogue::builtin();
        let found = |text| {
            let choice = catalogue.parse(text).unwrap();
            (choice.to_string(), choice.note().unwrap())
        };
        let (name, note) = found("bfq@ubuntu-22.04");
        assert_eq!(name, "bfq@5.15");
        assert!(
            note.starts_with("bfq@ubuntu-22.04 decides as bfq@5.15 (ubuntu-22.04 shipped with 5.15; read: "),
            "{note}"
        );
        assert_eq!(found("mq-deadline@rhel-8.3").0, "mq-deadline@5.10");
        let (name, note) = found("mq-deadline@ubuntu-24.04");
        assert_eq!(name, "mq-deadline@6.12+at_head=class+tags=per_word");
        assert!(note.contains("not examined: ") && note.contains("; 6.8: 6.6.87 replays"), "{note}");
        let error = |text| catalogue.parse(text).unwrap_err().to_string();
        let early = error("bfq@ubuntu-20.04");
        assert!(
            early.contains("did you mean `5.10`? Nobody examined it; between bfq@4.19 and bfq@5.10 these"),
            "{early}"
        );
        let own = error("mq-deadline@android-5.10");
        assert!(own.contains("an mq-deadline of its own"), "{own}");
        assert_eq!(catalogue.parse("kyber@android-5.10").unwrap().to_string(), "kyber@5.10");
        assert!(error("bfq@ubuntu-22.40").contains("did you mean `ubuntu-22.04`?"));
    }

    #[test]
    fn none_is_understood_where_mq_deadline_is_and_7_x_where_7_3_is() {
        let catalogue = Catalogue::builtin();
        for kernel in ["4.18-el8.3", "4.19", "5.10", "5.15", "6.1", "6.4", "6.6", "6.12", "6.18", "7.0", "7.2", "7.3"] {
            for elevator in ["none", "mq-deadline"] {
                assert!(catalogue.parse(&format!("{elevator}@{kernel}")).is_ok(), "{elevator}@{kernel}");
            }
        }
        assert_eq!(catalogue.parse("noop@4.20").unwrap().to_string(), "noop@2.6.33");
        for elevator in ["mq-deadline", "kyber", "bfq"] {
            for minor in 0..3 {
                let choice = catalogue.parse(&format!("{elevator}@7.{minor}")).unwrap();
                assert_eq!(choice.to_string(), format!("{elevator}@7.3"));
            }
            assert_eq!(catalogue.parse(elevator).unwrap().kernel().to_string(), "6.18");
        }
    }

    #[test]
    fn an_unknown_word_is_named_with_its_column_and_the_nearest_known_one() {
        for (text, expected) in [
            (
                "deadlien",
                "1: unknown elevator `deadlien`; did you mean `deadline`? (known: linus, noop, deadline, anticipatory, \
                 cfq, none, mq-deadline, kyber, bfq, adios)",
            ),
            (
                "deadline@2.6.30",
                "10: unknown kernel version for deadline `2.6.30`; did you mean `2.6.31`? Nobody examined it; between \
                 deadline@2.5.45 and deadline@2.6.33 these mechanisms changed: ",
            ),
            (
                "noop@5.4",
                "6: unknown kernel version for noop `5.4`; did you mean `4.20`? Nobody examined it; the last preset is \
                 noop@2.6.33. (known: ",
            ),
            ("none@5.4", "6: unknown kernel version for none `5.4`; did you mean `5.10`? Nobody examined it; between "),
            ("deadline@2.5.45+ordr=tree", "17: unknown mechanism of deadline@2.5.45 `ordr`; did you mean `order`?"),
            ("deadline@2.5.45+order=tre", "23: unknown variant of order `tre`; did you mean `tree`?"),
        ] {
            let error = Catalogue::builtin().parse(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
