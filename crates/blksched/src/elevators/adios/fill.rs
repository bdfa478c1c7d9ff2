//! The filling of a batch.
//!
//! **Rule** The side that the bias favours gives its requests in the order of their deadlines until the next does not
//! fit: its kind's limit, the window of predicted time, or a kind without a model yet, which goes alone. The first is
//! always taken. The filling ends there; it does not continue with the other side.
//! **Origin** docs/behaviour/adios-3.1.md#a6.

use super::kind::{Kind, Side};
use super::scheduler::Adios;
use crate::elevator::Cx;
use crate::explain::Reason;
use crate::request::RequestId;

/// A request that could go into the batch, and whether out of order.
#[derive(Clone, Copy, Debug)]
struct FillCandidate {
    rq: RequestId,
    side: Side,
    out_of_turn: bool,
}

impl Adios {
    /// Fills the page that is not being served.
    pub(super) fn fill(&mut self, cx: &mut Cx<'_>) {
        let page = self.page.other();
        let order = self.batch_order();
        self.pages[page].begin(order);
        let load = self.flight.load();
        let (mut taken, mut added) = (0, 0);
        while let Some(candidate) = self.candidate() {
            let row = self.rows[candidate.rq];
            if taken > 0 && !self.fits(row.kind, load.wrapping_add(added).wrapping_add(row.predicted)) {
                break;
            }
            if candidate.out_of_turn {
                self.bias.charge(candidate.side, row.predicted, self.tunables.read_priority);
            }
            self.order.remove(candidate.rq, row.kind);
            cx.hide(candidate.rq);
            let request = cx.rq(candidate.rq);
            let due_at_once = row.deadline == request.queued_at.as_ns();
            self.pages[page].put(candidate.rq, request.start, row.kind, due_at_once);
            (taken, added) = (taken + 1, added.wrapping_add(row.predicted));
        }
        self.pages[page].end();
        self.flight.begin(taken, added);
        self.largest.look(&self.pages[page].filled);
        cx.explain(Reason::BatchFilled { requests: taken as u32, predicted: crate::Span::from_ns(added) });
    }

    fn candidate(&self) -> Option<FillCandidate> {
        let favoured = self.bias.favoured();
        let (first, other) = (self.order.first(favoured), self.order.first(favoured.other()));
        match (first, other) {
            (Some(rq), Some(other)) => {
                let out_of_turn = self.rows[rq].deadline > self.rows[other].deadline;
                Some(FillCandidate { rq, side: favoured, out_of_turn })
            }
            (Some(rq), None) => Some(FillCandidate { rq, side: favoured, out_of_turn: true }),
            (None, Some(rq)) => Some(FillCandidate { rq, side: favoured.other(), out_of_turn: false }),
            (None, None) => None,
        }
    }

    /// Whether another request of this kind may go into the batch, with this predicted load then in flight.
    fn fits(&self, kind: Kind, load: u64) -> bool {
        let limit = match kind {
            Kind::Read => self.tunables.batch_limit_read,
            Kind::Write => self.tunables.batch_limit_write,
            Kind::Discard => self.tunables.batch_limit_discard,
            Kind::Other => 1,
        };
        let filled = self.pages[self.page.other()].filled[kind];
        self.models[kind].base > 0 && filled < limit && load <= self.tunables.global_latency_window.as_ns()
    }
}
