//! **What for**: cached writes must eventually reach the medium, and readers wait meanwhile: this decides which goes
//! first.
//!
//! **Rule**: reads go first, and dirty data is destaged once no read has arrived for `idle` and the look-ahead's hold
//! is over; the hold counts whenever no command is queued. If `idle` is zero, the end of a read is not waited for
//! either: a read answered from the cache leaves the medium free while its data is on the bus. Destaging becomes
//! *urgent* when a write waits for room, when a queued flush waits, or when data has been dirty for `dirty_limit`.
//! While it is urgent and commands also wait, the medium's time is shared: destaging has turns of length `turn`, the
//! commands have turns of a length that gives destaging its `share`, and neither misses a turn.
//!
//! **Origin**: the parameters are apart because drives differ in each (openzfs PR 11166 measured 0 to 4 s for the
//! queue's part of it, see [`ncq`](super::ncq)).
//! **Shown by**: a writer beside a reader that never thinks; without urgency it is never served again.
//! **Costs when wrong**: without turns one of the sides starves, and the reader's rate collapses when the cache is
//! full.

use blksched::{Instant, Span};

use crate::DestageSpec;

/// Which has the medium while both want it, and until when.
#[derive(Clone, Copy, Debug)]
enum MediumTurn {
    Destaging { until: Instant },
    Commands { until: Instant },
}

/// Which goes first: cached writes or queued commands.
#[derive(Clone, Debug)]
pub(super) struct Destage {
    spec: DestageSpec,
    turn: MediumTurn,
    /// A piece has been written since a command was served.
    kept_waiting: bool,
    /// When the last read was served: until then it is on the bus, maybe in the future.
    last_read: Option<Instant>,
}

impl Destage {
    pub(super) fn new(spec: &DestageSpec) -> Destage {
        let turn = MediumTurn::Commands { until: Instant::ZERO };
        Destage { spec: *spec, turn, kept_waiting: false, last_read: None }
    }

    /// Sectors that have been dirty for this long are urgent.
    pub(super) fn dirty_limit(&self) -> Span {
        self.spec.dirty_limit
    }

    /// Destaging is urgent: whether it goes before the commands; `commands`: whether there are any.
    pub(super) fn goes_first(&mut self, at: Instant, commands: bool) -> bool {
        if let MediumTurn::Destaging { until } = self.turn
            && at >= until
        {
            self.turn = MediumTurn::Commands { until: until + self.spec.commands_turn() };
        }
        if let MediumTurn::Commands { until } = self.turn
            && at >= until
            && !(self.kept_waiting && commands)
        {
            self.turn = MediumTurn::Destaging { until: at + self.spec.turn };
        }
        matches!(self.turn, MediumTurn::Destaging { .. })
    }

    /// No command is queued: when a piece may be written, with the look-ahead held until `hold`. If it is urgent, a
    /// reader is waited for only for the rest of the commands' time.
    pub(super) fn may_begin(&self, hold: Option<Instant>, urgent: bool) -> Instant {
        let last_read = self.last_read.filter(|_| self.spec.idle > Span::ZERO);
        let idle = last_read.map_or(Instant::ZERO, |last| last + self.spec.idle);
        let idle = match self.turn {
            MediumTurn::Commands { until } if urgent => idle.min(until),
            MediumTurn::Destaging { .. } if urgent => Instant::ZERO,
            _ => idle,
        };
        hold.map_or(idle, |hold| hold.max(idle))
    }

    /// A piece is being written.
    pub(super) fn began(&mut self) {
        self.kept_waiting = true;
    }

    /// A read has been served at `at`.
    pub(super) fn read_served(&mut self, at: Instant) {
        self.last_read = Some(at);
    }

    /// A command has been given the medium.
    pub(super) fn command_served(&mut self) {
        self.kept_waiting = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEC: DestageSpec = DestageSpec {
        idle: Span::from_ms(10),
        dirty_limit: Span::from_secs(1),
        share_percent: 25,
        turn: Span::from_ms(20),
    };

    fn ms(ms: u64) -> Instant {
        Instant::ZERO + Span::from_ms(ms)
    }

    #[test]
    fn turns_follow_each_other_in_the_ratio_of_the_shares() {
        let mut destage = Destage::new(&SPEC);
        let first: Vec<u64> = (0..200).filter(|&at| destage.goes_first(ms(at), true)).collect();
        assert_eq!(first.len(), 60, "20 ms of 80 from 0, 80 and 160 on: {first:?}");
        assert_eq!((first[0], first[20], first[40]), (0, 80, 160));
    }

    #[test]
    fn a_piece_that_outlasts_the_commands_turn_does_not_take_it_from_them() {
        let mut destage = Destage::new(&SPEC);
        assert!(destage.goes_first(ms(0), true));
        destage.began();
        assert!(!destage.goes_first(ms(500), true));
        destage.command_served();
        assert!(destage.goes_first(ms(501), true));
    }

    #[test]
    fn a_hit_on_the_bus_delays_destaging_only_where_reads_are_waited_for() {
        for (idle, begins) in [(Span::ZERO, ms(0)), (Span::from_ns(1), ms(105) + Span::from_ns(1))] {
            let mut destage = Destage::new(&DestageSpec { idle, ..SPEC });
            destage.read_served(ms(105));
            assert_eq!(destage.may_begin(None, false), begins, "{idle:?}");
            assert_eq!(destage.may_begin(Some(ms(200)), false), ms(200), "the look-ahead's hold counts in either case");
        }
    }

    #[test]
    fn a_turn_lost_in_calm_times_is_not_made_up_for() {
        let mut destage = Destage::new(&SPEC);
        assert!(destage.goes_first(ms(0), true));
        assert!(destage.goes_first(ms(5_000), true), "the commands had all the time in between");
    }
}
