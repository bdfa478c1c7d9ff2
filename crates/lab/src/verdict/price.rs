//! What a proposal may cost.
//!
//! **Rule** Unless a goal says what counts, a job that is not background must not get a key figure of its role that is
//! worse beyond chance by more than a bound, 1.25 times unless the user sets another, and a background job must keep a
//! tenth of its rate. Beyond that, a scheduler helps some and harms others: the user has to choose, with a goal.

use crate::runs::measured::Measured;
use crate::verdict::contrast::Contrast;
use crate::verdict::figure::FigureKind;
use crate::verdict::goal::Goal;
use crate::verdict::role::{FLOOR, Role};

/// How many times worse a key figure may become, if nothing else is said.
pub const MOST: f64 = 1.25;

/// What a scheduler makes worse, beyond chance, for jobs that somebody waits for, and background jobs below their
/// floor; the worst first. Nothing if a goal has chosen.
pub fn harms(contrasts: &[Contrast], default: &Measured, goal: &Goal) -> Vec<Contrast> {
    if *goal != Goal::Roles {
        return Vec::new();
    }
    let key = goal.objectives(default);
    let is_key = |contrast: &Contrast| key.iter().flatten().any(|figure| *figure == contrast.figure);
    let harms = |contrast: &&Contrast| {
        let Some(row) = contrast.figure.row else { return false };
        contrast.differs()
            && match default.jobs[row].role.0 {
                Role::Background => is_starved(contrast),
                Role::Latency | Role::Bulk => is_key(contrast) && contrast.times_better() < 1.0,
            }
    };
    let mut harms: Vec<Contrast> = contrasts.iter().filter(harms).cloned().collect();
    harms.sort_by(|a, b| a.times_better().total_cmp(&b.times_better()));
    harms
}

/// Whether this harm is more than may be: worse by more than `most` times, or a background job below its floor.
pub fn is_too_much(harm: &Contrast, most: f64) -> bool {
    harm.times_better() < 1.0 / most || is_starved(harm)
}

/// Whether a rate falls below what a background job must keep.
pub fn is_starved(contrast: &Contrast) -> bool {
    matches!(contrast.figure.what, FigureKind::Bandwidth | FigureKind::Finish) && contrast.times_better() < FLOOR
}
