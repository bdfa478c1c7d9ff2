//! SIGHUP: the configuration is read again (elsewhere), and what has changed is changed.

use std::os::fd::AsFd;
use std::time::Instant;

use super::elsewhere::{self, LONG, Renewed, Told};
use super::questions::{NOBODY, log_change};
use super::{Front, Reading};
use crate::config::{Caching, ExportConfig, ServerConfig, TlsFiles};
use crate::control;
use crate::notify::{ServerState, notify};
use crate::orders::{Leave, Question};
use crate::reload::{Changes, changes, of_disk, resized};
use crate::tls::Tls;
use crate::{AUDIT, ServeError};

impl Front {
    /// A SIGHUP (also sent by a terminal that closes) ends nothing: the configuration is read again.
    pub(super) fn reload(&mut self, config: &mut ServerConfig) {
        let _ = rustix::net::recv(self.reload.as_fd(), &mut [0; 64], rustix::net::RecvFlags::DONTWAIT);
        if self.reading != Reading::Idle {
            self.reading = Reading::Again;
            return;
        }
        let Some(again) = config.reload.take() else {
            tracing::info!("SIGHUP: there is no configuration file to read again");
            return;
        };
        notify(ServerState::Reloading);
        self.reading = Reading::Once;
        let (known, caching) = (config.exports.clone(), config.caching);
        let read = move || {
            let new = (again.0)().map(|new| Box::new(renewed(new, &known, caching)));
            Told::Read(again, new)
        };
        if let Err(why) = self.elsewhere.run(read) {
            tracing::error!(why, "reload: nothing is changed, and nothing can be read again");
            self.reading = Reading::Idle;
            notify(ServerState::Ready);
        }
    }

    /// A configuration was read: what is no longer in it goes first, since its file may be another export's now.
    pub(super) fn begin_change(&mut self, config: &ServerConfig, renewed: Box<Renewed>) {
        for name in changes(config, &renewed.config).go {
            if let Err(why) = self.begin_removal(NOBODY, &name, Leave::IfUnused) {
                log_change(&Question::Remove(name, Leave::IfUnused), &Err(why));
            }
        }
        self.pending = Some((renewed, Instant::now() + LONG));
    }

    /// The rest is changed once they have gone, or take too long.
    pub(super) fn go_on_changing(&mut self, config: &mut ServerConfig) {
        let is_due = |until: Instant| self.serving.leaving.is_empty() || Instant::now() >= until;
        let Some((renewed, _)) = self.pending.take_if(|(_, until)| is_due(*until)) else { return };
        self.change(config, *renewed);
        self.reloaded(config);
    }

    /// It is over; if there was another SIGHUP meanwhile, it begins again.
    pub(super) fn reloaded(&mut self, config: &mut ServerConfig) {
        notify(ServerState::Ready);
        if core::mem::replace(&mut self.reading, Reading::Idle) == Reading::Again {
            self.reload(config);
        }
    }

    /// Changes what can be changed, and reports the rest.
    fn change(&mut self, config: &mut ServerConfig, renewed: Renewed) {
        let Renewed { config: new, opened, sizes: found, tls } = renewed;
        let Changes { now, sizes, later, .. } = changes(config, &new);
        let came = opened.len();
        for (export, opened) in opened {
            match opened.and_then(|backend| self.serving.add(export.clone(), backend, config)) {
                Ok(said) => tracing::info!(target: AUDIT, export = export.name, said, "reload: added"),
                Err(why) => tracing::error!(export = export.name, why, "reload: not added"),
            }
        }
        for disk in new.disks.iter().filter(|disk| self.serving.shards.iter().all(|shard| shard.name != disk.name)) {
            tracing::error!(disk = disk.name, "reload: no export is on a disk of that name");
        }
        let mut set = 0;
        for shard in &self.serving.shards {
            for question in of_disk(config, &new, &shard.name) {
                set += 1;
                told(&question, control::of_shard(shard, question.clone()));
            }
        }
        for (export, question) in &now {
            let place = self.serving.find(export).map(|at| self.serving.places[at]);
            let Some(shard) = place.map(|place| &self.serving.shards[place.shard]) else { continue };
            told(question, control::of_shard(shard, question.clone()));
        }
        for (name, size) in &sizes {
            let found = found.iter().find(|(own, wished, _)| own == name && wished == size);
            let found =
                found.map_or(Err("it was changed meanwhile: try again".to_owned()), |(.., found)| found.clone());
            let done = found.and_then(|found| self.serving.resize(name, *size, found, config));
            log_change(&Question::Resize(name.clone(), *size), &done);
        }
        self.renew_certificates(new.tls.as_ref(), tls);
        for what in &later {
            tracing::warn!(what, "reload: takes a restart");
        }
        let changed = now.len() + set + sizes.len();
        tracing::info!(changed, came, after_restart = later.len(), "reload: done");
        self.show_exports();
        (config.elevator, config.knobs, config.depth) = (new.elevator, new.knobs, new.depth);
        config.disks = new.disks;
        for export in &mut config.exports {
            if let Some(again) = new.exports.iter().find(|again| again.name == export.name) {
                export.share = again.share;
            }
        }
    }

    /// Certificates, keys and revocation lists may be new: those who connect from now on get them.
    fn renew_certificates(&mut self, files: Option<&TlsFiles>, read: Option<Result<Tls, ServeError>>) {
        let (Some(files), Some(read), true) = (files, read, self.tls.is_some()) else { return };
        match read {
            Ok(tls) => {
                self.tls = Some(tls);
                tracing::info!(certificate = %files.certificate.display(), "reload: certificates are read again");
            }
            Err(error) => tracing::error!(%error, "reload: the certificates stay what they were"),
        }
    }
}

/// What a new configuration needs, opened. To be done elsewhere.
fn renewed(config: ServerConfig, known: &[ExportConfig], caching: Caching) -> Renewed {
    let before = |name: &str| known.iter().find(|known| known.name == name);
    let come = config.exports.iter().filter(|export| before(&export.name).is_none());
    let opened = come.map(|export| (export.clone(), elsewhere::open(export, caching))).collect();
    let differ = config.exports.iter().filter_map(|export| {
        let source = &before(&export.name)?.source;
        let wished = resized(source, &export.source)?;
        Some((export.name.clone(), wished, elsewhere::size(Some(source), wished)))
    });
    let (sizes, tls) = (differ.collect(), config.tls.as_ref().map(Tls::open));
    Renewed { config, opened, sizes, tls }
}

/// Logs what was to be changed, and whether it was.
fn told(question: &Question, done: Result<String, String>) {
    match done {
        Ok(_) => tracing::info!(target: AUDIT, ?question, "reload: changed"),
        Err(why) => tracing::error!(?question, why, "reload: not changed"),
    }
}
