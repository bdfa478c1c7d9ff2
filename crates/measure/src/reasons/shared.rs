//! The processes that share the disk's time: how much each is given, and what that is for.

use blksched::Span;

use super::cause::Serving;
use super::disk::Integrals;

/// Fractional bits of [`Shared::given`]: fine enough that thousands of sharers lose nothing visible, coarse enough for
/// a request that takes three days. (The sum itself may wrap: only differences count.)
const GIVEN_BITS: u32 = 16;
const _: () = assert!(Serving::COUNT <= u32::BITS as usize);

/// `ns · count / total`, rounded down.
fn part(ns: u64, count: u32, total: u32) -> u64 {
    match ns.checked_mul(u64::from(count)) {
        Some(product) => product / u64::from(total),
        None => (u128::from(ns) * u128::from(count) / u128::from(total)) as u64,
    }
}

/// Adds to each integral its part of `ns` by its count; the parts add up to `ns` if the counts add up to `total` > 0.
/// `some` has a bit for each count that is not 0 and gets its part.
#[inline]
fn split(ns: u64, counts: &[u32], mut some: u32, total: u32, integrals: &mut Integrals) {
    if some.is_power_of_two() {
        // Usually all are for the same purpose.
        return integrals[some.trailing_zeros() as usize] += ns;
    }
    let (mut counted, mut spent) = (0, 0);
    while some != 0 {
        let slot = some.trailing_zeros() as usize;
        some &= some - 1;
        counted += counts[slot];
        let upto = if counted == total { ns } else { part(ns, counted, total) };
        integrals[slot] += upto - spent;
        spent = upto;
    }
}

/// The processes that share a moment evenly.
#[derive(Clone, Debug, Default)]
pub(super) struct Shared {
    count: [u32; Serving::COUNT],
    /// A bit for each count that is not 0.
    some: u32,
    total: u32,
    /// What a process that shared all the time would have been given \[ns·2⁻¹⁶\]: ∫ dt / number of sharers.
    given: u64,
}

impl Shared {
    /// Divides `ns` among them.
    #[inline]
    pub(super) fn pass(&mut self, ns: u64) {
        let given = ns << GIVEN_BITS;
        self.given = self.given.wrapping_add(if self.total == 1 { given } else { given / u64::from(self.total) });
    }

    /// The same, by purpose.
    pub(super) fn book(&self, ns: u64, integrals: &mut Integrals) {
        split(ns, &self.count, self.some, self.total, integrals);
    }

    /// The same among those that are commands; `false` if there are none.
    pub(super) fn book_commands(&self, ns: u64, integrals: &mut Integrals) -> bool {
        let commands = self.total - self.count[Serving::Destaging.index()];
        // The disk's own work has the last index.
        let of_commands = self.some & ((1 << Serving::Destaging.index()) - 1);
        split(ns, &self.count, of_commands, commands, integrals);
        commands > 0
    }

    /// The common purpose's index, if all are commands of one kind.
    #[inline]
    pub(super) fn only_command(&self) -> Option<usize> {
        let kind = self.some.trailing_zeros() as usize;
        (self.some.is_power_of_two() && kind != Serving::Destaging.index()).then_some(kind)
    }

    /// Whether no process shares.
    pub(super) fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Whether a process shares for this purpose.
    pub(super) fn any(&self, serving: Serving) -> bool {
        self.count[serving.index()] > 0
    }

    /// The present value of `given`: the mark of a process that starts now.
    pub(super) fn mark(&self) -> u64 {
        self.given
    }

    pub(super) fn start(&mut self, serving: Serving) -> u64 {
        self.count[serving.index()] += 1;
        self.some |= 1 << serving.index();
        self.total += 1;
        self.given
    }

    pub(super) fn stop(&mut self, serving: Serving, mark: u64) -> Span {
        let count = &mut self.count[serving.index()];
        *count -= 1;
        self.some &= !(u32::from(*count == 0) << serving.index());
        self.total -= 1;
        self.since(mark)
    }

    pub(super) fn since(&self, mark: u64) -> Span {
        Span::from_ns(self.given.wrapping_sub(mark) >> GIVEN_BITS)
    }
}
