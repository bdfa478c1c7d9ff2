//! A file or device is exported once per host: if one server writes it, no other server, no QEMU and no second disk of
//! this server may have it open.
//!
//! **Rule** Locks follow QEMU's image locking (man qemu: bytes from 100 on say what is used, bytes from 200 on what
//! other programs may not do), as locks of an open file (F_OFD_SETLK), so that hard links count as one file. Readers
//! share a file with readers. Within a server, ranges of one file belong to one disk, which orders requests; read-only
//! files may be on several.

use std::fs::File;
use std::io;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

use crate::backend::Identity;
use crate::config::{Access, Locking};

const USED: i64 = 100;
const NOT_SHARED: i64 = 200;
/// What can be used of a file: consistent reads, writes, resizing.
const READ: i64 = 0;
const WRITE: i64 = 1;
const RESIZE: i64 = 3;

/// The files of this server.
#[derive(Default)]
pub struct Claims(Vec<Claim>);

struct Claim {
    identity: Identity,
    access: Access,
    export: String,
    disk: String,
    /// Holds the locks; `None` if they are not wanted.
    file: Option<File>,
}

impl Claims {
    /// Claims the file for this export, on this disk.
    ///
    /// # Errors
    /// If another program has it.
    pub fn claim(
        &mut self,
        (export, disk): (&str, &str),
        (path, identity): (&Path, Identity),
        access: Access,
        locking: Locking,
    ) -> Result<(), String> {
        let here = self.0.iter().filter(|claim| claim.identity == identity);
        let writes = |one: Access| one == Access::ReadWrite;
        if let Some(other) = here.clone().find(|one| one.disk != disk && (writes(one.access) || writes(access))) {
            return Err(format!(
                "{}: export {} has this file on disk {}: on two disks it may only be read",
                path.display(),
                other.export,
                other.disk
            ));
        }
        // The locks of one open file do not exclude each other.
        let held = here.clone().filter_map(|claim| claim.file.as_ref()).next().map(File::try_clone);
        let said = |error: io::Error| format!("{}: {error}", path.display());
        let file = match (locking, held) {
            (Locking::Off, _) => None,
            (Locking::On, Some(file)) => Some(file.map_err(said)?),
            (Locking::On, None) => Some(File::open(path).map_err(said)?),
        };
        if let Some(file) = &file {
            lock(file, access).map_err(|why| format!("{}: {why}", path.display()))?;
        }
        let (export, disk) = (export.to_owned(), disk.to_owned());
        self.0.push(Claim { identity, access, export, disk, file });
        Ok(())
    }
}

impl Claims {
    /// Lets another server have the files, until [`take_back`](Claims::take_back).
    pub fn let_go(&self) {
        for file in self.0.iter().filter_map(|claim| claim.file.as_ref()) {
            let all = libc::flock { l_len: 2 * (NOT_SHARED - USED), ..at(USED, libc::F_UNLCK) };
            if let Err(error) = fcntl(file, FcntlArg::F_OFD_SETLK(&all)) {
                tracing::warn!(%error, "a lock stays");
            }
        }
    }

    /// The other server has not taken them, or has released them.
    ///
    /// # Errors
    /// If another program has one of them.
    pub fn take_back(&self) -> Result<(), String> {
        let mut held = self.0.iter().filter_map(|claim| Some((claim, claim.file.as_ref()?)));
        held.try_for_each(|(claim, file)| {
            lock(file, claim.access).map_err(|why| format!("the file of export {}: {why}", claim.export))
        })
    }

    /// Releases all files but those of these disks, whose closing may take as long as what hangs there: the end of the
    /// process does it.
    pub fn abandon(self, hung: &[String]) {
        let (kept, _) = self.0.into_iter().partition::<Vec<_>, _>(|claim| hung.contains(&claim.disk));
        std::mem::forget(kept);
    }

    /// Releases the export's file.
    pub fn release(&mut self, export: &str) {
        self.0.retain(|claim| claim.export != export);
    }
}

fn lock(file: &File, access: Access) -> Result<(), String> {
    let (used, foreign): (&[i64], &[i64]) = match access {
        Access::ReadWrite => (&[READ, WRITE], &[READ, WRITE]),
        Access::ReadOnly => (&[READ], &[READ]),
    };
    let take = used.iter().map(|what| USED + what).chain([WRITE, RESIZE].map(|what| NOT_SHARED + what));
    for byte in take {
        match fcntl(file, FcntlArg::F_OFD_SETLK(&at(byte, libc::F_RDLCK))) {
            Ok(_) => {}
            Err(Errno::EAGAIN | Errno::EACCES) => return Err(taken(access)),
            Err(error) => {
                tracing::warn!(%error, "no locks here: other programs are not kept from this file");
                return Ok(());
            }
        }
    }
    // Whether any program does not share what this one uses, or uses what this one does not share.
    let against = foreign.iter().map(|what| NOT_SHARED + what).chain([WRITE, RESIZE].map(|what| USED + what));
    for byte in against {
        let mut question = at(byte, libc::F_WRLCK);
        let asked = fcntl(file, FcntlArg::F_OFD_GETLK(&mut question));
        if asked.is_ok() && i32::from(question.l_type) != libc::F_UNLCK {
            return Err(taken(access));
        }
    }
    Ok(())
}

fn taken(access: Access) -> String {
    match access {
        Access::ReadWrite => "another program has it open (a server, or QEMU); to serve it nevertheless: lock=off",
        Access::ReadOnly => "another program writes it (a server, or QEMU); to serve it nevertheless: lock=off",
    }
    .to_owned()
}

fn at(byte: i64, kind: i32) -> libc::flock {
    libc::flock { l_type: kind as i16, l_whence: libc::SEEK_SET as i16, l_start: byte, l_len: 1, l_pid: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: Identity = Identity(1, 1);

    fn claim(claims: &mut Claims, path: &Path, disk: &str, access: Access) -> Result<(), String> {
        claims.claim(("x", disk), (path, FILE), access, Locking::On)
    }

    #[test]
    fn who_writes_a_file_has_it_alone_and_readers_share_it() {
        let folder = std::env::temp_dir().join(format!("blksched-claims-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("disk");
        File::create(&path).unwrap();
        let linked = folder.join("link");
        std::fs::hard_link(&path, &linked).unwrap();
        let (read, write) = (Access::ReadOnly, Access::ReadWrite);
        for (first, second, shared) in
            [(write, write, false), (write, read, false), (read, write, false), (read, read, true)]
        {
            let (mut ours, mut theirs) = (Claims::default(), Claims::default());
            claim(&mut ours, &path, "a", first).unwrap();
            let tried = claim(&mut theirs, &linked, "a", second);
            assert_eq!(tried.is_ok(), shared, "{first:?} and {second:?}: {tried:?}");
            // Within one server the ranges of a file are checked elsewhere, but they must have the same disk.
            assert!(claim(&mut ours, &linked, "a", second).is_ok());
            assert_eq!(claim(&mut ours, &linked, "b", second).is_ok(), shared);
            theirs.claim(("x", "a"), (&path, FILE), write, Locking::Off).unwrap();
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_is_let_go_is_anybodys_and_what_is_taken_back_is_not() {
        let path = std::env::temp_dir().join(format!("blksched-let-go-{}", std::process::id()));
        File::create(&path).unwrap();
        let (mut ours, mut theirs) = (Claims::default(), Claims::default());
        claim(&mut ours, &path, "a", Access::ReadWrite).unwrap();
        ours.let_go();
        claim(&mut theirs, &path, "a", Access::ReadWrite).unwrap();
        assert!(ours.take_back().unwrap_err().contains("the file of export x"));
        drop(theirs);
        ours.take_back().unwrap();
        assert!(claim(&mut Claims::default(), &path, "a", Access::ReadWrite).is_err());
        std::fs::remove_file(&path).unwrap();
    }
}
