//! Why a figure differs: the part of a request's way that changed most in the direction of the difference, from the
//! recorded reasons. Nothing here knows any scheduler by name.

use std::fmt;

use blksched::Dir;
use blksched_measure::Quantity;

use super::contrast::Contrast;
use crate::runs::measured::{Measured, Total};

/// Why requests of one direction take longer, or shorter, under a scheduler than under the first.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FigureCause {
    /// The scheduler, with its changed knobs.
    pub scheduler: String,
    /// The direction of the requests.
    pub dir: Dir,
    /// Whether it is about `fsync` and `fdatasync`, and not about requests.
    pub is_sync: bool,
    /// What they wait for; `None`: the disk takes another time to serve them.
    pub waits_for: Option<String>,
    /// For how long under this scheduler \[ns, mean per request\].
    pub here: f64,
    /// For how long under the first \[ns, mean per request\].
    pub base: f64,
}

/// A shorter wait is none \[ns\].
const NOTHING: f64 = 0.5;
/// A part of the way that differs by less than this part of itself causes nothing.
const DIFFERS: f64 = 0.02;

impl FigureCause {
    /// The cause of this difference; `None` if no part of the way changed in its direction.
    pub(super) fn of(difference: &Contrast, dir: Dir, here: &Measured, base: &Measured) -> Option<FigureCause> {
        let (scheduler, here, base) = (here.label(), here.total(dir), base.total(dir));
        let wanted = if is_longer(difference) { 1.0 } else { -1.0 };
        let changed = |here: f64, base: f64| wanted * (here - base);
        let most = parts(dir, here, base).into_iter().max_by(|x, y| changed(x.1, x.2).total_cmp(&changed(y.1, y.2)));
        let (what, waited, there) = most?;
        let is_in_memory = |total: &Total| dir == Dir::Write && total.in_memory.is_some();
        let to_disk = !is_in_memory(here) && !is_in_memory(base);
        if to_disk && changed(here.service, base.service) > changed(waited, there) {
            let (here, base) = (here.service, base.service);
            return FigureCause { scheduler, dir, is_sync: false, waits_for: None, here, base }.if_it_differs(wanted);
        }
        let (waits_for, here, base) = (Some(what), waited, there);
        FigureCause { scheduler, dir, is_sync: false, waits_for, here, base }.if_it_differs(wanted)
    }

    /// Whether it makes something shorter: only that is a reason for a scheduler.
    pub(super) fn is_gain(&self) -> bool {
        self.here < self.base
    }

    /// The cause of this difference between syncs through the host's memory: the part that changed most.
    pub(super) fn of_syncs(difference: &Contrast, here: &Measured, base: &Measured) -> Option<FigureCause> {
        let syncs = |one: &Measured| one.memory.as_ref().and_then(|memory| memory.syncs.clone());
        let wanted = if is_longer(difference) { 1.0 } else { -1.0 };
        let (scheduler, parts) = (here.label(), syncs(here)?.into_iter().zip(syncs(base)?));
        let parts = parts.map(|((what, here), (_, base))| (what, here.mean(), base.mean()));
        let (what, here, base) = parts.max_by(|x, y| (wanted * (x.1 - x.2)).total_cmp(&(wanted * (y.1 - y.2))))?;
        let waits_for = Some(what.words().to_owned());
        FigureCause { scheduler, dir: Dir::Write, is_sync: true, waits_for, here, base }.if_it_differs(wanted)
    }
}

impl FigureCause {
    /// `None` if it moved the other way (`wanted`: 1 for longer, -1 for shorter), or hardly, so that a reader would see
    /// the same figure twice.
    fn if_it_differs(self, wanted: f64) -> Option<FigureCause> {
        let (changed, greater) = (wanted * (self.here - self.base), self.here.max(self.base));
        (changed > 0.0 && changed >= DIFFERS * greater && shown(self.here) != shown(self.base)).then_some(self)
    }
}

fn shown(ns: f64) -> String {
    Quantity::Time.show(ns.round())
}

/// `a read waits 5.00ms for the disk, not 2.00ms`.
impl fmt::Display for FigureCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (here, base) = (shown(self.here), shown(self.base));
        let (a, what) = match self.is_sync {
            true => ("an", "fsync".to_owned()),
            false => ("a", self.dir.to_string()),
        };
        match &self.waits_for {
            None => write!(f, "{a} {what} now spends {here} inside the disk ({base} before)"),
            Some(on) if self.here < NOTHING => {
                write!(f, "no {what} waits for {on}; under the default each does, for {base}")
            }
            Some(on) if self.base < NOTHING => {
                write!(f, "{a} {what} waits {here} for {on}; under the default none does")
            }
            Some(on) => write!(f, "{a} {what} waits {here} for {on}, not {base}"),
        }
    }
}

/// Whether a request's way through queue and disk is longer here.
fn is_longer(contrast: &Contrast) -> bool {
    (contrast.paired.ratio > 1.0) != contrast.figure.what.higher_is_better()
}

/// What an I/O waited for, here and there. No process waits for the requests that writes to memory become.
fn parts(dir: Dir, here: &Total, base: &Total) -> Vec<(String, f64, f64)> {
    let mut parts: Vec<(String, f64, f64)> = Vec::new();
    if let (Some(here), Some(base)) = (&here.in_memory, &base.in_memory) {
        parts.extend(here.iter().zip(base).map(|((what, h), (_, b))| (what.words().to_owned(), *h, *b)));
        if dir == Dir::Write {
            return parts;
        }
    }
    for (&(cause, h), &(_, b)) in here.waited.iter().zip(&base.waited) {
        let seen = cause.name_for(dir);
        match parts.iter_mut().find(|(known, _, _)| *known == seen) {
            Some(part) => (part.1, part.2) = (part.1 + h, part.2 + b),
            None => parts.push((seen, h, b)),
        }
    }
    parts.push(("a request slot".to_owned(), here.slept, base.slept));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_differ_is_no_cause() {
        let cause = |here, base| FigureCause {
            scheduler: "bfq".to_owned(),
            dir: Dir::Read,
            is_sync: false,
            waits_for: Some("flushes of the disk's cache".to_owned()),
            here,
            base,
        };
        assert_eq!(cause(525_400.0, 525_300.0).if_it_differs(1.0), None, "525us, not 525us");
        assert_eq!(cause(530_000.0, 525_000.0).if_it_differs(1.0), None, "one per cent");
        assert_eq!(cause(600_000.0, 525_000.0).if_it_differs(-1.0), None, "the other way");
        assert!(cause(600_000.0, 525_000.0).if_it_differs(1.0).is_some());
        assert!(!cause(600_000.0, 525_000.0).is_gain() && cause(525_000.0, 600_000.0).is_gain());
        let served = FigureCause { waits_for: None, ..cause(12.2e6, 3.74e6) };
        assert_eq!(served.to_string(), "a read now spends 12.2ms inside the disk (3.74ms before)");
        let waits_for = Some("its commit block".to_owned());
        let sync = FigureCause { is_sync: true, waits_for, ..cause(239e6, 353e6) };
        assert_eq!(sync.to_string(), "an fsync waits 239ms for its commit block, not 353ms");
    }
}
