//! What a task owes, and how long it sleeps for it.
//!
//! **Rule** a task that dirtied *n* pages owes *n* divided by the rate it is allowed, less the time since its last
//! pause was over. It sleeps for it if that is worth a sleep (at least about 10 ms), and at most the longest pause;
//! what it slept too much or too little is taken into account the next time. It asks again after about 10 ms' worth of
//! its device's rate; at low rates, after what it may dirty in the longest pause. At the limit it sleeps the longest
//! pause over and over.
//! **Origin** recordings: the period is right in 3,579 of 3,579 events, the pages from a sleep to the next question in
//! 2,397 of 2,546 (for most others the task was below freerun in between, which is not recorded).
//!
//! In the kernel: `nr_dirtied`, `nr_dirtied_pause`, `dirty_paused_when`, `wb_min_pause`, `dirty_poll_interval`.

use blksched::Instant;

use super::Verdict;
use super::ticks::Ticks;

/// Nobody asks more often than after this many pages, unless it has to sleep for them.
const POLL: u64 = 32;

/// What a task may do now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offer {
    /// Its device's rate \[pages/s\].
    pub rate: u64,
    /// The same with regard to where memory stands: 0 at the limit.
    pub allowed: u64,
    /// The longest pause \[ticks\].
    pub longest: u64,
}

/// A task's account.
#[derive(Clone, Debug)]
pub(super) struct TaskDebt {
    /// Pages that it has not paid for.
    dirtied: u64,
    /// Pages since it last asked.
    unasked: u64,
    /// It asks after this many.
    ask_after: u64,
    /// Pages that it slept for at the limit, which it still owes.
    owed: Option<u64>,
    /// The tick until which it has paid.
    paid_until: Option<i64>,
}

impl Default for TaskDebt {
    fn default() -> TaskDebt {
        TaskDebt { dirtied: 0, unasked: 0, ask_after: POLL, owed: None, paid_until: None }
    }
}

impl TaskDebt {
    pub fn dirtied(&mut self, pages: u64) {
        self.dirtied += pages;
        self.unasked += pages;
    }

    /// Whether it must ask; all tasks ask after `latest` pages.
    pub fn is_due(&self, latest: u64) -> bool {
        self.dirtied >= self.ask_after || self.unasked >= latest
    }

    /// Below freerun everything is free. The farther the limit, the later it asks again.
    pub fn forgive(&mut self, tick: i64, room: u64) {
        *self = TaskDebt { ask_after: 1 << (room.max(1).ilog2() / 2), paid_until: Some(tick), ..TaskDebt::default() };
    }

    /// What it does now.
    pub fn verdict(&mut self, now: Instant, ticks: Ticks, offer: &Offer) -> Verdict {
        let (tick, Offer { allowed, longest, .. }) = (ticks.at(now), *offer);
        self.unasked = 0;
        let pages = self.owed.take().unwrap_or(self.dirtied);
        if allowed == 0 {
            self.sleep(tick + longest as i64, 0);
            self.owed = Some(pages);
            return Verdict::AsksAgain(ticks.wake(now, longest));
        }
        let (shortest, ask_after) = offer.next(ticks);
        let period = (pages * ticks.a_second() / allowed) as i64;
        let pause = period - self.paid_until.map_or(0, |paid| tick - paid);
        if pause < shortest as i64 {
            self.postpone(tick, pages, period, pause, ticks);
            return Verdict::Goes;
        }
        let (pause, longest) = (pause as u64, longest.max(1));
        let forgiven = pause.saturating_sub(longest).min(longest);
        let pause = pause.min(longest);
        self.sleep(tick + (forgiven + pause) as i64, ask_after);
        Verdict::Sleeps(ticks.wake(now, pause))
    }

    fn sleep(&mut self, until: i64, ask_after: u64) {
        (self.paid_until, self.dirtied, self.ask_after) = (Some(until), 0, ask_after);
    }

    /// It owes too little for a sleep: that is added to the next time. Who owes less than nothing for a second starts
    /// anew.
    fn postpone(&mut self, tick: i64, pages: u64, period: i64, pause: i64, ticks: Ticks) {
        if pause < -(ticks.a_second() as i64) {
            (self.paid_until, self.dirtied) = (Some(tick), 0);
        } else if period > 0 {
            (self.paid_until, self.dirtied) = (Some(self.paid_until.unwrap_or(tick) + period), 0);
        } else if self.ask_after <= pages {
            self.ask_after += pages;
        }
    }
}

impl Offer {
    /// The shortest pause \[ticks\], and after how many pages the task asks again.
    pub fn next(&self, ticks: Ticks) -> (u64, u64) {
        let Offer { rate, allowed, longest } = *self;
        // Divisions by the ticks of a second are by the power of two behind it.
        let about_a_second = ticks.a_second().next_power_of_two();
        let mut pause = (ticks.a_second() / 100).max(1).min(1 + longest / 2);
        let mut pages = rate * pause / about_a_second;
        if pages < POLL {
            pause = longest;
            pages = rate * pause / about_a_second;
            if pages > POLL {
                (pages, pause) = (POLL, ticks.a_second() * POLL / rate);
            }
        }
        if ticks.a_second() * pages / (allowed + 1) > longest {
            (pause, pages) = (longest, allowed * longest / about_a_second);
        }
        (if pages >= POLL { 1 + pause / 2 } else { pause }, pages)
    }
}

#[cfg(test)]
mod tests {
    use blksched::Span;

    use super::*;

    fn ticks() -> Ticks {
        Ticks::per_second(250)
    }

    fn at(tick: u64) -> Instant {
        Instant::ZERO + Span::from_ms(4 * tick)
    }

    /// Recorded at the first slow-down of a sequential writer: 100 MiB/s and falling factors.
    #[test]
    fn the_first_pages_are_added_up_until_they_are_worth_a_sleep() {
        let mut debt = TaskDebt::default();
        let offer = |allowed| Offer { rate: 25_600, allowed, longest: 9 };
        debt.dirtied(32);
        assert!(debt.is_due(128));
        assert_eq!(debt.verdict(at(2), ticks(), &offer(48_000)), Verdict::Goes);
        assert_eq!((debt.ask_after, debt.dirtied), (64, 32));
        debt.dirtied(31);
        assert!(!debt.is_due(128));
        debt.dirtied(1);
        assert!(debt.is_due(128));
        debt.verdict(at(2), ticks(), &offer(47_975));
        assert_eq!(debt.ask_after, 128);
    }

    #[test]
    fn a_task_asks_at_the_latest_after_its_part_of_the_limit() {
        let mut debt = TaskDebt { ask_after: 256, ..TaskDebt::default() };
        debt.dirtied(127);
        assert!(!debt.is_due(128));
        debt.dirtied(1);
        assert!(debt.is_due(128));
    }

    #[test]
    fn what_was_slept_too_much_is_taken_off_the_next_time() {
        let mut debt = TaskDebt { paid_until: Some(100), ask_after: 200, ..TaskDebt::default() };
        debt.dirtied(128);
        // 128 pages at 3,200 a second are 10 ticks.
        let offer = Offer { rate: 25_600, allowed: 3_200, longest: 40 };
        assert_eq!(debt.verdict(at(101), ticks(), &offer), Verdict::Sleeps(at(111)), "9 ticks and the one begun");
        debt.dirtied(128);
        // It woke at 111; it had paid until 110.
        assert_eq!(debt.verdict(at(113), ticks(), &offer), Verdict::Sleeps(at(121)));
        // Once more, after a tenth of a second: it owes nothing.
        debt.dirtied(128);
        assert_eq!(debt.verdict(at(150), ticks(), &offer), Verdict::Goes);
        assert_eq!(debt.paid_until, Some(130));
    }

    #[test]
    fn nobody_sleeps_longer_than_the_longest_pause_and_half_of_a_great_debt_is_forgiven() {
        let mut debt = TaskDebt { paid_until: Some(100), ..TaskDebt::default() };
        debt.dirtied(1000);
        let offer = Offer { rate: 25_600, allowed: 250, longest: 20 };
        assert_eq!(debt.verdict(at(100), ticks(), &offer), Verdict::Sleeps(at(121)));
        assert_eq!(debt.paid_until, Some(140), "1000 ticks were owed");
    }

    /// Recorded: at the limit 40 ms over and over, then a factor of 0.8.
    #[test]
    fn at_the_limit_it_sleeps_until_memory_is_below_it_and_still_owes_its_pages() {
        let mut debt = TaskDebt { paid_until: Some(24), ..TaskDebt::default() };
        debt.dirtied(128);
        let full = Offer { rate: 25_600, allowed: 0, longest: 10 };
        assert_eq!(debt.verdict(at(25), ticks(), &full), Verdict::AsksAgain(at(36)));
        assert_eq!(debt.verdict(at(36), ticks(), &full), Verdict::AsksAgain(at(47)));
        let below = Offer { rate: 25_600, allowed: 20_450, longest: 10 };
        assert_eq!(debt.verdict(at(47), ticks(), &below), Verdict::Goes);
        assert!(debt.is_due(128), "and it asks before every write");
        debt.dirtied(16);
        debt.verdict(at(47), ticks(), &below);
        assert_eq!(debt.ask_after, 16);
    }

    /// The pages after which a task asks, as recorded for the rate, what was allowed, and the longest pause.
    #[test]
    fn it_asks_again_after_the_recorded_number_of_pages() {
        for (rate, allowed, longest, recorded) in [
            (25_600, 16_800, 10, 200),
            (19_600, 15_810, 12, 153),
            (25_600, 3_275, 10, 127),
            (21_921, 797, 31, 96),
            (6_955, 1_487, 50, 54),
            (6_955, 312, 5, 6),
        ] {
            let (_, pages) = Offer { rate, allowed, longest }.next(ticks());
            assert!(pages.abs_diff(recorded) <= 1, "{rate} {allowed} {longest}: {pages}, recorded {recorded}");
        }
    }

    #[test]
    fn who_was_idle_for_a_second_starts_anew() {
        let mut debt = TaskDebt { paid_until: Some(0), ..TaskDebt::default() };
        debt.dirtied(64);
        let offer = Offer { rate: 25_600, allowed: 1_000, longest: 10 };
        assert_eq!(debt.verdict(at(300), ticks(), &offer), Verdict::Goes);
        assert_eq!((debt.paid_until, debt.dirtied), (Some(300), 0));
    }
}
