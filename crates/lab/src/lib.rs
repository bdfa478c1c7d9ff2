//! Which disk I/O scheduler, which knobs, and why, for a load on a disk: the question and its answer as values.
//!
//! A [`Scene`] says what is run, a [`Comparison`] asks; runs, verdict and search answer. Nothing here reads a command
//! line, prints, opens a file or looks at the environment: names lead where [`Files`] says, and long work is followed
//! and interrupted through [`Watch`].
//!
//! ```
//! use blksched_lab::{Comparison, Scene};
//!
//! let job = "[db]\nrw=randread\nbs=8k\nsize=1g\n[log]\nrw=write\nsize=1g\nfsync=1\n";
//! let scene = Scene { time: "2s".parse().ok(), ..Scene::of_jobs("my.fio", job, "ide-2002") };
//! let verdict = Comparison::of(scene, 3).answer()?.verdict;
//! if let Some(better) = &verdict.proposal {
//!     println!("use {better}: {:.2} times better", better.times_better.ratio);
//! }
//! for sentence in &verdict.sentences {
//!     println!("{sentence}");
//! }
//! # Ok::<(), blksched_lab::Error>(())
//! ```
//!
//! # Units and errors
//! Times of requests are nanoseconds, rates bytes or I/Os per second, parts of a whole 0 to 1; a [`Contrast`] knows the
//! unit of its figure. Whatever varies is a sample with a value per seed. An [`Error`] is data: mistakes in a job file
//! have file, line and column, and every unknown word comes with the nearest known one.
//!
//! [`Contrast`]: verdict::contrast::Contrast

pub mod advise;
mod compare;
mod comparison;
mod curve;
pub mod effects;
mod error;
mod files;
pub mod guess;
pub mod lists;
pub mod live;
pub mod runs;
pub mod scene;
pub mod search;
pub mod verdict;
mod watch;
pub mod why;

pub use compare::Compared;
pub use comparison::{Comparison, FitSearch};
pub use curve::{Curve, CurvePoint};
pub use error::{Error, ErrorPlace, Expected, WordError};
pub use files::{Files, NoFiles};
pub use scene::Scene;
pub use verdict::Verdict;
pub use watch::Watch;
