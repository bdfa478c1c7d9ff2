//! Knobs, each described once.
//!
//! The `tunables!` macro (of `elevator-author`) makes a struct of typed fields for the elevator's own use and, from the
//! same lines, the table of [`Knob`]s that the command line, the control files, `blksched list`, sweeps and
//! `docs/knobs.md` read. Names and units are those of Linux's sysfs, so scripts can be reused.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

use crate::kernel::Kernels;
use crate::time::Span;

// What `tunables!` uses wherever it is expanded: a crate that uses it may have no `Vec` in scope.
#[doc(hidden)]
pub use alloc::vec::Vec;

/// The unit of a knob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum Unit {
    /// Milliseconds, as sysfs shows them; kept in nanoseconds.
    Ms,
    /// Microseconds, as sysfs shows them; kept in nanoseconds.
    Us,
    /// Nanoseconds, shown as such (Kyber).
    Ns,
    /// Hundredths of a second, as /proc/sys/vm shows them; kept in nanoseconds.
    Centisecs,
    /// Bytes, with `k`, `m` or `g` behind them.
    Bytes,
    /// Hundredths of a whole.
    Percent,
    /// KiB.
    Kib,
    /// 512-byte sectors.
    Sectors,
    /// Requests.
    Requests,
    /// A number of times that something may happen.
    Times,
    /// The cost that 2.5 charged to a batch.
    Cost,
    /// 0 or 1.
    Switch,
    /// A number that represents something.
    Choice,
}

impl Unit {
    /// The symbol printed beside a value; empty for plain numbers.
    pub fn symbol(self) -> &'static str {
        match self {
            Unit::Ms => "ms",
            Unit::Us => "us",
            Unit::Ns => "ns",
            Unit::Centisecs => "1/100 s",
            Unit::Bytes => "bytes",
            Unit::Percent => "%",
            Unit::Kib => "KiB",
            Unit::Sectors => "sectors",
            Unit::Requests => "requests",
            Unit::Times => "times",
            Unit::Cost => "cost",
            Unit::Switch => "0/1",
            Unit::Choice => "",
        }
    }

    /// Raw values per displayed one: times are kept in nanoseconds.
    fn scale(self) -> i64 {
        match self {
            Unit::Ms => 1_000_000,
            Unit::Centisecs => 10_000_000,
            Unit::Us => 1_000,
            _ => 1,
        }
    }

    /// A raw value as a number that sysfs takes; what is finer than its unit is rounded down.
    pub fn in_sysfs(self, raw: i64) -> i64 {
        raw.div_euclid(self.scale())
    }

    /// A raw value as sysfs would print it, with the unit's suffix for times; if it is finer than sysfs shows, in its
    /// own unit.
    pub fn show(self, raw: i64) -> String {
        match self {
            Unit::Ms | Unit::Us if raw % self.scale() == 0 => format!("{}{}", raw / self.scale(), self.symbol()),
            Unit::Ms | Unit::Us => Span::from_ns(raw.max(0) as u64).to_string(),
            Unit::Centisecs if raw % self.scale() == 0 => (raw / self.scale()).to_string(),
            Unit::Centisecs => Span::from_ns(raw.max(0) as u64).to_string(),
            Unit::Bytes => show_bytes(raw),
            Unit::Percent => format!("{raw}%"),
            _ => raw.to_string(),
        }
    }
}

/// `4g`, `512k`, `1000`: in the largest unit without a remainder.
fn show_bytes(raw: i64) -> String {
    match [("g", 30), ("m", 20), ("k", 10)].into_iter().find(|(_, shift)| raw > 0 && raw % (1 << shift) == 0) {
        Some((suffix, shift)) => format!("{}{suffix}", raw >> shift),
        None => raw.to_string(),
    }
}

fn parse_bytes(text: &str) -> Option<i64> {
    let text = text.to_ascii_lowercase();
    let text = text.strip_suffix("ib").or_else(|| text.strip_suffix('b')).unwrap_or(&text);
    let (digits, shift) = match text.strip_suffix(['k', 'm', 'g', 't']) {
        Some(digits) => (digits, 10 * (1 + "kmgt".find(&text[digits.len()..])?)),
        None => (text, 0),
    };
    digits.trim().parse::<i64>().ok()?.checked_mul(1 << shift)
}

/// One knob's description.
#[derive(Clone, Copy, Debug)]
pub struct Knob {
    /// Its name in sysfs.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Its default in the newest era that has it; a preset may differ.
    pub default: i64,
    /// Least raw value.
    pub min: i64,
    /// Greatest raw value.
    pub max: i64,
    /// The kernels that have it.
    pub kernels: Kernels,
    /// Raw values worth trying.
    pub sweep: &'static [i64],
    /// What it does, in a sentence or two.
    pub doc: &'static str,
    /// The knob whose value this one shows in another unit.
    pub same_as: Option<&'static str>,
}

impl Knob {
    /// Parses a value as a user writes it: `16`, `8ms`, `0.5ms`; a time without a unit is in the knob's own unit, as in
    /// sysfs.
    ///
    /// # Errors
    /// If it is not a number of this knob's kind, or out of its range.
    pub fn parse(&self, text: &str) -> Result<i64, KnobError> {
        let text = text.trim();
        let plain = text.parse::<i64>().ok().and_then(|n| n.checked_mul(self.unit.scale()));
        let raw = match (plain, self.unit) {
            (Some(raw), _) => Some(raw),
            (None, Unit::Bytes) => parse_bytes(text),
            (None, Unit::Percent) => text.strip_suffix('%').and_then(|text| text.trim_end().parse().ok()),
            (None, Unit::Ms | Unit::Us | Unit::Ns | Unit::Centisecs) => {
                text.parse::<Span>().ok().and_then(|span| i64::try_from(span.as_ns()).ok())
            }
            (None, _) => None,
        };
        let raw = raw.ok_or_else(|| KnobError::Malformed { knob: Box::new(*self), text: text.to_owned() })?;
        self.check(raw).map(|()| raw)
    }

    /// # Errors
    /// If `raw` is out of range.
    pub fn check(&self, raw: i64) -> Result<(), KnobError> {
        if (self.min..=self.max).contains(&raw) {
            Ok(())
        } else {
            Err(KnobError::OutOfRange { knob: Box::new(*self), raw })
        }
    }

    /// Its range as printed: `0ms..=2147483s`.
    pub fn range(&self) -> String {
        format!("{}..={}", self.unit.show(self.min), self.unit.show(self.max))
    }
}

/// Why a knob could not be set.
#[derive(Clone, Debug)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum KnobError {
    /// There is no knob of that name.
    Unknown {
        /// The name as given.
        name: String,
        /// The nearest name that exists.
        nearest: Option<&'static str>,
    },
    /// Other kernels have it.
    OtherKernels {
        /// The knob; its `kernels` are those that have it.
        knob: Box<Knob>,
    },
    /// It is not a number of the knob's kind.
    Malformed {
        /// The knob.
        knob: Box<Knob>,
        /// The value as given.
        text: String,
    },
    /// The number is outside its range.
    OutOfRange {
        /// The knob.
        knob: Box<Knob>,
        /// The raw value.
        raw: i64,
    },
    /// It is not what a file that takes text expects.
    Refused {
        /// The knob.
        knob: &'static str,
        /// The text as given.
        text: String,
        /// What it expects.
        expected: &'static str,
    },
}

impl fmt::Display for KnobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KnobError::Unknown { name, nearest: Some(nearest) } => {
                write!(f, "no knob is called `{name}`; did you mean `{nearest}`?")
            }
            KnobError::Unknown { name, nearest: None } => write!(f, "no knob is called `{name}`"),
            KnobError::OtherKernels { knob } => match (knob.kernels.first, knob.kernels.last) {
                (first, None) => write!(f, "`{}` is a knob of {first} and later", knob.name),
                (first, Some(last)) if first == last => write!(f, "`{}` is a knob of {first} alone", knob.name),
                (first, Some(last)) => write!(f, "`{}` is a knob of {first} to {last}", knob.name),
            },
            KnobError::Malformed { knob, text } => {
                write!(
                    f,
                    "`{text}` is not a value for {} ({}): expected {}",
                    knob.name,
                    knob.unit.symbol(),
                    knob.range()
                )
            }
            KnobError::Refused { knob, text, expected } => {
                write!(f, "`{text}` is not a value for {knob}: expected {expected}")
            }
            KnobError::OutOfRange { knob, raw } => {
                write!(f, "{}={} is out of range: expected {}", knob.name, knob.unit.show(*raw), knob.range())
            }
        }
    }
}

impl core::error::Error for KnobError {}

/// A value that is being written to a knob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum Setting<'a> {
    /// As kept in the table: times in nanoseconds.
    Raw(i64),
    /// As a user writes it; some files of sysfs take several numbers.
    Text(&'a str),
}

/// An elevator's knobs by name.
pub trait Tunables {
    /// The descriptions of the knobs that this instance's kernel has.
    fn knobs(&self) -> Vec<&'static Knob>;
    /// Those of every kernel.
    fn of_all_kernels(&self) -> &'static [Knob] {
        &[]
    }
    /// The raw value of a knob.
    fn get(&self, name: &str) -> Option<i64>;
    /// Changes a knob while running.
    ///
    /// # Errors
    /// If the name is unknown to this kernel or the value out of range; nothing has changed then.
    fn set(&mut self, name: &str, raw: i64) -> Result<(), KnobError>;

    /// Changes a knob; the value is as a user writes it.
    ///
    /// # Errors
    /// As [`Tunables::set`], and if the text is not a value.
    fn set_text(&mut self, name: &str, text: &str) -> Result<(), KnobError> {
        let raw = self.find(name)?.parse(text)?;
        self.set(name, raw)
    }

    /// The description of a knob that this instance has.
    ///
    /// # Errors
    /// If there is none of that name; the error names the kernels that have it, or the nearest.
    fn find(&self, name: &str) -> Result<&'static Knob, KnobError> {
        let knobs = self.knobs();
        let is_called = |knob: &&Knob| knob.name == name;
        if let Some(&knob) = knobs.iter().find(|knob| is_called(knob)) {
            return Ok(knob);
        }
        Err(match self.of_all_kernels().iter().find(is_called) {
            Some(knob) => KnobError::OtherKernels { knob: Box::new(*knob) },
            None => KnobError::Unknown {
                name: name.to_owned(),
                nearest: crate::nearest::nearest(name, knobs.iter().map(|knob| knob.name)),
            },
        })
    }
}

/// No knobs at all.
impl Tunables for () {
    fn knobs(&self) -> Vec<&'static Knob> {
        Vec::new()
    }
    fn get(&self, _name: &str) -> Option<i64> {
        None
    }
    fn set(&mut self, name: &str, _raw: i64) -> Result<(), KnobError> {
        Err(KnobError::Unknown { name: name.to_owned(), nearest: None })
    }
}

/// The types that a knob's field may have; for `tunables!`.
#[doc(hidden)]
pub trait KnobValue: Copy {
    /// As kept in the table: times in nanoseconds, switches 0 or 1.
    fn to_raw(self) -> i64;
    /// From a raw value already checked against the knob's range.
    fn from_raw(raw: i64) -> Self;
}

impl KnobValue for Span {
    fn to_raw(self) -> i64 {
        self.as_ns() as i64
    }
    fn from_raw(raw: i64) -> Span {
        Span::from_ns(raw as u64)
    }
}

impl KnobValue for u32 {
    fn to_raw(self) -> i64 {
        i64::from(self)
    }
    fn from_raw(raw: i64) -> u32 {
        raw as u32
    }
}

impl KnobValue for u64 {
    fn to_raw(self) -> i64 {
        self as i64
    }
    fn from_raw(raw: i64) -> u64 {
        raw as u64
    }
}

impl KnobValue for i32 {
    fn to_raw(self) -> i64 {
        i64::from(self)
    }
    fn from_raw(raw: i64) -> i32 {
        raw as i32
    }
}

impl KnobValue for bool {
    fn to_raw(self) -> i64 {
        i64::from(self)
    }
    fn from_raw(raw: i64) -> bool {
        raw != 0
    }
}

/// Describes an elevator's knobs once: makes the struct, its table `KNOBS`, `kernel` (the era whose knobs it shows) and
/// [`Tunables`].
///
/// A line reads: documentation; `name: Type [Unit] = default, range, kernels, sweep [values];` with the default in the
/// field's type, and range and sweep in raw values. A block `also { … }` after the lines gives times a second name in
/// another unit (`slice_idle_us`): `name [Unit] = field, range, kernels;`.
#[cfg_attr(feature = "elevator-author", macro_export)]
macro_rules! tunables {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $(
                $(#[doc = $doc:literal])+
                $field:ident: $ty:ident [$unit:ident] =
                    $default:expr, $range:expr, $kernels:expr, sweep [$($sweep:expr),*];
            )+
        }
        $(also {
            $(
                $(#[doc = $also_doc:literal])+
                $also:ident [$also_unit:ident] = $of:ident, $also_range:expr, $also_kernels:expr;
            )+
        })?
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name {
            /// The kernel whose knobs these are; the others keep their defaults and cannot be set.
            pub kernel: $crate::Kernel,
            $( $(#[doc = $doc])+ pub $field: $ty, )+
        }

        impl $name {
            /// Every knob of every era.
            pub const KNOBS: &'static [$crate::tunables::Knob] = &[$(
                $crate::tunables::Knob {
                    name: stringify!($field),
                    unit: $crate::tunables::Unit::$unit,
                    default: $crate::tunables!(@raw $ty, $default),
                    min: *{ const RANGE: core::ops::RangeInclusive<i64> = $range; RANGE }.start(),
                    max: *{ const RANGE: core::ops::RangeInclusive<i64> = $range; RANGE }.end(),
                    kernels: $kernels,
                    sweep: &[$($sweep),*],
                    doc: concat!($($doc),+),
                    same_as: None,
                },
            )+ $($(
                $crate::tunables::Knob {
                    name: stringify!($also),
                    unit: $crate::tunables::Unit::$also_unit,
                    default: $name::of($crate::Kernel::new(0, 0, 0)).$of.as_ns() as i64,
                    min: *{ const RANGE: core::ops::RangeInclusive<i64> = $also_range; RANGE }.start(),
                    max: *{ const RANGE: core::ops::RangeInclusive<i64> = $also_range; RANGE }.end(),
                    kernels: $also_kernels,
                    sweep: &[],
                    doc: concat!($($also_doc),+),
                    same_as: Some(stringify!($of)),
                },
            )+)?];

            /// The newest defaults, with the knobs that `kernel` has.
            pub const fn of(kernel: $crate::Kernel) -> $name {
                $name { kernel, $( $field: $default, )+ }
            }
        }

        impl $crate::tunables::Tunables for $name {
            fn knobs(&self) -> $crate::tunables::Vec<&'static $crate::tunables::Knob> {
                $name::KNOBS.iter().filter(|knob| knob.kernels.contain(self.kernel)).collect()
            }

            fn of_all_kernels(&self) -> &'static [$crate::tunables::Knob] {
                $name::KNOBS
            }

            fn get(&self, name: &str) -> Option<i64> {
                self.find(name).ok()?;
                match name {
                    $( stringify!($field) => Some($crate::tunables::KnobValue::to_raw(self.$field)), )+
                    $($( stringify!($also) => Some($crate::tunables::KnobValue::to_raw(self.$of)), )+)?
                    _ => None,
                }
            }

            fn set(&mut self, name: &str, raw: i64) -> Result<(), $crate::tunables::KnobError> {
                self.find(name)?.check(raw)?;
                match name {
                    $( stringify!($field) => self.$field = $crate::tunables::KnobValue::from_raw(raw), )+
                    $($( stringify!($also) => self.$of = $crate::tunables::KnobValue::from_raw(raw), )+)?
                    _ => {}
                }
                Ok(())
            }
        }
    };
    (@raw Span, $default:expr) => { $default.as_ns() as i64 };
    (@raw $ty:ident, $default:expr) => { $default as i64 };
}

#[cfg(not(feature = "elevator-author"))]
pub(crate) use tunables;
