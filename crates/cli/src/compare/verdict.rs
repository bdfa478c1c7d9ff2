//! The verdict: what differs from the first scheduler by more than the spread, and the reason, computed from the
//! reasons that the runs recorded. Nothing here knows any scheduler by name.

use blksched::Dir;
use blksched_measure::{Difference, Quantity, Spread};

use super::measured::{Measured, Total};

/// At most so many differences are said of one pair.
const SAID: usize = 3;

/// One measure by which two schedulers may differ.
#[derive(Clone, Copy)]
pub(super) struct Contrast {
    pub(super) what: What,
    pub(super) dir: Dir,
    pub(super) here: Spread,
    pub(super) base: Spread,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Bandwidth,
    MeanLatency,
    TailLatency,
}

/// One paragraph per scheduler after the first, and what holds for all of them.
pub(super) fn sentences(measured: &[Measured]) -> Vec<String> {
    let Some((base, others)) = measured.split_first() else { return Vec::new() };
    let mut sentences: Vec<String> = others.iter().map(|here| paragraph(here, base)).collect();
    let reach = |dir| super::memory_table::beyond_reach(measured, dir).or_else(|| beyond_reach(measured, dir));
    sentences.extend(Dir::BOTH.into_iter().filter_map(reach));
    sentences
}

/// Depth left inside the device defeats every scheduler. Said if, whoever schedules, a request spends most of its time
/// inside the disk although the disk had others to choose from.
fn beyond_reach(measured: &[Measured], dir: Dir) -> Option<String> {
    const MOST: f64 = 0.75;
    let parts: Vec<f64> = measured.iter().map(|m| total(m, dir)).map(|t| t.service / t.mean.mean).collect();
    let least = parts.iter().copied().fold(f64::INFINITY, f64::min);
    let shared = measured.iter().all(|m| m.in_disk > 2.0);
    // An unknown latency compares as false.
    let said = least >= MOST && shared && total(measured.first()?, dir).mean.count > 0;
    let spends = if least < 0.995 { format!("at least {}", Quantity::Fraction.show(least)) } else { "all".to_owned() };
    let held = measured.iter().map(|m| m.in_disk.round() as u64).min().unwrap_or(0);
    said.then(|| {
        format!(
            "Whichever it is, a {dir} spends {spends} of its time inside the disk, where the disk chooses among {held} \
             commands and no scheduler reaches; --depth limits what the disk holds."
        )
    })
}

fn paragraph(here: &Measured, base: &Measured) -> String {
    let pair = format!("{} against {}", here.label(), base.label());
    let all = differences(here, base);
    let worst = all.iter().map(|d| d.here.compared_with(&d.base)).max_by_key(|d| *d as u8);
    let mut beyond: Vec<_> = all.into_iter().filter(|d| d.here.differs_from(&d.base)).collect();
    if beyond.is_empty() {
        return match worst {
            None | Some(Difference::None) => format!("{pair}: no difference."),
            Some(Difference::SpreadUnknown) => {
                format!(
                    "{pair}: one seed says nothing about the spread, so nothing about the difference; try --seeds 5."
                )
            }
            Some(_) => format!("{pair}: no difference beyond the spread."),
        };
    }
    beyond.sort_by(|a, b| b.ratio().total_cmp(&a.ratio()));
    let said: Vec<String> = beyond.iter().take(SAID).map(Contrast::say).collect();
    let mut text = format!("{pair}: {}.", said.join("; "));
    for dir in Dir::BOTH {
        if let Some(difference) = beyond.iter().take(SAID).find(|d| d.dir == dir) {
            text += &reason(difference, total(here, dir), total(base, dir));
        }
    }
    text
}

impl Total {
    /// Is sleep for request slots a part of what its I/Os take?
    fn sleeps(&self) -> bool {
        self.slept > 0.01 * self.mean.mean
    }
}

fn total(measured: &Measured, dir: Dir) -> &Total {
    &measured.totals.iter().find(|(of, _)| *of == dir).expect("both directions are measured").1
}

pub(super) fn differences(here: &Measured, base: &Measured) -> Vec<Contrast> {
    let mut all = Vec::new();
    for dir in Dir::BOTH {
        let (h, b) = (total(here, dir), total(base, dir));
        for (what, here, base) in [
            (What::TailLatency, h.p99, b.p99),
            (What::MeanLatency, h.mean, b.mean),
            (What::Bandwidth, h.bandwidth, b.bandwidth),
        ] {
            // A direction in which one of them completed nothing has no latency to compare; and where submitters sleep
            // for request slots, completion latency leaves out what they wait for.
            let tells = what != What::TailLatency || !h.sleeps() && !b.sleeps();
            if here.count > 0 && base.count > 0 && tells {
                all.push(Contrast { what, dir, here, base });
            }
        }
    }
    all
}

impl Contrast {
    /// How many times the greater is the lesser; infinite if the lesser is 0.
    pub(super) fn ratio(&self) -> f64 {
        let (low, high) = (self.here.mean.min(self.base.mean), self.here.mean.max(self.base.mean));
        if low > 0.0 { high / low } else { f64::INFINITY }
    }

    /// How many times better it is here: below 1 worse.
    pub(super) fn times_better(&self) -> f64 {
        if (self.here.mean > self.base.mean) == (self.what == What::Bandwidth) {
            self.ratio()
        } else {
            1.0 / self.ratio()
        }
    }

    pub(super) fn say(&self) -> String {
        let Contrast { what, dir, here, base } = *self;
        let (subject, unit) = match what {
            What::Bandwidth => (format!("{dir} bandwidth"), Quantity::Bandwidth),
            What::MeanLatency => (format!("mean {dir} latency"), Quantity::Time),
            What::TailLatency => (format!("p99 {dir} latency"), Quantity::Time),
        };
        let word = match (what, here.mean > base.mean) {
            (What::Bandwidth, true) => "higher",
            (_, true) => "longer",
            (What::Bandwidth, false) => "lower",
            (_, false) => "shorter",
        };
        let (h, b) = (unit.show(here.mean), unit.show(base.mean));
        let ratio = self.ratio();
        if !ratio.is_finite() {
            return format!("{subject} is {h}, not {b}");
        }
        let times = if ratio < 1.1 { format!("{:.1} %", (ratio - 1.0) * 100.0) } else { format!("{ratio:.1} times") };
        format!("{subject} is {times} {word} ({h}, not {b})")
    }

    /// Is a request's way through queue and disk longer here?
    fn is_longer(&self) -> bool {
        (self.here.mean > self.base.mean) != (self.what == What::Bandwidth)
    }
}

/// The part of a request's way that changed most in the direction of the difference.
fn reason(difference: &Contrast, here: &Total, base: &Total) -> String {
    let dir = difference.dir;
    let parts = parts(dir, here, base);
    let wanted = if difference.is_longer() { 1.0 } else { -1.0 };
    let waits = parts.into_iter().max_by(|x, y| (wanted * (x.1 - x.2)).total_cmp(&(wanted * (y.1 - y.2))));
    let Some((seen, h, b)) = waits else { return String::new() };
    let time = |ns: f64| Quantity::Time.show(ns.round());
    let is_in_memory = |total: &Total| dir == Dir::Write && total.in_memory.is_some();
    let to_disk = !is_in_memory(here) && !is_in_memory(base);
    if to_disk && wanted * (here.service - base.service) > wanted * (h - b) {
        return format!(" Why: the disk has a {dir} for {}, not {}.", time(here.service), time(base.service));
    }
    match (wanted * (h - b) > 0.0, h < 0.5, b < 0.5) {
        (false, _, _) => String::new(),
        (true, true, _) => format!(" Why: no {dir} waits for {seen}; there each does, for {}.", time(b)),
        (true, _, true) => format!(" Why: a {dir} waits {} for {seen}; there none does.", time(h)),
        (true, _, _) => format!(" Why: a {dir} waits {} for {seen}, not {}.", time(h), time(b)),
    }
}

/// What an I/O waited for, here and there. Nobody waits for the requests that writes to memory become.
fn parts(dir: Dir, here: &Total, base: &Total) -> Vec<(String, f64, f64)> {
    let mut parts: Vec<(String, f64, f64)> = Vec::new();
    if let (Some(here), Some(base)) = (&here.in_memory, &base.in_memory) {
        parts.extend(here.iter().zip(base).map(|((what, h), (_, b))| (what.words().to_owned(), *h, *b)));
        if dir == Dir::Write {
            return parts;
        }
    }
    for (&(cause, h), &(_, b)) in here.waited.iter().zip(&base.waited) {
        let seen = cause.seen_by(dir);
        match parts.iter_mut().find(|(known, _, _)| *known == seen) {
            Some(part) => (part.1, part.2) = (part.1 + h, part.2 + b),
            None => parts.push((seen, h, b)),
        }
    }
    parts.push(("a request slot".to_owned(), here.slept, base.slept));
    parts
}
