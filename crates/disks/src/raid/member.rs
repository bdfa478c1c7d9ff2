//! A disk of an array, and the commands that wait for it.

use std::collections::VecDeque;

use blksched::author::RequestId;
use blksched::{Command, Instant};

use crate::{Disk, Finished, Stint, StintWork};

/// What a member's command is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// A command of the array.
    Job(u32),
    /// Pages of the stripe cache.
    Batch(u32),
    /// A window of the rebuild.
    Window(u32),
}

/// A member's command, and what it is for.
#[derive(Clone, Copy, Debug)]
struct MemberCommand {
    owner: Owner,
    command: Command,
}

/// One disk. Commands that it does not accept wait here in order of arrival.
pub(crate) struct Member {
    pub(crate) disk: Box<dyn Disk>,
    /// By the disk's request index: what it is for, and the array's request whose time it is.
    sent: Vec<Option<(Owner, RequestId)>>,
    free: Vec<u32>,
    waiting: VecDeque<MemberCommand>,
    /// The sector after the last read or write.
    next_sector: u64,
    /// Its work, with the array's requests; `None` unless the array is watched.
    stints: Option<Vec<Stint>>,
    /// Whether the array has been told that there are some.
    is_told: bool,
}

impl Member {
    pub(crate) fn new(disk: Box<dyn Disk>) -> Member {
        let depth = disk.facts().depth;
        let free = (0..depth).rev().collect();
        let (sent, waiting) = (vec![None; depth as usize], VecDeque::new());
        Member { disk, sent, free, waiting, next_sector: 0, stints: None, is_told: false }
    }

    /// How many commands it has.
    pub(super) fn busy(&self) -> usize {
        self.waiting.len() + self.disk.in_flight() as usize
    }

    /// The distance of `sector` from the end of the last command.
    pub(super) fn distance(&self, sector: u64) -> u64 {
        self.next_sector.abs_diff(sector)
    }

    /// The last command chosen for it ends before `sector`.
    pub(super) fn head_to(&mut self, sector: u64) {
        self.next_sector = sector;
    }

    /// Sends a command, or keeps it until there is room.
    pub(crate) fn send(&mut self, now: Instant, owner: Owner, command: Command) {
        match self.free.pop() {
            Some(slot) => self.start(now, slot, MemberCommand { owner, command }),
            None => self.waiting.push_back(MemberCommand { owner, command }),
        }
    }

    fn start(&mut self, now: Instant, slot: u32, MemberCommand { owner, command }: MemberCommand) {
        self.sent[slot as usize] = Some((owner, command.rq));
        self.disk.start(now, Command { rq: RequestId::from_index(slot), ..command });
        self.translate();
    }

    /// Records its work from now on.
    pub(crate) fn watch(&mut self) {
        self.disk.watch();
        self.stints.get_or_insert_default();
    }

    /// Whether it has new work, reported for the first time since the last [`stints`](Member::stints).
    pub(super) fn has_news(&mut self) -> bool {
        let has_some = self.stints.as_ref().is_some_and(|stints| !stints.is_empty());
        has_some && !core::mem::replace(&mut self.is_told, true)
    }

    /// Moves its work to `to`; its parts are counted from `first`.
    pub(crate) fn stints(&mut self, first: u32, to: &mut Vec<Stint>) {
        self.is_told = false;
        let Some(stints) = &mut self.stints else { return };
        to.extend(stints.drain(..).map(|stint| Stint { part: first + stint.part, ..stint }));
    }

    /// The disk knows its commands by slots, which are reused later.
    fn translate(&mut self) {
        let Some(stints) = &mut self.stints else { return };
        let known = stints.len();
        self.disk.stints(stints);
        for Stint { work, .. } in &mut stints[known..] {
            if let StintWork::Command(slot) = *work {
                *work = match self.sent[slot.index()] {
                    None | Some((Owner::Window(_), _)) => StintWork::Upkeep,
                    Some((Owner::Job(_) | Owner::Batch(_), rq)) => StintWork::Command(rq),
                };
            }
        }
    }

    /// A completion by `now`, and what it belongs to.
    pub(crate) fn finish(&mut self, now: Instant) -> Option<(Owner, Finished)> {
        let finished = self.disk.finish(now);
        self.translate();
        let finished = finished?;
        let slot = finished.rq.index();
        let (owner, _) = self.sent[slot].take().expect("a command ends once");
        match self.waiting.pop_front() {
            Some(sent) => self.start(finished.at, slot as u32, sent),
            None => self.free.push(slot as u32),
        }
        Some((owner, finished))
    }
}
