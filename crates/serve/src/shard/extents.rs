//! Which parts of an export are allocated (BLOCK_STATUS): the engine finds out, because a file system may have to read
//! for this, and other clients' requests should not wait for it.

use blksched_nbd::reply::Extent;
use blksched_nbd::{Errno, Framing, Request};

use super::{Shard, Token, Work};
use crate::backend::Store;
use crate::engine::{EngineEvent, Io, Question};

/// The most extents of one answer.
const EXTENTS: usize = 256;

impl Shard {
    /// Asks for extents; those of memory are known at once.
    pub(super) fn ask_extents(&mut self, number: u32) {
        let at = self.requests[number as usize].connection;
        let (tenant, (offset, end)) = (self.connections[at].tenant, self.requests[number as usize].span);
        let length = end.min(self.tenants[tenant].export.size) - offset;
        // Compact replies count in 32 bits, and so do their requests.
        let extended = self.connections[at].reader.framing() == Framing::Extended;
        let most = if extended { EXTENTS } else { EXTENTS / 2 };
        match &self.tenants[self.connections[at].tenant].backend.store {
            Store::Memory(memory) => {
                let extents = memory.extents(offset, length, most);
                self.tell_extents(number, extents);
            }
            Store::File(file, base) => {
                let question = Question { start: base + offset, length, most };
                self.outside.given += 1;
                self.engine.submit(Token::Extents(number).pack(), Io::Extents(file.clone(), question, Vec::new()));
            }
        }
    }

    /// The file system has answered.
    pub(super) fn extents_known(&mut self, number: u32, event: EngineEvent) {
        self.requests[number as usize].error = event.result.err().map(Errno::from_os);
        let Io::Extents(_, _, extents) = event.io else { unreachable!("a question for extents came back as another") };
        self.tell_extents(number, extents);
    }

    /// What is known of whole blocks, cut to what was asked.
    fn tell_extents(&mut self, number: u32, mut extents: Vec<Extent>) {
        let Work { request: Request { offset, length, .. }, span, .. } = self.requests[number as usize];
        let (mut skip, mut left) = (offset - span.0, length);
        for extent in &mut extents {
            let skipped = skip.min(extent.length);
            extent.length = (extent.length - skipped).min(left);
            (skip, left) = (skip - skipped, left - extent.length);
        }
        extents.retain(|extent| extent.length > 0);
        self.requests[number as usize].extents = extents;
        self.ready(number);
    }
}
