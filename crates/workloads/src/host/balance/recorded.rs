//! The formulas, computed for each event that Linux 6.18 recorded (`testdata/write-back`).

use super::pause::Offer;
use super::position::{Depth, Position};
use super::ticks::Ticks;

/// An event, in the order of the file's columns.
struct Recorded {
    is_strict: bool,
    position: Position,
    offer: Offer,
    dirtied: u64,
    period: u64,
    pause: i64,
    asks_after: Option<u64>,
}

fn recorded() -> Vec<Recorded> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/write-back/6.18.tsv");
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    text.lines().filter(|line| !line.starts_with('#')).map(of_line).collect()
}

fn of_line(line: &str) -> Recorded {
    let words: Vec<&str> = line.split('\t').collect();
    let number = |at: usize| words[at].parse::<i64>().unwrap_or_else(|error| panic!("{line}: {error}"));
    let pages = |at: usize| u64::try_from(number(at)).unwrap_or_else(|error| panic!("{line}: {error}"));
    let (is_strict, limit, background, bandwidth) = (pages(1) == 1, pages(2), pages(3), pages(7));
    let device = Depth { dirty: pages(6), background: pages(5) * background / limit, limit: pages(5) };
    let memory = Depth { dirty: pages(4), background, limit };
    let longest = Ticks::per_second(250).longest_pause(device.dirty, bandwidth);
    Recorded {
        is_strict,
        position: Position { memory, device, bandwidth, is_strict },
        offer: Offer { rate: pages(8), allowed: pages(9), longest },
        dirtied: pages(10),
        period: pages(11),
        pause: number(12),
        asks_after: words[13].parse().ok(),
    }
}

/// How many of these are right, and how many there are.
fn count<T>(events: impl Iterator<Item = T>, is_right: impl Fn(&T) -> bool) -> (usize, usize) {
    events.fold((0, 0), |(right, all), event| (right + usize::from(is_right(&event)), all + 1))
}

#[test]
fn the_factor_is_the_recorded_one_in_nearly_every_event() {
    let near = |event: &&Recorded| {
        let factor = event.offer.allowed as f64 / event.offer.rate.max(1) as f64;
        (event.position.ratio() - factor).abs() < 0.03
    };
    let events = recorded();
    let of = |strict: bool| count(events.iter().filter(|event| event.is_strict == strict), near);
    // Where it is not, the bandwidth had changed since it was last recorded.
    assert_eq!((of(false), of(true)), ((4_899, 4_913), (439, 445)));
}

#[test]
fn periods_pauses_at_the_limit_and_the_pages_to_the_next_question_are_the_recorded_ones() {
    let ticks = Ticks::per_second(250);
    let events = recorded();
    let periods = events.iter().filter(|event| event.offer.allowed >= 100 && event.period > 0);
    let period = |event: &&Recorded| (event.dirtied * 250 / event.offer.allowed).abs_diff(event.period) <= 1;
    assert_eq!(count(periods, period), (3_579, 3_579));
    let at_limit = events.iter().filter(|event| event.offer.allowed == 0 && event.pause > 0);
    let longest = |event: &&Recorded| event.offer.longest.abs_diff(event.pause as u64) <= 2;
    assert_eq!(count(at_limit, longest), (800, 805));
    let asked = events.iter().filter_map(|event| Some((event, event.asks_after?)));
    let asks = |(event, after): &(&Recorded, u64)| {
        let (_, pages) = event.offer.next(ticks);
        let expected = if event.offer.allowed == 0 { 0 } else { pages };
        expected.abs_diff(*after) <= 1
    };
    // Most others were below freerun in between, which is not recorded.
    assert_eq!(count(asked, asks), (2_397, 2_546));
}
