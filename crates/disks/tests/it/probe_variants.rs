//! The prober on drives that no preset has: parameters drawn at random within what such drives differ by.

use core::ops::ControlFlow;

use blksched::{Instant, Op, Span};
use blksched_disks::probe::{
    CommandEnded, Modelled, ProbeAccess, ProbeClock, ProbeError, Target, TargetFacts, measure,
};
use blksched_disks::{DiskSpec, Model, iocost_models, load, load_changed};

use crate::probe::{compare, hdd, probed, read_parameters, ssd};

/// xorshift64*
struct Draw(u64);

impl Draw {
    fn new(seed: u64) -> Draw {
        Draw(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn unit(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn within(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    fn one_of<T: Copy, const N: usize>(&mut self, of: [T; N]) -> T {
        of[(self.unit() * N as f64) as usize]
    }
}

/// A spinning drive whose skews cover its switches, as in every real drive.
fn turning(seed: u64) -> DiskSpec {
    let mut draw = Draw::new(seed);
    let rpm = draw.one_of([5400u32, 5900, 7200, 10_000, 15_000]);
    let turn_ms = 60_000.0 / f64::from(rpm);
    let outer = draw.within(90.0, 280.0);
    let inner = outer * draw.within(0.42, 0.65);
    let (min, head) = (draw.within(0.2, 0.5), draw.within(0.6, 1.0));
    let average = draw.within(4.0, 9.5);
    let max = average * draw.within(1.8, 2.3);
    let track = head / turn_ms + draw.within(0.02, 0.05);
    let cylinder = track + draw.within(0.0, 0.06);
    let changes = [
        ("speed", format!("{rpm}rpm")),
        ("capacity", format!("{:.0}GB", draw.within(400.0, 4000.0))),
        ("zones.count", format!("{}", draw.one_of([12, 17, 24, 30]))),
        ("zones.outer", format!("{outer:.0}MB/s")),
        ("zones.inner", format!("{inner:.0}MB/s")),
        ("geometry.heads", format!("{}", draw.one_of([2, 4, 6, 10]))),
        ("geometry.track_skew", format!("{track:.4}rev")),
        ("geometry.cylinder_skew", format!("{cylinder:.4}rev")),
        ("seek.min", format!("{min:.2}ms")),
        ("seek.average", format!("{average:.2}ms")),
        ("seek.max", format!("{max:.2}ms")),
        ("seek.head_switch", format!("{head:.2}ms")),
        ("overhead.command", format!("{:.0}us", draw.within(50.0, 300.0))),
        ("interface.rate", format!("{:.0}MB/s", draw.within(300.0, 1100.0))),
        ("look_ahead.segment", format!("{}KiB", draw.one_of([512, 1024, 4096]))),
        ("look_ahead.segments", format!("{}", draw.one_of([8, 16, 32]))),
        ("ncq.age_limit", format!("{:.0}ms", draw.within(300.0, 2000.0))),
    ];
    let changes: Vec<(String, String)> = changes.map(|(key, value)| (key.to_owned(), value)).to_vec();
    load_changed("hdd-7200-ideal", &changes).unwrap_or_else(|error| panic!("{seed}: {error}"))
}

fn held_to(seeds: core::ops::Range<u64>) {
    for seed in seeds {
        let real = turning(seed);
        let outcome = probed(&real, ProbeAccess::ReadOnly);
        let pairs = read_parameters(hdd(&outcome.spec), hdd(&real));
        compare(&format!("turning {seed}"), &pairs, &outcome);
    }
}

#[test]
fn drives_that_no_preset_has_are_met_as_well() {
    held_to(0..4);
}

#[test]
#[ignore = "slow: twenty drives that turn, some minutes without optimisation"]
fn many_drives_that_no_preset_has_are_met_as_well() {
    held_to(4..24);
}

/// Every tenth of the flash drives with known six figures: reads reveal their interface, and the error is known.
#[test]
fn drives_of_six_figures_are_met_as_well() {
    for model in iocost_models().iter().step_by(10) {
        let name = format!("iocost:{}", model.name);
        let real = load(&name).unwrap();
        let outcome = probed(&real, ProbeAccess::ReadOnly);
        let wire = |spec: &DiskSpec| ssd(spec).interface.rate.bytes_per_s() as f64;
        compare(&name, &[("interface", wire(&outcome.spec), wire(&real))], &outcome);
    }
}

/// The held-back part is measured however short the time is, and whatever of the model that leaves out; two minutes are
/// `--quick`.
#[test]
fn every_budget_leaves_time_for_what_is_held_back() {
    for preset in ["hdd-7200-ideal", "hdd-7200-starves", "sata-2009", "ide-2002"] {
        for limit in [40, 120].map(Span::from_secs) {
            let mut target = Modelled::new(&load(preset).unwrap(), 3, ProbeAccess::Destroy);
            let outcome = measure(&mut target, limit, 1, &mut |_| ControlFlow::Continue(())).unwrap();
            let (parts, took, stopped) = (outcome.held_back.len(), outcome.took, &outcome.stopped);
            println!("{preset}, {limit}: {took}, {:.1} %, {stopped:?}", 100.0 * outcome.error().unwrap_or(f64::NAN));
            // Nothing is as wrong as a class's value in place of what there was no time for.
            assert!(
                limit < Span::from_secs(120) || outcome.error().is_some_and(|error| error < 0.15),
                "{}",
                outcome.toml
            );
            assert!(parts == 5 && took <= limit, "{preset}, {limit}: {parts}, {took}\n{}", outcome.toml);
        }
    }
}

/// A model whose host says other things of it.
struct Told {
    of: Modelled,
    facts: TargetFacts,
}

impl Told {
    fn new(of: Modelled, change: impl FnOnce(TargetFacts) -> TargetFacts) -> Told {
        let facts = change(of.facts());
        Told { of, facts }
    }

    /// The host has a wall clock: the user may interrupt while it rests.
    fn on_the_wall(of: Modelled) -> Told {
        Told::new(of, |facts| TargetFacts { clock: ProbeClock::Wall, ..facts })
    }

    /// Nothing in it turns.
    fn never_turns(of: Modelled) -> Told {
        Told::new(of, |facts| TargetFacts { never_turns: true, ..facts })
    }
}

impl Target for Told {
    fn facts(&self) -> TargetFacts {
        self.facts.clone()
    }

    fn now(&self) -> Instant {
        self.of.now()
    }

    fn start(&mut self, slot: u32, op: Op, start: u64, sectors: u32) -> Result<(), String> {
        self.of.start(slot, op, start, sectors)
    }

    fn wait(&mut self) -> Result<CommandEnded, String> {
        self.of.wait()
    }

    fn rest(&mut self, until: Instant) {
        self.of.rest(until);
    }
}

/// A disk behind a busy machine: its completions are noticed late, by anything up to a tenth of a second.
struct Busy {
    of: Modelled,
    late: Draw,
    /// The median delay \[ns\].
    usual: f64,
    until: Instant,
    sectors: u64,
    in_flight: u32,
}

impl Target for Busy {
    fn facts(&self) -> TargetFacts {
        TargetFacts { clock: ProbeClock::Wall, sectors: self.sectors, block_sectors: 8, ..self.of.facts() }
    }

    fn now(&self) -> Instant {
        self.of.now().max(self.until)
    }

    fn start(&mut self, slot: u32, op: Op, start: u64, sectors: u32) -> Result<(), String> {
        if self.in_flight == 0 {
            self.of.rest(self.until);
        }
        self.in_flight += 1;
        self.of.start(slot, op, start, sectors)
    }

    fn wait(&mut self) -> Result<CommandEnded, String> {
        let ended = self.of.wait()?;
        self.in_flight -= 1;
        // Usually little, and sometimes a hundred times that.
        let late = self.usual * 10f64.powf(4.0 * self.late.unit() - 2.0);
        self.until = self.until.max(ended.at) + Span::from_ns(late.min(1e8) as u64);
        Ok(CommandEnded { at: self.until, ..ended })
    }

    fn rest(&mut self, until: Instant) {
        self.of.rest(until);
        self.until = self.until.max(until);
    }
}

#[test]
fn who_has_had_enough_is_heard_while_the_prober_reckons() {
    let mut target = Told::on_the_wall(Modelled::new(&load("hdd-7200-ideal").unwrap(), 1, ProbeAccess::ReadOnly));
    // The last report before the rates begin comes from the computation: nothing is requested meanwhile.
    let (mut last, mut still) = (Span::ZERO, 0);
    let outcome = measure(&mut target, Span::from_secs(60), 1, &mut |progress| {
        still = if progress.stage == "rotation" && progress.elapsed == last { still + 1 } else { 0 };
        last = progress.elapsed;
        if still < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    assert_eq!(outcome.err(), Some(ProbeError::Interrupted));
}

#[test]
fn whatever_a_busy_machine_makes_of_a_small_disk_is_a_model_or_says_why_it_is_none() {
    for case in 0..16u64 {
        let preset = ["sata-ssd-ideal", "null", "hdd-7200-ideal", "fixed"][case as usize % 4];
        let access = [ProbeAccess::ReadOnly, ProbeAccess::Destroy][case as usize / 4 % 2];
        let of = Modelled::new(&load(preset).unwrap(), case, access);
        let usual = [30_000.0, 800_000.0][case as usize / 8 % 2];
        let sectors = (64 << 20 << (case % 6)) / 512;
        let mut target = Busy { of, late: Draw::new(case + 1), usual, until: Instant::ZERO, sectors, in_flight: 0 };
        let outcome = measure(&mut target, Span::from_secs(60), case, &mut |_| ControlFlow::Continue(()));
        match outcome {
            Ok(outcome) => assert_eq!(outcome.spec.build(1).facts().sectors, sectors, "{case}: {}", outcome.toml),
            Err(ProbeError::TimeIsUp) => {}
            Err(error) => assert!(error.to_string().len() > 40, "{case}: {error}"),
        }
    }
}

#[test]
fn who_has_had_enough_is_heard_within_a_fifth_of_a_second_though_the_prober_rests_for_seconds() {
    for access in [ProbeAccess::ReadOnly, ProbeAccess::Destroy] {
        for seconds in [2, 5, 9, 14, 20, 27, 35] {
            let mut target = Told::on_the_wall(Modelled::new(&load("sata-ssd-ideal").unwrap(), 1, access));
            let enough = Span::from_secs(seconds);
            let outcome =
                measure(&mut target, Span::from_secs(60), 1, &mut |progress| match progress.elapsed < enough {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                });
            let late = outcome.unwrap().took.saturating_sub(enough);
            assert!(late < Span::from_ms(200), "{access:?}: {late} after {enough}");
        }
    }
}

#[test]
fn a_disk_of_constant_time_that_the_host_says_does_not_turn_has_as_many_channels_as_it_has() {
    for (service, channels) in [("2ms", 1), ("2ms", 4), ("10ms", 1), ("200us", 1)] {
        let settings = [("service", service.to_owned()), ("channels", channels.to_string())];
        let settings = settings.map(|(key, value)| (key.to_owned(), value));
        let real = load_changed("fixed", &settings).unwrap();
        for seed in 1..=3 {
            let mut target = Told::never_turns(Modelled::new(&real, seed, ProbeAccess::ReadOnly));
            let outcome = measure(&mut target, Span::from_secs(600), seed, &mut |_| ControlFlow::Continue(())).unwrap();
            assert!(!outcome.toml.contains("Its reads take as long as"), "the host is believed");
            let Model::Fixed(found) = &outcome.spec.model else { panic!("{service}: {}", outcome.toml) };
            assert_eq!(found.channels, channels, "{service}: {}", outcome.toml);
            assert!(outcome.spec.middleware.caps.is_none(), "{service}, {channels}: {}", outcome.toml);
            assert!(outcome.error().unwrap() < 0.05, "{service}: {}", outcome.toml);
        }
    }
}
