//! What each experiment's judged rows are under each null model, as `experiments/NAME/null.csv` has it: what
//! `blksched experiment NAME --null --csv` prints. A slow test runs them anew; here ours in that file must be ours of
//! `expected.txt`, so one without the other is noticed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use blksched::Catalogue;
use blksched_simulate::experiment::{Arm, Beside, Experiment, Proof, PublishedRow, Skill, short};

/// An experiment beside its nulls, as last run.
pub struct Judged {
    experiment: Experiment,
    arms: Vec<Arm>,
    /// What it proves.
    pub skill: Skill,
}

/// What a judged row proves.
pub struct Verdict<'a> {
    /// Its null's value, and that null's name.
    pub null: Option<(f64, &'a str)>,
    /// What the number proves.
    pub proof: Proof,
    /// Whether it is claimed and holds under its null as well.
    pub is_empty_claim: bool,
}

/// The file of an experiment's nulls.
fn file_of(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments").join(name).join("null.csv")
}

impl Judged {
    /// Reads the file; `ours` are all rows of `expected.txt`.
    pub fn read(name: &str, experiment: &Experiment, ours: &[Option<f64>]) -> Judged {
        let renew = format!("`blksched experiment {name} --null --csv > experiments/{name}/null.csv` renews it");
        let beside = Beside::of(experiment, &Catalogue::builtin());
        let mut values: BTreeMap<String, Vec<(f64, Option<bool>)>> = BTreeMap::new();
        let mut reader = csv::Reader::from_path(file_of(name)).unwrap_or_else(|why| panic!("{why}: {renew}"));
        let mut labels = Vec::new();
        for record in reader.records() {
            let record = record.expect("a line of the file");
            let value = record[4].parse().unwrap_or(f64::NAN);
            values.entry(record[3].to_owned()).or_default().push((value, record[5].parse().ok()));
            if &record[3] == "ours" {
                labels.push(record[2].to_owned());
            }
        }
        let judged: Vec<&str> = beside.experiment.rows().map(|row| row.label.as_str()).collect();
        assert_eq!(labels, judged, "{name}: other rows than the experiment's: {renew}");
        let nulls = [None].into_iter().chain(beside.nulls.iter().map(Some));
        let arms = nulls.map(|null| {
            let arm = Arm::unfilled(&beside.experiment, null);
            let of = values.remove(&arm.name).unwrap_or_else(|| panic!("{name} lacks {}: {renew}", arm.name));
            let (values, inside) = of.into_iter().unzip();
            Arm { values, inside, ..arm }
        });
        let arms: Vec<Arm> = arms.collect();
        assert!(values.is_empty(), "{name} has nulls that are none: {:?}: {renew}", values.keys());
        let expected = experiment.rows().zip(ours).filter(|(row, _)| row.is_counted() || row.claimed);
        for ((row, expected), ours) in expected.zip(&arms[0].values) {
            let expected = expected.map_or("-".to_owned(), short);
            assert_eq!(short(*ours), expected, "{name}: {}: expected.txt is newer: {renew}", row.label);
        }
        let rows: Vec<&PublishedRow> = beside.experiment.rows().collect();
        let skill = Skill::of(&rows, &arms);
        Judged { experiment: beside.experiment, arms, skill }
    }

    /// Its judged rows.
    pub fn rows(&self) -> Vec<&PublishedRow> {
        self.experiment.rows().collect()
    }

    /// What judged row `nth` proves.
    pub fn of(&self, nth: usize) -> Verdict<'_> {
        let null = self.skill.null[nth].map(|arm| (self.arms[arm].values[nth], &*self.arms[arm].name));
        let is_empty_claim = self.skill.empty_claims.contains(&nth);
        Verdict { null, proof: self.skill.proofs[nth], is_empty_claim }
    }
}
