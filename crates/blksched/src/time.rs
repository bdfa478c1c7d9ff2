//! Time as an argument: instants and spans in nanoseconds, and the tick that old kernels counted in.
//!
//! Nothing in this crate reads a clock. A driver says what time it is; elevators compute in nanoseconds;
//! where an era counted in ticks of HZ, [`Jiffies`] rounds as that kernel did.

use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Sub};
use core::str::FromStr;
use core::time::Duration;

const NS_PER_US: u64 = 1_000;
const NS_PER_MS: u64 = 1_000_000;
const NS_PER_S: u64 = 1_000_000_000;

/// A moment \[ns\] since an origin that the driver chooses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// The driver's origin.
    pub const ZERO: Instant = Instant(0);
    /// Later than any event.
    pub const NEVER: Instant = Instant(u64::MAX);

    /// The moment `ns` nanoseconds after the origin.
    pub const fn from_ns(ns: u64) -> Instant {
        Instant(ns)
    }

    /// Nanoseconds since the origin.
    pub const fn as_ns(self) -> u64 {
        self.0
    }

    /// Seconds since the origin, for people.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NS_PER_S as f64
    }

    /// The earliest of those that exist.
    #[inline]
    pub fn earliest<const N: usize>(of: [Option<Instant>; N]) -> Option<Instant> {
        let earliest = of.iter().fold(Instant::NEVER, |earliest, at| at.unwrap_or(Instant::NEVER).min(earliest));
        (earliest != Instant::NEVER).then_some(earliest)
    }

    /// The time since `earlier`; zero if it lies ahead.
    pub const fn since(self, earlier: Instant) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Span> for Instant {
    type Output = Instant;
    fn add(self, span: Span) -> Instant {
        Instant(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Instant {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}s", self.0 / NS_PER_S, self.0 % NS_PER_S)
    }
}

/// A length of time \[ns\], never negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);
    /// Longer than any run.
    pub const MAX: Span = Span(u64::MAX);

    /// `ns` nanoseconds.
    pub const fn from_ns(ns: u64) -> Span {
        Span(ns)
    }

    /// `us` microseconds.
    pub const fn from_us(us: u64) -> Span {
        Span(us * NS_PER_US)
    }

    /// `ms` milliseconds.
    pub const fn from_ms(ms: u64) -> Span {
        Span(ms * NS_PER_MS)
    }

    /// `s` seconds.
    pub const fn from_secs(s: u64) -> Span {
        Span(s * NS_PER_S)
    }

    /// Nanoseconds.
    pub const fn as_ns(self) -> u64 {
        self.0
    }

    /// Seconds, for people and for rates.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NS_PER_S as f64
    }

    /// Milliseconds, for people.
    pub fn as_ms_f64(self) -> f64 {
        self.0 as f64 / NS_PER_MS as f64
    }

    /// This span less `other`; zero if `other` is longer.
    pub const fn saturating_sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }

    /// True for [`Span::ZERO`].
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

/// A measured duration; longer than 584 years counts as 584 years.
impl From<Duration> for Span {
    fn from(duration: Duration) -> Span {
        Span(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

/// For sleeping.
impl From<Span> for Duration {
    fn from(span: Span) -> Duration {
        Duration::from_nanos(span.0)
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Span) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Span;
    fn sub(self, other: Span) -> Span {
        assert!(self.0 >= other.0, "{self} - {other} would be negative");
        Span(self.0 - other.0)
    }
}

impl Mul<u64> for Span {
    type Output = Span;
    fn mul(self, times: u64) -> Span {
        Span(self.0.saturating_mul(times))
    }
}

impl Div<u64> for Span {
    type Output = Span;
    fn div(self, parts: u64) -> Span {
        Span(self.0 / parts)
    }
}

impl fmt::Display for Span {
    /// The largest unit that needs no fraction: `8ms`, `150us`, `12ns`, `0s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (divisor, unit) = [(NS_PER_S, "s"), (NS_PER_MS, "ms"), (NS_PER_US, "us")]
            .into_iter()
            .find(|(divisor, _)| self.0.is_multiple_of(*divisor))
            .unwrap_or((1, "ns"));
        write!(f, "{}{unit}", self.0 / divisor)
    }
}

/// The error of [`Span`]'s parser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanError {
    /// The text as given.
    pub text: String,
}

impl fmt::Display for SpanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a time: expected a number and a unit, one of ns, us, ms, s (as in 8ms)", self.text)
    }
}

impl core::error::Error for SpanError {}

impl FromStr for Span {
    type Err = SpanError;

    /// `8ms`, `1.5us`, `30 s`. The unit is required; the result is exact to the nanosecond.
    fn from_str(text: &str) -> Result<Span, SpanError> {
        let error = || SpanError { text: text.to_owned() };
        let trimmed = text.trim();
        let unit_at = trimmed.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(error)?;
        let (number, unit) = trimmed.split_at(unit_at);
        let ns_per_unit = match unit {
            "ns" => 1,
            "us" => NS_PER_US,
            "ms" => NS_PER_MS,
            "s" => NS_PER_S,
            _ => return Err(error()),
        };
        decimal(number.trim(), ns_per_unit).map(Span).ok_or_else(error)
    }
}

/// `number` (digits, with or without a fraction) times `scale`, exactly; `None` if malformed, inexact or too large.
fn decimal(number: &str, scale: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || fraction.len() > 9 || !digits(whole) || !digits(fraction) {
        return None;
    }
    let whole = whole.parse::<u64>().ok()?.checked_mul(scale)?;
    let tens = 10u64.pow(fraction.len() as u32);
    let part = if fraction.is_empty() { 0 } else { fraction.parse::<u64>().ok()?.checked_mul(scale)? };
    part.is_multiple_of(tens).then(|| whole.checked_add(part / tens)).flatten()
}

/// A kernel's tick: time rounded to whole 1/HZ seconds, as in the eras before nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jiffies {
    hz: u32,
    /// A tick's length \[ns\], if that is a whole number (HZ 300's is not); otherwise 0. Kept, because a division costs
    /// more than the rest of a conversion.
    tick_ns: u32,
}

/// A count of ticks: a point of [`Jiffies`] time, or a length of it.
pub type Tick = u64;

impl Jiffies {
    /// No granularity: a tick is a nanosecond, as in the eras that count nanoseconds.
    pub const NANOSECONDS: Jiffies = Jiffies::new(NS_PER_S as u32);

    /// A kernel built with `hz` ticks per second (100, 250, 300, 1000…).
    ///
    /// # Panics
    /// If `hz` is 0.
    pub const fn new(hz: u32) -> Jiffies {
        assert!(hz > 0, "HZ must be positive");
        Jiffies { hz, tick_ns: if NS_PER_S.is_multiple_of(hz as u64) { (NS_PER_S / hz as u64) as u32 } else { 0 } }
    }

    /// Ticks per second.
    pub const fn hz(self) -> u32 {
        self.hz
    }

    /// The tick that contains `now`.
    pub fn tick(self, now: Instant) -> Tick {
        self.floor(now.0)
    }

    /// The moment a tick begins, rounded down to the nanosecond.
    pub fn instant(self, tick: Tick) -> Instant {
        if self.tick_ns != 0 {
            return Instant(tick.wrapping_mul(u64::from(self.tick_ns)));
        }
        Instant((u128::from(tick) * u128::from(NS_PER_S) / u128::from(self.hz)) as u64)
    }

    /// The first whole nanosecond of a tick: ticks of 1/300 s begin between two nanoseconds.
    pub fn first(self, tick: Tick) -> Instant {
        let at = self.instant(tick);
        if self.tick_ns == 0 && self.tick(at) < tick { at + Span::from_ns(1) } else { at }
    }

    /// `span` in ticks, rounded up: how the kernel turns a knob's milliseconds into jiffies.
    pub fn ticks(self, span: Span) -> Tick {
        if self.tick_ns == 1 {
            return span.0;
        }
        if self.tick_ns != 0 {
            return span.0.div_ceil(u64::from(self.tick_ns));
        }
        (u128::from(span.0) * u128::from(self.hz)).div_ceil(u128::from(NS_PER_S)) as Tick
    }

    /// `ticks` as a span, rounded down to the nanosecond.
    pub fn span(self, ticks: Tick) -> Span {
        Span(self.instant(ticks).0)
    }

    fn floor(self, ns: u64) -> Tick {
        if self.tick_ns == 1 {
            return ns;
        }
        if self.tick_ns != 0 {
            return ns / u64::from(self.tick_ns);
        }
        (u128::from(ns) * u128::from(self.hz) / u128::from(NS_PER_S)) as Tick
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_is_of_those_that_there_are() {
        let at = |ns| Some(Instant(ns));
        assert_eq!(Instant::earliest([None, at(7), at(5), None]), at(5));
        assert_eq!(Instant::earliest([None, None]), None);
        assert_eq!(Instant::earliest([]), None);
    }

    #[test]
    fn a_ticks_first_nanosecond_falls_in_it_and_the_one_before_does_not() {
        for hz in [100, 300, 1000] {
            let jiffies = Jiffies::new(hz);
            for tick in [1, 2, 3, 299, 301, 1_000_000] {
                let first = jiffies.first(tick);
                assert_eq!((jiffies.tick(first), jiffies.tick(Instant(first.0 - 1))), (tick, tick - 1), "{hz}");
            }
        }
    }

    #[test]
    fn a_span_goes_to_and_from_what_clocks_measure() {
        assert_eq!(Span::from(Duration::from_micros(7)), Span::from_us(7));
        assert_eq!(Duration::from(Span::from_ms(3)), Duration::from_millis(3));
        assert_eq!(Span::from(Duration::MAX).as_ns(), u64::MAX);
    }

    #[test]
    fn a_span_prints_in_its_largest_whole_unit_and_reads_back() {
        for (span, text) in [(Span::from_ms(8), "8ms"), (Span::from_us(1500), "1500us"), (Span::from_ns(12), "12ns")] {
            assert_eq!(span.to_string(), text);
            assert_eq!(text.parse(), Ok(span));
        }
        assert_eq!("1.5ms".parse(), Ok(Span::from_us(1500)));
        assert_eq!("30 s".parse(), Ok(Span::from_secs(30)));
    }

    #[test]
    fn a_span_without_a_unit_or_finer_than_a_nanosecond_is_refused() {
        for text in ["8", "ms", "8 hours", "0.5ns", "-1ms", "1.2.3s", "", "99999999999999s"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }

    #[test]
    fn ticks_round_up_for_knobs_and_down_for_the_clock() {
        let jiffies = Jiffies::new(250);
        assert_eq!(jiffies.ticks(Span::from_ms(2)), 1);
        assert_eq!(jiffies.ticks(Span::from_ms(125)), 32);
        assert_eq!(jiffies.tick(Instant::from_ns(7_999_999)), 1);
        assert_eq!(jiffies.instant(2), Instant::from_ns(8_000_000));
        assert_eq!(Jiffies::new(300).ticks(Span::from_ms(10)), 3);
    }
}
