//! What Python asks, as values: the load, the disk, the settings around the schedulers.

use blksched::Span;
use blksched_cli::library::{Error, host};
use blksched_lab::scene::{attached, some_time};
use blksched_lab::{Scene, WordError};
use blksched_simulate::Starts;
use blksched_workloads::fio::{Text, Typed};
use blksched_workloads::host::fs::FsMount;
use pyo3::prelude::*;

/// The scene, as `blksched/_input.py` hands it over: a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Question {
    /// Names of workloads, programs with their parameters, traces.
    jobs: Vec<String>,
    /// A job file in memory: its name for messages, and its text.
    text: Option<(String, String)>,
    disk: String,
    depth: Option<u32>,
    attached: Option<String>,
    time: Option<String>,
    seed: Option<u64>,
    host: Option<String>,
    fs: Option<String>,
    starts: Option<String>,
}

impl Question {
    pub(crate) fn scene(self) -> Result<Scene, Error> {
        let wrong = |name: &'static str| move |why: String| Error::input(&format!("{name}: {why}"));
        let word =
            |name: &'static str| move |error: WordError| Error::from(blksched_lab::Error::from(error.within(name)));
        let time: Option<Span> = self.time.as_deref().map(some_time).transpose().map_err(wrong("time"))?;
        let attached = self.attached.as_deref().map(attached).transpose().map_err(word("attached"))?;
        let host = self.host.as_deref().map(host).transpose().map_err(word("host"))?;
        let fs = self.fs.as_deref().map(FsMount::named).transpose();
        let fs = fs.map_err(|error| wrong("fs")(error.to_string()))?;
        let usual = Scene::of("", &self.disk, self.seed.unwrap_or(1));
        Ok(Scene {
            jobs: self.jobs,
            typed: Typed { text: self.text.map(|(name, text)| Text { name, text }), ..Typed::default() },
            time,
            depth: self.depth,
            attached,
            fs,
            host: host.unwrap_or_else(|| usual.host.clone()),
            starts: self.starts.as_deref().map_or(Ok(usual.starts), Starts::named).map_err(wrong("starts"))?,
            ..usual
        })
    }
}
