//! Tests that run only on request: `#[ignore = "slow: …"]` and `#[ignore = "root: …"]`, with the reason after the
//! colon. Without `--slow` or `--root` a run names them among the skipped, with that reason.

use std::time::Duration;

use super::libtest::{self, Skip};
use super::packages;
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

    /// The beginning of a reason of this tier.
    fn mark(self) -> &'static str {
        match self {
            Tier::Slow => "slow:",
            Tier::Root => "root:",
        }
    }

    /// Runs the tests of this tier that the previous run left out; they are then no longer counted as skipped.
    pub fn run(self, skipped: &mut Vec<Skip>) -> Outcome {
        if self == Tier::Root && !shell::is_root() {
            let reason = "the user is not root".to_owned();
            return Outcome::Skipped(Skip { what: self.step().to_owned(), reason, packages: vec![] });
        }
        let (mine, others): (Vec<_>, Vec<_>) =
            core::mem::take(skipped).into_iter().partition(|skip| skip.reason.starts_with(self.mark()));
        *skipped = others;
        let names: Vec<&str> = mine.iter().map(name_of).collect();
        if names.is_empty() {
            return Outcome::Passed("there are none".to_owned());
        }
        let arguments = ["test", "--workspace", "--no-fail-fast", "--", "--show-output", "--ignored", "--exact"];
        let mut cargo = shell::cargo(&[&arguments[..], &names].concat());
        cargo.envs(packages::required().into_iter().map(|variable| (variable, "1")));
        let finished = match shell::capture_within(cargo, LONGEST) {
            Ok(finished) => finished,
            Err(error) => return Outcome::Failed(format!("{error:#}")),
        };
        let mut ran = libtest::read(&finished.output);
        let again = core::mem::take(&mut ran.skipped);
        let without_excuse = again.len();
        skipped.extend(again);
        match finished.good && ran.passed >= names.len() {
            true => Outcome::Passed(format!("{} tests, {without_excuse} of them skipped", ran.passed)),
            false => Outcome::Failed(format!("{} of {}", ran.failure(), names.len())),
        }
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
        let mut skipped = vec![skip("suite a::b", "root: it mounts"), skip("suite c", "takes an hour")];
        assert!(matches!(Tier::Slow.run(&mut skipped), Outcome::Passed(note) if note == "there are none"));
        assert_eq!(skipped.len(), 2);
    }

    #[test]
    fn a_test_is_known_by_its_name_within_its_suite() {
        assert_eq!(name_of(&skip("blksched_cli a::b", "slow: minutes")), "a::b");
    }
}
