//! The use of the mechanism's time: in total, and for each submitter.

use core::ops::AddAssign;

use blksched::{Span, SubmitterId};

use crate::Disk;

/// Lengths of time by what the disk was doing.
///
/// For one command at a time on an otherwise idle disk the parts add up to its latency exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// Decoding the command, unless hidden by something else.
    pub overhead: Span,
    /// Moving the arm to another cylinder, or switching heads.
    pub seek: Span,
    /// Waiting until the arm is still enough to write.
    pub settle: Span,
    /// Waiting for the sector to come round.
    pub rotation: Span,
    /// The head over the data, including track switches inside a transfer; on a disk that does not spin, the service.
    pub transfer: Span,
    /// Moving data between disk and host where the medium was not the slower part.
    pub interface: Span,
    /// Reading ahead for no process yet; charged, when it ends, to the process whose read began it.
    pub look_ahead: Span,
}

impl Activity {
    /// The total.
    pub fn sum(&self) -> Span {
        self.overhead + self.mechanism() + self.interface
    }

    /// The time that the arm and the medium were at work.
    pub fn mechanism(&self) -> Span {
        self.seek + self.settle + self.rotation + self.transfer + self.look_ahead
    }

    /// The time spent getting there: seek, settle and rotation.
    pub fn positioning(&self) -> Span {
        self.seek + self.settle + self.rotation
    }
}

impl AddAssign<&Activity> for Activity {
    fn add_assign(&mut self, other: &Activity) {
        self.overhead += other.overhead;
        self.seek += other.seek;
        self.settle += other.settle;
        self.rotation += other.rotation;
        self.transfer += other.transfer;
        self.interface += other.interface;
        self.look_ahead += other.look_ahead;
    }
}

/// The sums of all [`Activity`]. A cached write's drain is charged to the submitter that wrote it, when it drains.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    accounts: Vec<(SubmitterId, Activity)>,
    last: usize,
}

impl Ledger {
    /// The sum of all accounts.
    pub fn total(&self) -> Activity {
        let mut total = Activity::default();
        self.accounts.iter().for_each(|(_, account)| total += account);
        total
    }

    /// The account of one submitter; zero if nothing was done for it.
    pub fn of(&self, submitter: SubmitterId) -> Activity {
        self.find(submitter).map_or_else(|_| Activity::default(), |at| self.accounts[at].1)
    }

    /// By submitter, ascending.
    pub fn by_submitter(&self) -> impl Iterator<Item = (SubmitterId, &Activity)> {
        self.accounts.iter().map(|(submitter, activity)| (*submitter, activity))
    }

    /// The accounts of all members, of an array or below a stacked device.
    pub(crate) fn of_all<'a>(members: impl Iterator<Item = &'a dyn Disk>) -> Ledger {
        let mut sum = Ledger::default();
        members.for_each(|member| sum.add(&member.ledger()));
        sum
    }

    /// Adds all accounts of another ledger.
    fn add(&mut self, other: &Ledger) {
        for (submitter, activity) in other.by_submitter() {
            self.charge(submitter, activity);
        }
    }

    #[inline]
    pub(crate) fn charge(&mut self, submitter: SubmitterId, activity: &Activity) {
        *self.account(submitter) += activity;
    }

    /// The same for time that was only spent on reading ahead.
    #[inline]
    pub(crate) fn charge_look_ahead(&mut self, submitter: SubmitterId, look_ahead: Span) {
        self.account(submitter).look_ahead += look_ahead;
    }

    #[inline]
    fn account(&mut self, submitter: SubmitterId) -> &mut Activity {
        // Successive charges are usually for the same submitter.
        if self.accounts.get(self.last).is_none_or(|account| account.0 != submitter) {
            self.last = self.find(submitter).unwrap_or_else(|at| {
                self.accounts.insert(at, (submitter, Activity::default()));
                at
            });
        }
        &mut self.accounts[self.last].1
    }

    fn find(&self, submitter: SubmitterId) -> Result<usize, usize> {
        self.accounts.binary_search_by_key(&submitter, |account| account.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charges_add_up_per_submitter_and_in_total() {
        let mut ledger = Ledger::default();
        for (who, ms) in [(3, 1), (1, 2), (3, 4), (2, 8)] {
            ledger.charge(SubmitterId(who), &Activity { seek: Span::from_ms(ms), ..Activity::default() });
        }
        assert_eq!(ledger.total().seek, Span::from_ms(15));
        assert_eq!(ledger.of(SubmitterId(3)).seek, Span::from_ms(5));
        assert_eq!(ledger.of(SubmitterId(9)), Activity::default());
        let order: Vec<u32> = ledger.by_submitter().map(|(who, _)| who.0).collect();
        assert_eq!(order, [1, 2, 3]);
    }
}
