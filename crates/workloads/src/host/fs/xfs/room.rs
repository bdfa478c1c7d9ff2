//! **Rule** a change reserves what it may log at most. In use is what lies between the log's tail, which is where the
//! oldest list begins of which anything is newer in the log than at home, and its head, and what is in memory for it.
//! A change for which the log has no room beside that sleeps, and so does one that comes while another sleeps. Then
//! xfsaild writes home what is stable of the oldest list and not changed again; if there is nothing in any list, it
//! forces the log first. When the tail has moved the first that sleeps asks again, and the next one when that one has
//! got its room: nobody overtakes. xfsaild goes on, list after list, until nobody sleeps and three quarters of the log
//! are free, or nothing more is stable and unchanged. What a worker logs behind a call (written blocks that count as
//! such, an inode without a name that is freed) and the heads of the log's buffers reserve nothing: by that more than
//! the log may be in use.
//! **Origin** recording 25 (a log of 8 MiB; not replayed), by the kernel's own count of what is reserved: of 454 sleeps
//! for room six began when 1016 to 6784 bytes were missing, and all others behind somebody who slept; then one after
//! the other goes on, as here. Two of the six took 6 and 8 us, four 2.4 to 10.4 ms, until xfsaild's writes had ended,
//! for which it took one list in two of these four, and two and all in the others. Workers who free inodes reserve
//! (2 * 135,004 and 110,808 bytes) and sleep there, too. In a trace of 330,000 creations on a fresh file system of
//! 1 GiB (64 MiB; Linux 6.18, 2026-11-30; not kept) the only sleep began when 124 bytes were missing. There xfsaild
//! wrote a list at a time (1034, 991, 932 … items), the caller went on after the first, and it ended with 19 % in use:
//! so the three quarters are FIT, and how often callers wait hangs on them; it began anew without a sleeper, which it
//! does not here.

use std::collections::{BTreeMap, BTreeSet};

use blksched::Sector;
use blksched::author::Waiter;

use super::super::inode::{Change, InodeId};
use super::super::outbox::{Agent, FsIo, FsTask, FsWait, FsWish};
use super::items::{CLUSTER, inodes_of};
use super::{Sequence, Xfs};

/// What changes reserve \[bytes\]: of a transaction, for as many as each may become. RECORDED: that of a creation and
/// of an unlink in recording 25 of xfs, the others in a trace of Linux 6.18 of 2026-11-30, which was not kept. On a
/// longer disk some may reserve more.
mod reserved {
    pub const TIMES: u64 = 2860;
    pub const ATTRIBUTES: u64 = 4268;
    pub const ALLOCATION: u64 = 4 * 78_404;
    pub const TRUNCATION: u64 = 4 * 111_576;
    pub const CREATE: u64 = 2 * 197_600;
    pub const DIRECTORY: u64 = 3 * 197_600;
    pub const UNLINK: u64 = 2 * 176_096;
    pub const RENAME: u64 = 2 * 315_512;
}

/// The first task that sleeps for room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum First {
    #[default]
    Sleeps,
    /// It is told to ask again.
    Told,
    /// It knows, and asks before anything else happens, or wants nothing any more.
    Asks,
}

/// Metadata that is newer in the log than at home, and what holds the log's tail.
#[derive(Clone, Debug, Default)]
pub(super) struct NewerInLog {
    /// By first sector: in which list, and how many sectors.
    of: BTreeMap<u64, (Sequence, u64)>,
    /// Where each list begins that holds anything \[sectors since the first\], and how much it holds, also on its way
    /// home, and what a later list has that is not stable.
    held: BTreeMap<Sequence, (u64, u64)>,
    /// Lists by the bios on their way home.
    homing: BTreeMap<u64, Sequence>,
    /// What lists that are not stable took over, by list: from which.
    taken_over: BTreeMap<Sequence, Vec<Sequence>>,
    /// Whether xfsaild is making room.
    goes_home: bool,
}

impl NewerInLog {
    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// A list, which begins here in the log \[sectors since the first\], has these places, each with its length.
    pub fn logged(&mut self, list: Sequence, begins: u64, places: impl Iterator<Item = (u64, u64)>) {
        for (at, long) in places {
            match self.of.insert(at, (list, long)) {
                // Another inode of the same cluster.
                Some((before, _)) if before == list => continue,
                Some((before, _)) => self.taken_over.entry(list).or_default().push(before),
                None => {}
            }
            self.held.entry(list).or_insert((begins, 0)).1 += 1;
        }
    }

    /// The lists up to this one are stable.
    pub fn is_stable(&mut self, stable: Sequence) {
        while let Some(entry) = self.taken_over.first_entry().filter(|entry| *entry.key() <= stable) {
            entry.remove().into_iter().for_each(|list| self.release(list));
        }
    }

    fn release(&mut self, list: Sequence) {
        if let Some((_, left)) = self.held.get_mut(&list) {
            *left -= 1;
            if *left == 0 {
                self.held.remove(&list);
            }
        }
    }

    /// The oldest stable list of which any place may go home, if this says so.
    fn oldest(&self, may_go: impl Fn(u64) -> bool, stable: Sequence) -> Option<Sequence> {
        let ripe = self.of.iter().filter(|(at, (list, _))| *list <= stable && may_go(**at));
        ripe.map(|(_, (list, _))| *list).min()
    }

    /// Where the oldest list begins that holds anything.
    fn tail(&self) -> Option<u64> {
        self.held.first_key_value().map(|(_, (begins, _))| *begins)
    }

    /// A bio is complete. False if it carried nothing home.
    fn ended(&mut self, tag: u64) -> bool {
        let Some(list) = self.homing.remove(&tag) else { return false };
        self.release(list);
        true
    }
}

impl Xfs {
    /// What the change reserves \[bytes\]; 0 if it logs nothing.
    fn reserves(&self, inode: InodeId, change: &Change, tick: u64) -> u64 {
        let known = self.inodes.get(&inode);
        let times = if known.and_then(|known| known.changed) == Some(tick) { 0 } else { reserved::TIMES };
        let has_hole = |blocks| known.is_none_or(|known| known.extents.hole(blocks).is_some());
        match change {
            Change::JournalData { .. } | Change::Place(_) | Change::Times => times,
            Change::Attributes => reserved::ATTRIBUTES,
            Change::WriteBack(blocks) if has_hole(blocks) => reserved::ALLOCATION,
            Change::WriteBack(_) => 0,
            Change::DirectBegins(blocks) if has_hole(blocks) => reserved::ALLOCATION,
            Change::DirectBegins(_) => times,
            Change::DirectEnds(blocks) if self.is_unwritten(inode, *blocks) => reserved::ALLOCATION,
            Change::DirectEnds(_) => 0,
            Change::Preallocate(_) => reserved::ALLOCATION,
            Change::Truncate(_) => reserved::TRUNCATION,
            Change::Create(_) => reserved::CREATE,
            Change::MakeDirectory(_) | Change::Symlink(_) => reserved::DIRECTORY,
            Change::Unlink(_) | Change::RemoveDirectory(_) => reserved::UNLINK,
            Change::Rename { .. } => reserved::RENAME,
        }
    }

    /// How much of the log is in use \[bytes\].
    pub(super) fn in_use(&self) -> u64 {
        let head = self.list_begins();
        let list = if self.items.is_empty() { 0 } else { self.items.bytes() };
        (head - self.newer.tail().unwrap_or(head).min(head)) * 512 + self.active.bytes + list
    }

    /// Whether the log has room for the change. If not, the task sleeps.
    pub(super) fn has_room(&mut self, task: FsTask, inode: InodeId, change: &Change, tick: u64) -> bool {
        let wanted = self.reserves(inode, change, tick);
        let log = self.settings.log_sectors * 512;
        let in_use = self.in_use();
        // In an empty log there is room for anything.
        let fits = in_use == 0 || in_use + wanted <= log;
        let is_first = self.first == First::Asks && self.for_room.front() == Some(&task);
        if wanted == 0 || fits && (is_first || self.for_room.is_empty()) {
            // Who was the first and is admitted lets the next one ask.
            if is_first {
                self.first_has_asked();
            }
            return true;
        }
        if is_first {
            self.first = First::Sleeps;
        } else {
            self.for_room.push_back(task);
        }
        self.newer.goes_home = true;
        self.out.push(FsWish::Sleeps(task, FsWait::Room));
        self.makes_room();
        false
    }

    /// Since somebody slept for room: xfsaild writes the oldest list home, or forces the log, until there is enough.
    pub(super) fn makes_room(&mut self) {
        if !self.newer.goes_home || !self.newer.homing.is_empty() {
            return;
        }
        let log = self.settings.log_sectors * 512;
        let changed: BTreeSet<u64> = self.items.homes(self.settings.inodes_per_group).map(|(place, _)| place).collect();
        let may_go = |at| !changed.contains(&at);
        let oldest = self.newer.oldest(may_go, self.stable);
        match oldest {
            _ if !self.anybody_sleeps() && self.in_use() <= log / 4 => self.newer.goes_home = false,
            Some(oldest) => self.go_home(|at, list| list == oldest && may_go(at)),
            // The next one that sleeps has the log forced.
            None if !self.anybody_sleeps() => self.newer.goes_home = false,
            None => self.forces_for_room(),
        }
    }

    /// Nothing can go home: what has changed again can, when it is stable.
    fn forces_for_room(&mut self) {
        if !self.items.is_empty() {
            self.push();
        }
        match self.is_free() {
            true if self.active.bytes > 0 => self.write(Agent::Worker),
            // All is at home.
            true => self.wakes_for_room(),
            false => {}
        }
    }

    /// xfsaild writes home what is stable in the log, if this says so of its place and its list, in the disk's order.
    pub(super) fn go_home(&mut self, goes: impl Fn(u64, Sequence) -> bool) {
        let stable = self.stable;
        let is_ripe = |at: &u64, (list, _): &mut (Sequence, u64)| *list <= stable && goes(*at, *list);
        let ripe: Vec<(u64, (Sequence, u64))> = self.newer.of.extract_if(.., is_ripe).collect();
        for &(at, (list, long)) in &ripe {
            let tag = self.out.submit(Agent::Worker, FsIo::Home, (Sector(at), long), false, Waiter::Async);
            self.newer.homing.insert(tag, list);
            if long == CLUSTER {
                self.inodes_are_at_home(at);
            }
        }
        if !ripe.is_empty() {
            self.out.push(FsWish::Waits(Agent::Worker));
        }
    }

    /// The inodes of this cluster that are not changed again are logged anew with their next change.
    fn inodes_are_at_home(&mut self, at: u64) {
        let stable = self.stable;
        for inode in inodes_of(at) {
            for (_, known) in self.inodes.range_mut(inode).filter(|(_, known)| known.any <= stable) {
                known.logged = None;
                known.names.is_at_home();
            }
        }
    }

    /// A bio is complete. False if it carried nothing home.
    pub(super) fn home_ended(&mut self, tag: u64) -> bool {
        let tail = self.newer.tail();
        if !self.newer.ended(tag) {
            return false;
        }
        if self.newer.tail() != tail {
            self.wakes_for_room();
        }
        self.makes_room();
        true
    }

    /// More of the log is stable.
    pub(super) fn room_is_stable(&mut self) {
        let tail = self.newer.tail();
        self.newer.is_stable(self.stable);
        if self.newer.tail() != tail {
            self.wakes_for_room();
        }
    }

    /// The first one that sleeps asks again. The others sleep on until it is through, so that nobody overtakes them.
    fn wakes_for_room(&mut self) {
        if let Some(&task) = self.for_room.front().filter(|_| self.first == First::Sleeps) {
            self.first = First::Told;
            self.out.push(FsWish::Go(task));
        }
    }

    /// The first one that slept has room, or has not asked for any: the next one may.
    pub(super) fn first_has_asked(&mut self) {
        if self.first == First::Asks {
            self.first = First::Sleeps;
            self.for_room.pop_front();
            self.wakes_for_room();
        }
    }

    /// Whether anybody sleeps who has not been told to ask again.
    fn anybody_sleeps(&self) -> bool {
        self.first == First::Sleeps && !self.for_room.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use blksched::{Instant, Span};

    use super::super::super::inode::NamedIn;
    use super::super::super::kind::XfsSettings;
    use super::super::super::{Entry, Missing, Syncing};
    use super::*;

    const LOG: u64 = 1024;

    fn create(file: u64) -> (InodeId, Change) {
        (InodeId(128 + file), Change::Create(NamedIn { dir: InodeId(128), name: 8 }))
    }

    /// Ends what is under way, the first first, until this task is to ask again.
    fn until_woken(fs: &mut Xfs, under_way: &mut VecDeque<(u64, FsIo)>, task: FsTask) {
        loop {
            while let Some(wish) = fs.wish() {
                match wish {
                    FsWish::Submit(bio) => under_way.push_back((bio.tag, bio.what)),
                    FsWish::Go(of) | FsWish::Done(of) if of == task => return,
                    _ => {}
                }
            }
            let (tag, _) = under_way.pop_front().expect("somebody makes room");
            fs.ended(Instant::ZERO, tag);
        }
    }

    #[test]
    fn what_is_in_use_is_never_more_than_the_log_and_everybody_gets_room() {
        for syncs_every in [1, 7, 100_000] {
            let mut fs = Xfs::new(XfsSettings { log_sectors: LOG, ..XfsSettings::default() });
            let (mut slept, mut under_way) = (0, VecDeque::new());
            for file in 0..3000 {
                let (inode, change) = create(file);
                while fs.enter(Instant::ZERO, 1, inode, change) == Entry::Waits {
                    slept += 1;
                    until_woken(&mut fs, &mut under_way, 1);
                }
                if file % syncs_every == 0 && fs.sync(Instant::ZERO, 1, inode, Syncing::All) != Missing::Flush {
                    until_woken(&mut fs, &mut under_way, 1);
                }
                assert!(fs.in_use() <= LOG * 512, "{} after {file} files", fs.in_use());
            }
            assert!(slept > 0, "a megabyte and more went through a log of half of one");
        }
    }

    #[test]
    fn a_change_that_reserves_never_overfills_the_log_and_one_that_does_not_adds_little() {
        let mut fs = Xfs::new(XfsSettings { log_sectors: LOG, ..XfsSettings::default() });
        let (mut slept, mut under_way, blocks) = (0, VecDeque::new(), (0..4).into());
        for file in 0..3000 {
            let now = Instant::ZERO + Span::from_ms(file);
            let (inode, made) = create(file);
            let unlink = Change::Unlink(NamedIn { dir: InodeId(128), name: 8 });
            let old = InodeId(inode.0 - 20);
            for (inode, change) in [(inode, made), (inode, Change::WriteBack(blocks)), (old, unlink)] {
                if change == unlink && file < 20 {
                    continue;
                }
                while fs.enter(now, 1, inode, change) == Entry::Waits {
                    slept += 1;
                    until_woken(&mut fs, &mut under_way, 1);
                }
                assert!(fs.in_use() <= LOG * 512, "{} after {change:?} of {file}", fs.in_use());
            }
            // Conversions, and what a worker frees and forces, reserve nothing.
            let before = fs.in_use();
            fs.data_ended(inode, blocks);
            assert!(fs.in_use() <= before + 512, "{} more", fs.in_use() - before);
            fs.elapse(now);
            assert!(fs.in_use() <= before + 8192, "{} more", fs.in_use() - before);
        }
        assert!(slept > 0, "more went through the log than it is long");
    }

    #[test]
    fn the_oldest_list_makes_room_and_then_the_others_do() {
        let mut fs = Xfs::new(XfsSettings::default());
        let log = fs.settings.log_sectors * 512;
        let mut files = (0..).map(create);
        let (inode, change) = loop {
            let (inode, change) = files.next().expect("without end");
            if fs.enter(Instant::ZERO, 1, inode, change) == Entry::Waits {
                break (inode, change);
            }
            // What a worker writes takes no time.
            while let Some(wish) = fs.wish() {
                if let FsWish::Submit(bio) = wish {
                    fs.ended(Instant::ZERO, bio.tag);
                }
            }
        };
        assert!((log - reserved::CREATE..=log).contains(&fs.in_use()), "it is full");
        let mut under_way = VecDeque::new();
        until_woken(&mut fs, &mut under_way, 1);
        let free = log - fs.in_use();
        assert!(log / 10 < free && free < log / 6, "a list, which is an eighth, and not {free}");
        assert_eq!(fs.enter(Instant::ZERO, 1, inode, change), Entry::Done);
        loop {
            under_way.extend(core::iter::from_fn(|| fs.wish()).filter_map(|wish| match wish {
                FsWish::Submit(bio) => Some((bio.tag, bio.what)),
                _ => None,
            }));
            let Some((tag, _)) = under_way.pop_front() else { break };
            fs.ended(Instant::ZERO, tag);
        }
        // The last stable list has what the one after it, which is not stable, has changed again, and there is what is
        // in memory: each is an eighth and what one creation adds, and each buffer has a head.
        let changed: BTreeSet<u64> = fs.items.homes(fs.settings.inodes_per_group).map(|(place, _)| place).collect();
        assert_eq!(fs.newer.oldest(|at| !changed.contains(&at), fs.stable), None, "nothing more may go home");
        let (list, buffer, head) = (log / 8 + 4096, fs.settings.iclog_bytes, fs.settings.header_bytes());
        let list = list.div_ceil(buffer - head) * buffer;
        assert!(fs.in_use() <= 3 * list, "xfsaild went on, and {} are in use", fs.in_use());
    }

    #[test]
    fn who_wants_little_does_not_overtake() {
        let mut fs = Xfs::new(XfsSettings { log_sectors: LOG, ..XfsSettings::default() });
        for (inode, change) in (0..).map(create) {
            if fs.enter(Instant::ZERO, 1, inode, change) == Entry::Waits {
                break;
            }
        }
        assert_eq!(fs.enter(Instant::ZERO, 2, InodeId(128), Change::Attributes), Entry::Waits);
        assert_eq!(Vec::from(fs.for_room.clone()), [1, 2]);
        assert_eq!(
            fs.enter(Instant::ZERO, 3, InodeId(130), Change::WriteBack((0..0).into())),
            Entry::Done,
            "of nothing"
        );
        until_woken(&mut fs, &mut VecDeque::new(), 1);
    }

    /// A full log, for which tasks 1, 2, … sleep in this order, each with another file; and the first of the files.
    fn full(tasks: u32) -> (Xfs, u64) {
        let mut fs = Xfs::new(XfsSettings { log_sectors: LOG, ..XfsSettings::default() });
        let mut first = 0;
        while fs.enter(Instant::ZERO, 1, create(first).0, create(first).1) == Entry::Done {
            first += 1;
        }
        for task in 2..=tasks {
            let (inode, change) = create(first + u64::from(task) - 1);
            assert_eq!(fs.enter(Instant::ZERO, task, inode, change), Entry::Waits);
        }
        (fs, first)
    }

    #[test]
    fn who_has_waited_does_not_overtake_with_its_next_change_either() {
        let (mut fs, first) = full(3);
        until_woken(&mut fs, &mut VecDeque::new(), 1);
        let (inode, change) = create(first);
        assert_eq!(fs.enter(Instant::ZERO, 1, inode, change), Entry::Done);
        assert_eq!(fs.enter(Instant::ZERO, 1, inode, Change::Attributes), Entry::Waits, "2 and 3 are before it");
        assert_eq!(Vec::from(fs.for_room.clone()), [2, 3, 1]);
        let mut under_way = VecDeque::new();
        for task in [2, 3] {
            let (inode, change) = create(first + u64::from(task) - 1);
            loop {
                until_woken(&mut fs, &mut under_way, task);
                if fs.enter(Instant::ZERO, task, inode, change) == Entry::Done {
                    break;
                }
            }
        }
        until_woken(&mut fs, &mut under_way, 1);
        assert_eq!(fs.enter(Instant::ZERO, 1, inode, Change::Attributes), Entry::Done);
        assert!(fs.for_room.is_empty());
    }

    #[test]
    fn who_is_woken_and_wants_nothing_any_more_lets_the_next_one_through() {
        let (mut fs, first) = full(3);
        until_woken(&mut fs, &mut VecDeque::new(), 1);
        // It does not ask again.
        until_woken(&mut fs, &mut VecDeque::new(), 2);
        // It asks for nothing.
        assert_eq!(fs.enter(Instant::ZERO, 2, InodeId(130), Change::WriteBack((0..0).into())), Entry::Done);
        until_woken(&mut fs, &mut VecDeque::new(), 3);
        let (inode, change) = create(first + 2);
        assert_eq!(fs.enter(Instant::ZERO, 3, inode, change), Entry::Done);
        assert!(fs.for_room.is_empty());
    }
}
