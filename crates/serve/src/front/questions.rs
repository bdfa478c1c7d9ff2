//! The questions of `blksched ctl` and of Prometheus: most are answered elsewhere, and changes of the exports are made
//! here once what they need was opened elsewhere.

use std::time::Instant;

use super::elsewhere::{self, LONG, Told};
use super::{CLIENTS_SHOWN, Front};
use crate::AUDIT;
use crate::config::{ExportConfig, ServerConfig};
use crate::control::{self, Asked};
use crate::hand_over;
use crate::handshaking::{HandshakingClient, Next};
use crate::metrics;
use crate::orders::{ClientsShown, Leave, Question};

/// The number of no client.
pub(super) const NOBODY: u64 = u64::MAX;

impl Front {
    pub(super) fn serve_asker(&mut self, at: usize, config: &mut ServerConfig) {
        let Some(asker) = self.askers.get_mut(at) else { return };
        if asker.asked_at.is_some() {
            // It has gone.
            self.askers.remove(at);
            return;
        }
        match asker.go_on(&[], &|_| false, None) {
            Next::Wait | Next::Shakes => {}
            Next::Ends(_) => drop(self.askers.remove(at)),
            Next::Asks(question) if question.trim() == hand_over::QUESTION => self.hand_over_doors(at),
            Next::Asks(question) => {
                let now = Instant::now();
                (asker.asked_at, asker.by) = (Some(now), now + 2 * LONG);
                let (number, figures) = (asker.number, asker.wants_figures());
                if let Err(why) = self.begin_answer(number, figures, question, config) {
                    self.answer(number, &control::shown(Err(why)));
                }
            }
        }
    }

    /// Answers a question, here or elsewhere.
    ///
    /// # Errors
    /// If it is none, or what it asks for is refused at once.
    fn begin_answer(
        &mut self,
        number: u64,
        figures: bool,
        question: String,
        config: &mut ServerConfig,
    ) -> Result<(), String> {
        let disks = control::disks(&self.serving.shards);
        if figures {
            let shown = ClientsShown::Busiest(CLIENTS_SHOWN);
            let text = move || metrics::http(&question, || control::figures(&disks, shown));
            return self.elsewhere.run(move || Told::Answer(number, text()));
        }
        match control::parse(&question)? {
            Asked::Look(question) => self.elsewhere.run(move || {
                let set = matches!(question, Question::Set(..)).then(|| question.clone());
                let answer = control::look(&disks, question);
                if let Some(question) = set {
                    log_set(&question, &answer);
                }
                Told::Answer(number, control::shown(answer))
            }),
            Asked::Change(Question::Add(text)) => {
                let export: ExportConfig = text.parse().map_err(|error: crate::SpecError| error.to_string())?;
                let caching = config.caching;
                self.elsewhere.run(move || {
                    let opened = elsewhere::open(&export, caching);
                    Told::Opened(number, Box::new((export, opened)))
                })
            }
            Asked::Change(question @ Question::Resize(..)) => {
                let Question::Resize(name, wished) = &question else { return Ok(()) };
                self.serving.expect(name)?;
                let named = config.exports.iter().find(|export| export.name == *name);
                let (source, wished) = (named.map(|export| export.source.clone()), *wished);
                self.elsewhere.run(move || {
                    let size = elsewhere::size(source.as_ref(), wished);
                    Told::Sized(number, question, size)
                })
            }
            Asked::Change(question) => {
                let Question::Remove(name, how) = &question else { return Ok(()) };
                self.begin_removal(number, name, *how)
            }
        }
    }

    /// Something that was done elsewhere is done.
    pub(super) fn hear(&mut self, config: &mut ServerConfig) {
        for told in self.elsewhere.results() {
            match told {
                Told::Answer(number, text) => self.answer(number, &text),
                Told::Opened(number, added) => {
                    let (export, opened) = *added;
                    let name = export.name.clone();
                    let done = opened.and_then(|backend| self.serving.add(export, backend, config));
                    self.changed(number, &Question::Add(name), done);
                }
                Told::Sized(number, question, size) => {
                    let Question::Resize(name, wished) = &question else { continue };
                    let done = size.and_then(|size| self.serving.resize(name, *wished, size, config));
                    self.changed(number, &question, done);
                }
                Told::Removed(number, removal, answer) => {
                    let done = self.serving.end_removal(&removal, answer, config);
                    self.changed(number, &Question::Remove(removal.name, removal.how), done);
                }
                Told::Read(again, new) => {
                    config.reload = Some(again);
                    match new {
                        Ok(renewed) => self.begin_change(config, renewed),
                        Err(why) => {
                            tracing::error!(why, "reload: nothing is changed");
                            self.reloaded(config);
                        }
                    }
                }
                Told::Shaken(guest, read) => self.shaken(*guest, read, config),
            }
        }
        self.go_on_changing(config);
    }

    /// Begins to remove an export; the answer is this client's.
    ///
    /// # Errors
    /// If there is none of that name.
    pub(super) fn begin_removal(&mut self, number: u64, name: &str, how: Leave) -> Result<(), String> {
        let (removal, answer) = self.serving.begin_removal(name, how)?;
        self.elsewhere.run(move || {
            let answer = answer.recv().unwrap_or_else(|_| Err("its disk's thread has ended".to_owned()));
            Told::Removed(number, removal, answer)
        })
    }

    /// Reports a change of the exports, to the log and to the client that asked for it.
    pub(super) fn changed(&mut self, number: u64, question: &Question, done: Result<String, String>) {
        log_change(question, &done);
        self.show_exports();
        self.answer(number, &control::shown(done));
    }

    /// Sends the answer to a client, if it is still there.
    pub(super) fn answer(&mut self, number: u64, text: &str) {
        let Some((at, asker)) = self.askers.iter_mut().find(|(_, asker)| asker.number == number) else { return };
        asker.answer(text);
        if let Next::Ends(_) = asker.go_on(&[], &|_| false, None) {
            self.askers.remove(at);
        }
    }

    /// Tells clients that what they have asked for takes long.
    pub(super) fn answer_the_patient(&mut self, now: Instant) {
        let waits = |asker: &HandshakingClient| asker.asked_at.is_some_and(|since| now.duration_since(since) >= LONG);
        let late: Vec<u64> =
            self.askers.iter().filter(|(_, asker)| waits(asker)).map(|(_, asker)| asker.number).collect();
        for number in late {
            let why = "it takes long (does a disk hang?); the log will say how it ends";
            self.answer(number, &control::shown(Err(why.to_owned())));
        }
    }
}

/// Logs a change of a file.
fn log_set(question: &Question, done: &Result<String, String>) {
    match done {
        Ok(_) => tracing::info!(target: AUDIT, ?question, "ctl: changed"),
        Err(why) => tracing::warn!(target: AUDIT, ?question, why, "ctl: not changed"),
    }
}

/// Logs a change of the exports.
pub(super) fn log_change(question: &Question, done: &Result<String, String>) {
    match done {
        Ok(said) => tracing::info!(target: AUDIT, ?question, said, "exports: changed"),
        Err(why) => tracing::warn!(target: AUDIT, ?question, why, "exports: not changed"),
    }
}
