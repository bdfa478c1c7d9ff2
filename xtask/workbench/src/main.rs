//! blksched's developer commands that simulate or measure, `cargo xtask VERB`; one file per verb.
//!
//! * `docs [--check]`: generates `docs/knobs.md`, `docs/programs.md`, `docs/which-kernel.md` from the library's tables
//! * `matrix`: renews docs/matrix.md and docs/matrix.csv, in some minutes
//! * `transcripts PATH…`: replays recorded decisions and reports differences
//! * `bench [--gate | --peers | --scale]`: times for people, instruction counts for the gate, a comparison with other
//!   programs, and growth with size
//! * `demerit [FOLDER]`: our disk compared with real drives, from DiskSim's files and measured response times
//! * `grids [TABLE]`: models fitted to eight cells of measured grids, and their errors on the others
//! * `live-kernel`: the running kernel's schedulers compared with ours, if the machine allows it
//! * `measured-disk`: `blksched disk measure` on disk models by the wall clock, compared with the models
//! * `reality`: the running kernel and fio on a simulated disk in real time, compared with the prediction
//! * `timed-disk DISK COMMAND`: a disk model as a file that takes as long as the model says, by the wall clock
//! * `nvme-tables`: published throughput of the schedulers on an NVMe drive, compared with the prediction
//! * `what-changed`: renews docs/what-changed.md, in some minutes; `--check` measures some of its cells anew
//! * `what-knobs-do`: the same for the figures of docs/what-knobs-do.md
//! * `cpu-costs`: the processor cost of an I/O on this machine under each scheduler, as a preset

#![allow(clippy::disallowed_methods, reason = "what starts programs here is no test")]

mod bench;
#[cfg(target_os = "linux")]
mod cpu_costs;
mod demerit;
mod docs;
mod grids;
#[cfg(target_os = "linux")]
mod live_kernel;
#[cfg(target_os = "linux")]
mod loop_device;
mod matrix;
#[cfg(target_os = "linux")]
mod measured_disk;
mod nvme_tables;
#[cfg(target_os = "linux")]
mod reality;
#[cfg(target_os = "linux")]
mod timed_disk;
mod transcripts;
mod what_changed;
mod what_knobs_do;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use xtask::{Verdict, gate, shell};

/// blksched's developer commands that simulate or measure.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Generate docs/knobs.md, docs/programs.md and docs/which-kernel.md from the tables in the library
    Docs {
        /// Write nothing; fail if a file differs from what would be generated
        #[arg(long)]
        check: bool,
    },
    /// Renew docs/matrix.md and docs/matrix.csv from the present program; takes some minutes
    Matrix,
    /// Renew docs/what-changed.md and its figures: what each step to a newer kernel does; takes some minutes
    WhatChanged {
        /// Only these schedulers
        schedulers: Vec<String>,
        /// Write nothing; measure some of its cells anew, and fail if they are no longer true
        #[arg(long, conflicts_with = "schedulers")]
        check: bool,
    },
    /// Renew the figures of docs/what-knobs-do.md; takes some minutes
    WhatKnobsDo {
        /// Only these schedulers
        schedulers: Vec<String>,
        /// Write nothing; measure two knobs anew, and fail if the figures are others
        #[arg(long, conflicts_with = "schedulers")]
        check: bool,
    },
    /// Replay transcripts (.jsonl, .jsonl.gz, or folders of them) and report divergences
    Transcripts {
        /// Files and folders, searched recursively
        #[arg(required = true)]
        paths: Vec<PathBuf>,
    },
    /// Run the benchmarks
    Bench {
        /// Count instructions under valgrind and compare them with xtask/gate.toml
        #[arg(long)]
        gate: bool,
        /// With --gate: write the counts to xtask/gate.toml
        #[arg(long, requires = "gate")]
        bless: bool,
        /// Run fio's null engine, blkparse, btt and DiskSim beside ours, as far as installed, by processor time
        #[arg(long, conflicts_with = "gate")]
        peers: bool,
        /// Run everything that can be large at two sizes: the cost of one, and the memory
        #[arg(long, conflicts_with_all = ["gate", "peers"])]
        scale: bool,
    },
    /// Compare our disk with real drives: DiskSim's files and published response times
    Demerit {
        /// The directory with DRIVE.model, .seek, .diskspecs and .trace.gz; by default testdata/disksim
        folder: Option<PathBuf>,
    },
    /// Fit models to at most eight cells of each measured grid, and print their errors on the others by class
    Grids(grids::Arguments),
    /// Compare the running kernel's decisions with ours on a loop device (needs root; skipped by name elsewhere)
    #[cfg(target_os = "linux")]
    LiveKernel,
    /// Measure what an I/O costs the processors under each scheduler (needs root and fio; skipped by name elsewhere)
    #[cfg(target_os = "linux")]
    CpuCosts {
        /// How often to run each load; the least counts, and five are the fewest that have an interval
        #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(5..=1000))]
        repeats: u32,
        /// Also write the preset to this file
        #[arg(long, value_name = "FILE")]
        write: Option<PathBuf>,
    },
    /// Compare published throughput and latency of the schedulers on an NVMe drive with the prediction
    NvmeTables(nvme_tables::Arguments),
    /// What the running kernel and fio do on simulated disks in real time, beside what is predicted (needs root)
    #[cfg(target_os = "linux")]
    Reality(reality::Arguments),
    /// Run a command beside a file that takes as long as a disk model says, by the wall clock (needs root and FUSE)
    #[cfg(target_os = "linux")]
    TimedDisk {
        /// A preset's name or a TOML file
        disk: String,
        /// The shell command; `$file` is the file's path
        command: String,
    },
    /// Measure disk models by the wall clock and compare what is found (needs root and FUSE; skipped by name elsewhere)
    #[cfg(target_os = "linux")]
    MeasuredDisk {
        /// Presets or TOML files of spinning disks; by default all presets of that kind
        disks: Vec<String>,
    },
}

fn main() -> ExitCode {
    Verdict::exit(match Arguments::parse().verb {
        Verb::Docs { check } => docs::run(if check { docs::Mode::Check } else { docs::Mode::Write }),
        Verb::Matrix => matrix::run(),
        Verb::WhatChanged { check: true, .. } => what_changed::check(),
        Verb::WhatChanged { schedulers, .. } => what_changed::run(&schedulers),
        Verb::WhatKnobsDo { check: true, .. } => what_knobs_do::check(),
        Verb::WhatKnobsDo { schedulers, .. } => what_knobs_do::run(&schedulers),
        Verb::Bench { peers: true, .. } => bench::peers::run(),
        Verb::Bench { scale: true, .. } => bench::scale::run(),
        Verb::Bench { gate: false, .. } => bench::run(),
        Verb::Bench { gate: true, bless, .. } => {
            gate::run(if bless { gate::Baseline::Renew } else { gate::Baseline::Compare })
        }
        Verb::Demerit { folder } => demerit::run(folder),
        Verb::Grids(arguments) => grids::run(&arguments),
        Verb::Transcripts { paths } => transcripts::run(&paths),
        #[cfg(target_os = "linux")]
        Verb::LiveKernel => live_kernel::run(),
        #[cfg(target_os = "linux")]
        Verb::CpuCosts { repeats, write } => cpu_costs::run(repeats, write.as_deref()),
        Verb::NvmeTables(arguments) => nvme_tables::run(&arguments),
        #[cfg(target_os = "linux")]
        Verb::Reality(arguments) => reality::run(&arguments),
        #[cfg(target_os = "linux")]
        Verb::TimedDisk { disk, command } => timed_disk::run(&disk, &command),
        #[cfg(target_os = "linux")]
        Verb::MeasuredDisk { disks } => measured_disk::run(&disks),
    })
}
