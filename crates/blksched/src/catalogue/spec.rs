//! The grammar of an elevator's name: `name[@kernel][+mechanism=variant]…`; `+mechanism` alone means `=on`.

use super::{Choice, Entry, Preset, SpecError};
use crate::nearest;

/// An entry at one of its kernels, nothing switched.
pub(super) fn of_era(entry: &Entry, preset: &Preset) -> Choice {
    Choice { entry: *entry, preset: *preset, row: preset.row.to_vec() }
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
    let preset = match kernel {
        Some(kernel) => find_preset(entry, kernel, name.len() + 2)?,
        None => entry.presets.last().expect("an entry has a preset"),
    };
    let mut choice = of_era(entry, preset);
    let mut column = head.len() + 2;
    for word in words {
        switch(&mut choice, word, column)?;
        column += word.len() + 1;
    }
    Ok(choice)
}

fn find_preset<'a>(entry: &'a Entry, kernel: &str, column: usize) -> Result<&'a Preset, SpecError> {
    let known: Vec<String> = entry.presets.iter().map(|preset| preset.kernel.to_string()).collect();
    let at = known.iter().position(|name| name == kernel);
    at.map(|at| &entry.presets[at]).ok_or_else(|| SpecError {
        word: kernel.to_owned(),
        column,
        what: format!("kernel with a {} of its own", entry.name),
        nearest: nearest(kernel, known.iter().map(String::as_str)).map(str::to_owned),
        known,
    })
}

fn switch(choice: &mut Choice, word: &str, column: usize) -> Result<(), SpecError> {
    let (name, variant) = word.split_once('=').unwrap_or((word, "on"));
    let here = choice.row.iter().map(|(mechanism, _)| *mechanism);
    let Some(at) = choice.row.iter().position(|(mechanism, _)| *mechanism == name) else {
        return Err(SpecError {
            word: name.to_owned(),
            column,
            what: format!("mechanism of {choice}"),
            known: here.clone().map(str::to_owned).collect(),
            nearest: nearest(name, here).map(str::to_owned),
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

#[cfg(test)]
mod tests {
    use crate::Catalogue;

    #[test]
    fn every_era_parses_as_it_prints_and_builds() {
        let catalogue = Catalogue::builtin();
        for era in catalogue.eras() {
            assert_eq!(catalogue.build(&era).map(|built| built.choice.to_string()).as_ref(), Ok(&era));
        }
        let tree = "deadline@2.5.45+order=tree";
        assert_eq!(catalogue.parse(tree).unwrap().to_string(), tree);
    }

    #[test]
    fn an_unknown_word_is_named_with_its_column_and_the_nearest_known_one() {
        for (text, expected) in [
            (
                "deadlien",
                "1: `deadlien` is no elevator; the nearest is `deadline` (known: noop, deadline, anticipatory, cfq, \
                 none, mq-deadline, kyber, bfq, adios)",
            ),
            ("deadline@2.6.32", "10: `2.6.32` is no kernel with a deadline of its own; the nearest is `2.6.33`"),
            ("deadline@2.5.45+ordr=tree", "17: `ordr` is no mechanism of deadline@2.5.45; the nearest is `order`"),
            ("deadline@2.5.45+order=tre", "23: `tre` is no variant of order; the nearest is `tree`"),
        ] {
            let error = Catalogue::builtin().parse(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
