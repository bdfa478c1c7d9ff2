//! The answer first: what to do, why, at what price, and how sure that is, in a few lines of plain words.

use std::fmt;

use blksched::Dir;

use super::action::{Action, Challenger, Kept, WORTH_IT};
use super::cause::FigureCause;
use super::clones::{by_job, families, label};
use super::contrast::{Contrast, between, times};
use super::goal::{Goal, NamedGoal};
use super::phases::{self, PhaseVerdict};
use super::reach::beyond_reach;
use super::role::Role;
use crate::runs::lasting::Lasting;
use crate::runs::measured::Measured;
use crate::search::sensitivity::Sensitivity;

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Advice {
    /// Change to the scheduler that the verdict proposes.
    Use,
    /// Stay with the default.
    Keep,
    /// A scheduler helps some jobs and harms others: the user has to say what counts.
    Choose,
    /// The runs do not say.
    NoVerdict,
}

impl Advice {
    /// One word for machines.
    pub fn word(self) -> &'static str {
        match self {
            Advice::Use => "use",
            Advice::Keep => "keep",
            Advice::Choose => "choose",
            Advice::NoVerdict => "no_verdict",
        }
    }
}

/// What a line of the answer is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum About {
    /// What to do.
    Advice,
    /// What causes it.
    Why,
    /// What gets worse.
    Price,
    /// What holds while some of the jobs run, where jobs come and go.
    Phases,
    /// What else would have been an answer, and why it is not.
    Other,
    /// How sure it is.
    Sure,
    /// What such answers were checked against.
    Checked,
}

impl About {
    /// The key in JSON.
    pub fn word(self) -> &'static str {
        match self {
            About::Advice => "advice",
            About::Why => "why",
            About::Price => "price",
            About::Phases => "by_phase",
            About::Other => "other",
            About::Sure => "how_sure",
            About::Checked => "checked",
        }
    }
}

/// The answer in a few lines. Its text (`Display`) is one sentence a line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Brief {
    /// What to do.
    pub advice: Advice,
    /// The lines, at most [`Brief::MOST`], the advice first, each with what it is about.
    pub lines: Vec<(About, String)>,
}

impl fmt::Display for Brief {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|(_, line)| writeln!(f, "{line}"))
    }
}

/// What an answer is made from.
pub(crate) struct BriefFrom<'a> {
    pub(crate) measured: &'a [std::sync::Arc<Measured>],
    pub(crate) action: Option<&'a Action>,
    /// Why there is no verdict, if there is none.
    pub(crate) unranked: Option<&'a str>,
    pub(crate) causes: &'a [FigureCause],
    pub(crate) phases: &'a [PhaseVerdict],
    /// That there are only writers who have not filled the memory, without a full stop.
    pub(crate) not_full: Option<&'a str>,
    /// How long each run was at most, and whether that was enough.
    pub(crate) lasting: &'a Lasting,
    pub(crate) hangs_on: Option<&'a Sensitivity>,
    /// What such predictions, and the disk's model, were checked against.
    pub(crate) checked: String,
}

/// At most this many figures are named in a line.
const NAMED: usize = 2;
/// At most this many other answers are named.
const OTHERS: usize = 2;
/// At most this many jobs are named.
const JOBS: usize = 4;

impl Brief {
    /// No answer has more lines.
    pub const MOST: usize = 8;
}

impl BriefFrom<'_> {
    pub(crate) fn brief(&self) -> Brief {
        let (advice, mut lines) = match (self.unranked, self.action) {
            (Some(why), _) => (Advice::NoVerdict, vec![(About::Advice, why.to_owned())]),
            (None, None) => {
                (Advice::NoVerdict, vec![(About::Advice, "No verdict: nothing was run to compare with.".to_owned())])
            }
            (None, Some(action)) => self.of(action),
        };
        if advice != Advice::NoVerdict {
            lines.extend(phases::line(self.phases).map(|line| (About::Phases, line)));
            lines.push((About::Sure, self.sure()));
        }
        lines.push((About::Checked, self.checked.clone()));
        lines.truncate(Brief::MOST);
        Brief { advice, lines }
    }

    fn of(&self, action: &Action) -> (Advice, Vec<(About, String)>) {
        if let Some(chosen) = action.chosen() {
            return (Advice::Use, self.change(action, chosen));
        }
        let default = action.default.label();
        if let Some(dear) = action.dear() {
            return (Advice::Choose, self.choice(&default, action, dear));
        }
        let mut lines = vec![(About::Advice, self.refusal(&default, action))];
        let beyond = || Dir::BOTH.into_iter().find_map(|dir| beyond_reach(self.measured, dir));
        let why = self.not_full.map(|text| format!("{text}.")).or_else(beyond);
        let better: Vec<&Challenger> = action.candidates.iter().filter(|candidate| candidate.is_better()).collect();
        lines.extend(why.filter(|_| better.is_empty()).map(|why| (About::Why, format!("Why: {}", lowered(&why)))));
        for candidate in better.into_iter().take(OTHERS) {
            let (name, times) = (candidate.scheduler.label(), times(candidate.score.ratio));
            let why = candidate.forbidden.first().map_or("", String::as_str);
            let fine = self.goal_without(action, candidate, why).map(|goal| format!(" If that is fine: {goal}."));
            let fine = fine.filter(|_| action.goal == Goal::Roles).unwrap_or_default();
            lines.push((About::Other, format!("Not {name}, though {times} better over all: {why}.{fine}")));
        }
        (Advice::Keep, lines)
    }

    fn change(&self, action: &Action, chosen: &Challenger) -> Vec<(About, String)> {
        let name = chosen.scheduler.label();
        let gains = match action.goal {
            Goal::Named(NamedGoal::Priorities) => action.how_much(chosen),
            _ if chosen.gains.is_empty() => action.how_much(chosen),
            _ => self.figures(&chosen.gains),
        };
        let mut lines = vec![(About::Advice, format!("Use {name}: {gains}."))];
        if !action.missed.is_empty() {
            lines.push((About::Why, format!("Under {}, {}.", action.default.label(), action.missed.join("; "))));
        }
        let cause = self.causes.iter().find(|cause| cause.scheduler == name && cause.is_gain());
        lines.extend(cause.map(|cause| (About::Why, format!("Why: {cause}."))));
        let costs = (!chosen.costs.is_empty()).then(|| self.figures(&chosen.costs));
        let price: Vec<String> = costs.into_iter().chain(chosen.stalls.first().cloned()).collect();
        let price = match price.is_empty() {
            true => "nothing that counts gets worse".to_owned(),
            false => price.join("; "),
        };
        lines.push((About::Price, format!("Price: {price}.")));
        if let Some(same) = action.as_good() {
            let other = same.scheduler.label();
            lines.push((About::Other, format!("Not {other}: {name} does as much, and is the smaller change.")));
        } else if let Some(setting) = action.explained(chosen) {
            lines.push((About::Other, cheaper(setting)));
        }
        lines
    }

    fn choice(&self, default: &str, action: &Action, dear: &Challenger) -> Vec<(About, String)> {
        let name = dear.scheduler.label();
        let harms: Vec<Contrast> = dear.harms.clone();
        let helps = match dear.gains.first() {
            Some(_) => self.figures(&dear.gains),
            None => format!("{} better over all", times(dear.score.ratio)),
        };
        let advice = format!("Choose: {name} helps ({helps}) and harms ({}).", self.figures(&harms));
        let mut lines = vec![(About::Advice, advice)];
        let cause = self.causes.iter().find(|cause| cause.scheduler == name && cause.is_gain());
        lines.extend(cause.map(|cause| (About::Why, format!("Why: {cause}."))));
        lines.extend(action.explained(dear).map(|setting| (About::Other, cheaper(setting))));
        let goal = self.goal_without(action, dear, "").unwrap_or_else(|| "--goal".to_owned());
        let most = action.max_price;
        lines.push((
            About::Other,
            format!("Until you say what counts, keep {default}: {goal} does, or a --max-price above {most}."),
        ));
        lines
    }

    fn refusal(&self, default: &str, action: &Action) -> String {
        let why = match (action.kept(), action.candidates.first()) {
            (Some(Kept::OneSeed), _) => "one run proves nothing; --seeds 5 runs it with five".to_owned(),
            (Some(Kept::NoOther), _) | (_, None) => "no other scheduler of a present kernel was run".to_owned(),
            (Some(Kept::GoalNotMet), _) => format!("no scheduler meets the whole goal ({})", action.missed.join("; ")),
            (Some(Kept::MayBeChance), Some(best)) => format!(
                "{} looks {} better ({}), but that may be chance; --until-sure runs more",
                best.scheduler.label(),
                times(best.score.ratio),
                between(best.score.low, best.score.high)
            ),
            (Some(Kept::BetterIsForbidden), _) => return format!("Keep {default}."),
            (Some(Kept::DefaultInTwoModes), Some(best)) => {
                format!("no mean over its two modes says whether {} is better", best.scheduler.label())
            }
            _ => format!("nothing is at least {:.0} % better for {}", (WORTH_IT - 1.0) * 100.0, self.counting(action)),
        };
        format!("Keep {default}: {why}.")
    }

    /// Whose figures count.
    fn counting(&self, action: &Action) -> String {
        if action.goal != Goal::Roles {
            return "your goal".to_owned();
        }
        let jobs = &action.default.jobs;
        let counts = |rows: &Vec<usize>| jobs[rows[0]].role.0 != Role::Background;
        let names: Vec<String> =
            families(jobs).iter().filter(|rows| counts(rows)).map(|rows| label(jobs, rows)).collect();
        match &names[..] {
            [] => "any job".to_owned(),
            [one] => one.clone(),
            [first @ .., last] if names.len() <= JOBS => format!("{} and {last}", first.join(", ")),
            _ => format!("the {} jobs that count", names.len()),
        }
    }

    /// The goal under which a gain would count and the objection not: the greatest gain of a job that somebody waits
    /// for and that the objection does not name.
    fn goal_without(&self, action: &Action, candidate: &Challenger, objection: &str) -> Option<String> {
        let key = action.goal.objectives(&action.default);
        let counts = |gain: &&Contrast| {
            key.iter().flatten().any(|figure| *figure == gain.figure)
                && !objection.starts_with(&format!("{} ", gain.job))
        };
        candidate.gains.iter().find(counts).map(|gain| self.goal_of(gain))
    }

    /// `--goal 'reader: mean read'`.
    fn goal_of(&self, gain: &Contrast) -> String {
        let jobs = &self.measured[0].jobs;
        let name = gain.figure.row.map_or(gain.job.as_str(), |row| jobs[row].name.as_str());
        format!("--goal '{}'", gain.as_goal(name))
    }

    /// "application: time to finish 1.30s instead of 14.9s; copy: …", without a full stop; what the goal asks for
    /// first.
    fn figures(&self, contrasts: &[Contrast]) -> String {
        let key = self.action.map_or_else(Vec::new, |action| action.goal.objectives(&action.default));
        let mut contrasts: Vec<&Contrast> = contrasts.iter().collect();
        contrasts.sort_by_key(|contrast| !key.iter().flatten().any(|figure| *figure == contrast.figure));
        let mut named: Vec<String> = Vec::new();
        let mut jobs: Vec<String> = Vec::new();
        // A figure of each job first.
        for one in by_job(contrasts.into_iter(), &self.measured[0].jobs) {
            if !jobs.contains(&one.job) {
                named.push(one.plain());
                jobs.push(one.job);
            }
        }
        named.truncate(NAMED);
        named.join("; ")
    }

    fn sure(&self) -> String {
        let seeds = self.measured[0].jain.values().len();
        let chosen = self.action.and_then(Action::chosen);
        let limit = self.lasting.length.limit;
        let runs = match (seeds, chosen) {
            (1, _) => format!("one run of at most {limit}"),
            (_, Some(chosen)) => {
                let score = chosen.score;
                let range = between(score.low, score.high);
                format!("{seeds} runs of at most {limit} each say {range} times better over all")
            }
            (_, None) => format!("{seeds} runs of at most {limit} each"),
        };
        let unsteady = self.lasting.unsteady.first();
        let runs = runs + &unsteady.map(|one| format!("; their halves differ in {}", one.text())).unwrap_or_default();
        let hangs = self.hangs_on.map(|found| format!("; {}", found.brief())).unwrap_or_default();
        format!("How sure: {runs}{hangs}.")
    }
}

/// What explains much of a gain, and is a smaller change.
fn cheaper(setting: &Challenger) -> String {
    let (name, gain) = (setting.scheduler.label(), times(setting.score.ratio));
    format!("Much of that comes from one setting: {name} alone is {gain} better over all.")
}

/// A sentence behind a colon.
fn lowered(sentence: &str) -> String {
    let mut chars = sentence.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().collect::<String>() + chars.as_str())
}
