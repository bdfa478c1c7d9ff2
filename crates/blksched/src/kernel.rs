//! Kernel versions: eras are data, and a version is how a user names one.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;
use core::str::FromStr;

/// A kernel release, as in `2.6.33` or `6.1`; `4.18-el8.3` is Red Hat's 4.18 of RHEL 8.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kernel {
    major: u16,
    minor: u16,
    patch: u16,
    /// Red Hat's release, whose kernel has the number of an old one and much of newer ones; (0, 0): none.
    rhel: (u8, u8),
}

impl Kernel {
    /// `major.minor.patch`; since 3.0 the patch level is a stable update and usually 0 here.
    pub const fn new(major: u16, minor: u16, patch: u16) -> Kernel {
        Kernel { major, minor, patch, rhel: (0, 0) }
    }

    /// How far apart two releases are, by their numbers: for naming the nearest one.
    pub(crate) fn distance(self, other: Kernel) -> u32 {
        let number =
            |kernel: Kernel| u32::from(kernel.major) * 10_000 + u32::from(kernel.minor) * 100 + u32::from(kernel.patch);
        number(self).abs_diff(number(other))
    }

    /// The kernel `major.minor` of RHEL `rhel.update`.
    pub const fn of_rhel(major: u16, minor: u16, rhel: u8, update: u8) -> Kernel {
        Kernel { major, minor, patch: 0, rhel: (rhel, update) }
    }
}

/// Red Hat's kernel of RHEL 8.3.
pub(crate) const RHEL_8_3: Kernel = Kernel::of_rhel(4, 18, 8, 3);
/// The last kernels with the schedulers of one queue beside those of blk-mq (Debian 10).
pub(crate) const V4_19: Kernel = Kernel::new(4, 19, 0);
/// The long-term kernel of 2020 (Debian 11).
pub(crate) const V5_10: Kernel = Kernel::new(5, 10, 0);
/// The long-term kernel of 2021 (Ubuntu 22.04).
pub(crate) const V5_15: Kernel = Kernel::new(5, 15, 0);
/// The long-term kernel of 2022 (Debian 12).
pub(crate) const V6_1: Kernel = Kernel::new(6, 1, 0);
/// The long-term kernel of 2024 (Debian 13).
pub(crate) const V6_12: Kernel = Kernel::new(6, 12, 0);
/// The long-term kernel of 2025, which is meant if none is named.
pub(crate) const V6_18: Kernel = Kernel::new(6, 18, 0);
/// The newest kernel that was recorded.
pub(crate) const V7_3: Kernel = Kernel::new(7, 3, 0);

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Kernel { major, minor, rhel: (rhel @ 1.., update), .. } => {
                f.pad(&format!("{major}.{minor}-el{rhel}.{update}"))
            }
            Kernel { major, minor, patch: 0, .. } if major > 2 => f.pad(&format!("{major}.{minor}")),
            Kernel { major, minor, patch, .. } => f.pad(&format!("{major}.{minor}.{patch}")),
        }
    }
}

/// The error for text that is not a kernel version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelError {
    /// The text as given.
    pub text: String,
}

impl fmt::Display for KernelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a kernel version: expected two or three numbers, as in 2.6.33 or 6.1", self.text)
    }
}

impl core::error::Error for KernelError {}

impl FromStr for Kernel {
    type Err = KernelError;

    fn from_str(text: &str) -> Result<Kernel, KernelError> {
        let error = || KernelError { text: text.to_owned() };
        let (text, rhel) = match text.split_once("-el") {
            None => (text, (0, 0)),
            Some((text, rhel)) => (text, red_hats(rhel).ok_or_else(error)?),
        };
        let mut numbers = text.split('.').map(|n| n.parse::<u16>().map_err(|_| error()));
        let mut next = || numbers.next().transpose();
        let kernel = match (next()?, next()?, next()?) {
            (Some(major), Some(minor), patch) => Kernel { major, minor, patch: patch.unwrap_or(0), rhel },
            _ => return Err(error()),
        };
        if numbers.next().is_some() { Err(error()) } else { Ok(kernel) }
    }
}

/// `8.3`.
fn red_hats(text: &str) -> Option<(u8, u8)> {
    let (rhel, update) = text.split_once('.')?;
    Some((rhel.parse().ok().filter(|&rhel| rhel > 0)?, update.parse().ok()?))
}

/// The kernels that have something: from one release to another, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernels {
    /// The first release that has it.
    pub first: Kernel,
    /// The last release that has it; `None`: current kernels do.
    pub last: Option<Kernel>,
}

impl Kernels {
    /// From `first` to `last`.
    pub const fn between(first: Kernel, last: Kernel) -> Kernels {
        Kernels { first, last: Some(last) }
    }

    /// From `first` on.
    pub const fn since(first: Kernel) -> Kernels {
        Kernels { first, last: None }
    }

    /// Whether `kernel` has it.
    pub fn contain(self, kernel: Kernel) -> bool {
        self.first <= kernel && self.last.is_none_or(|last| kernel <= last)
    }
}

impl fmt::Display for Kernels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.last {
            Some(last) if last == self.first => f.pad(&self.first.to_string()),
            Some(last) => f.pad(&format!("{}..{last}", self.first)),
            None => f.pad(&format!("{}..", self.first)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_reads_back_as_it_prints_and_orders_by_age() {
        for text in ["2.5.38", "2.6.33", "4.18-el8.3", "4.20", "6.1"] {
            assert_eq!(text.parse::<Kernel>().unwrap().to_string(), text);
        }
        assert!("2.6.9".parse::<Kernel>().unwrap() < "2.6.33".parse().unwrap());
        for text in ["", "6", "6.x", "2.6.33.7", "-2.6", "4.18-el", "4.18-el8", "4.18-el0.1", "-el8.3"] {
            assert!(text.parse::<Kernel>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_range_includes_both_ends() {
        let range = Kernels::between(Kernel::new(2, 5, 38), Kernel::new(2, 5, 45));
        assert!(range.contain(Kernel::new(2, 5, 45)) && !range.contain(Kernel::new(2, 6, 0)));
        assert!(Kernels::since(Kernel::new(2, 6, 0)).contain(Kernel::new(6, 1, 0)));
    }
}
