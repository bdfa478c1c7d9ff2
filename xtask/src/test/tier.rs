//! Tests that run only on request: `#[ignore = "slow: …"]` and `#[ignore = "root: …"]`, with the reason after the
//! colon. Without `--slow` or `--root` a run names them among the skipped, with that reason.

use std::time::Duration;

use super::libtest::{self, Run, Skip};
use super::nextest;
use super::report::Outcome;
use crate::shell;

/// The time limit of a tier: one that takes longer has hung.
const LONGEST: Duration = Duration::from_secs(4 * 3600);

/// Why a test is not part of every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// It takes minutes.
    Slow,
    /// It changes the machine for a while: loop devices, mounts, schedulers.
    Root,
}

impl Tier {
    /// The step's name.
    pub fn step(self) -> &'static str {
        match self {
            Tier::Slow => "slow tests",
            Tier::Root => "tests as root",
        }
    }

    /// What the step checks.
    pub fn about(self) -> &'static str {
        match self {
            Tier::Slow => "with --slow: the tests that take minutes",
            Tier::Root => "with --root: the tests that change this machine for a while",
        }
    }

    /// The beginning of a reason of this tier.
    fn mark(self) -> &'static str {
        match self {
            Tier::Slow => "slow:",
            Tier::Root => "root:",
        }
    }

    /// Runs the tests of this tier that the previous run left out; they are then no longer counted as skipped.
    pub fn run(self, before: &mut Run) -> Outcome {
        if self == Tier::Root && !shell::is_root() {
            let reason = "the user is not root".to_owned();
            return Outcome::Skipped(Skip { what: self.step().to_owned(), reason, packages: vec![] });
        }
        let (mine, others): (Vec<_>, Vec<_>) =
            core::mem::take(&mut before.skipped).into_iter().partition(|skip| skip.reason.starts_with(self.mark()));
        before.skipped = others;
        let names: Vec<&str> = mine.iter().map(name_of).collect();
        if names.is_empty() {
            return Outcome::Passed("there are none".to_owned());
        }
        let by_nextest = nextest::is_here();
        let run =
            if by_nextest { nextest::run_ignored(&names, LONGEST) } else { libtest::run_ignored(&names, LONGEST) };
        let (good, ran) = match run {
            Ok(ran) => ran,
            Err(error) => return Outcome::Failed(format!("{error:#}")),
        };
        let without_excuse = ran.skipped.len();
        let outcome = match good && ran.passed >= names.len() {
            true => Outcome::Passed(format!("{} tests, {without_excuse} of them skipped", ran.passed)),
            false => Outcome::Failed(format!("{} of {}", ran.failure(), names.len())),
        };
        before.passed += ran.passed;
        before.failed += ran.failed;
        before.skipped.extend(ran.skipped);
        before.times.extend(ran.times);
        outcome
    }
}

/// The test's name within its suite.
fn name_of(skip: &Skip) -> &str {
    skip.what.split_once(' ').map_or(skip.what.as_str(), |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skip(what: &str, reason: &str) -> Skip {
        Skip { what: what.to_owned(), reason: reason.to_owned(), packages: vec![] }
    }

    #[test]
    fn a_tier_without_tests_takes_nobody_elses() {
        let skipped = vec![skip("suite a::b", "root: it mounts"), skip("suite c", "takes an hour")];
        let mut before = Run { skipped, ..Run::default() };
        assert!(matches!(Tier::Slow.run(&mut before), Outcome::Passed(note) if note == "there are none"));
        assert_eq!(before.skipped.len(), 2);
    }

    #[test]
    fn a_test_is_known_by_its_name_within_its_suite() {
        assert_eq!(name_of(&skip("blksched_cli a::b", "slow: minutes")), "a::b");
    }
}
