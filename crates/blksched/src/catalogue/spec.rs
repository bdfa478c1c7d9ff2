//! The grammar of an elevator's name: `name[@kernel][+mechanism=variant]…`; `+mechanism` alone means `=on`.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{Choice, Entry, Preset, SpecError, releases};
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
    })?;
    let mut choice = match kernel {
        Some(kernel) => of_kernel(entry, kernel, name.len() + 2)?,
        None => of_era(entry, entry.presets.last().expect("an entry has a preset")),
    };
    let mut column = head.len() + 2;
    for word in words {
        switch(&mut choice, word, column)?;
        column += word.len() + 1;
    }
    Ok(choice)
}

/// An era by its kernel, or by a kernel that is known to decide alike.
fn of_kernel(entry: &Entry, kernel: &str, column: usize) -> Result<Choice, SpecError> {
    let known: Vec<String> = entry.presets.iter().map(|preset| preset.kernel.to_string()).collect();
    let preset = entry.presets.iter().find(|preset| preset.kernel.to_string() == kernel);
    let choice = preset.map(|preset| of_era(entry, preset)).or_else(|| between(entry, kernel.parse().ok()?));
    choice.ok_or_else(|| SpecError {
        word: kernel.to_owned(),
        column,
        what: format!("kernel version for {}", entry.name),
        nearest: nearest(kernel, known.iter().map(String::as_str)).map(str::to_owned),
        known,
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
    choice.stands_for = Some(StandsFor { release, source: alike.source });
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
    fn an_unknown_word_is_named_with_its_column_and_the_nearest_known_one() {
        for (text, expected) in [
            (
                "deadlien",
                "1: unknown elevator `deadlien`; did you mean `deadline`? (known: linus, noop, deadline, anticipatory, \
                 cfq, none, mq-deadline, kyber, bfq, adios)",
            ),
            ("deadline@2.6.30", "10: unknown kernel version for deadline `2.6.30`; did you mean `2.6.33`?"),
            ("deadline@2.5.45+ordr=tree", "17: unknown mechanism of deadline@2.5.45 `ordr`; did you mean `order`?"),
            ("deadline@2.5.45+order=tre", "23: unknown variant of order `tre`; did you mean `tree`?"),
        ] {
            let error = Catalogue::builtin().parse(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
