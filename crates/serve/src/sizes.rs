//! Sizes as people write them: `4096`, `64K`, `1.5G`; a suffix counts in powers of 1024.

/// Bytes, or any other number; `None` if it is none.
pub fn parse(text: &str) -> Option<u64> {
    let text = text.trim();
    let (number, shift) = match text.char_indices().last()? {
        (at, 'k' | 'K') => (&text[..at], 10),
        (at, 'm' | 'M') => (&text[..at], 20),
        (at, 'g' | 'G') => (&text[..at], 30),
        (at, 't' | 'T') => (&text[..at], 40),
        _ => (text, 0),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || fraction.len() > 9 || !digits(whole) || !digits(fraction) {
        return None;
    }
    let whole = u128::from(whole.parse::<u64>().ok()?) << shift;
    let part = if fraction.is_empty() { 0 } else { u128::from(fraction.parse::<u64>().ok()?) << shift };
    let tens = 10u128.pow(fraction.len() as u32);
    part.is_multiple_of(tens).then(|| u64::try_from(whole + part / tens).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_suffixes_and_no_nonsense() {
        for (text, bytes) in [("512", 512), ("64K", 65536), ("1.5g", 3 << 29), ("2T", 2 << 40), (" 1m ", 1 << 20)] {
            assert_eq!(parse(text), Some(bytes), "{text}");
        }
        for text in ["", "K", "1KB", "-1", "1.0001", "99999999999T", "1..2"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
