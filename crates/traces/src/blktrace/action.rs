//! The codes of blktrace's events: the action, and the kind of I/O.

/// The action of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Action {
    /// A bio was submitted (`Q`).
    #[default]
    Queue,
    /// A bio joined a request at its back (`M`) …
    BackMerge,
    /// … or at its front (`F`).
    FrontMerge,
    /// A bio got a request (`G`).
    GetRequest,
    /// A bio's task sleeps for a request (`S`).
    SleepRequest,
    /// The device returned a request (`R`).
    Requeue,
    /// A request was issued to the device (`D`).
    Issue,
    /// A request completed (`C`).
    Complete,
    /// The queue was plugged (`P`) …
    Plug,
    /// … and unplugged (`U`) …
    Unplug,
    /// … by its timer (`UT`).
    UnplugTimer,
    /// A request was inserted into the elevator (`I`).
    Insert,
    /// A bio was split (`X`).
    Split,
    /// A bio was mapped to another device (`A`).
    Remap,
    /// Not about an I/O: a process's name, the time, a message (`m`).
    Note(u16),
    /// Another code, kept as it is.
    Other(u16),
}

/// The actions, each with its code, category bit and letter.
const ACTIONS: [(Action, u16, u16, &str); 14] = [
    (Action::Queue, 1, Categories::QUEUE, "Q"),
    (Action::BackMerge, 2, Categories::QUEUE, "M"),
    (Action::FrontMerge, 3, Categories::QUEUE, "F"),
    (Action::GetRequest, 4, Categories::QUEUE, "G"),
    (Action::SleepRequest, 5, Categories::QUEUE, "S"),
    (Action::Requeue, 6, Categories::REQUEUE, "R"),
    (Action::Issue, 7, Categories::ISSUE, "D"),
    (Action::Complete, 8, Categories::COMPLETE, "C"),
    (Action::Plug, 9, Categories::QUEUE, "P"),
    (Action::Unplug, 10, Categories::QUEUE, "U"),
    (Action::UnplugTimer, 11, Categories::QUEUE, "UT"),
    (Action::Insert, 12, Categories::QUEUE, "I"),
    (Action::Split, 13, 0, "X"),
    (Action::Remap, 15, Categories::QUEUE, "A"),
];

/// The plain actions, indexed by code, as readers look up every event.
const BY_CODE: [Option<Action>; 16] = {
    let (mut by_code, mut row) = ([None; 16], 0);
    while row < ACTIONS.len() {
        by_code[ACTIONS[row].1 as usize] = Some(ACTIONS[row].0);
        row += 1;
    }
    by_code
};

/// A set of plain actions and notes that a reader can ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ActionSet {
    /// The codes; those of notes are shifted by sixteen.
    bits: u32,
}

impl ActionSet {
    /// The set of these actions. Only notes with a code below 16 are possible.
    pub fn of(actions: &[Action]) -> ActionSet {
        let known = actions.iter().filter(|action| !matches!(action, Action::Other(_)));
        let bit = |(code, category): (u16, u16)| match code {
            0..16 => 1 << (u32::from(code) + if category == Categories::NOTIFY { 16 } else { 0 }),
            _ => 0,
        };
        ActionSet { bits: known.fold(0, |bits, action| bits | bit(action.code())) }
    }

    /// Whether this action, as written, is in the set.
    #[inline]
    pub(super) fn has_bits(self, action: u32) -> bool {
        // Shifts by the code, and by sixteen more for a note.
        let note = (action >> 16 & Categories::NOTIFY as u32) >> 6;
        action as u16 <= 15 && self.bits >> (action & 15 | note) & 1 != 0
    }
}

impl Action {
    /// blkparse's letter.
    pub fn letter(self) -> &'static str {
        match self {
            Action::Note(_) => "m",
            Action::Other(_) => "?",
            action => Action::row(action).3,
        }
    }

    fn row(action: Action) -> &'static (Action, u16, u16, &'static str) {
        ACTIONS.iter().find(|row| row.0 == action).expect("every plain action has a row")
    }

    pub(super) fn of(code: u16, kind: Categories) -> Action {
        if kind.0 & Categories::NOTIFY != 0 {
            return Action::Note(code);
        }
        BY_CODE.get(usize::from(code)).copied().flatten().unwrap_or(Action::Other(code))
    }

    /// Its code and its category bits.
    pub(super) fn code(self) -> (u16, u16) {
        match self {
            Action::Note(code) => (code, Categories::NOTIFY),
            Action::Other(code) => (code, 0),
            action => (Action::row(action).1, Action::row(action).2),
        }
    }
}

/// Category bits: the kind of I/O of an event, and the kind of event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Categories(pub u16);

impl Categories {
    /// Disk to memory.
    pub const READ: u16 = 1 << 0;
    /// Memory to disk.
    pub const WRITE: u16 = 1 << 1;
    /// A flush, or a write preceded by one.
    pub const FLUSH: u16 = 1 << 2;
    /// Synchronous: a process waits.
    pub const SYNC: u16 = 1 << 3;
    const QUEUE: u16 = 1 << 4;
    const REQUEUE: u16 = 1 << 5;
    pub(super) const ISSUE: u16 = 1 << 6;
    const COMPLETE: u16 = 1 << 7;
    const NOTIFY: u16 = 1 << 10;
    /// Read-ahead.
    pub const AHEAD: u16 = 1 << 11;
    /// Metadata.
    pub const META: u16 = 1 << 12;
    /// A discard.
    pub const DISCARD: u16 = 1 << 13;
    /// Stable when it completes.
    pub const FUA: u16 = 1 << 15;

    /// blkparse's letters (`WS`, `FWFSM`, `N` for none).
    pub fn letters(self) -> String {
        let has = |bit| self.0 & bit != 0;
        let mut text = String::new();
        if has(Categories::FLUSH) {
            text.push('F');
        }
        text.push(match () {
            () if has(Categories::DISCARD) => 'D',
            () if has(Categories::WRITE) => 'W',
            () if has(Categories::READ) => 'R',
            () => 'N',
        });
        let flags =
            [(Categories::FUA, 'F'), (Categories::AHEAD, 'A'), (Categories::SYNC, 'S'), (Categories::META, 'M')];
        text.extend(flags.into_iter().filter(|&(bit, _)| has(bit)).map(|(_, letter)| letter));
        text
    }
}
