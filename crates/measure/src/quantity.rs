//! Formatting of numbers in fio's style: at most four characters of digits, the unit chosen per value.

/// What a number counts, which decides how it is printed. The number itself is always in the base unit named here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Words, or a number that is printed as it is.
    Plain,
    /// Bytes per second, printed in powers of 1024: `90.1MiB/s`.
    Bandwidth,
    /// Bytes, printed in powers of 1024: `128KiB`.
    Bytes,
    /// I/Os per second, printed in powers of 1000: `23.1k`.
    Iops,
    /// Nanoseconds, printed in ns, us, ms or s: `163us`.
    Time,
    /// A part of one, printed in percent: `76.4%`.
    Fraction,
    /// A whole number of things, printed in full.
    Count,
    /// A ratio or an index, printed to three digits: `0.998`.
    Ratio,
}

const BINARY: [&str; 6] = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];
const DECIMAL: [&str; 5] = ["", "k", "M", "G", "T"];
const TIME: [&str; 4] = ["ns", "us", "ms", "s"];

impl Quantity {
    /// The base unit, as machine-readable output names it; empty for plain numbers.
    pub fn unit(self) -> &'static str {
        match self {
            Quantity::Bandwidth => "bytes/s",
            Quantity::Bytes => "bytes",
            Quantity::Iops => "1/s",
            Quantity::Time => "ns",
            Quantity::Fraction => "fraction",
            Quantity::Plain | Quantity::Count | Quantity::Ratio => "",
        }
    }

    /// `value` for people; `-` if it is not a number.
    ///
    /// ```
    /// use blksched_measure::Quantity;
    /// assert_eq!(Quantity::Bandwidth.show(94_479_319.0), "90.1MiB/s");
    /// assert_eq!(Quantity::Time.show(163_030.0), "163us");
    /// ```
    pub fn show(self, value: f64) -> String {
        if !value.is_finite() {
            return "-".to_owned();
        }
        let look = self.look(value.abs());
        format!("{}{}{}", sign(value), look.digits(value.abs()), look.suffix)
    }

    /// `value` and its variation, in the value's own unit: `90.1 ±2.3MiB/s`.
    pub fn show_varying(self, value: f64, by: f64) -> String {
        if !value.is_finite() || !by.is_finite() {
            return self.show(value);
        }
        let look = self.look(value.abs().max(by.abs()));
        format!("{}{} ±{}{}", sign(value), look.digits(value.abs()), look.digits(by.abs()), look.suffix)
    }

    /// The unit and the decimal places for a value as large as `size`.
    fn look(self, size: f64) -> Look {
        match self {
            Quantity::Plain => Look { divisor: 1.0, suffix: String::new(), places: None },
            Quantity::Bandwidth => scaled(size, 1024.0, 10_000.0, &BINARY, "B/s"),
            Quantity::Bytes => scaled(size, 1024.0, 10_000.0, &BINARY, "B"),
            Quantity::Iops => scaled(size, 1000.0, 10_000.0, &DECIMAL, ""),
            Quantity::Time => scaled(size, 1000.0, 1000.0, &TIME, ""),
            Quantity::Fraction => Look { divisor: 0.01, suffix: "%".to_owned(), places: Some(places(size * 100.0, 1)) },
            Quantity::Count => Look { divisor: 1.0, suffix: String::new(), places: Some(0) },
            Quantity::Ratio => Look { divisor: 1.0, suffix: String::new(), places: Some(places(size, 3)) },
        }
    }
}

/// A unit, and the number of decimal places (`None`: as many as there are).
struct Look {
    divisor: f64,
    suffix: String,
    places: Option<usize>,
}

impl Look {
    fn digits(&self, size: f64) -> String {
        let mantissa = size / self.divisor;
        self.places.map_or_else(|| mantissa.to_string(), |places| format!("{mantissa:.places$}"))
    }
}

fn sign(value: f64) -> &'static str {
    if value < 0.0 { "-" } else { "" }
}

/// Scales by as many powers of `step` as bring `size` below `limit`, with that power's prefix.
fn scaled(size: f64, step: f64, limit: f64, prefixes: &[&str], unit: &str) -> Look {
    let (mut divisor, mut power) = (1.0, 0);
    // Rounding to whole numbers may reach the limit even if the value itself does not.
    while power + 1 < prefixes.len() && size / divisor + 0.5 >= limit {
        divisor *= step;
        power += 1;
    }
    let whole = power == 0 && size == libm::trunc(size);
    let places = if whole { 0 } else { places(size / divisor, 2) };
    Look { divisor, suffix: format!("{}{unit}", prefixes[power]), places: Some(places) }
}

/// How many decimal places make three digits in all, at most `most`. The rounded value decides how many digits are
/// before the point: 9.999 is 10.0, not 10.00.
fn places(size: f64, most: usize) -> usize {
    let before = |places: usize| {
        let text = format!("{size:.places$}");
        let whole = text.split('.').next().unwrap_or_default();
        if whole == "0" { 0 } else { whole.len() }
    };
    (1..=most).rev().find(|&places| before(places) + places <= 3).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bandwidth_reads_as_fio_prints_it() {
        for (bytes_per_s, text) in [
            (0.0, "0B/s"),
            (4_192_207.0, "4094KiB/s"),
            (92_095_520.0, "87.8MiB/s"),
            (188_743_680.0, "180MiB/s"),
            (1_288_490_188.8, "1229MiB/s"),
            (12_884_901_888.0, "12.0GiB/s"),
            (3.5, "3.50B/s"),
        ] {
            assert_eq!(Quantity::Bandwidth.show(bytes_per_s), text);
        }
    }

    #[test]
    fn iops_read_as_fio_prints_them() {
        for (iops, text) in
            [(63.0, "63"), (63.97, "64.0"), (6399.0, "6399"), (23_100.0, "23.1k"), (5_461_333.0, "5461k")]
        {
            assert_eq!(Quantity::Iops.show(iops), text);
        }
    }

    #[test]
    fn a_time_has_three_digits_in_the_unit_that_fits() {
        for (ns, text) in [
            (0.0, "0ns"),
            (999.0, "999ns"),
            (1000.0, "1.00us"),
            (163_030.0, "163us"),
            (999_600.0, "1.00ms"),
            (9_999_999.0, "10.0ms"),
            (12_300_000_000.0, "12.3s"),
            (1_234_000_000_000.0, "1234s"),
        ] {
            assert_eq!(Quantity::Time.show(ns), text);
        }
    }

    #[test]
    fn fractions_counts_and_ratios_keep_the_digits_that_matter() {
        assert_eq!(Quantity::Fraction.show(0.76404), "76.4%");
        assert_eq!(Quantity::Fraction.show(1.0), "100%");
        assert_eq!(Quantity::Fraction.show(0.0004), "0.0%");
        assert_eq!(Quantity::Count.show(123_456_789.0), "123456789");
        assert_eq!(Quantity::Ratio.show(0.9984), "0.998");
        assert_eq!(Quantity::Ratio.show(12.345), "12.3");
    }

    #[test]
    fn what_varies_shares_one_unit() {
        assert_eq!(Quantity::Bandwidth.show_varying(93_000_000.0, 1_414_213.0), "88.7 ±1.3MiB/s");
        assert_eq!(Quantity::Time.show_varying(12_300_000.0, 400.0), "12.3 ±0.0ms");
        assert_eq!(Quantity::Fraction.show_varying(0.764, 0.012), "76.4 ±1.2%");
        assert_eq!(Quantity::Iops.show_varying(0.0, 63.0), "0 ±63");
    }

    #[test]
    fn less_than_nothing_has_a_sign_and_not_a_number_is_a_dash() {
        assert_eq!(Quantity::Time.show(-1500.0), "-1.50us");
        assert_eq!(Quantity::Count.show(f64::NAN), "-");
    }
}
