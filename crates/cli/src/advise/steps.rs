//! The steps to an answer: what each takes is said before it, and what it found is kept, so that the same command goes
//! on where it was ended.
//!
//! Kept are the recording itself, the model that is fitted to it, and how near each model comes, for as long as the
//! recording, the program and what was asked for are the same; and how fast this machine was, from which it is said how
//! long the next steps take.

use std::cell::{Cell, RefCell};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Instant, UNIX_EPOCH};

use blksched_disks::parse;
use blksched_disks::probe::TraceFit;
use blksched_lab::Error;
use blksched_lab::advise::{AdviceFollowed, ModelOffered, ModelTried, RecordedLoad, Replayed};
use serde_json::{Value, json};

use super::models::FITTED;
use crate::half;
use crate::output;
use crate::state;

const SCHEMA: &str = "blksched/advised/1";
/// Where nothing was read or replayed yet: reading a packed recording \[ns/byte\], and one replay of it \[ns/IO\].
/// Guesses, between an optimised program and one that is not; what is said of the time hangs on them, until the first
/// run has its own figures.
const GUESSED: MachinePace = MachinePace { reading: 300.0, replay: 20_000.0 };

/// How fast this machine was.
#[derive(Clone, Copy)]
struct MachinePace {
    /// Reading a packed recording \[ns/byte\].
    reading: f64,
    /// A replay \[ns/IO\].
    replay: f64,
}

impl MachinePace {
    fn file() -> Option<PathBuf> {
        Some(state::folder()?.join("advised/pace.json"))
    }

    /// That of the last run.
    fn read() -> MachinePace {
        let kept = MachinePace::file().and_then(|file| fs::read_to_string(file).ok());
        let kept = kept.and_then(|text| serde_json::from_str::<Value>(&text).ok()).unwrap_or_default();
        let of = |key: &str, guessed| kept[key].as_f64().filter(|ns| *ns > 0.0).unwrap_or(guessed);
        MachinePace { reading: of("reading_ns", GUESSED.reading), replay: of("replay_ns", GUESSED.replay) }
    }

    fn keep(self) {
        if let Some(file) = MachinePace::file() {
            write(&file, &json!({ "reading_ns": self.reading, "replay_ns": self.replay }));
        }
    }
}

/// Writes it whole or not at all; where there is no place for it, the next run finds it out again.
fn write(file: &Path, value: &Value) {
    let made = file.parent().map_or(Ok(()), fs::create_dir_all);
    drop(made.and_then(|()| half::write(file, &format!("{value:#}\n"))));
}

/// The steps.
pub(super) struct AdviceSteps {
    /// Which step is next, and how many there are.
    next: Cell<usize>,
    all: usize,
    /// Where what is found is kept; `None` if there is no place for it.
    file: Option<PathBuf>,
    /// What it is about: another recording or question has other answers.
    about: Value,
    kept: RefCell<Value>,
    pace: Cell<MachinePace>,
    /// The I/Os of the recording.
    ios: Cell<u64>,
    /// When the replays began, and how many were made.
    replays: Cell<Option<(Instant, u32)>>,
    /// The text of the fitted model.
    fitted: RefCell<String>,
}

impl AdviceSteps {
    /// To an answer from this recording; it is made first if `records`. `asked`: what else the findings depend on.
    pub fn new(recording: &str, records: bool, asked: &str) -> AdviceSteps {
        AdviceSteps {
            next: Cell::new(1),
            all: if records { 4 } else { 3 },
            file: None,
            about: json!({ "recording": recording, "asked": asked }),
            kept: RefCell::new(Value::Null),
            pace: Cell::new(MachinePace::read()),
            ios: Cell::default(),
            replays: Cell::default(),
            fitted: RefCell::default(),
        }
    }

    /// Says what the next step is.
    pub fn begins(&self, said: &str) {
        let nth = self.next.replace(self.next.get() + 1);
        output::warn(&format!("step {nth} of {}: {said}", self.all));
    }

    /// The recording is there: what was found of it earlier is known from now on.
    pub fn recorded(&mut self) {
        let name = self.about["recording"].as_str().unwrap_or_default();
        let path = [name, name.split_once(':').map_or(name, |(path, _)| path)].into_iter().map(Path::new);
        let Some((path, meta)) = path.filter_map(|path| Some((path, fs::metadata(path).ok()?))).next() else { return };
        let modified = meta.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned()).display().to_string();
        let plain: String = whole.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        self.file = state::folder().map(|at| at.join("advised").join(format!("{}.json", last(&plain, 200))));
        self.about["path"] = json!(whole);
        self.about["bytes"] = json!(meta.len());
        self.about["modified_ns"] = json!(modified.map(|modified| modified.as_nanos() as u64));
        self.about["version"] = json!(env!("CARGO_PKG_VERSION"));
        let kept = self.file.as_ref().and_then(|file| fs::read_to_string(file).ok());
        let kept = kept.and_then(|text| serde_json::from_str::<Value>(&text).ok());
        let kept = kept.filter(|kept| kept["schema"] == SCHEMA && kept["about"] == self.about);
        *self.kept.borrow_mut() =
            kept.unwrap_or_else(|| json!({ "schema": SCHEMA, "about": self.about, "models": [] }));
    }

    /// Reads the recording, to which a model is fitted then if `fits`; it takes about as long as is said.
    pub fn reading(
        &self,
        fits: bool,
        work: impl FnOnce() -> Result<RecordedLoad, Error>,
    ) -> Result<RecordedLoad, Error> {
        let bytes = self.about["bytes"].as_u64().unwrap_or(0).max(1) as f64;
        // Fitting reads it a second time.
        let (fitted, times) = match self.fitted() {
            _ if !fits => ("", 1.0),
            Some(_) => ("; the model that was fitted to it is kept from before", 1.0),
            None => (" and fitting a model to it", 2.0),
        };
        let took = times * bytes * self.pace.get().reading;
        self.begins(&format!("reading the recording ({:.1} MB){fitted}: {}", bytes / 1e6, some(took)));
        let began = Instant::now();
        let load = work()?;
        self.ios.set(load.ios.max(1));
        self.pace.set(MachinePace { reading: began.elapsed().as_nanos() as f64 / bytes, ..self.pace.get() });
        self.pace.get().keep();
        Ok(load)
    }

    /// The model that was fitted to this recording, and what is known of its error.
    pub fn fitted(&self) -> Option<(TraceFit, String)> {
        let kept = self.kept.borrow();
        let (toml, held_back) = (kept["fitted"]["toml"].as_str()?, kept["fitted"]["held_back"].as_str()?);
        let spec = parse(FITTED, toml).ok()?;
        *self.fitted.borrow_mut() = toml.to_owned();
        let fit = TraceFit { toml: toml.to_owned(), spec, held_back: None, unknown: Vec::new() };
        Some((fit, held_back.to_owned()))
    }

    /// Keeps it.
    pub fn keep_fitted(&self, fit: &TraceFit, held_back: &str) {
        *self.fitted.borrow_mut() = fit.toml.clone();
        self.kept.borrow_mut()["fitted"] = json!({ "toml": fit.toml, "held_back": held_back });
        self.keep();
    }

    fn keep(&self) {
        if let Some(file) = &self.file {
            write(file, &self.kept.borrow());
        }
    }

    /// A model's own text: another file of the same name is another model.
    fn text_of(&self, offered: &ModelOffered) -> String {
        match offered.name == FITTED {
            true => self.fitted.borrow().clone(),
            false => fs::read_to_string(&offered.name).unwrap_or_default(),
        }
    }
}

/// The end of a text, of so many bytes; it is plain ASCII.
fn last(text: &str, most: usize) -> &str {
    &text[text.len().saturating_sub(most)..]
}

/// About so many nanoseconds, in words that promise no more than is known.
fn some(ns: f64) -> String {
    match ns / 1e9 {
        ..1.5 => "about a second".to_owned(),
        seconds @ ..90.0 => format!("about {seconds:.0} s"),
        seconds => format!("about {:.0} min", seconds / 60.0),
    }
}

impl AdviceFollowed for AdviceSteps {
    fn found(&self, offered: &ModelOffered) -> Option<ModelTried> {
        let kept = self.kept.borrow();
        let is_it = |one: &&Value| one["name"] == *offered.name && one["text"] == *self.text_of(offered);
        let one = kept["models"].as_array()?.iter().find(is_it)?;
        let word = |key: &str| one[key].as_str().map(str::to_owned);
        let misses = one["misses"].as_f64().ok_or_else(|| word("why").unwrap_or_default());
        let way = Replayed::named(one["replayed"].as_str()?)?;
        Some(ModelTried::found(offered, way, misses, word("missed"), word("means")))
    }

    fn trying(&self, replays: usize) {
        match replays {
            0 => self.begins("how near each model comes is known from before"),
            _ => {
                let took = replays as f64 * self.ios.get() as f64 * self.pace.get().replay;
                self.begins(&format!(
                    "{replays} replays, to see how near each model of the disk comes: {}",
                    some(took)
                ));
            }
        }
        self.replays.set(Some((Instant::now(), 0)));
    }

    fn tried(&self, tried: &ModelTried, replays: u32) {
        if let Some((began, done)) = self.replays.get() {
            let done = done + replays;
            self.replays.set(Some((began, done)));
            let each = began.elapsed().as_nanos() as f64 / f64::from(done) / self.ios.get() as f64;
            self.pace.set(MachinePace { replay: each, ..self.pace.get() });
            self.pace.get().keep();
        }
        let one = json!({
            "name": tried.offered.name,
            "text": self.text_of(&tried.offered),
            "replayed": tried.replayed.name(),
            "misses": tried.misses.as_ref().ok(),
            "why": tried.misses.as_ref().err(),
            "missed": tried.missed,
            "means": tried.means,
        });
        if let Some(models) = self.kept.borrow_mut()["models"].as_array_mut() {
            models.push(one);
        }
        self.keep();
    }

    fn predicting(&self, runs: usize) {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let took = runs as f64 / threads as f64 * self.ios.get() as f64 * self.pace.get().replay;
        self.begins(&format!(
            "{runs} simulated runs of the nearest model: {}, some times that if the answer hangs on what its file does \
             not know; Ctrl-C ends that earlier with what is done, --effort 0.2 shortens it",
            some(took)
        ));
    }
}
