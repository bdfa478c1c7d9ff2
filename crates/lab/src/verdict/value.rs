//! A bound's value, as a person writes it: `2h`, `10ms`, `50MiB/s`, `200`.

use blksched_measure::Quantity;

const TIMES: [(&str, f64); 7] =
    [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 60e9), ("m", 60e9), ("h", 3600e9)];
const RATES: [(&str, f64); 10] = [
    ("", 1.0),
    ("b", 1.0),
    ("k", 1024.0),
    ("kib", 1024.0),
    ("m", 1_048_576.0),
    ("mib", 1_048_576.0),
    ("g", 1_073_741_824.0),
    ("gib", 1_073_741_824.0),
    ("kb", 1e3),
    ("mb", 1e6),
];
const COUNTS: [(&str, f64); 3] = [("", 1.0), ("k", 1e3), ("m", 1e6)];

/// Parses a value into the base unit of `quantity`.
pub fn read(text: &str, quantity: Quantity) -> Result<f64, String> {
    let (units, example): (&[(&str, f64)], _) = match quantity {
        Quantity::Time => (&TIMES, "a time, as in 10ms or 2h"),
        Quantity::Bandwidth => (&RATES, "bytes a second, as in 50MiB/s"),
        _ => (&COUNTS, "a number, as in 200"),
    };
    let text = text.trim();
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let unit = unit.trim().to_lowercase();
    let unit = unit.strip_suffix("/s").unwrap_or(&unit);
    let scale = units.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale);
    let wrong = || format!("`{text}` is not a bound: expected {example}");
    Ok(number.parse::<f64>().map_err(|_| wrong())? * scale.ok_or_else(wrong)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_read_in_the_units_that_people_write() {
        assert_eq!(read("2h", Quantity::Time), Ok(7200e9));
        assert_eq!(read(" 1.5 ms", Quantity::Time), Ok(1.5e6));
        assert_eq!(read("50MiB/s", Quantity::Bandwidth), Ok(52_428_800.0));
        assert_eq!(read("2k", Quantity::Iops), Ok(2000.0));
        assert!(read("fast", Quantity::Time).unwrap_err().contains("as in 10ms or 2h"));
        assert!(read("3", Quantity::Time).is_err());
    }
}
