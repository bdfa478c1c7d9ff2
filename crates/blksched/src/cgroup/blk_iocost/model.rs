//! The cost of a bio.
//!
//! **Rule** A linear model: a cost for each page, plus one for a sequential or a random I/O. `price` decides which of
//! the two a bio is.
//! **Origin** docs/behaviour/cgroup-io.md#k2 and #k3.
//! **In the kernel** `calc_lcoefs`, `i_lcoefs`, `ioc_autop_idx`.

#![doc(alias = "calc_lcoefs")]
#![doc(alias = "i_lcoefs")]
#![doc(alias = "ioc_autop_idx")]

use super::qos::Qos;
use super::units::VTIME_PER_S;
use crate::request::{Dir, PerDir};

/// \[bytes\].
const PAGE: u64 = 4096;
/// The figures of one direction. 0: not known, and not charged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Bytes per second.
    pub bps: u64,
    /// Sequential 4 KiB I/Os per second.
    pub seqiops: u64,
    /// Random 4 KiB I/Os per second.
    pub randiops: u64,
}

/// `io.cost.model`'s six figures.
pub type CostFigures = PerDir<Figures>;

/// The cost of each part of an I/O \[virtual time\].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Prices {
    pub(super) page: u64,
    pub(super) sequential: u64,
    pub(super) random: u64,
}

/// Both directions' prices.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Coefficients(PerDir<Prices>);

impl Coefficients {
    pub(super) fn of_model(model: &CostFigures) -> Coefficients {
        Coefficients(PerDir::from_fn(|dir| Prices::of(&model[dir])))
    }

    pub(super) fn of(&self, dir: Dir) -> &Prices {
        &self.0[dir]
    }
}

impl Prices {
    fn of(figures: &Figures) -> Prices {
        let per = |rate: u64| if rate == 0 { 0 } else { VTIME_PER_S.div_ceil(rate) };
        let page = per(figures.bps.div_ceil(PAGE));
        let beyond = |iops: u64| per(iops).saturating_sub(page);
        Prices { page, sequential: beyond(figures.seqiops), random: beyond(figures.randiops) }
    }
}

/// The class of a device, unless a user sets its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A spinning disk.
    Hdd,
    /// An SSD that takes one command at a time.
    SsdDepth1,
    /// An SSD.
    Ssd,
    /// An SSD that was found to be fast.
    SsdFast,
}

/// A class's own parameters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Defaults {
    pub(super) model: CostFigures,
    pub(super) qos: Qos,
}

const fn figures(bps: u64, seqiops: u64, randiops: u64) -> Figures {
    Figures { bps, seqiops, randiops }
}

impl Class {
    /// The class that a kernel infers at first.
    pub fn of(rotational: bool, queue_depth: u32) -> Class {
        match (rotational, queue_depth) {
            (true, _) => Class::Hdd,
            (false, 1) => Class::SsdDepth1,
            (false, _) => Class::Ssd,
        }
    }

    /// The kernel's six figures for this class.
    pub fn model(self) -> CostFigures {
        let (read, write) = match self {
            Class::Hdd => (figures(174_019_176, 41_708, 370), figures(178_075_866, 42_705, 378)),
            Class::SsdDepth1 => (figures(245_855_193, 61_575, 6_946), figures(141_365_009, 33_716, 26_796)),
            Class::Ssd => (figures(488_636_629, 8_932, 8_518), figures(427_891_549, 28_755, 21_940)),
            Class::SsdFast => (figures(3_102_524_156, 724_816, 778_122), figures(1_742_780_862, 425_702, 443_193)),
        };
        CostFigures { read, write }
    }

    pub(super) fn defaults(self) -> Defaults {
        let latency_us = match self {
            Class::Hdd => 250_000,
            Class::SsdDepth1 | Class::Ssd => 25_000,
            Class::SsdFast => 5_000,
        };
        Defaults { model: self.model(), qos: Qos::of_latency(latency_us) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_those_of_the_recordings() {
        let prices = Prices::of(&figures(100_000_000, 20_000, 200));
        assert_eq!(prices, Prices { page: 5_629_284, sequential: 1_242_664, random: 681_565_484 });
        let hdd = Coefficients::of_model(&Class::Hdd.model());
        assert_eq!(*hdd.of(Dir::Read), Prices { page: 3_234_924, sequential: 60_342, random: 368_221_708 });
    }

    #[test]
    fn a_figure_that_is_missing_costs_nothing_and_one_too_good_costs_no_more_than_its_pages() {
        assert_eq!(Prices::of(&Figures::default()), Prices::default());
        let fast = Prices::of(&figures(1_000_000_000, 1_000_000, 5000));
        assert_eq!(fast, Prices { page: 562_950, sequential: 0, random: 26_924_841 });
    }
}
