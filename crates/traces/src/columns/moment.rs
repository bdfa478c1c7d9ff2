//! Moments written as a clock or a calendar shows them: `17:58:57.814`, `2026-11-28T17:58:57.814+01:00`.

const SECOND: u64 = 1_000_000_000;
/// A day \[ns\].
pub(super) const DAY: u64 = 86_400 * SECOND;

/// What a clock shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// The time since midnight \[ns\]; a recording may run beyond the next midnight.
    OfDay(u64),
    /// The time since 1970 \[ns\].
    OfYear(u64),
}

/// Parses a moment; none for a plain number.
pub(super) fn moment(word: &str) -> Option<Moment> {
    let Some((date, rest)) = word.split_once(['T', 't', ' ', '_']) else { return of_day(word).map(Moment::OfDay) };
    let days = days_since_1970(date)?;
    let (clock, ahead) = zone(rest.trim())?;
    let ns = i128::from(days) * i128::from(DAY) + i128::from(of_day(clock)?) - i128::from(ahead) * i128::from(SECOND);
    u64::try_from(ns).ok().map(Moment::OfYear)
}

/// `17:58:57.814`, or with a comma.
fn of_day(word: &str) -> Option<u64> {
    let mut parts = word.splitn(3, ':');
    let (hours, minutes, seconds) = (below(parts.next()?, 24)?, below(parts.next()?, 60)?, parts.next()?);
    let (seconds, fraction) = seconds.split_once(['.', ',']).unwrap_or((seconds, ""));
    // 60 is a leap second.
    let whole = (hours * 60 + minutes) * 60 + below(seconds, 61)?;
    let digits = fraction.bytes().all(|byte| byte.is_ascii_digit()) && fraction.len() <= 18;
    let ns = fraction.bytes().take(9).chain(std::iter::repeat(b'0')).take(9);
    digits.then(|| whole * SECOND + ns.fold(0, |ns, digit| ns * 10 + u64::from(digit - b'0')))
}

/// A number of one or two digits below this.
fn below(word: &str, end: u64) -> Option<u64> {
    let digits = (1..=2).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit());
    word.parse().ok().filter(|number| digits && *number < end)
}

/// The clock, and how far it is ahead of UTC \[s\]: `…Z`, `…+01:00`, `…-0500`, or nothing, which counts as UTC.
fn zone(word: &str) -> Option<(&str, i64)> {
    if let Some(clock) = word.strip_suffix(['Z', 'z']) {
        return Some((clock, 0));
    }
    let Some(at) = word.rfind(['+', '-']) else { return Some((word, 0)) };
    let digits: String = word[at + 1..].chars().filter(|c| *c != ':').collect();
    let (hours, minutes) = digits.split_at_checked(2)?;
    let minutes = if minutes.is_empty() { 0 } else { below(minutes, 60)? };
    let ahead = (below(hours, 24)? * 60 + minutes).cast_signed() * 60;
    Some((&word[..at], if word[at..].starts_with('-') { -ahead } else { ahead }))
}

/// `2026-11-28` or `2026/11/28`, in the Gregorian calendar.
fn days_since_1970(date: &str) -> Option<i64> {
    let mut parts = date.split(['-', '/']);
    let (year, month, day) = (parts.next()?, below(parts.next()?, 13)?, below(parts.next()?, 32)?);
    let whole = year.len() == 4 && parts.next().is_none() && month > 0 && day > 0;
    let year: i64 = year.parse().ok().filter(|year| whole && *year >= 1970)?;
    let is_leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    const MONTHS: [i64; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let before: i64 = MONTHS[..month as usize - 1].iter().sum();
    let leaps = |year: i64| year / 4 - year / 100 + year / 400;
    let years = (year - 1970) * 365 + leaps(year - 1) - leaps(1969);
    Some(years + before + i64::from(month > 2 && is_leap(year)) + day.cast_signed() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_and_calendars_are_read() {
        assert_eq!(moment("17:58:57.814"), Some(Moment::OfDay(64_737_814_000_000)));
        assert_eq!(moment("00:00:00"), Some(Moment::OfDay(0)));
        let of_year = |text: &str| match moment(text) {
            Some(Moment::OfYear(ns)) => Some(ns / SECOND),
            _ => None,
        };
        // As `date -u -d … +%s` says.
        assert_eq!(of_year("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(of_year("2000-02-29T12:00:00Z"), Some(951_825_600));
        assert_eq!(of_year("2026-11-28T17:58:57.814+01:00"), Some(1_795_885_137));
        assert_eq!(of_year("2026/11/28 16:58:57"), Some(1_795_885_137));
        assert_eq!(of_year("2026-11-28T11:58:57-0500"), Some(1_795_885_137));
        for text in
            ["", "1:2", "24:00:00", "12:60:00", "12:00:61", "x:y:z", "2026-13-01T00:00:00", "12.5", "1969-01-01T0:0:0"]
        {
            assert_eq!(moment(text), None, "{text}");
        }
    }
}
