//! The clients of a shard, and which of them are to be looked after.

use blksched::SubmitterId;
use slab::Slab;

use crate::connection::{Attention, Connection, ConnectionPhase, Room};

/// Every client, by the number of its slot.
#[derive(Default)]
pub struct Connections {
    all: Slab<Connection>,
    /// To look after before the turn ends, each once.
    dirty: Vec<usize>,
    /// Those whose next request waits for memory.
    starved: Vec<usize>,
    /// How many submitters there were.
    submitters: u32,
    /// How much each may have in flight.
    room: Room,
}

impl Connections {
    pub fn room(&self) -> Room {
        self.room
    }

    #[cfg(test)]
    pub fn set_room(&mut self, room: Room) {
        self.room = room;
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn insert(&mut self, connection: Connection) -> usize {
        self.all.insert(connection)
    }

    pub fn remove(&mut self, at: usize) -> Connection {
        self.all.remove(at)
    }

    pub fn get_mut(&mut self, at: usize) -> Option<&mut Connection> {
        self.all.get_mut(at)
    }

    pub fn iter(&self) -> slab::Iter<'_, Connection> {
        self.all.iter()
    }

    pub fn iter_mut(&mut self) -> slab::IterMut<'_, Connection> {
        self.all.iter_mut()
    }

    /// Their numbers now.
    pub fn numbers(&self) -> Vec<usize> {
        self.all.iter().map(|(at, _)| at).collect()
    }

    /// A submitter that no client was before.
    pub fn fresh_submitter(&mut self) -> SubmitterId {
        self.submitters += 1;
        SubmitterId(self.submitters)
    }

    /// Whether all of them may be handed over.
    pub fn all_are_quiet(&self) -> bool {
        self.all.iter().all(|(_, connection)| connection.phase == ConnectionPhase::Quiet)
    }

    /// Marks one as to be looked after before the turn ends.
    pub fn mark_dirty(&mut self, at: usize) {
        if let Some(connection) = self.all.get_mut(at)
            && core::mem::replace(&mut connection.attention, Attention::Due) == Attention::None
        {
            self.dirty.push(at);
        }
    }

    pub fn are_dirty(&self) -> bool {
        !self.dirty.is_empty()
    }

    /// Takes those that are to be looked after, by number; what is marked meanwhile is for the next turn.
    pub fn take_dirty(&mut self) -> Vec<usize> {
        let mut dirty = core::mem::take(&mut self.dirty);
        dirty.sort_unstable();
        dirty
    }

    /// Gives the list back, whose memory is used again.
    pub fn looked_after(&mut self, mut list: Vec<usize>) {
        list.clear();
        list.append(&mut self.dirty);
        self.dirty = list;
    }

    /// The next request of one waits for memory.
    pub fn starve(&mut self, at: usize) {
        self.starved.push(at);
    }

    pub fn are_starved(&self) -> bool {
        !self.starved.is_empty()
    }

    /// Those that waited for memory are to be looked after: there may be some.
    pub fn retry_starved(&mut self) {
        while let Some(at) = self.starved.pop() {
            self.mark_dirty(at);
        }
    }
}

impl core::ops::Index<usize> for Connections {
    type Output = Connection;
    fn index(&self, at: usize) -> &Connection {
        &self.all[at]
    }
}

impl core::ops::IndexMut<usize> for Connections {
    fn index_mut(&mut self, at: usize) -> &mut Connection {
        &mut self.all[at]
    }
}

impl<'c> IntoIterator for &'c Connections {
    type Item = (usize, &'c Connection);
    type IntoIter = slab::Iter<'c, Connection>;
    fn into_iter(self) -> slab::Iter<'c, Connection> {
        self.all.iter()
    }
}

impl<'c> IntoIterator for &'c mut Connections {
    type Item = (usize, &'c mut Connection);
    type IntoIter = slab::IterMut<'c, Connection>;
    fn into_iter(self) -> slab::IterMut<'c, Connection> {
        self.all.iter_mut()
    }
}
