//! What a proposal may cost.
//!
//! **Rule** Unless a goal says what counts, a job that is not background must not get a key figure of its role that is
//! worse beyond chance by more than 1.25 times, and a background job must keep a tenth of its rate. Beyond that, a
//! scheduler helps some and harms others: that is for the user to choose, with a goal.

use crate::runs::measured::Measured;
use crate::verdict::clones::{Told, told};
use crate::verdict::contrast::Contrast;
use crate::verdict::figure::FigureKind;
use crate::verdict::goal::Goal;
use crate::verdict::role::{FLOOR, Role};

/// How many times worse a key figure may become.
const MOST: f64 = 1.25;
/// At most this many harms are named.
const NAMED: usize = 2;

/// Whom a scheduler harms too much to be proposed; `None` if nobody, or if a goal has chosen.
pub fn too_high(contrasts: &[Contrast], default: &Measured, goal: &Goal) -> Option<String> {
    if *goal != Goal::Roles {
        return None;
    }
    let key = goal.objectives(default);
    let is_key = |contrast: &Contrast| key.iter().flatten().any(|figure| *figure == contrast.figure);
    let harms = |contrast: &&Contrast| {
        let Some(row) = contrast.figure.row else { return false };
        let is_rate = matches!(contrast.figure.what, FigureKind::Bandwidth | FigureKind::Finish);
        contrast.differs()
            && match default.jobs[row].role.0 {
                Role::Background => is_rate && contrast.times_better() < FLOOR,
                Role::Latency | Role::Bulk => is_key(contrast) && contrast.times_better() < 1.0 / MOST,
            }
    };
    let mut harms: Vec<&Contrast> = contrasts.iter().filter(harms).collect();
    harms.sort_by(|a, b| a.times_better().total_cmp(&b.times_better()));
    let told = told(harms.into_iter(), &default.jobs);
    let named: Vec<String> = told.iter().take(NAMED).map(Told::with_job).collect();
    (!named.is_empty()).then(|| format!("it harms {}", named.join("; ")))
}
