//! The rule that chooses between reads and writes when a batch begins.
//!
//! **Rule** Reads first, but at most `writes_starved` times in a row while writes wait. Choosing writes, even because
//! no reads wait, resets the count.
//! **Origin** the mail of 2002-09-26; docs/behaviour/elevators-2.5-2.6.md#d25.5 and #d26.3. The same in every era, and
//! in mq-deadline.
//! **Costs when wrong** Counting also when only reads wait would let writes in too early; the mail's readers would
//! stall.
//! **In the kernel** `writes_starved`, `starved`, `deadline_dispatch_requests`.

use crate::elevator::Cx;
use crate::explain::Reason;
use crate::request::Dir;

/// How often in a row waiting writes were passed over.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::elevators) struct Starved(i32);

impl Starved {
    /// The direction of the next batch, if anything waits.
    pub(in crate::elevators) fn choose(
        &mut self,
        cx: &mut Cx<'_>,
        reads: bool,
        writes: bool,
        writes_starved: i32,
    ) -> Option<Dir> {
        if !reads {
            return writes.then(|| self.writes());
        }
        if !writes {
            return Some(Dir::Read);
        }
        let starved = self.0;
        self.0 = starved.saturating_add(1);
        if starved >= writes_starved {
            cx.explain(Reason::WritesStarved { starved });
            return Some(self.writes());
        }
        cx.explain(Reason::ReadsFirst { starved: self.0 });
        Some(Dir::Read)
    }

    fn writes(&mut self) -> Dir {
        self.0 = 0;
        Dir::Write
    }
}
