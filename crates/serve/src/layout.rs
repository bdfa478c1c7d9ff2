//! The positions of back ends among a disk's sectors: each file and each memory disk has its place; ranges of one file
//! keep their positions within it.
//!
//! **Rule** Without a disk model a place has room to grow ([`ROOM`]), so that an export can be resized while it is
//! served. A model has a fixed size: places are then close together, with a [`GAP`] so that nothing merges across.

use std::collections::BTreeMap;

use blksched::Sector;

use crate::backend::{Backend, Identity, SECTOR};
use crate::config::{Access, ExportConfig, ExportSource};

/// The gap between two back ends on one disk, so that nothing merges across it \[sectors\].
const GAP: u64 = 2048;
/// The places of back ends begin at multiples of this: 1 TiB \[sectors\].
const ROOM: u64 = 1 << 31;

/// The place of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stretch {
    export: String,
    /// Where its back end begins.
    place: u64,
    start: u64,
    end: u64,
    access: Access,
}

impl Stretch {
    fn bars(&self, other: &Stretch) -> bool {
        let both_written = self.access == Access::ReadWrite && other.access == Access::ReadWrite;
        self.export != other.export && both_written && self.start < other.end && other.start < self.end
    }
}

/// The sectors of one disk.
#[derive(Debug)]
pub struct Layout {
    /// Places begin at multiples of this.
    grain: u64,
    /// Where the next back end begins.
    next: u64,
    /// Where each file begins.
    files: BTreeMap<Identity, Sector>,
    stretches: Vec<Stretch>,
    /// The sectors of the model, if there is one.
    most: Option<u64>,
}

impl Layout {
    /// The layout of a disk whose model, if it has one, has this many sectors.
    pub fn new(most: Option<u64>) -> Layout {
        let grain = if most.is_some() { GAP } else { ROOM };
        Layout { grain, next: 0, files: BTreeMap::new(), stretches: Vec::new(), most }
    }

    /// Places an export; returns where it begins.
    ///
    /// # Errors
    /// If it overlaps another that may be written, or the model has no room for it.
    pub fn add(&mut self, export: &ExportConfig, backend: &Backend) -> Result<Sector, String> {
        let (place, offset) = match (&export.source, backend.identity) {
            (ExportSource::File { offset, .. }, Some(identity)) => {
                (self.files.get(&identity).map_or(self.next, |first| first.0), *offset)
            }
            _ => (self.next, 0),
        };
        let start = place + offset / SECTOR;
        let end = start + backend.size.div_ceil(SECTOR);
        let stretch = Stretch { export: export.name.clone(), place, start, end, access: export.access };
        let next = self.next.max(place + backend.whole.div_ceil(SECTOR) + GAP).next_multiple_of(self.grain);
        self.check(&stretch, next)?;
        if let Some(identity) = backend.identity {
            self.files.entry(identity).or_insert(Sector(place));
        }
        self.stretches.push(stretch);
        self.next = next;
        Ok(Sector(start))
    }

    fn check(&self, stretch: &Stretch, next: u64) -> Result<(), String> {
        if let Some(other) = self.stretches.iter().find(|other| other.bars(stretch)) {
            let other = &other.export;
            return Err(format!("it overlaps export {other}, and both may be written: one of them must be `ro`"));
        }
        match self.most.filter(|&most| most < next) {
            Some(most) => Err(format!("the model has {most} sectors, and {next} would be served")),
            None => Ok(()),
        }
    }

    /// An export is removed; its place stays reserved.
    pub fn remove(&mut self, export: &str) {
        self.stretches.retain(|own| own.export != export);
    }

    /// An export is resized \[bytes\].
    ///
    /// # Errors
    /// If there is no room for it, or it overlaps another that may be written.
    pub fn resize(&mut self, export: &str, size: u64) -> Result<(), String> {
        let known = self.stretches.iter().position(|own| own.export == export);
        let at = known.ok_or_else(|| format!("no export is called `{export}`"))?;
        let own = self.stretches[at].clone();
        let stretch = Stretch { end: own.start + size.div_ceil(SECTOR), ..own };
        let places = self.files.values().map(|first| first.0).chain(self.stretches.iter().map(|one| one.place));
        let behind = places.filter(|&place| place > stretch.place).min();
        if let Some(most) = behind.map(|behind| behind - GAP - stretch.start).filter(|&most| most * SECTOR < size) {
            let mib = (most * SECTOR) >> 20;
            return Err(format!("there is room for {mib} MiB behind it on this disk: more takes a restart"));
        }
        let next = self.next.max(stretch.end + GAP).next_multiple_of(self.grain);
        self.check(&stretch, next)?;
        (self.stretches[at], self.next) = (stretch, next);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Caching, Locking, Share};

    const READ: Access = Access::ReadOnly;
    const WRITE: Access = Access::ReadWrite;

    /// An export of a file of this size.
    fn export(name: &str, path: &std::path::Path, offset: u64, size: u64, access: Access) -> ExportConfig {
        let source = ExportSource::File { path: path.to_owned(), offset, size: Some(size) };
        ExportConfig {
            name: name.to_owned(),
            source,
            disk: None,
            description: String::new(),
            access,
            locking: Locking::On,
            share: Share::default(),
            files: crate::policies::WrittenFiles::default(),
        }
    }

    /// Places exports of files of 64 MiB with these numbers and offsets; the error is that of the first that is
    /// refused.
    fn lay(most: Option<u64>, exports: &[(&str, u64, u64, Access)]) -> Result<(Layout, Vec<u64>), String> {
        let folder = std::env::temp_dir().join(format!("blksched-layout-{:?}", std::thread::current().id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut layout = Layout::new(most);
        let added = exports.iter().enumerate().map(|(at, &(file, offset, size, access))| {
            let path = folder.join(file);
            std::fs::File::create(&path).unwrap().set_len(64 << 20).unwrap();
            let export = export(&at.to_string(), &path, offset, size, access);
            let backend = Backend::open(&export, Caching::PageCache).unwrap();
            layout.add(&export, &backend).map(|sector| sector.0)
        });
        let added: Result<Vec<u64>, String> = added.collect();
        std::fs::remove_dir_all(&folder).unwrap();
        added.map(|starts| (layout, starts))
    }

    #[test]
    fn a_later_range_of_a_file_does_not_lie_where_another_file_is() {
        for most in [None, Some(1 << 30)] {
            let ranges = [("f", 0, 1 << 20, WRITE), ("g", 0, 64 << 20, WRITE), ("f", 8 << 20, 1 << 20, WRITE)];
            let (_, starts) = lay(most, &ranges).unwrap();
            let [first, other, later] = starts[..] else { panic!("three exports have three places") };
            assert!(later + 2048 <= other || other + (64 << 11) <= later, "{starts:?}");
            assert_eq!(later - first, (8 << 20) / SECTOR, "ranges of one file lie as in the file");
        }
    }

    #[test]
    fn ranges_that_overlap_may_not_both_be_written() {
        let refused = |other: Access| lay(None, &[("f", 0, 2 << 20, WRITE), ("f", 1 << 20, 2 << 20, other)]).err();
        assert_eq!(refused(READ), None);
        assert!(refused(WRITE).is_some_and(|why| why.contains("overlaps export 0")));
        assert!(lay(None, &[("f", 0, 1 << 20, WRITE), ("f", 1 << 20, 1 << 20, WRITE)]).is_ok(), "neighbours");
    }

    #[test]
    fn an_export_grows_up_to_what_lies_behind_it_and_no_further() {
        let files = [("f", 0, 1 << 20, WRITE), ("f", 8 << 20, 1 << 20, WRITE), ("g", 0, 64 << 20, WRITE)];
        let (mut layout, _) = lay(None, &files).unwrap();
        assert_eq!(layout.resize("0", 8 << 20), Ok(()));
        assert!(layout.resize("0", (8 << 20) + 512).is_err_and(|why| why.contains("overlaps export 1")));
        assert_eq!(layout.resize("1", 1 << 39), Ok(()), "to half of the room of 1 TiB");
        assert!(layout.resize("1", 1 << 40).is_err_and(|why| why.contains("takes a restart")));
        layout.remove("1");
        assert_eq!(layout.resize("0", 16 << 20), Ok(()), "what was behind it is no more");
        assert!(layout.resize("x", 1).is_err());
    }

    #[test]
    fn a_model_holds_what_it_has_sectors_for() {
        let files = [("f", 0, 64 << 20, WRITE), ("g", 0, 64 << 20, WRITE)];
        let whole = 2 * ((64 << 11) + GAP);
        assert!(lay(Some(whole - 1), &files).is_err_and(|why| why.contains("the model has")));
        let (mut layout, _) = lay(Some(whole), &files).unwrap();
        assert!(layout.resize("0", 65 << 20).is_err() && layout.resize("1", 65 << 20).is_err());
        assert_eq!(layout.resize("1", 63 << 20), Ok(()));
    }
}
