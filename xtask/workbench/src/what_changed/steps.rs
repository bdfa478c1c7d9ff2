//! The steps from one kernel to the next, and in what a scheduler's presets differ there.

use blksched::{Catalogue, Choice};

use super::KERNELS;

/// A mechanism that differs between two kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switched {
    /// The mechanism.
    pub name: &'static str,
    /// What it decides.
    pub doc: &'static str,
    /// The older kernel's way; `None`: the older one has no such mechanism.
    pub from: Option<&'static str>,
    /// The newer kernel's way, and what that is.
    pub to: Option<(&'static str, &'static str)>,
}

/// From one kernel to the next.
pub struct Step {
    /// Their names here, as `5.10`.
    pub kernels: [&'static str; 2],
    /// What differs in the scheduler.
    pub switched: Vec<Switched>,
    /// Whether the block layer around it differs: its tags and plugs.
    pub moves_house: bool,
}

impl Step {
    /// All steps of a scheduler, oldest first.
    pub fn all(scheduler: &str) -> Vec<Step> {
        KERNELS.windows(2).map(|pair| Step::between(scheduler, pair[0], pair[1])).collect()
    }

    pub fn between(scheduler: &str, older: &'static str, newer: &'static str) -> Step {
        let [from, to] = [older, newer].map(|kernel| {
            let spec = format!("{scheduler}@{kernel}");
            Catalogue::builtin().parse(&spec).unwrap_or_else(|error| panic!("{spec}: {error}"))
        });
        let way = |choice: &Choice, name: &str| choice.has(name).then(|| choice.variant(name));
        let differs = |mechanism: &blksched::author::Mechanism| {
            let (old, new) = (way(&from, mechanism.name), way(&to, mechanism.name));
            let doc = |name: &'static str| {
                let known = mechanism.variants.iter().find(|variant| variant.name == name);
                (name, known.map_or("", |variant| variant.doc))
            };
            let switched = Switched { name: mechanism.name, doc: mechanism.doc, from: old, to: new.map(doc) };
            (old != new).then_some(switched)
        };
        let switched = from.entry.mechanisms.iter().filter_map(differs).collect();
        let around = |choice: &Choice| (choice.preset.plugging, choice.preset.slots, choice.preset.max_sectors);
        let moves_house = around(&from) != around(&to);
        Step { kernels: [older, newer], switched, moves_house }
    }

    /// Whether both decide alike, in the same surroundings: nothing to measure.
    pub fn is_none(&self) -> bool {
        self.switched.is_empty() && !self.moves_house
    }

    /// Mechanisms that both kernels have, so that each can be switched alone.
    pub fn switchable(&self) -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
        self.switched.iter().filter_map(|one| Some((one.name, one.from?, one.to?.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_names_what_differs_in_words_that_can_be_typed() {
        let step = Step::between("bfq", "6.12", "7.3");
        assert!(!step.is_none() && !step.moves_house);
        for (name, old, new) in step.switchable() {
            let spec = format!("bfq@6.12+{name}={new}");
            assert_eq!(Catalogue::builtin().parse(&spec).unwrap().variant(name), new, "not {old}");
        }
        assert_eq!(step.switchable().count(), 1);
        assert!(Step::between("kyber", "5.10", "5.15").is_none());
        assert!(Step::between("mq-deadline", "6.1", "6.6").moves_house);
    }

    #[test]
    fn steps_lead_from_each_kernel_to_the_next() {
        for scheduler in super::super::SCHEDULERS {
            let steps = Step::all(scheduler);
            assert_eq!(steps.len(), KERNELS.len() - 1);
            assert!(steps.windows(2).all(|pair| pair[0].kernels[1] == pair[1].kernels[0]));
        }
    }
}
