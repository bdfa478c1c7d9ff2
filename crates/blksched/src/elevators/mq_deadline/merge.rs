//! The effect of merges on the orders, and the search for front merges.
//!
//! **Rule** Front candidates are of the bio's class and direction. A request that grew at its front moves in sector
//! order and keeps its age. When two requests merge, the survivor takes the place and the time of the one that expires
//! earlier; a batch that would have continued with the absorbed one continues after it.
//! **Origin** docs/behaviour/elevators-6.1.md#mq-deadline "Insert"; docs/formats/transcripts-6.1.md "Merging".
//! **In the kernel** `dd_request_merge`, `dd_bio_merge`, `dd_merged_requests`, `front_merges`.

use super::class::ClassQueue;
use super::scheduler::MqDeadline;
use crate::elevator::{Cx, Lookup, Neighbours};
use crate::elevators::ioprio::IoprioClass;
use crate::explain::Index;
use crate::index::Tree;
use crate::request::{Bio, Dir, RequestId, Sector};

impl MqDeadline {
    #[inline(always)]
    pub(super) fn look_in_front(&mut self, cx: &mut Cx<'_>, bio: &Bio) -> Lookup {
        if !self.tunables.front_merges {
            return Lookup::Nothing;
        }
        let sorted = &mut self.classes[self.rules.classes.of(bio.priority)].lanes[bio.dir()].sorted;
        let (found, steps) = sorted.find_counting(bio.end(), cx.steps());
        cx.explain_search(Index::Tree, steps);
        found.map_or(Lookup::Nothing, |index| Lookup::Front(RequestId::from_index(index)))
    }

    /// The neighbours of `rq` in the tree that it is in.
    pub(super) fn beside(&self, rq: RequestId) -> Neighbours {
        let index = rq.index() as u32;
        let tree_of = |class: &'static IoprioClass| Dir::BOTH.map(|dir| &self.classes[*class].lanes[dir].sorted);
        let mut trees = IoprioClass::ALL.iter().flat_map(tree_of);
        let tree: Option<&Tree<Sector>> = trees.find(|tree| tree.contains(index));
        tree.map_or(Neighbours::default(), |tree| Neighbours {
            before: tree.previous(index).map(RequestId::from_index),
            behind: tree.next(index).map(RequestId::from_index),
        })
    }
}

impl ClassQueue {
    /// Updates the orders after `into`, if it is of this class, has absorbed `victim`.
    pub(super) fn absorb(&mut self, dir: Dir, into: Option<RequestId>, victim: RequestId) {
        let lane = &mut self.lanes[dir];
        if let Some(into) = into {
            lane.aged.inherit(into, victim);
        }
        lane.position.lost(&lane.sorted, victim);
        lane.drop(victim);
    }
}
