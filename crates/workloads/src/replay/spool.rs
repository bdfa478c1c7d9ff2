//! Where a recording's packed I/Os are kept: in memory up to a limit, and beyond it in a temporary file.
//!
//! **Rule** A full piece is given to the [`Spool`]. It stays in memory if the limit allows it; otherwise it is
//! appended to a file without a name, so that nothing is left behind however the program ends. A process reads its
//! pieces in order, so only one of those in the file is in memory at a time.
//! **Left out** The open piece of each process, the runs of priorities (8 bytes each) and the I/Os in flight do not
//! count towards the limit.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How much of a recording stays in memory by default \[bytes\].
pub const KEPT_IN_MEMORY: u64 = 64 << 20;

/// Decides where a recording's next full piece goes.
#[derive(Debug)]
pub(super) struct Spool {
    /// How much may stay in memory \[bytes\], and how much does.
    most: u64,
    held: u64,
    file: Option<Arc<SpoolFile>>,
    end: u64,
    trouble: Option<String>,
}

/// The temporary file of one recording.
#[derive(Debug)]
pub(super) struct SpoolFile {
    file: File,
    /// Whether something that was written could not be read again.
    is_broken: AtomicBool,
}

/// A piece of a process's packed I/Os.
#[derive(Clone, Debug)]
pub(super) enum Piece {
    Held(Vec<u8>),
    Filed { file: Arc<SpoolFile>, at: u64, len: usize },
}

impl Default for Spool {
    fn default() -> Spool {
        Spool::keeping(KEPT_IN_MEMORY)
    }
}

impl Spool {
    /// A spool that keeps this much in memory \[bytes\].
    pub fn keeping(most: u64) -> Spool {
        Spool { most, held: 0, file: None, end: 0, trouble: None }
    }

    /// Stores a full piece. A piece that cannot be written is lost, and [`trouble`](Spool::trouble) says so.
    pub fn keep(&mut self, bytes: Vec<u8>) -> Piece {
        let len = bytes.len();
        if self.held + len as u64 <= self.most {
            self.held += len as u64;
            return Piece::Held(bytes);
        }
        match self.append(&bytes) {
            Ok(filed) => filed,
            Err(error) => {
                let folder = folder();
                let trouble = format!("a temporary file in {} for a long trace: {error}", folder.display());
                self.trouble.get_or_insert(trouble);
                Piece::Held(Vec::new())
            }
        }
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<Piece> {
        let file = match &self.file {
            Some(file) => file.clone(),
            None => {
                let file = tempfile::tempfile_in(folder())?;
                self.file.insert(Arc::new(SpoolFile { file, is_broken: AtomicBool::new(false) })).clone()
            }
        };
        file.file.write_all_at(bytes, self.end)?;
        let at = self.end;
        self.end += bytes.len() as u64;
        Ok(Piece::Filed { file, at, len: bytes.len() })
    }

    /// Why a piece could not be stored.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// How much may stay in memory \[bytes\].
    pub fn most(&self) -> u64 {
        self.most
    }

    /// Its file, if it needed one.
    pub fn file(&self) -> Option<Arc<SpoolFile>> {
        self.file.clone()
    }
}

impl SpoolFile {
    /// Whether something that was written could not be read again.
    pub fn is_broken(&self) -> bool {
        self.is_broken.load(Ordering::Relaxed)
    }

    /// Loses what was written.
    #[cfg(test)]
    pub fn cut_off(&self) {
        self.file.set_len(0).expect("a temporary file can be cut off");
    }
}

impl Piece {
    /// Its length \[bytes\].
    pub fn len(&self) -> usize {
        match self {
            Piece::Held(bytes) => bytes.len(),
            Piece::Filed { len, .. } => *len,
        }
    }

    /// Copies its bytes into `to`; if they cannot be read, `to` is empty afterwards and the file is marked as broken.
    pub fn load(&self, to: &mut Vec<u8>) {
        to.clear();
        match self {
            Piece::Held(bytes) => to.extend_from_slice(bytes),
            Piece::Filed { file, at, len } => {
                to.resize(*len, 0);
                if file.file.read_exact_at(to, *at).is_err() {
                    file.is_broken.store(true, Ordering::Relaxed);
                    to.clear();
                }
            }
        }
    }
}

/// Where the temporary file is made: `$TMPDIR`; else `/var/tmp`, because `/tmp` is in memory on many machines.
fn folder() -> PathBuf {
    let said = std::env::var_os("TMPDIR").filter(|said| !said.is_empty()).map(PathBuf::from);
    let on_disk = || PathBuf::from("/var/tmp");
    said.unwrap_or_else(|| if on_disk().is_dir() { on_disk() } else { std::env::temp_dir() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_back(piece: &Piece) -> Vec<u8> {
        let mut bytes = Vec::new();
        piece.load(&mut bytes);
        bytes
    }

    #[test]
    fn below_at_and_above_the_limit_a_piece_reads_back_the_same() {
        let mut spool = Spool::keeping(20);
        let pieces: Vec<Piece> = (0..4_u8).map(|nth| spool.keep(vec![nth; 10])).collect();
        let held: Vec<bool> = pieces.iter().map(|piece| matches!(piece, Piece::Held(_))).collect();
        assert_eq!(held, [true, true, false, false]);
        for (nth, piece) in pieces.iter().enumerate() {
            assert_eq!((piece.len(), read_back(piece)), (10, vec![nth as u8; 10]));
        }
        assert!(spool.trouble().is_none() && !spool.file().unwrap().is_broken());
    }

    #[test]
    fn a_file_that_cannot_be_written_or_read_is_told() {
        let mut spool = Spool::keeping(0);
        let filed = spool.keep(vec![7; 10]);
        let file = spool.file().unwrap();
        file.file.set_len(5).unwrap();
        assert!(read_back(&filed).is_empty() && file.is_broken());
        let unwritable = File::open("/dev/null").unwrap();
        spool.file = Some(Arc::new(SpoolFile { file: unwritable, is_broken: AtomicBool::new(false) }));
        assert_eq!(spool.keep(vec![7; 10]).len(), 0);
        assert!(spool.trouble().unwrap().contains("temporary file"), "{:?}", spool.trouble());
    }
}
