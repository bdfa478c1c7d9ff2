//! Which parts of an export are there (BLOCK_STATUS): asked of the engine, for a file system may have to read before it
//! can tell, and nobody else's requests should wait for that.

use blksched_nbd::{Errno, Framing, Request};

use super::{Shard, Token};
use crate::backend::Store;
use crate::engine::{Event, Io, Question};

/// The most extents of one answer.
const EXTENTS: usize = 256;

impl Shard {
    /// Ask; what is in memory is known at once.
    pub(super) fn ask_extents(&mut self, number: u32) {
        let at = self.works[number as usize].connection;
        let Request { offset, length, .. } = self.works[number as usize].request;
        // Compact replies count in 32 bits, and so do their requests.
        let extended = self.connections[at].reader.framing() == Framing::Extended;
        let most = if extended { EXTENTS } else { EXTENTS / 2 };
        match &self.tenants[self.connections[at].tenant].backend.store {
            Store::Memory(memory) => {
                self.works[number as usize].extents = memory.extents(offset, length, most);
                self.ready(number);
            }
            Store::File(file, base) => {
                let question = Question { start: base + offset, length, most };
                self.engine.submit(Token::Extents(number).pack(), Io::Extents(file.clone(), question, Vec::new()));
            }
        }
    }

    /// The file system has told.
    pub(super) fn extents_known(&mut self, number: u32, event: Event) {
        let work = &mut self.works[number as usize];
        work.error = event.result.err().map(Errno::from_os);
        if let Io::Extents(_, _, extents) = event.io {
            work.extents = extents;
        }
        self.ready(number);
    }
}
