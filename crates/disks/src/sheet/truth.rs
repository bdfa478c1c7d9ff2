//! The accuracy of a disk model: its deviation from the data sheet, and other validation.

use super::data_sheet;
use crate::{DiskSpec, Model, TailOf, Validated};

/// What a disk was validated against.
#[derive(Clone, Debug, PartialEq)]
pub struct Truth {
    /// How many figures are published, and the model's greatest deviation from them (a part).
    pub figures: Option<(usize, f64)>,
    /// Response times that it was compared with.
    pub traces: Vec<Validated>,
    /// The number of members that this is about; nothing is known of an array itself.
    pub members: Option<usize>,
}

/// Determines it by measuring the published figures on the model.
pub fn truth(spec: &DiskSpec) -> Truth {
    if let Model::Raid(raid) = &spec.model
        && let Some(first) = raid.members.first()
    {
        return Truth { members: Some(raid.members.len()), ..truth(first) };
    }
    let ratios: Vec<f64> = match spec.published.is_empty() {
        true => Vec::new(),
        false => data_sheet(spec).iter().filter_map(|line| line.ratio()).collect(),
    };
    let worst = ratios.iter().map(|ratio| (ratio - 1.0).abs()).fold(0.0, f64::max);
    let figures = (!ratios.is_empty()).then_some((ratios.len(), worst));
    Truth { figures, traces: spec.validated.clone(), members: None }
}

impl Truth {
    /// How far a published figure and the model's are apart at most: `6 %`; `None` if none is published.
    pub fn off(&self) -> Option<String> {
        self.figures.map(|(_, off)| format!("{:.0} %", (100.0 * off).ceil()))
    }

    /// The greatest of the model's errors in response times: `21 %`; `None` if none was compared.
    pub fn worst_against_a_drive(&self) -> Option<String> {
        let worst = self.traces.iter().map(|one| one.error_permille).max()?;
        Some(format!("{} %", worst.div_ceil(10)))
    }

    /// How far the model's 99th percentile of this I/O, with so many in flight, is off a measured drive's
    /// \[thousandths\]; `None` if it was never compared.
    pub fn p99_off(&self, of: TailOf, in_flight: u32) -> Option<u32> {
        let is_so = |one: &&Validated| one.p99_of.contains(&of) && one.in_flight.is_none_or(|most| in_flight <= most);
        self.traces.iter().filter(is_so).map(|one| one.error_permille).max()
    }

    /// In one line: `off by up to 6 % from its data sheet (3 figures); response times never compared with a drive's`.
    pub fn sentence(&self) -> String {
        let figures = match self.figures {
            Some((count, _)) => {
                let figures = if count == 1 { "one figure" } else { &format!("{count} figures") };
                format!("off by up to {} from its data sheet ({figures})", self.off().unwrap_or_default())
            }
            None => "no published figures".to_owned(),
        };
        let trace = |it: &Validated| format!("{}: {:.1} %", it.against, f64::from(it.error_permille) / 10.0);
        let traces = match self.traces.is_empty() {
            true => "response times never compared with a drive's".to_owned(),
            false => format!("response times off by {}", self.traces.iter().map(trace).collect::<Vec<_>>().join(", ")),
        };
        let members = self.members.map(|_| "each member: ").unwrap_or_default();
        let array = self.members.map(|_| "; the array as a whole is not validated").unwrap_or_default();
        format!("{members}{figures}; {traces}{array}")
    }
}
