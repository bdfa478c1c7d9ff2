//! Whether io.cost's clock (vrate) had settled when counting began. It begins at the rate of its model, or where an
//! earlier setting left it, and a change of `io.cost.qos` shows only once it has come to rest.

use blksched::{Instant, Span};
use blksched_measure::Quantity;

use crate::runs::measured::Measured;

/// A rate this near to the last one counts as settled.
const NEAR: f64 = 0.1;

/// A rate that never differs from the last one by more than this has not moved.
const STILL: f64 = 0.01;

/// When the rate came within a tenth of its last value for good, its first value, the one when counting began, and the
/// last.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ClockHistory {
    at_rest: Span,
    first: f64,
    counted: f64,
    last: f64,
}

impl ClockHistory {
    fn of(rates: &[(Instant, f64)], counts_from: Span) -> Option<ClockHistory> {
        let (first, last) = (rates.first()?.1, rates.last()?.1);
        let is_near = |rate: f64| (rate / last - 1.0).abs() <= NEAR;
        let away = rates.iter().rposition(|(_, rate)| !is_near(*rate));
        let at_rest = away.map_or(Span::ZERO, |nth| rates[nth + 1].0.since(Instant::ZERO));
        let before = rates.iter().take_while(|(since, _)| since.since(Instant::ZERO) <= counts_from);
        Some(ClockHistory { at_rest, first, counted: before.last().map_or(first, |(_, rate)| *rate), last })
    }
}

/// How fast io.cost's clock ran where it did not run as its model says, and since when figures are valid; `limit` is
/// the length of the run.
pub(super) fn note_of(label: &str, rates: &[(Instant, f64)], (counts_from, limit): (Span, Span)) -> Option<String> {
    let ClockHistory { at_rest, first, counted, last } = ClockHistory::of(rates, counts_from)?;
    let percent = |part: f64| Quantity::Fraction.show(part);
    let began = format!("{label}: io.cost's rate (vrate) began at {}", percent(first));
    if rates.iter().all(|(_, rate)| (rate / last - 1.0).abs() < STILL) {
        return None;
    }
    if at_rest <= counts_from {
        return Some(format!("{began} and was at rest, at {}, before anything counted", percent(last)));
    }
    let moved = format!("{began}, was {} when counting began and {} at the end", percent(counted), percent(last));
    let is_late = at_rest > counts_from + (limit - counts_from.min(limit)) * 9 / 10;
    Some(match is_late {
        true => {
            format!("{moved}: it was still moving, so these figures belong to no setting; --settle makes it longer")
        }
        false => {
            let settle = Span::from_ms((at_rest.as_ns() / 1_000_000).div_ceil(100) * 100);
            format!("{moved}: figures are valid from {at_rest} after a change on; --settle {settle} leaves the way out")
        }
    })
}

/// The same of a scheduler's first run.
pub(crate) fn note(one: &Measured, times: (Span, Span)) -> Option<String> {
    note_of(&one.label(), &one.cost_rates, times)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(rates: &[(u64, f64)], counts_from: u64) -> Option<String> {
        let rates: Vec<_> = rates.iter().map(|&(ms, rate)| (Instant::ZERO + Span::from_ms(ms), rate)).collect();
        note_of("none", &rates, (Span::from_ms(counts_from), Span::from_ms(10_000)))
    }

    #[test]
    fn a_rate_that_moves_while_figures_count_is_told_with_the_time_that_it_takes() {
        let way = [(0, 1.0), (500, 0.8), (2_000, 0.54), (2_450, 0.52), (4_000, 0.5)];
        let moving = said(&way, 1_000).unwrap();
        assert!(moving.contains("began at 100%, was 80.0% when counting began and 50.0% at the end"), "{moving}");
        assert!(moving.ends_with("valid from 2s after a change on; --settle 2s leaves the way out"), "{moving}");
        assert!(said(&way, 2_000).unwrap().ends_with("was at rest, at 50.0%, before anything counted"));
        let late = said(&[(0, 1.0), (9_900, 0.5)], 1_000).unwrap();
        assert!(late.contains("still moving"), "{late}");
        assert_eq!((said(&[], 0), said(&[(0, 1.0)], 0)), (None, None), "no io.cost, or nothing to tell");
    }
}
