//! Sizes and shares as they are written: `128KiB`, `64k` (as fio and dd mean it), `4MB`, `30%`.

const SIZES: [(&str, u64); 13] = [
    ("k", 1 << 10),
    ("m", 1 << 20),
    ("g", 1 << 30),
    ("t", 1 << 40),
    ("B", 1),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

/// `128KiB`, `1.5MB` in bytes; a bare `0` needs no unit.
pub(super) fn bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    if text == "0" {
        return Some(0);
    }
    let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic())?);
    let scale = SIZES.iter().find(|(name, _)| *name == unit.trim())?.1;
    let bytes = number.trim().parse::<f64>().ok()? * scale as f64;
    // Sizes beyond 2^53 bytes would not be exact.
    (bytes >= 0.0 && bytes <= (1u64 << 53) as f64 && bytes == libm::trunc(bytes)).then_some(bytes as u64)
}

/// `30%` as 0.3.
pub(super) fn percent(text: &str) -> Option<f64> {
    let share = text.trim().strip_suffix('%')?.trim().parse::<f64>().ok()?;
    (0.0..=100.0).contains(&share).then_some(share / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_know_thousands_from_kibi_and_need_their_unit() {
        assert_eq!(
            (bytes("128KiB"), bytes("1.5 MB"), bytes("0"), bytes("64k")),
            (Some(131_072), Some(1_500_000), Some(0), Some(65_536))
        );
        for text in ["128", "KiB", "-1B", "0.5B", "1kib", ""] {
            assert_eq!(bytes(text), None, "{text}");
        }
    }

    #[test]
    fn a_share_lies_between_nothing_and_all() {
        assert_eq!(
            (percent("30%"), percent("100 %"), percent("101%"), percent("30")),
            (Some(0.3), Some(1.0), None, None)
        );
    }
}
