//! What a comparison predicts of the figures that a trial measures.

use blksched_measure::{Sample, Work};

use super::LiveKind;
use super::contrast::{LiveContrast, Stream};
use crate::compare::Compared;
use crate::runs::measured::{JobMeasure, Measured};

/// One figure of one setting against the present one, as predicted. Only of reads: a simulated replay does not tell
/// writes that somebody waits for from those that nobody waits for.
#[derive(Clone, Debug, PartialEq)]
pub struct Foretold {
    /// The setting as a trial names it: `bfq:slice_idle=0`.
    pub setting: String,
    /// Of which process; `None`: of all.
    pub process: Option<String>,
    /// As a trial calls it: `p99 ms`, `mean ms`.
    pub figure: String,
    /// How many times as long it takes as in the present setting.
    pub ratio: f64,
}

impl Foretold {
    /// Everything that this comparison predicts.
    pub fn all(compared: &Compared) -> Vec<Foretold> {
        let Some((base, others)) = compared.measured.split_first() else { return Vec::new() };
        others.iter().flat_map(|one| of(base, one, &setting(one))).collect()
    }

    /// Whether it is about this figure of a trial whose arms have these names.
    pub fn is_of(&self, measured: &LiveContrast, setting: &str) -> bool {
        let stream: Stream = (self.process.clone(), LiveKind::Read);
        self.setting == setting && self.figure == measured.figure && stream == measured.stream
    }
}

/// A setting as a trial takes it: the kernel has one version of each scheduler, and knobs are as in sysfs.
pub fn setting(one: &Measured) -> String {
    let name = |file: &str| file.rsplit('/').next().unwrap_or(file).to_owned();
    let knobs = one.controls.iter().map(|knob| format!(":{}={}", name(&knob.file), knob.value));
    format!("{}{}", one.scheduler, knobs.collect::<String>())
}

fn of(base: &Measured, one: &Measured, setting: &str) -> Vec<Foretold> {
    let mut all = Vec::new();
    let mut tell = |process: Option<&str>, figure: &str, (base, here): (&Sample, &Sample)| {
        let ratio = ratio(base, here);
        let (process, figure) = (process.map(str::to_owned), figure.to_owned());
        all.extend(ratio.map(|ratio| Foretold { setting: setting.to_owned(), process, figure, ratio }));
    };
    let (reads, reads_here) = (&base.totals[0].1, &one.totals[0].1);
    tell(None, "mean ms", (&reads.mean, &reads_here.mean));
    tell(None, "p99 ms", (&reads.p99, &reads_here.p99));
    // Several processes of one name are one in a trial, and their percentiles do not add up.
    let is_alone = |job: &&JobMeasure| base.jobs.iter().filter(|other| other.name == job.name).count() == 1;
    for job in base.jobs.iter().filter(is_alone) {
        let here = one.jobs.iter().find(|other| other.name == job.name).and_then(|other| other.work(Work::Read));
        if let Some((was, is)) = job.work(Work::Read).zip(here) {
            tell(Some(&job.name), "mean ms", (&was.clat[0], &is.clat[0]));
            tell(Some(&job.name), "p99 ms", (&was.clat[2], &is.clat[2]));
        }
    }
    all
}

/// The geometric mean of the ratios, seed by seed; `None` where one of them is missing.
fn ratio(base: &Sample, here: &Sample) -> Option<f64> {
    let pairs: Vec<f64> = base
        .values()
        .iter()
        .zip(here.values())
        .filter(|(was, _)| **was > 0.0)
        .map(|(was, is)| (is / was).ln())
        .collect();
    let mean = pairs.iter().sum::<f64>() / pairs.len() as f64;
    (!pairs.is_empty() && mean.is_finite()).then(|| mean.exp())
}

#[cfg(test)]
mod tests {
    use blksched_measure::Paired;

    use super::*;
    use crate::{Comparison, Scene};

    #[test]
    fn a_comparison_foretells_the_reads_of_each_process_and_of_all() {
        let job = "[db]\nrw=randread\nbs=8k\nsize=1g\ndirect=1\n[cp]\nrw=write\nbs=1m\nsize=1g\ndirect=1\n";
        let scene = Scene { time: "1s".parse().ok(), ..Scene::of_jobs("my.fio", job, "sata-2009") };
        let elevators = ["none", "mq-deadline:read_expire=100ms:nr_requests=32"].map(str::to_owned).to_vec();
        let compared = Comparison { elevators, ..Comparison::of(scene, 2) }.answer().unwrap();
        let all = Foretold::all(&compared);
        let keys: Vec<(Option<&str>, &str)> =
            all.iter().map(|one| (one.process.as_deref(), one.figure.as_str())).collect();
        assert_eq!(keys[0], (None, "mean ms"));
        assert!(keys.contains(&(Some("db"), "mean ms")) && !keys.iter().any(|(process, _)| *process == Some("cp")));
        assert!(all.iter().all(|one| one.setting == "mq-deadline:read_expire=100:nr_requests=32" && one.ratio > 0.0));
        let (was, is) = (&compared.measured[0].totals[0].1.mean, &compared.measured[1].totals[0].1.mean);
        let by_hand = was.values().iter().zip(is.values()).map(|(was, is)| (is / was).ln()).sum::<f64>() / 2.0;
        assert!((all[0].ratio - by_hand.exp()).abs() < 1e-12);
    }

    #[test]
    fn a_prediction_is_about_the_figure_of_its_own_stream_and_setting() {
        let foretold = |process: Option<&str>| Foretold {
            setting: "bfq".to_owned(),
            process: process.map(str::to_owned),
            figure: "p99 ms".to_owned(),
            ratio: 0.5,
        };
        let paired = Paired::of(&[2.0, 2.1], &[1.0, 1.0]).unwrap();
        let stream = (Some("db".to_owned()), LiveKind::Read);
        let contrast = LiveContrast { arm: 1, stream, figure: "p99 ms", base: 1.0, here: 2.0, paired, p: 0.5 };
        assert!(foretold(Some("db")).is_of(&contrast, "bfq"));
        assert!(!foretold(None).is_of(&contrast, "bfq") && !foretold(Some("db")).is_of(&contrast, "bfq:slice_idle=0"));
        let writes = LiveContrast { stream: (Some("db".to_owned()), LiveKind::Write), ..contrast.clone() };
        assert!(!foretold(Some("db")).is_of(&writes, "bfq"));
    }
}
