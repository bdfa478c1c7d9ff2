//! **What for**: parameters that show only in mixed loads: a write's settle time, how a full cache shares the medium
//! with readers.
//!
//! **Rule**: the mixtures are measured once. Then the current model runs the same mixtures with each of a few values of
//! a parameter, and the value that comes nearest is kept; one parameter after the other, three times. A parameter that
//! makes no difference keeps its usual value, and is marked so.

use core::ops::ControlFlow;

use blksched::Span;

use super::ProbeError;
use super::session::Session;
use super::target::{Modelled, ProbeAccess};
use super::text::NOT_SEEN;
use super::value::demerit;
use crate::spec::{DiskSpec, parse_changed};

/// A load whose outcome is compared with the model's; the places are the same for every target.
pub(super) trait Mixture: Copy + PartialEq + 'static {
    fn run(self, session: &mut Session<'_>) -> Result<Took, ProbeError>;
}

/// The latencies of a load's parts \[ns\].
pub(super) type Took = Vec<Vec<f64>>;

/// A parameter, its possible values, and where it shows.
pub(super) struct Parameter<M: 'static> {
    pub(super) key: &'static str,
    pub(super) values: &'static [&'static str],
    pub(super) shows_in: &'static [M],
    /// Whether intermediate values make sense too. Then values near the best are tried, each time at half the distance.
    pub(super) between: bool,
    /// A parameter that compensates for this one: in the last pass it is fitted again for each value.
    pub(super) with: Option<&'static str>,
    /// The bound set by another value of the file, which is tried too.
    pub(super) highest: Option<fn(&DiskSpec) -> Option<Span>>,
}

/// The result for a parameter.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fitted {
    pub(super) key: &'static str,
    pub(super) value: String,
    /// How far the model was from the measurements, at its best and at its worst \[parts of the mean\].
    pub(super) best: f64,
    pub(super) worst: f64,
}

impl Fitted {
    /// Its entry in a file, with how it is known; an unfitted parameter keeps its usual value.
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

    /// Whether the value matters for what was measured.
    pub(super) fn matters(&self) -> bool {
        self.worst > self.best + 0.01
    }
}

/// How often each parameter is fitted: once roughly, then finely, in the end together with what compensates for it.
const PASSES: u32 = 3;

/// A model so far, and the measurements that it is compared with.
struct Fit<'a, M: 'static> {
    toml: &'a str,
    parameters: &'a [Parameter<M>],
    measured: &'a [(M, Took)],
    access: ProbeAccess,
}

/// The parameters of the model in `toml` that come nearest to `measured`, except those that are already `known`.
pub(super) fn fit<M: Mixture>(
    toml: &str,
    parameters: &[Parameter<M>],
    measured: &[(M, Took)],
    access: ProbeAccess,
    known: &[&str],
) -> Vec<Fitted> {
    let fit = Fit { toml, parameters, measured, access };
    let mut chosen: Vec<Fitted> = Vec::new();
    for pass in 1..=PASSES {
        for parameter in parameters.iter().filter(|parameter| !known.contains(&parameter.key)) {
            match parameter.with.filter(|other| pass == PASSES && !known.contains(other)) {
                Some(other) => fit.choose_both(&mut chosen, parameter, other),
                None => fit.choose(&mut chosen, parameter, pass > 1),
            }
        }
    }
    chosen
}

/// The total distance of the model in `toml` from the measurements; `None` if it is not a valid model.
pub(super) fn misses<M: Mixture>(toml: &str, measured: &[(M, Took)], access: ProbeAccess) -> Option<f64> {
    measured.iter().map(|(mixture, took)| distance(toml, &[], *mixture, took, access)).sum()
}

fn replace(chosen: &mut Vec<Fitted>, fitted: Fitted) {
    match chosen.iter_mut().find(|known| known.key == fitted.key) {
        Some(known) => *known = fitted,
        None => chosen.push(fitted),
    }
}

impl<M: Mixture> Fit<'_, M> {
    fn choose(&self, chosen: &mut Vec<Fitted>, parameter: &Parameter<M>, finely: bool) {
        if let Some(fitted) = self.best_of(parameter, chosen, finely) {
            replace(chosen, fitted);
        }
    }

    /// For each value of one parameter the best value of the other.
    fn choose_both(&self, chosen: &mut Vec<Fitted>, parameter: &Parameter<M>, other: &str) {
        let Some(other) = self.parameters.iter().find(|known| known.key == other) else { return };
        let mut best: Option<(Fitted, Fitted)> = None;
        let mut worst: f64 = 0.0;
        for value in parameter.values {
            let mut fixed: Vec<Fitted> = chosen.clone();
            let fitted = Fitted { key: parameter.key, value: (*value).to_owned(), best: 0.0, worst: 0.0 };
            replace(&mut fixed, fitted.clone());
            let Some(second) = self.best_of(other, &fixed, true) else { return };
            worst = worst.max(second.best);
            if best.as_ref().is_none_or(|(_, known)| second.best < known.best) {
                best = Some((Fitted { best: second.best, ..fitted }, second));
            }
        }
        if let Some((first, second)) = best {
            replace(chosen, Fitted { worst, ..first });
            replace(chosen, second);
        }
    }

    /// The best value of one parameter, the others as they are.
    fn best_of(&self, parameter: &Parameter<M>, others: &[Fitted], finely: bool) -> Option<Fitted> {
        let others = others.iter().filter(|fitted| fitted.key != parameter.key);
        let others: Vec<(String, String)> =
            others.map(|fitted| (fitted.key.to_owned(), fitted.value.clone())).collect();
        let shows = |(mixture, _): &&(M, Took)| parameter.shows_in.contains(mixture);
        // A parameter is only chosen if its load was measured.
        self.measured.iter().find(shows)?;
        let off = |value: &str| {
            let mut changes = others.clone();
            changes.push((parameter.key.to_owned(), value.to_owned()));
            let each = self.measured.iter().filter(shows);
            each.map(|(mixture, took)| distance(self.toml, &changes, *mixture, took, self.access)).sum::<Option<f64>>()
        };
        let mut tried = Vec::new();
        // Values that the file's reader refuses (beyond another limit, say) are left out.
        let highest =
            parameter.highest.and_then(|highest| highest(&parse_changed("measured", self.toml, &others).ok()?));
        let highest = highest.map(|highest| format!("{}ms", highest.as_ns() as f64 / 1e6));
        for value in parameter.values.iter().map(|value| (*value).to_owned()).chain(highest) {
            tried.extend(off(&value).map(|off| (value, off)));
        }
        let worst = tried.iter().fold(0.0, |worst: f64, (_, off)| worst.max(*off));
        if parameter.between && finely {
            for _ in 0..3 {
                let (low, high) = between(&tried);
                for value in [low, high].into_iter().flatten() {
                    // A value that the file's reader refuses (a fraction of a sector) is left out.
                    if let Some(off) = off(&value) {
                        tried.push((value, off));
                    }
                }
            }
        }
        let (value, best) = tried.into_iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(Fitted { key: parameter.key, value, best, worst })
    }
}

/// The values half way between the best one and its neighbours on either side.
fn between(tried: &[(String, f64)]) -> (Option<String>, Option<String>) {
    let mut known: Vec<(f64, &str, f64)> =
        tried.iter().filter_map(|(value, off)| number(value).map(|(number, unit)| (number, unit, *off))).collect();
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    let Some(best) = (0..known.len()).min_by(|a, b| known[*a].2.total_cmp(&known[*b].2)) else { return (None, None) };
    let middle = |other: usize| {
        let (a, unit, _) = known[best];
        known.get(other).map(|(b, ..)| format!("{}{unit}", ((a + b) / 2.0 * 1000.0).round() / 1000.0))
    };
    (best.checked_sub(1).and_then(middle), middle(best + 1))
}

/// `0.5ms` as a number and a unit.
fn number(value: &str) -> Option<(f64, &str)> {
    let (number, unit) = value.split_at(value.find(|c: char| c.is_ascii_alphabetic() || c == '%')?);
    Some((number.parse().ok()?, unit))
}

/// How far the changed model is from the measurements; `None` if there is no such parameter.
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
