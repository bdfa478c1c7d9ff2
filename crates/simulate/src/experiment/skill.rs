//! What published numbers prove, beside null models.
//!
//! Decided by rules that look at nothing but the values of the arms: ours, and each [`Null`]'s.
//!
//! * A number **can be moved** if two of the arms differ there by more than [`MOVED`]: a scheduler, or a patch, or a
//!   knob matters to it. Every other number is a level of the disk or of the load.
//! * A number's **null** is, of the arms that change one of the runs that it is computed from, the one that has most of
//!   the experiment's published numbers within [`NEAR`]. (The scheduler of a column in every column leaves that column
//!   as it is: that is no null for it.)
//! * A number is **reproduced** if it can be moved, ours is near, and its null is not.
//! * A claim that holds under its null is none; nor is one that no null changes: nothing the mail is about is in it.

use super::null::Null;
use super::result::ExperimentAnswer;
use super::spec::{Experiment, PublishedRow};

/// How far [part of the larger one] two values must be apart for a number that can be moved.
pub const MOVED: f64 = 0.25;
/// How far from the published number [part of it] ours may be to be near.
pub const NEAR: f64 = 0.25;

/// One arm: ours, or a null's, in every row.
#[derive(Clone, Debug, PartialEq)]
pub struct Arm {
    /// Its name.
    pub name: String,
    /// Its value of each row, in the order of the tables; NaN if a run did not get that far.
    pub values: Vec<f64>,
    /// Whether each row is inside its bound; `None` if it has none.
    pub inside: Vec<Option<bool>>,
    /// Whether it changes a run that the row is computed from; ours changes nothing.
    pub changes: Vec<bool>,
}

impl Arm {
    /// The arm of this answer: the experiment's own, or that of a null.
    pub fn of(experiment: &Experiment, null: Option<&Null>, answer: &ExperimentAnswer) -> Arm {
        Arm {
            values: answer.rows().map(|row| row.ours).collect(),
            inside: answer.rows().map(|row| row.inside).collect(),
            ..Arm::unfilled(experiment, null)
        }
    }

    /// An arm without values: its name, and the rows that it changes.
    pub fn unfilled(experiment: &Experiment, null: Option<&Null>) -> Arm {
        let is_changed = |row: &PublishedRow| null.is_some_and(|null| experiment.changes_row(null, row));
        Arm {
            name: null.map_or_else(|| "ours".to_owned(), Null::name),
            values: Vec::new(),
            inside: Vec::new(),
            changes: experiment.rows().map(is_changed).collect(),
        }
    }

    /// How many of the counted numbers it is near.
    pub fn near(&self, rows: &[&PublishedRow]) -> usize {
        rows.iter().zip(&self.values).filter(|(row, ours)| row.is_counted() && row.is_near(**ours)).count()
    }
}

impl PublishedRow {
    /// Whether its published number counts: neither one that stands in another row or is computed from others, nor one
    /// of several draws, nor the largest of many.
    pub fn is_counted(&self) -> bool {
        self.mail.is_some() && !self.again && !self.draw && !self.largest
    }

    /// Whether this value is within [`NEAR`] of the published one.
    pub fn is_near(&self, ours: f64) -> bool {
        self.mail.is_some_and(|mail| (ours - mail).abs() <= NEAR * mail.abs())
    }
}

/// What a published number proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// There is none, or it does not count: it stands in another row, is one of several draws, the largest of many.
    Uncounted,
    /// No scheduler, patch or knob moves it.
    Level,
    /// Ours is near, and its null is not.
    Reproduced,
    /// Ours is near, and so is its null.
    NullHasIt,
    /// Ours is not near.
    Missed,
}

impl Proof {
    /// The word in tables.
    pub fn name(self) -> &'static str {
        match self {
            Proof::Uncounted => "not counted",
            Proof::Level => "a level",
            Proof::Reproduced => "reproduced",
            Proof::NullHasIt => "null has it",
            Proof::Missed => "missed",
        }
    }
}

/// What the published numbers of an experiment prove.
#[derive(Clone, Debug, PartialEq)]
pub struct Skill {
    /// Of all rows, in order: its null's place among the arms. `None` if no null model changes it.
    pub null: Vec<Option<usize>>,
    /// The published numbers that count.
    pub counted: usize,
    /// Those that ours is near.
    pub near: usize,
    /// Those that their null is near.
    pub null_near: usize,
    /// Of all rows, in order: what it proves.
    pub proofs: Vec<Proof>,
    /// Claims that hold under their null as well, or that no null changes: their places.
    pub empty_claims: Vec<usize>,
}

impl Skill {
    /// How many published numbers prove this.
    pub fn count(&self, proof: Proof) -> usize {
        self.proofs.iter().filter(|known| **known == proof).count()
    }

    /// How many can be moved.
    pub fn movable(&self) -> usize {
        self.counted - self.count(Proof::Level)
    }

    /// How many are reproduced beyond their null.
    pub fn reproduced(&self) -> usize {
        self.count(Proof::Reproduced)
    }

    /// The judgement over `rows`, in the order of their tables. The first arm is ours.
    ///
    /// # Panics
    /// If there is no arm, or one of another number of rows.
    pub fn of(rows: &[&PublishedRow], arms: &[Arm]) -> Skill {
        assert!(arms.iter().all(|arm| arm.values.len() == rows.len()), "an arm of another table");
        let ours = arms.first().expect("ours is the first arm");
        let near: Vec<usize> = arms.iter().map(|arm| arm.near(rows)).collect();
        // Of two that are near as many, the one that has the number at all.
        let rank = |arm: usize, nth: usize| (near[arm], arms[arm].values[nth].is_finite());
        let null = |nth: usize| {
            let better = |best: Option<usize>, arm: usize| match best {
                Some(so_far) if rank(so_far, nth) >= rank(arm, nth) => Some(so_far),
                _ => Some(arm),
            };
            (0..arms.len()).filter(|arm| arms[*arm].changes[nth]).fold(None, better)
        };
        let null: Vec<Option<usize>> = (0..rows.len()).map(null).collect();
        let has_it = |nth: usize| null[nth].is_some_and(|null| rows[nth].is_near(arms[null].values[nth]));
        let proof = |nth: usize| match rows[nth].is_counted() {
            false => Proof::Uncounted,
            true if !is_moved(arms, nth) => Proof::Level,
            true if !rows[nth].is_near(ours.values[nth]) => Proof::Missed,
            true if has_it(nth) => Proof::NullHasIt,
            true => Proof::Reproduced,
        };
        let holds = |nth: &usize| null[*nth].is_none_or(|null| arms[null].inside[*nth] == Some(true));
        Skill {
            counted: rows.iter().filter(|row| row.is_counted()).count(),
            near: near[0],
            null_near: (0..rows.len()).filter(|&nth| rows[nth].is_counted() && has_it(nth)).count(),
            proofs: (0..rows.len()).map(proof).collect(),
            empty_claims: (0..rows.len()).filter(|nth| rows[*nth].claimed).filter(holds).collect(),
            null,
        }
    }
}

/// Whether two arms differ in this row by more than [`MOVED`]; one that did not get that far differs from one that did.
fn is_moved(arms: &[Arm], nth: usize) -> bool {
    let values: Vec<f64> = arms.iter().map(|arm| arm.values[nth]).collect();
    let finite: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    if finite.len() < values.len() {
        return !finite.is_empty();
    }
    let fold = |pick: fn(f64, f64) -> f64| finite.iter().copied().reduce(pick).unwrap_or(0.0);
    let (least, greatest) = (fold(f64::min), fold(f64::max));
    greatest - least > MOVED * greatest.abs().max(least.abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Expression, Statistic};

    fn row(mail: f64, claimed: bool) -> PublishedRow {
        PublishedRow {
            label: "a row".to_owned(),
            run: String::new(),
            expression: Expression::parse("1").expect("a number"),
            unit: String::new(),
            mail: Some(mail),
            low: Some(0.75 * mail),
            high: Some(1.25 * mail),
            covers_mail: false,
            each_seed: false,
            claimed,
            statistic: Statistic::Mean,
            again: false,
            draw: false,
            largest: false,
        }
    }

    fn arm(name: &str, values: &[f64], rows: &[&PublishedRow]) -> Arm {
        let inside = |(row, value): (&&PublishedRow, &f64)| Some(row.is_near(*value));
        let inside = rows.iter().zip(values).map(inside).collect();
        Arm { name: name.to_owned(), values: values.to_vec(), inside, changes: vec![name != "ours"; rows.len()] }
    }

    #[test]
    fn a_number_that_nothing_moves_and_one_that_the_null_has_too_prove_nothing() {
        let all = [row(10.0, true), row(10.0, true), row(10.0, true), row(10.0, false)];
        let rows: Vec<&PublishedRow> = all.iter().collect();
        let arms = [
            arm("ours", &[10.0, 10.0, 10.0, 5.0], &rows),
            // The first moves nothing, the second moves only the third row, the third is wrong in everything.
            arm("noop", &[10.0, 9.0, 3.0, 10.0], &rows),
            arm("cfq", &[10.0, 2.0, 3.0, 1.0], &rows),
        ];
        let skill = Skill::of(&rows, &arms);
        assert_eq!((skill.counted, skill.near, skill.null_near), (4, 3, 3));
        assert_eq!(skill.null, [Some(1); 4]);
        assert_eq!(skill.proofs, [Proof::Level, Proof::NullHasIt, Proof::Reproduced, Proof::Missed]);
        assert_eq!((skill.movable(), skill.reproduced()), (3, 1));
        assert_eq!(skill.empty_claims, [0, 1]);
    }

    #[test]
    fn a_run_that_does_not_end_under_one_arm_is_moved_by_it_and_by_none_if_none_ends() {
        let all = [row(10.0, false), row(10.0, false)];
        let rows: Vec<&PublishedRow> = all.iter().collect();
        let arms = [arm("ours", &[10.0, f64::NAN], &rows), arm("noop", &[f64::NAN, f64::NAN], &rows)];
        assert_eq!(Skill::of(&rows, &arms).proofs, [Proof::Reproduced, Proof::Level]);
    }

    #[test]
    fn a_null_that_leaves_a_row_as_it_is_is_none_for_it() {
        let all = [row(10.0, true), row(10.0, true)];
        let rows: Vec<&PublishedRow> = all.iter().collect();
        let own = Arm { changes: vec![false, true], ..arm("own", &[10.0, 2.0], &rows) };
        let arms = [arm("ours", &[10.0, 10.0], &rows), own, arm("noop", &[4.0, 4.0], &rows)];
        let skill = Skill::of(&rows, &arms);
        assert_eq!(skill.null, [Some(2), Some(1)]);
        assert_eq!((skill.reproduced(), skill.empty_claims.len()), (2, 0));
    }

    #[test]
    fn of_two_nulls_that_are_near_as_many_the_one_that_has_the_number_counts() {
        let all = [row(10.0, true)];
        let rows: Vec<&PublishedRow> = all.iter().collect();
        let arms = [arm("ours", &[10.0], &rows), arm("none", &[f64::NAN], &rows), arm("tree", &[2.0], &rows)];
        assert_eq!(Skill::of(&rows, &arms).null, [Some(2)]);
    }

    #[test]
    fn a_claim_that_no_null_changes_is_no_claim() {
        let all = [row(10.0, true), row(10.0, true)];
        let rows: Vec<&PublishedRow> = all.iter().collect();
        let noop = Arm { changes: vec![false, true], ..arm("noop", &[10.0, 2.0], &rows) };
        let skill = Skill::of(&rows, &[arm("ours", &[10.0, 10.0], &rows), noop]);
        assert_eq!((skill.null, skill.empty_claims), (vec![None, Some(1)], vec![0]));
    }

    #[test]
    fn draws_and_repeated_numbers_do_not_count() {
        let drawn = PublishedRow { draw: true, ..row(10.0, false) };
        let again = PublishedRow { again: true, ..row(10.0, false) };
        let largest = PublishedRow { largest: true, ..row(10.0, false) };
        assert!([drawn, again, largest].iter().all(|row| !row.is_counted()));
        assert!(row(10.0, false).is_counted());
    }
}
