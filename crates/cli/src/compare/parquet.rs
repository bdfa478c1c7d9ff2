//! A comparison as Parquet: the rows of its CSV, and every comparison of two schedulers.

use std::sync::Arc;

use blksched_lab::runs::measured::Measured;
use blksched_lab::runs::values::each;
use blksched_lab::scene::Stage;
use blksched_lab::verdict::contrast::Contrast;

use super::json::figure;
use crate::rows::{Filled, ParquetTarget, To, WriteResult};

/// The schema, as in `compare --csv`.
const FIGURES: &str = "\
message figures {
  required binary workload (STRING);
  required binary disk (STRING);
  required binary scheduler (STRING);
  required binary settings (STRING);
  required int64 seed;
  required binary job (STRING);
  required int64 processes;
  required binary role (STRING);
  optional binary what (STRING);
  required binary figure (STRING);
  required binary unit (STRING);
  required double value;
}";

/// The schema, as in `contrasts[]` of `compare --json`.
const CONTRASTS: &str = "\
message contrasts {
  required binary scheduler (STRING);
  required binary base (STRING);
  required binary job (STRING);
  required binary figure (STRING);
  required binary unit (STRING);
  optional double here;
  optional double there;
  optional double ratio;
  optional double low;
  optional double high;
  required int64 n;
  optional double p;
  optional double p_corrected;
  required boolean differs;
}";

/// Every figure of every scheduler, job and seed.
pub(crate) fn figures(place: &ParquetTarget, stage: &Stage, measured: &[Arc<Measured>], first: u64) -> WriteResult {
    place.table("figures", true, FIGURES, |to| {
        let mut filled = Ok(());
        each(measured, first, &mut |of| {
            let mut row = || {
                to.row([
                    stage.workload.name.as_str().into(),
                    stage.disk.name.as_str().into(),
                    of.scheduler.name.as_str().into(),
                    of.scheduler.knobs.join(" ").as_str().into(),
                    of.seed.into(),
                    of.job.name.as_str().into(),
                    (of.job.processes as u64).into(),
                    of.job.role.0.name().into(),
                    Some(of.what).filter(|what| !what.is_empty()).into(),
                    of.figure.into(),
                    of.unit.unit().into(),
                    of.value.into(),
                ])
            };
            if filled.is_ok() {
                filled = row();
            }
        });
        filled
    })
}

/// Each scheduler after the first compared with it.
pub(super) fn contrasts(place: &ParquetTarget, measured: &[Arc<Measured>], contrasts: &[Vec<Contrast>]) -> WriteResult {
    let Some((base, others)) = measured.split_first() else { return Ok(()) };
    place.table("contrasts", false, CONTRASTS, |to| {
        let pairs = others.iter().zip(contrasts);
        pairs.flat_map(|(here, all)| all.iter().map(move |one| (here, one))).try_for_each(|(h, c)| row(to, base, h, c))
    })
}

fn row(to: &mut To, base: &Measured, here: &Measured, contrast: &Contrast) -> Filled {
    let paired = &contrast.paired;
    to.row([
        here.label().as_str().into(),
        base.label().as_str().into(),
        contrast.job.as_str().into(),
        figure(&contrast.figure).as_str().into(),
        contrast.figure.what.unit().unit().into(),
        contrast.here.into(),
        contrast.base.into(),
        paired.ratio.into(),
        paired.low.into(),
        paired.high.into(),
        (paired.count as u64).into(),
        paired.p.into(),
        contrast.p.into(),
        contrast.differs().into(),
    ])
}
