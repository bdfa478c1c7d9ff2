//! Adding, removing and resizing exports while the server runs: the front end's part.
//!
//! **Rule** An export's number is never reused, because clients in their handshakes may have been told it. A removed
//! export is closed: no client sees it.

use std::sync::mpsc::Receiver;

use crate::assemble::{DiskPlan, Running, ServedAt, Serving};
use crate::backend::Backend;
use crate::config::{ExportConfig, ExportSource, ServerConfig};
use crate::control;
use crate::orders::{Change, Leave};
use crate::policies::{Setting, WrittenFiles};
use blksched_text::did_you_mean;

/// A removal that has begun.
pub struct Removal {
    /// The export.
    pub name: String,
    /// How it is removed.
    pub how: Leave,
    at: usize,
}

/// Where the answer of a disk comes.
pub type ChangeAnswer = Receiver<Result<String, String>>;

impl Serving {
    /// The export with this name, if it is open.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.exports.iter().enumerate().position(|(at, export)| self.open[at] && export.name == name)
    }

    /// The export with this name.
    ///
    /// # Errors
    /// The nearest one that there is.
    pub fn expect(&self, name: &str) -> Result<usize, String> {
        let names =
            || self.exports.iter().enumerate().filter(|(at, _)| self.open[*at]).map(|(_, one)| one.name.as_str());
        self.find(name).ok_or_else(|| {
            let near = did_you_mean(name, names());
            format!("no export is called `{name}`{near}")
        })
    }

    /// Adds an export with its back end, on a disk that is already there or on one of its own.
    ///
    /// # Errors
    /// If it cannot be served.
    pub fn add(&mut self, export: ExportConfig, backend: Backend, config: &mut ServerConfig) -> Result<String, String> {
        if self.find(&export.name).is_some() {
            return Err(format!("an export is already called `{}`", export.name));
        }
        let setting = Setting::of(config);
        for (file, text) in export.files.written() {
            WrittenFiles::check(file, text).and_then(|()| setting.allows(file))?;
        }
        let disk = export.disk.clone().unwrap_or_else(|| backend.disk.clone());
        if let (ExportSource::File { path, .. }, Some(identity)) = (&export.source, backend.identity) {
            self.claims.claim((&export.name, &disk), (path, identity), export.access, export.locking)?;
        }
        let added = self.place(&export, backend, &disk, config);
        if added.is_err() {
            self.claims.release(&export.name);
        }
        let size = added?;
        config.exports.push(export);
        Ok(format!("{size} bytes on disk {disk}"))
    }

    fn place(
        &mut self,
        export: &ExportConfig,
        backend: Backend,
        disk: &str,
        config: &ServerConfig,
    ) -> Result<u64, String> {
        let known = self.shards.iter().position(|shard| shard.name == disk);
        let (shown, place) = match known {
            Some(shard) => {
                let Running { layout, tenants, .. } = &mut self.shards[shard];
                let (number, base) = (*tenants, layout.add(export, &backend)?);
                let tenant = crate::assemble::tenant(export, backend, base, number, config);
                let shown = tenant.export.clone();
                let changed = control::make(&self.shards[shard], Change::Add(Box::new(tenant)));
                let running = &mut self.shards[shard];
                if changed.is_err() {
                    running.layout.remove(&export.name);
                }
                changed?;
                running.tenants += 1;
                (shown, ServedAt { shard, tenant: number })
            }
            None => {
                let mut plan = DiskPlan::of(disk, config);
                plan.add(export, backend, config)?;
                let shown = plan.export(0).clone();
                self.shards.push(plan.start(config, &self.catalogue).map_err(|error| error.to_string())?);
                (shown, ServedAt { shard: self.shards.len() - 1, tenant: 0 })
            }
        };
        let size = shown.size;
        self.exports.push(shown);
        self.places.push(place);
        self.open.push(true);
        Ok(size)
    }

    /// Begins to remove an export. What it has written is made stable first, which may take long; so somebody else must
    /// wait for the answer, and [`end_removal`](Serving::end_removal) be called with it.
    ///
    /// # Errors
    /// If there is none of that name.
    pub fn begin_removal(&mut self, name: &str, how: Leave) -> Result<(Removal, ChangeAnswer), String> {
        let at = self.expect(name)?;
        if self.leaving.contains(&at) {
            return Err(format!("export `{name}` is being removed already"));
        }
        let ServedAt { shard, tenant } = self.places[at];
        self.open[at] = how == Leave::IfUnused;
        self.leaving.push(at);
        let answer = control::begin(&self.shards[shard], Change::Remove { tenant, how });
        Ok((Removal { name: name.to_owned(), how, at }, answer))
    }

    /// The disk has answered.
    ///
    /// # Errors
    /// If it has clients and must not be removed nevertheless, or what it had written may be lost.
    pub fn end_removal(
        &mut self,
        removal: &Removal,
        answer: Result<String, String>,
        config: &mut ServerConfig,
    ) -> Result<String, String> {
        let Removal { name, at, .. } = removal;
        self.leaving.retain(|leaving| leaving != at);
        // If it was refused, the export is still there.
        let lost = answer?;
        self.open[*at] = false;
        self.shards[self.places[*at].shard].layout.remove(name);
        self.claims.release(name);
        config.exports.retain(|export| export.name != *name);
        if lost.is_empty() { Ok(lost) } else { Err(lost) }
    }

    /// Changes an export's size; it was wished, or is its file's.
    ///
    /// # Errors
    /// If there is no room for it, or it is in use and would become smaller.
    pub fn resize(
        &mut self,
        name: &str,
        wished: Option<u64>,
        size: u64,
        config: &mut ServerConfig,
    ) -> Result<String, String> {
        let at = self.expect(name)?;
        let export = config.exports.iter_mut().find(|export| export.name == name);
        let source = &mut export.ok_or("it is not an export of the configuration")?.source;
        let ServedAt { shard, tenant } = self.places[at];
        let (layout, before) = (&mut self.shards[shard].layout, self.exports[at].size);
        layout.resize(name, size)?;
        if let Err(why) = control::make(&self.shards[shard], Change::Resize { tenant, size }) {
            let _ = self.shards[shard].layout.resize(name, before);
            return Err(why);
        }
        self.exports[at].size = size;
        match source {
            ExportSource::Memory(own) => *own = size,
            ExportSource::File { size: own, .. } => *own = wished.map(|_| size),
        }
        Ok(format!("{before} bytes become {size}: clients see it when they, or their guest's monitor, connect again"))
    }
}
