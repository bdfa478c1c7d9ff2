//! Kernel versions: eras are data, and a version is how a user names one.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;
use core::str::FromStr;

/// A kernel release, as in `2.6.33` or `6.1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kernel {
    major: u16,
    minor: u16,
    patch: u16,
}

impl Kernel {
    /// `major.minor.patch`; since 3.0 the patch level is a stable update and usually 0 here.
    pub const fn new(major: u16, minor: u16, patch: u16) -> Kernel {
        Kernel { major, minor, patch }
    }
}

/// The long-term kernel of 2024 (Debian 13).
pub(crate) const V6_12: Kernel = Kernel::new(6, 12, 0);
/// The long-term kernel of 2025.
pub(crate) const V6_18: Kernel = Kernel::new(6, 18, 0);

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Kernel { major, minor, patch: 0 } if major > 2 => f.pad(&format!("{major}.{minor}")),
            Kernel { major, minor, patch } => f.pad(&format!("{major}.{minor}.{patch}")),
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
        let mut numbers = text.split('.').map(|n| n.parse::<u16>().map_err(|_| error()));
        let mut next = || numbers.next().transpose();
        let kernel = match (next()?, next()?, next()?) {
            (Some(major), Some(minor), patch) => Kernel { major, minor, patch: patch.unwrap_or(0) },
            _ => return Err(error()),
        };
        if numbers.next().is_some() { Err(error()) } else { Ok(kernel) }
    }
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
        for text in ["2.5.38", "2.6.33", "4.20", "6.1"] {
            assert_eq!(text.parse::<Kernel>().unwrap().to_string(), text);
        }
        assert!("2.6.9".parse::<Kernel>().unwrap() < "2.6.33".parse().unwrap());
        for text in ["", "6", "6.x", "2.6.33.7", "-2.6"] {
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
