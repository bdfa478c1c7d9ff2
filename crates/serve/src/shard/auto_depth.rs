//! The depth that a disk is given by itself: as deep as keeps the disk busy, and hardly deeper, since what only waits
//! inside the disk is what a tenant with one request at a time waits for.
//!
//! **Rule** TCP Vegas, with commands for packets. Of the commands in flight, those that the disk does not work on are
//! `in flight × (1 - base / latency)`, where `base` is the latency of a command that is alone in the disk. While they
//! are fewer than [`FEW`], the depth grows by one, and while they are more than [`MANY`], it shrinks by one, after each
//! [`SAMPLES`] commands (or as many as are in flight). At first it doubles until [`QUEUES`] of them waits. It grows
//! only while requests wait for it. Reads, writes and discards, and each power of two of their length, have a base of
//! their own. A command was alone if the disk had no other from its beginning to its end: of a burst, not even the
//! first is, once others have joined it. If commands of some sort and length have not been alone for [`STALE`], the
//! depth is one until [`SAMPLES`] have been, at most once in that time: some per cent of the disk's time, for which
//! the base follows the disk. The base is the mean of these, without the slowest eighth, and a decision moves the
//! depth by one, so that a stall is neither a base nor a collapse.
//!
//! **Origin** Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", IEEE JSAC 13(8),
//! 1995: α = 2, β = 4, γ = 1. It finds a knee without being told a latency. *Rejected*: Kyber's and io.latency's
//! scaling and CoDel's law, which hold a target that somebody has to know for this disk.
//!
//! **Costs when wrong**: too deep, and small tenants wait for others inside the disk, where nobody can order requests;
//! too shallow, and flash is idle in part.

use blksched::{Instant, Span};

/// Fewer waiting in the disk than this, and it may get more (α).
const FEW: u64 = 2;
/// More than this, and it gets fewer (β).
const MANY: u64 = 4;
/// At first the depth doubles until this many wait (γ).
const QUEUES: u64 = 1;
/// How many commands are looked at together.
const SAMPLES: u64 = 16;
/// How many powers of two of a length are told apart \[sectors\].
const LENGTHS: usize = 12;
/// How long the base is believed.
const STALE: Span = Span::from_secs(10);
/// The weight of the new value in the base is one in N.
const MEMORY: u64 = 8;
/// A command that was alone counts as at most this many bases, so that a stall (a drive's retry) is not taken for one.
const UNUSUAL: u64 = 4;

/// Commands that have a base of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommandSort {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Discards and write-zeroes.
    Discard,
}

/// How many of these there are.
const SORTS: usize = 3;

/// Commands that take about as long as each other: of one kind, and of one power of two of a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Like {
    kind: CommandSort,
    length: usize,
}

impl Like {
    /// Commands of this kind and about this length \[sectors\].
    pub(super) fn of(kind: CommandSort, sectors: u32) -> Like {
        Like { kind, length: (sectors.max(1).ilog2() as usize).min(LENGTHS - 1) }
    }
}

/// What it does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VegasPhase {
    /// One command at a time, to learn the base; then this depth.
    Alone { then: u32 },
    /// It doubles.
    Grows,
    /// It follows the disk.
    Keeps,
}

/// The commands since the last decision.
#[derive(Clone, Copy, Debug, Default)]
struct VegasWindow {
    count: u64,
    took: u64,
    /// What they would have taken alone.
    base: u64,
    in_flight: u64,
    /// Whether requests waited for the depth.
    limited: bool,
}

/// A depth that follows its disk.
#[derive(Clone, Debug)]
pub(super) struct AutoDepth {
    depth: u32,
    most: u32,
    phase: VegasPhase,
    base: [[Option<Span>; LENGTHS]; SORTS],
    /// The commands that were alone on purpose, since the phase began.
    alone: Vec<(Like, Span)>,
    /// When commands like these were last alone.
    alone_at: [[Instant; LENGTHS]; SORTS],
    /// When commands were last made to be alone.
    asked_at: Instant,
    seen: VegasWindow,
}

impl AutoDepth {
    /// For a disk that nothing is known of and that takes at most so many.
    pub(super) fn new(now: Instant, most: u32) -> AutoDepth {
        let phase = VegasPhase::Alone { then: 1 };
        AutoDepth {
            depth: 1,
            most: most.max(1),
            phase,
            base: [[None; LENGTHS]; SORTS],
            alone: Vec::new(),
            alone_at: [[now; LENGTHS]; SORTS],
            asked_at: now,
            seen: VegasWindow::default(),
        }
    }

    /// The present depth.
    pub(super) fn depth(&self) -> u32 {
        self.depth
    }

    /// A command is done. It had the disk together with `in_flight` commands, itself included, when it began (or two,
    /// if it began alone and others came before its end); `limited` says whether requests wait for the depth.
    pub(super) fn done(&mut self, now: Instant, like: Like, took: Span, in_flight: u32, limited: bool) {
        if let VegasPhase::Alone { then } = self.phase {
            if in_flight == 1 {
                self.alone_at[like.kind as usize][like.length] = now;
                self.alone.push((like, took));
            }
            if self.alone.len() as u64 >= SAMPLES {
                self.learn();
                self.asked_at = now;
                self.depth = then;
                self.phase = if then == 1 { VegasPhase::Grows } else { VegasPhase::Keeps };
            }
            return;
        }
        let base = &mut self.base[like.kind as usize][like.length];
        if in_flight == 1 {
            self.alone_at[like.kind as usize][like.length] = now;
            *base = Some(base.map_or(took, |mean| (mean * (MEMORY - 1) + took.min(mean * UNUSUAL)) / MEMORY));
        }
        let known = *base;
        let unsure = now.since(self.alone_at[like.kind as usize][like.length]) >= STALE;
        if unsure && now.since(self.asked_at) >= STALE {
            self.phase = VegasPhase::Alone { then: self.depth };
            (self.depth, self.seen) = (1, VegasWindow::default());
            return;
        }
        let Some(base) = known else { return };
        self.seen.count += 1;
        self.seen.took += took.as_ns();
        self.seen.base += base.as_ns();
        self.seen.in_flight += u64::from(in_flight);
        self.seen.limited |= limited;
        if self.seen.count >= SAMPLES.max(u64::from(self.depth)) {
            self.decide();
        }
    }

    /// The base of every kind of command that was alone on purpose: the mean, without the slowest eighth.
    fn learn(&mut self) {
        self.alone.sort_by_key(|(like, took)| (like.kind as usize, like.length, *took));
        for same in self.alone.chunk_by(|(one, _), (other, _)| one == other) {
            let usual = &same[..same.len() - same.len().div_ceil(MEMORY as usize).min(same.len() / 2)];
            let sum = usual.iter().fold(Span::ZERO, |sum, (_, took)| sum + *took);
            let like = same[0].0;
            self.base[like.kind as usize][like.length] = Some(sum / usual.len() as u64);
        }
        self.alone.clear();
    }

    fn decide(&mut self) {
        let VegasWindow { count, took, base, in_flight, limited } = core::mem::take(&mut self.seen);
        // In hundredths.
        let waiting = 100 * took.saturating_sub(base) / took.max(1) * in_flight / count;
        let (few, many) = (waiting < 100 * FEW && limited, waiting > 100 * MANY);
        let depth = match self.phase {
            VegasPhase::Grows if waiting <= 100 * QUEUES && limited => self.depth * 2,
            // It has just doubled, perhaps beyond the knee.
            VegasPhase::Grows if waiting > 100 * QUEUES => {
                self.phase = VegasPhase::Keeps;
                self.depth
            }
            _ if few => self.depth + 1,
            _ if many => self.depth.saturating_sub(1),
            _ => self.depth,
        };
        self.depth = depth.clamp(1, self.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long a command takes in a disk that has so many: a base, and as many of them at a time.
    struct Disk {
        base: Span,
        channels: u32,
    }

    impl Disk {
        fn latency(&self, in_flight: u32) -> Span {
            self.base * u64::from(in_flight.max(self.channels)) / u64::from(self.channels)
        }
    }

    /// So many commands under a load that always wants more; the latencies vary by `noise` per cent. Returns the
    /// smallest and the largest depth of the second half, and the part of the commands that were alone on purpose.
    fn run(auto: &mut AutoDepth, now: &mut Instant, disk: &Disk, noise: u64, commands: u64) -> (u32, u32, f64) {
        let (mut least, mut most, mut alone, mut random) = (u32::MAX, 0, 0, 1u64);
        for nth in 0..commands {
            let depth = auto.depth();
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let per_cent = 100 - noise + (random >> 33) % (2 * noise + 1);
            let took = disk.latency(depth) * per_cent / 100;
            *now += took / u64::from(depth);
            auto.done(*now, Like::of(CommandSort::Read, 8), took, depth, true);
            if nth >= commands / 2 {
                if matches!(auto.phase, VegasPhase::Alone { .. }) {
                    alone += 1;
                } else {
                    (least, most) = (least.min(auto.depth()), most.max(auto.depth()));
                }
            }
        }
        (least, most, alone as f64 / (commands / 2) as f64)
    }

    #[test]
    fn the_depth_is_a_few_beyond_the_knee_wherever_that_is() {
        for (channels, base_us) in [(1, 8000), (1, 100), (4, 100), (8, 2000), (32, 80)] {
            let (mut auto, mut now) = (AutoDepth::new(Instant::ZERO, 1024), Instant::ZERO);
            let disk = Disk { base: Span::from_us(base_us), channels };
            for noise in [0, 30] {
                let (least, most, _) = run(&mut auto, &mut now, &disk, noise, 40_000);
                let around = channels + 1..=channels + 6;
                assert!(around.contains(&least) && around.contains(&most), "{channels}, {noise} %: {least}..{most}");
            }
        }
    }

    #[test]
    fn a_disk_whose_latency_does_not_depend_on_the_depth_gets_as_much_as_it_may() {
        let (mut auto, mut now) = (AutoDepth::new(Instant::ZERO, 256), Instant::ZERO);
        let flat = Disk { base: Span::from_us(100), channels: 100_000 };
        let (least, most, alone) = run(&mut auto, &mut now, &flat, 0, 400_000);
        assert_eq!((least, most), (256, 256));
        assert!(alone < 0.02, "{alone}");
    }

    #[test]
    fn it_follows_a_disk_that_changes() {
        let (mut auto, mut now) = (AutoDepth::new(Instant::ZERO, 1024), Instant::ZERO);
        for channels in [16, 2, 16] {
            let disk = Disk { base: Span::from_us(200), channels };
            let (least, most, _) = run(&mut auto, &mut now, &disk, 10, 200_000);
            assert!(least > channels && most <= channels + 6, "{channels}: {least}..{most}");
        }
        // A disk that becomes ten times slower as a whole is as deep as before: its base is learned anew.
        let slower = Disk { base: Span::from_ms(2), channels: 16 };
        let (least, most, _) = run(&mut auto, &mut now, &slower, 10, 200_000);
        assert!(least > 16 && most <= 22, "{least}..{most}");
    }

    #[test]
    fn one_stall_neither_collapses_nor_inflates_it_wherever_it_falls() {
        let (base, long) = (Span::from_ms(2), Span::from_ms(500));
        let disk = Disk { base, channels: 8 };
        // At the beginning of the disk's life, while commands are alone on purpose, and in full use.
        for after in [0, 1, 7, 15, 16, 40, 5_000, 30_000] {
            let (mut auto, mut now) = (AutoDepth::new(Instant::ZERO, 1024), Instant::ZERO);
            run(&mut auto, &mut now, &disk, 10, after);
            let before = auto.depth();
            // All that is in the disk waits for it.
            for _ in 0..before {
                now += long / u64::from(before);
                auto.done(now, Like::of(CommandSort::Read, 8), long, before, true);
            }
            let grown = after >= 5_000;
            assert!(!grown || auto.depth() + 2 >= before, "after {after}: {before} to {}", auto.depth());
            let mut most = 0;
            for _ in 0..100 {
                most = most.max(run(&mut auto, &mut now, &disk, 10, 100).1);
            }
            assert!(most <= 2 * 8, "after {after}: as deep as {most}");
            let (least, most, _) = run(&mut auto, &mut now, &disk, 10, 100_000);
            assert!(least > 8 && most <= 8 + 6, "after {after}: {least} to {most} at last");
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { cases: 16, ..Default::default() })]
        #[test]
        fn whatever_a_disk_does_the_depth_is_one_at_least_and_recovers(
            odd in proptest::collection::vec((1u64..10_000_000_000, 1u32..2000, 0u32..5000, 0u8..4), 0..400),
            most in 1u32..65,
        ) {
            let (mut auto, mut now) = (AutoDepth::new(Instant::ZERO, most), Instant::ZERO);
            for (took, in_flight, sectors, bits) in odd {
                let kind = if bits & 1 == 0 { CommandSort::Read } else { CommandSort::Write };
                now += Span::from_ns(took);
                auto.done(now, Like::of(kind, sectors), Span::from_ns(took), in_flight, bits & 2 == 0);
                proptest::prop_assert!((1..=most).contains(&auto.depth()));
            }
            let disk = Disk { base: Span::from_us(200), channels: 8 };
            run(&mut auto, &mut now, &disk, 10, 600_000);
            let (least, deepest, _) = run(&mut auto, &mut now, &disk, 10, 100_000);
            proptest::prop_assert!(least >= most.min(9) && deepest <= most.min(14), "{} to {}", least, deepest);
        }
    }

    #[test]
    fn it_grows_only_while_requests_wait_for_it_and_learns_from_those_that_are_alone_anyway() {
        let (mut auto, mut now) = (AutoDepth::new(Instant::ZERO, 1024), Instant::ZERO);
        for _ in 0..100_000 {
            now += Span::from_us(500);
            auto.done(now, Like::of(CommandSort::Write, 8), Span::from_us(100), 1, false);
        }
        assert_eq!((auto.depth(), auto.phase), (1, VegasPhase::Grows), "nothing ever waited");
        // Longer ones have a base of their own: these are no sign of a queue.
        for _ in 0..1000 {
            now += Span::from_us(500);
            auto.done(now, Like::of(CommandSort::Write, 2048), Span::from_us(3000), 1, true);
        }
        assert!(auto.depth() > 1);
        // Reads that were never alone are, for a moment.
        let (before, long) = (auto.depth(), Span::from_ms(9));
        auto.done(now, Like::of(CommandSort::Read, 8), long, before, true);
        assert_eq!(auto.depth(), 1);
        for _ in 0..SAMPLES {
            auto.done(now, Like::of(CommandSort::Read, 8), long, 1, true);
        }
        assert_eq!(auto.depth(), before);
        // The next sort has to wait for that: meanwhile it says nothing.
        for _ in 0..100 {
            auto.done(now, Like::of(CommandSort::Discard, 8), long, before, true);
        }
        assert_eq!(auto.depth(), before);
        now += STALE;
        auto.done(now, Like::of(CommandSort::Discard, 8), long, before, true);
        assert_eq!(auto.depth(), 1);
    }
}
