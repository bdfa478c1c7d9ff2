//! A process's I/Os, packed: read in their order alone, they take some 16 bytes each instead of 56.
//!
//! **Rule** Each is told by what differs from the one before: a head of four bytes says what kind it is and how many
//! bytes each number has, and the numbers follow, the least byte first. A priority is told later than the rest of its
//! I/O, and by few formats, so priorities stand apart, as runs. Full pieces go to the recording's [`Spool`].

use core::fmt;

use blksched::author::Waiter;
use blksched::{Class, Durability, Hints, Op, Priority, Span};

use super::priority_runs::PriorityRuns;
use super::recording::ReplayIo;
use super::spool::{Piece, Spool};

/// The longest piece \[bytes\]. One growing vector instead would be copied again and again, and half of it be unused.
/// Of a process whose pieces lie in a file, one piece at a time is in memory.
const PIECE: usize = 16 << 10;
/// The most that one I/O takes \[bytes\], including what is written after its last number.
const LONGEST: usize = 4 + 7 * 8;

/// The bytes of a number, by the two bits for it in the head.
const WIDTHS: [usize; 4] = [0, 2, 4, 8];

// The position of each number's width in the head.
const NTH: u32 = 12;
const AT: u32 = 14;
const START: u32 = 16;
const SECTORS: u32 = 18;
const IN_FLIGHT: u32 = 20;
const DEVICE: u32 = 22;
const PAUSE: u32 = 24;

const OPS: [Op; 5] = [Op::Read, Op::Write, Op::Discard, Op::WriteZeroes, Op::Flush];

/// The I/Os of one process.
#[derive(Clone, Default)]
pub(super) struct PackedIos {
    /// Full pieces, wherever they lie.
    pieces: Vec<Piece>,
    /// The piece behind them.
    open: Vec<u8>,
    len: usize,
    last: PackedBefore,
    priorities: PriorityRuns,
    /// How many others were in flight at most.
    deepest: u32,
    /// The last sector at which anything begins, and the greatest length \[sectors\].
    reach: (u64, u32),
}

/// What the next one is encoded against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct PackedBefore {
    nth: u64,
    at: u64,
    end: u64,
    sectors: u32,
    device: u16,
}

/// Where to continue reading.
#[derive(Clone, Debug, Default)]
pub(super) struct PackedPlace {
    piece: usize,
    byte: usize,
    /// How many were read.
    read: u32,
    /// How many runs of priorities began.
    run: usize,
    before: PackedBefore,
    /// The bytes of the piece if it lies in a file, and whether they are here yet.
    loaded: Vec<u8>,
    is_loaded: bool,
}

impl PartialEq for PackedIos {
    /// Whether the I/Os are the same, wherever they lie.
    fn eq(&self, other: &PackedIos) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl Eq for PackedIos {}

impl fmt::Debug for PackedIos {
    /// All bytes, wherever they lie: a sweep knows its runs by a hash of this text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = Vec::new();
        f.write_str("PackedIos { pieces: [")?;
        for piece in &self.pieces {
            piece.load(&mut bytes);
            write!(f, "{bytes:?}, ")?;
        }
        write!(f, "{:?}], priorities: {:?} }}", self.open, self.priorities)
    }
}

impl PackedIos {
    pub fn len(&self) -> usize {
        self.len
    }

    /// How many others were in flight at most.
    pub fn deepest(&self) -> u32 {
        self.deepest
    }

    /// The last sector at which anything begins, and the greatest length \[sectors\].
    pub fn reach(&self) -> (u64, u32) {
        self.reach
    }

    /// Adds an I/O.
    pub fn push(&mut self, io: &ReplayIo, spool: &mut Spool) {
        let (nth, at) = (io.nth as u64, io.at.as_ns());
        let before = &self.last;
        let mut packed = Packing { bytes: [0; LONGEST], at: 4, head: kind(io) };
        packed.number(NTH, nth.wrapping_sub(before.nth).wrapping_sub(1));
        packed.number(AT, at.wrapping_sub(before.at));
        packed.number(START, zigzag(io.start.wrapping_sub(before.end)));
        packed.number(SECTORS, u64::from(io.sectors ^ before.sectors));
        packed.number(IN_FLIGHT, u64::from(io.in_flight));
        packed.number(DEVICE, u64::from(io.device ^ before.device));
        packed.number(PAUSE, io.pause.as_ns());
        packed.bytes[..4].copy_from_slice(&packed.head.to_le_bytes());
        let end = io.start.wrapping_add(u64::from(io.sectors));
        self.last = PackedBefore { nth, at, end, sectors: io.sectors, device: io.device };
        self.deepest = self.deepest.max(io.in_flight);
        self.reach = (self.reach.0.max(io.start), self.reach.1.max(io.sectors));
        if io.priority != Priority::default() {
            self.give_priority(self.len as u32, io.priority);
        }
        self.len += 1;
        if self.open.len() + LONGEST > PIECE {
            self.begin_piece(spool);
        }
        self.open.extend_from_slice(&packed.bytes[..packed.at]);
    }

    #[cold]
    fn begin_piece(&mut self, spool: &mut Spool) {
        // The first one grew: most processes have few.
        let full = core::mem::replace(&mut self.open, Vec::with_capacity(PIECE));
        self.pieces.push(spool.keep(full));
    }

    /// Sets an I/O's priority, whether it was added yet or not.
    pub fn give_priority(&mut self, nth: u32, priority: Priority) {
        self.priorities.set(nth, priority);
    }

    /// Reads the I/O at this place, and moves the place on. `None` at the end.
    pub fn read(&self, place: &mut PackedPlace) -> Option<ReplayIo> {
        if self.pieces.get(place.piece).is_some_and(|piece| place.byte == piece.len()) {
            (place.piece, place.byte, place.is_loaded) = (place.piece + 1, 0, false);
        }
        let lies = match self.pieces.get(place.piece) {
            None => &self.open[..],
            Some(Piece::Held(bytes)) => bytes,
            Some(filed) => {
                if !core::mem::replace(&mut place.is_loaded, true) {
                    filed.load(&mut place.loaded);
                }
                &place.loaded
            }
        };
        let bytes = lies.get(place.byte..)?;
        let head = u32::from_le_bytes(*bytes.first_chunk()?);
        let mut packed = Unpacking { head, bytes: &bytes[4..] };
        let before = &place.before;
        let nth = packed.number(NTH).wrapping_add(before.nth).wrapping_add(1);
        let at = packed.number(AT).wrapping_add(before.at);
        let start = unzigzag(packed.number(START)).wrapping_add(before.end);
        let sectors = packed.number(SECTORS) as u32 ^ before.sectors;
        let in_flight = packed.number(IN_FLIGHT) as u32;
        let device = packed.number(DEVICE) as u16 ^ before.device;
        let pause = Span::from_ns(packed.number(PAUSE));
        let left = packed.bytes.len();
        let took = bytes.len() - left;
        let priority = self.priorities.at(place.read, &mut place.run);
        place.byte += took;
        place.read += 1;
        place.before = PackedBefore { nth, at, end: start.wrapping_add(u64::from(sectors)), sectors, device };
        let io = ReplayIo {
            nth: nth as usize,
            at: Span::from_ns(at),
            start,
            sectors,
            priority,
            in_flight,
            device,
            pause,
            ..of_kind(head)
        };
        Some(io)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = ReplayIo> {
        let mut place = PackedPlace::default();
        core::iter::from_fn(move || self.read(&mut place))
    }
}

/// Packs one I/O.
struct Packing {
    bytes: [u8; LONGEST],
    at: usize,
    head: u32,
}

impl Packing {
    #[inline]
    fn number(&mut self, place: u32, number: u64) {
        // 0, 1 to 16, to 32, to 64 bits; all eight bytes are written, and the superfluous ones overwritten.
        let width = u32::from(number > 0) + u32::from(number > 0xffff) + u32::from(number > 0xffff_ffff);
        self.bytes[self.at..self.at + 8].copy_from_slice(&number.to_le_bytes());
        self.at += WIDTHS[width as usize];
        self.head |= width << place;
    }
}

/// Unpacks one I/O.
struct Unpacking<'b> {
    head: u32,
    bytes: &'b [u8],
}

impl Unpacking<'_> {
    #[inline]
    fn number(&mut self, place: u32) -> u64 {
        match self.head >> place & 3 {
            0 => 0,
            1 => u64::from(u16::from_le_bytes(self.bytes())),
            2 => u64::from(u32::from_le_bytes(self.bytes())),
            _ => u64::from_le_bytes(self.bytes()),
        }
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let (number, rest) = self.bytes.split_first_chunk().expect("a packed I/O is whole");
        self.bytes = rest;
        *number
    }
}

/// The parts of an I/O that are not numbers, in twelve bits.
fn kind(io: &ReplayIo) -> u32 {
    let Hints { meta, no_idle, req_sync, write_back, background } = io.hints;
    let Durability { preflush, fua } = io.durability;
    let is_async = io.waiter == Waiter::Async;
    let flags = [is_async, meta, no_idle, req_sync, write_back, background, preflush, fua, io.goes_on];
    let op = match io.op {
        Op::Read => 0,
        Op::Write => 1,
        Op::Discard => 2,
        Op::WriteZeroes => 3,
        Op::Flush => 4,
    };
    flags.iter().rev().fold(0, |bits, &flag| bits << 1 | u32::from(flag)) << 3 | op
}

/// An I/O of this kind, without its numbers.
fn of_kind(head: u32) -> ReplayIo {
    let has = |nth: u32| head >> (3 + nth) & 1 != 0;
    ReplayIo {
        op: OPS[(head as usize & 7).min(OPS.len() - 1)],
        waiter: if has(0) { Waiter::Async } else { Waiter::Sync },
        hints: Hints { meta: has(1), no_idle: has(2), req_sync: has(3), write_back: has(4), background: has(5) },
        durability: Durability { preflush: has(6), fua: has(7) },
        goes_on: has(8),
        nth: 0,
        at: Span::ZERO,
        start: 0,
        sectors: 0,
        priority: Priority { class: Class::None, level: 0 },
        in_flight: 0,
        device: 0,
        pause: Span::ZERO,
    }
}

/// A number slightly below 0 is small, too.
fn zigzag(number: u64) -> u64 {
    let number = number as i64;
    (number << 1 ^ number >> 63) as u64
}

fn unzigzag(number: u64) -> u64 {
    number >> 1 ^ (number & 1).wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of every length, all kinds, and times that run backward.
    #[test]
    fn what_is_packed_reads_back_the_same_and_in_any_number() {
        let mut state = 1_u64;
        let mut below = |bits: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let random = state ^ state >> 29;
            if bits == 0 { 0 } else { random >> (64 - bits) }
        };
        let mut ios = Vec::new();
        for _ in 0..20_000 {
            let (bits, long) = (below(6) as u32, below(7) as u32 % 65);
            let flag = |nth: u32, all: u64| all >> nth & 1 != 0;
            let flags = below(9);
            ios.push(ReplayIo {
                nth: below(long) as usize,
                at: Span::from_ns(below(long)),
                op: OPS[below(8) as usize % OPS.len()],
                start: below(64 - bits),
                sectors: below(bits % 33) as u32,
                waiter: if flag(0, flags) { Waiter::Async } else { Waiter::Sync },
                hints: Hints {
                    meta: flag(1, flags),
                    no_idle: flag(2, flags),
                    req_sync: flag(3, flags),
                    write_back: flag(4, flags),
                    background: flag(5, flags),
                },
                durability: Durability { preflush: flag(6, flags), fua: flag(7, flags) },
                priority: if below(3) == 0 { Priority { class: Class::Idle, level: 3 } } else { Priority::default() },
                in_flight: below(bits % 33) as u32,
                device: below(bits % 17) as u16,
                pause: Span::from_ns(below(long)),
                goes_on: flag(8, flags),
            });
        }
        let packed_with = |spool: &mut Spool| {
            let mut packed = PackedIos::default();
            ios.iter().for_each(|io| packed.push(io, spool));
            packed
        };
        let packed = packed_with(&mut Spool::keeping(u64::MAX));
        assert!(packed.pieces.len() > 8 && packed.len() == ios.len());
        assert!(packed.iter().eq(ios.iter().copied()));
        // Of the first few pieces in memory, and of none.
        for most in [3 * PIECE as u64, 0] {
            let (mut spool, beside) = (Spool::keeping(most), PackedIos::default());
            let filed = packed_with(&mut spool);
            let in_memory = filed.pieces.iter().filter(|piece| matches!(piece, Piece::Held(_))).count() as u64;
            assert_eq!(in_memory, most / PIECE as u64);
            assert!(filed == packed && filed != beside);
            assert_eq!(format!("{filed:?}"), format!("{packed:?}"));
        }
        let most = ios.iter().map(|io| io.in_flight).max();
        assert_eq!(Some(packed.deepest()), most);
        assert_eq!(Some(packed.reach().0), ios.iter().map(|io| io.start).max());
    }

    /// A thousand random reads of one process, as docs/performance.md says of memory.
    #[test]
    fn an_io_takes_some_sixteen_bytes() {
        let (mut packed, mut spool) = (PackedIos::default(), Spool::keeping(u64::MAX));
        for nth in 0..1000_u64 {
            let io = ReplayIo {
                nth: nth as usize,
                at: Span::from_us(90 * nth),
                start: nth.wrapping_mul(0x9e37_79b9) % (1 << 31),
                sectors: 8,
                in_flight: 31,
                pause: Span::from_ns(4321),
                ..of_kind(0)
            };
            packed.push(&io, &mut spool);
        }
        let bytes = packed.pieces.iter().map(Piece::len).sum::<usize>() + packed.open.len();
        assert!((14..=17).contains(&(bytes / 1000)), "{bytes}");
    }
}
