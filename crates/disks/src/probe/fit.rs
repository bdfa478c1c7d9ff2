//! **What for**: parameters that show only in mixtures: how long a write settles, how a full cache shares the medium
//! with readers.
//!
//! **Rule**: the mixtures are measured once. Then the model that is known so far runs the same ones with each of a few
//! values of a parameter, and the value stays with which it comes nearest; one parameter after the other, three times. What
//! makes no difference keeps its usual value, and says so.

use core::ops::ControlFlow;

use blksched::Span;

use super::ProbeError;
use super::session::Session;
use super::target::{Modelled, ProbeAccess};
use super::text::NOT_SEEN;
use super::value::demerit;
use crate::spec::parse_changed;

/// A load whose outcome is compared with the model's; the same places for everybody who runs it.
pub(super) trait Mixture: Copy + PartialEq + 'static {
    fn run(self, session: &mut Session<'_>) -> Result<Took, ProbeError>;
}

/// What a load took: latencies of its parts \[ns\].
pub(super) type Took = Vec<Vec<f64>>;

/// A parameter, what it may be, and where it shows.
pub(super) struct Parameter<M: 'static> {
    pub(super) key: &'static str,
    pub(super) values: &'static [&'static str],
    pub(super) shows_in: &'static [M],
}

/// What a parameter came to.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fitted {
    pub(super) key: &'static str,
    pub(super) value: String,
    /// How far the model was from what was measured, at its best and at its worst \[parts of the mean\].
    pub(super) best: f64,
    pub(super) worst: f64,
}

impl Fitted {
    /// As it stands in a file, with how it is known; what was not fitted keeps its usual value.
    pub(super) fn said(all: &[Fitted], key: &str, usual: &str) -> String {
        let Some(fitted) = all.iter().find(|fitted| fitted.key == key) else {
            return format!("{usual}   # {NOT_SEEN}");
        };
        let value = match fitted.value.parse::<i64>() {
            Ok(number) => number.to_string(),
            Err(_) => format!("\"{}\"", fitted.value),
        };
        let (best, worst) = (100.0 * fitted.best, 100.0 * fitted.worst);
        match fitted.matters() {
            true => format!("{value}   # MEASURED: nearest of some, {best:.0}% off; the worst {worst:.0}%"),
            false => format!("{value}   # FIT: made no difference"),
        }
    }

    /// Does the value matter for what was measured?
    pub(super) fn matters(&self) -> bool {
        self.worst > self.best + 0.01
    }
}

/// The parameters of the model in `toml` that come nearest to `measured`.
pub(super) fn fit<M: Mixture>(
    toml: &str,
    parameters: &[Parameter<M>],
    measured: &[(M, Took)],
    access: ProbeAccess,
) -> Vec<Fitted> {
    let mut chosen: Vec<Fitted> = Vec::new();
    for _ in 0..3 {
        for parameter in parameters {
            let others: Vec<(String, String)> = chosen
                .iter()
                .filter(|fitted| fitted.key != parameter.key)
                .map(|fitted| (fitted.key.to_owned(), fitted.value.clone()))
                .collect();
            let Some(fitted) = best_of(toml, parameter, &others, measured, access) else { continue };
            match chosen.iter_mut().find(|known| known.key == parameter.key) {
                Some(known) => *known = fitted,
                None => chosen.push(fitted),
            }
        }
    }
    chosen
}

fn best_of<M: Mixture>(
    toml: &str,
    parameter: &Parameter<M>,
    others: &[(String, String)],
    measured: &[(M, Took)],
    access: ProbeAccess,
) -> Option<Fitted> {
    let mut tried = Vec::new();
    for value in parameter.values {
        let mut changes = others.to_vec();
        changes.push((parameter.key.to_owned(), (*value).to_owned()));
        let shows = |(mixture, _): &&(M, Took)| parameter.shows_in.contains(mixture);
        let off: Option<f64> =
            measured.iter().filter(shows).map(|(mixture, took)| distance(toml, &changes, *mixture, took, access)).sum();
        tried.push((*value, off?));
    }
    let (value, best) = tried.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let worst = tried.iter().fold(best, |worst, (_, off)| worst.max(*off));
    Some(Fitted { key: parameter.key, value: value.to_owned(), best, worst })
}

/// How far the changed model is from what was measured; `None` if there is no such parameter.
fn distance<M: Mixture>(
    toml: &str,
    changes: &[(String, String)],
    mixture: M,
    took: &Took,
    access: ProbeAccess,
) -> Option<f64> {
    let spec = parse_changed("measured", toml, changes).ok()?;
    let mut model = Modelled::new(&spec, 5, access);
    let mut never = |_| ControlFlow::Continue(());
    let mut session = Session::new(&mut model, 5, Span::MAX, &mut never);
    let ours = mixture.run(&mut session).ok()?;
    let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len().max(1) as f64;
    let each = took.iter().zip(&ours).map(|(real, ours)| {
        let scale = mean(real).max(1.0);
        (demerit(real, ours) + (mean(real) - mean(ours)).abs()) / scale
    });
    Some(each.sum())
}
