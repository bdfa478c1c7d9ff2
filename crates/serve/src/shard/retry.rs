//! A merged request that failed is split: one bad block says nothing about its neighbours, which may belong to another
//! client.
//!
//! **Rule** No client is answered before each piece of the request has been tried by itself, one after the other, so
//! that the device never has more at a time than before. Only a piece that fails alone has failed.

use blksched::author::RequestId;
use blksched::{Command, Op};

use super::flights::Tries;
use super::{Piece, Shard};

impl Shard {
    /// A try has ended. True if there is nothing more to try: of a merged request that failed, each piece is tried by
    /// itself before any client is told, since one bad block says nothing about its neighbours.
    pub(super) fn is_settled(&mut self, rq: RequestId) -> bool {
        let Some(flight) = self.flights.get_mut(rq) else { return false };
        if flight.command.op == Op::Flush {
            return true;
        }
        let error = flight.error.take();
        match &mut flight.tries {
            Tries::Whole => {
                let Some(errno) = error else { return true };
                let mut pieces: Vec<u32> = self.queue.queue().tags(rq).map(|tag| tag.0 as u32).collect();
                if let [only] = pieces[..] {
                    flight.error = Some(errno);
                    self.blame(only, errno);
                    return true;
                }
                pieces.reverse();
                let first = pieces.pop().expect("a request has pieces");
                flight.tries = Tries::ByPiece { piece: first, rest: pieces };
                self.try_piece(rq, first);
                false
            }
            Tries::ByPiece { piece, rest } => {
                let (tried, next) = (*piece, rest.pop());
                *piece = next.unwrap_or(tried);
                if let Some(errno) = error {
                    self.blame(tried, errno);
                }
                if let Some(next) = next {
                    self.try_piece(rq, next);
                }
                next.is_none()
            }
        }
    }

    /// Tries one piece of a command by itself.
    fn try_piece(&mut self, rq: RequestId, number: u32) {
        let Some(command) = self.flights.get(rq).map(|flight| flight.command.command()) else { return };
        let Piece { start, sectors, .. } = self.segments[number as usize];
        let part = Command { start, sectors, ..command };
        let modelled = self.give_model(part);
        if let Some(flight) = self.flights.get_mut(rq) {
            (flight.modelled, flight.tried) = (modelled, 0);
        }
        self.transfer(part, Some(number));
    }
}
