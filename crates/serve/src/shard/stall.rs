//! A client that stops in the middle of its data, or takes no replies, holds memory that others need: it is cut off.
//!
//! **Rule** While anybody is in the middle of its data, or waits for memory, all are looked at once in [`LOOK`]. Who
//! has sent nothing of its data for [`STALL`], or has taken nothing for as long while others wait, is cut off.

use blksched::{Instant, Span};

use super::Shard;
use crate::connection::{Connection, Phase, Reading};

/// How long a client may stop.
const STALL: Span = Span::from_secs(30);
/// How often it is looked for those who have.
const LOOK: Span = Span::from_secs(1);

impl Shard {
    /// From now on somebody may stall.
    pub(super) fn watch(&mut self) {
        self.look.get_or_insert(self.now + LOOK);
    }

    /// Cut off who has stalled.
    pub(super) fn cut_off_the_stalled(&mut self) {
        if self.look.is_none_or(|look| look > self.now) {
            return;
        }
        let others_wait = !self.starved.is_empty();
        let mid_data = |(_, connection): (_, &Connection)| connection.reading != Reading::Header;
        self.look = (others_wait || self.connections.iter().any(mid_data)).then_some(self.now + LOOK);
        let stalled = self.connections.iter().filter(|(_, connection)| has_stalled(connection, self.now, others_wait));
        for at in stalled.map(|(at, _)| at).collect::<Vec<_>>() {
            self.lose(at, "it has stopped in the middle of a request or a reply");
        }
    }
}

fn has_stalled(connection: &Connection, now: Instant, others_wait: bool) -> bool {
    let sends_nothing = connection.reading != Reading::Header && now.since(connection.heard_at) >= STALL;
    let takes_nothing = connection.mail.is_none() && now.since(connection.sent_at) >= STALL;
    connection.phase == Phase::Open && (sends_nothing || (others_wait && takes_nothing))
}
