//! A machine that several experiments share, `machine = "../machines/NAME.toml"`: its disk, where files lie on it, how
//! often its timer interrupts. One computer is described once, and its fitted values are counted in every experiment.

use super::expand::{RunSpec, replace};
use super::reader::{ExperimentError, Located, Section, Source, TextRange};
use super::scene::SceneSetting;
use super::{FileReader, spec::FittedSetting};

const KEYS: &[&str] = &["title", "hz", "place", "disk", "queue", "host", "fit", "given", "assumed"];

/// The machine; empty if the experiment names none.
#[derive(Clone, Debug, Default)]
pub(super) struct Machine {
    pub(super) title: Option<String>,
    pub(super) hz: Option<u32>,
    pub(super) settings: Vec<SceneSetting>,
    places: Vec<(String, String)>,
    pub(super) fits: Vec<FittedSetting>,
    pub(super) given: Vec<FittedSetting>,
    pub(super) assumed: Vec<FittedSetting>,
}

impl Machine {
    /// The machine that `top` names.
    pub(super) fn of(top: &Section<'_>, files: FileReader<'_>) -> Result<Machine, ExperimentError> {
        let Some(name) = top.text("machine")? else { return Ok(Machine::default()) };
        let text = files(&name.value)
            .map_err(|error| top.complain(&name.at, format!("the machine `{}`: {error}", name.value)))?;
        read(Source { file: &name.value, text: &text }, &name.at)
    }

    /// Replaces the places that settings name in braces.
    pub(super) fn settle(&self, source: Source<'_>, spec: &mut RunSpec) -> Result<(), ExperimentError> {
        for setting in &mut spec.settings {
            let Some(name) = setting.value.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) else { continue };
            match self.places.iter().find(|(known, _)| known == name) {
                Some((_, place)) => {
                    setting.value.clone_from(place);
                    spec.explained.push(setting.address.clone());
                }
                None => {
                    let known = self.places.iter().map(|(known, _)| known.as_str());
                    return Err(source.unknown(
                        &setting.at,
                        &format!("`{name}` is not a place of the machine"),
                        name,
                        known,
                    ));
                }
            }
        }
        Ok(())
    }
}

/// Errors in its text name its own file; a value that fits nowhere is reported at its place in the experiment's.
fn read(source: Source<'_>, at: &TextRange) -> Result<Machine, ExperimentError> {
    let document = source.parse()?;
    let top = Section::open(source, "", document.get_ref(), 0..0, KEYS)?;
    let mut machine = Machine { title: Some(top.needs_text("title")?.value), ..Machine::default() };
    if let Some(hz) = top.count("hz")? {
        let within = u32::try_from(hz.value).ok().filter(|hz| (1..=10_000).contains(hz));
        let problem = || source.complain(&hz.at, format!("`hz` is {}: expected 1 to 10000", hz.value));
        machine.hz = Some(within.ok_or_else(problem)?);
    }
    let one = |(address, values): &(Located<String>, Vec<Located<String>>)| match &values[..] {
        [value] => Ok((address.value.clone(), value.value.clone())),
        _ => Err(source.complain(&address.at, format!("`{}` is a list: a machine has one value", address.value))),
    };
    for key in ["disk", "queue", "host"] {
        for leaf in top.leaves(key)? {
            let (address, value) = one(&leaf)?;
            let located = |value: String| Located { value, at: at.clone() };
            replace(&mut machine.settings, &located(address), &located(value));
        }
    }
    machine.places = top.leaves_below("place")?.iter().map(one).collect::<Result<_, _>>()?;
    machine.fits = machine.reasons(&top, "fit")?;
    machine.given = machine.reasons(&top, "given")?;
    machine.assumed = machine.reasons(&top, "assumed")?;
    let reasons = || machine.fits.iter().chain(&machine.given).chain(&machine.assumed);
    match machine.known().into_iter().find(|(address, _)| !reasons().any(|reason| reason.what == *address)) {
        None => Ok(machine),
        Some((address, _)) => {
            let problem = format!("`{address}` has no reason: expected it in [[fit]], [[given]] or [[assumed]]");
            Err(source.complain(&(0..0), problem))
        }
    }
}

impl Machine {
    /// All its settings: addresses, or places as `place.NAME`, and values.
    fn known(&self) -> Vec<(String, &String)> {
        let settings = self.settings.iter().map(|setting| (setting.address.clone(), &setting.value));
        settings.chain(self.places.iter().map(|(name, place)| (format!("place.{name}"), place))).collect()
    }

    /// The reasons for its values; `what` is an address, or `place.NAME`.
    fn reasons(&self, top: &Section<'_>, name: &'static str) -> Result<Vec<FittedSetting>, ExperimentError> {
        let reason = |section: &Section<'_>| {
            let (what, why) = (section.needs_text("what")?, section.needs_text("why")?);
            let known = self.known();
            match known.iter().find(|(address, _)| *address == what.value) {
                Some((_, value)) => Ok(FittedSetting { what: what.value, value: (*value).clone(), why: why.value }),
                None => {
                    let problem = format!("`{}` is set nowhere", what.value);
                    let known = known.iter().map(|(address, _)| address.as_str());
                    Err(top.source().unknown(&what.at, &problem, &what.value, known))
                }
            }
        };
        top.sections(name, &["what", "why"])?.iter().map(reason).collect()
    }
}
