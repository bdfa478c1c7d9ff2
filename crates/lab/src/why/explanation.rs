//! A run explained, as values: the I/Os that were asked for, piece by piece, and who waited for whom.

use std::cell::RefCell;
use std::rc::Rc;

use blksched::{Instant, Span, SubmitterId};
use blksched_measure::Reasons;
use blksched_simulate::Trial;
use blksched_simulate::story::{Part, Piece, StoriesAsked, Story, Storyteller, Whose};
use blksched_workloads::Plan;

use super::blame::Rows;
use super::lever;
use super::names::Names;
use super::phrase::{brief, brief_of_unfinished, leg, rule, sentence, what};
use super::remedy::Remedies;
use crate::error::Error;
use crate::scene::{Contender, Scene, Stage, notes_on, unthrottled};
use crate::verdict::role::Role;

/// Where the time of a run's I/Os went.
#[non_exhaustive]
pub struct Explanation {
    /// The load.
    pub workload: String,
    /// The scheduler.
    pub scheduler: String,
    /// The disk's model; `None` for a real disk, of which nothing is known.
    pub disk: Option<String>,
    /// The seed of the random numbers.
    pub seed: u64,
    /// How long the run was.
    pub elapsed: Span,
    /// How many I/Os ended.
    pub ios: u64,
    /// How many of them are as asked for; the slowest are in `stories`.
    pub matched: u64,
    /// The I/Os, the slowest first.
    pub stories: Vec<IoStory>,
    /// Who waited for whom, over the whole run.
    pub blame: Rows,
    /// What the slowest I/O that somebody waits for waited for, in a sentence; `None` if there is none.
    pub headline: Option<String>,
    /// Whose it is, the job's name; `None` if it had not ended, so that what it waited for is not counted.
    slowest: Option<String>,
    /// The job that others waited for longest, in a sentence, and the knob that decided it; `None` if nobody waited for
    /// another for a fifth of its time.
    pub culprit: Option<String>,
    /// The same for a reader who wants to act: without the knob, if another value of it does not help.
    pub to_act: Option<String>,
    /// Whether the journal had more than half of the time of a process's slowest I/O.
    pub for_journal: bool,
    /// Who waited longest for it.
    victim: Option<String>,
    /// Whether it is about the whole run, and not about one moment or one I/O, of which there is no answer.
    is_about_the_run: bool,
    /// What a user should know besides.
    pub notes: Vec<String>,
}

/// One I/O from its submission to its end.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct IoStory {
    /// Which one, in the order of submission, from 1.
    pub nth: u64,
    /// Its process: the job's name, with a number if it has several.
    pub process: String,
    /// `read`, `write`, `discard`, `writezeroes`, `flush`.
    pub op: String,
    /// Its first sector \[512 bytes\].
    pub sector: u64,
    /// Its length \[512-byte sectors\].
    pub sectors: u64,
    /// When it was submitted.
    pub begun_at: Instant,
    /// How long it took.
    pub latency: Span,
    /// Where that time went, without a gap.
    pub pieces: Vec<StoryPiece>,
    /// It in words: `pgdata/3's read of 8KiB at sector 12345`.
    pub what: String,
    /// The whole story: `waited 3ms: …`.
    pub sentence: String,
}

/// A piece of an I/O's time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoryPiece {
    /// When it began.
    pub from: Instant,
    /// Its length.
    pub length: Span,
    /// Where the I/O was meanwhile: `queue`, `disk`, …
    pub leg: &'static str,
    /// Which rule it obeyed.
    pub rule: &'static str,
    /// Whom the disk served meanwhile; `None` if nobody.
    pub whom: Option<String>,
    /// How many commands of that process the disk completed meanwhile.
    pub commands: u32,
}

/// What a run was, beyond its stories.
pub struct ExplainedRun<'r> {
    /// The load.
    pub workload: String,
    /// The scheduler.
    pub scheduler: String,
    /// `None` for a real disk.
    pub disk: Option<String>,
    /// The seed of the random numbers.
    pub seed: u64,
    /// How long it was.
    pub elapsed: Span,
    /// `None` if the roles of the processes are unknown.
    pub plan: Option<&'r Plan>,
    /// What a user should know besides.
    pub notes: Vec<String>,
}

impl Explanation {
    /// What the teller heard of this run.
    pub fn of(run: ExplainedRun<'_>, teller: &Storyteller, names: &Names) -> Explanation {
        let blame = Rows::of(teller.blame(), names, &teller.asked().by);
        let culprit = blame.culprit(run.plan);
        let ios = teller.blame().totals().map(|(_, total)| total.ios).sum();
        let (headline, slowest) = slowest(teller, names, &run).unzip();
        let slowest = slowest.flatten();
        let mut notes = run.notes;
        notes.extend(nothing_found(teller, ios));
        Explanation {
            workload: run.workload,
            scheduler: run.scheduler,
            disk: run.disk,
            seed: run.seed,
            elapsed: run.elapsed,
            ios,
            matched: teller.matched(),
            stories: teller.stories().iter().map(|story| IoStory::of(story, names)).collect(),
            for_journal: match teller.asked().is_about_the_run() {
                true => teller.slowest_of_each().any(mostly_for_journal),
                false => teller.stories().iter().any(mostly_for_journal),
            },
            is_about_the_run: teller.asked().is_about_the_run(),
            victim: culprit.as_ref().map(|culprit| culprit.who.clone()),
            to_act: culprit.as_ref().map(|culprit| culprit.sentence.clone()),
            culprit: culprit.map(|culprit| culprit.sentence),
            headline,
            slowest,
            blame,
            notes,
        }
    }

    /// The answer in a few sentences: what the slowest I/O waited for, what helps most of what was tried, and for whom
    /// others waited. None if one moment or one I/O was asked for.
    pub fn answer(&self, remedies: Option<&Remedies>) -> Vec<String> {
        if !self.is_about_the_run {
            return Vec::new();
        }
        let mut answer: Vec<String> = self.headline.iter().cloned().collect();
        answer.extend(remedies.map(Remedies::best));
        answer.extend(self.to_act.clone());
        if let (None, Some(who)) = (&self.culprit, &self.slowest) {
            let nobody = "No job waited for another for a fifth of its time.";
            answer.extend((self.blame.totals.len() > 1).then(|| nobody.to_owned()));
            answer.extend(self.blame.most_of(who));
        }
        answer
    }

    /// Simulates this trial of the stage once more, and explains it.
    ///
    /// # Errors
    /// If the run stands still.
    pub fn run(
        stage: &Stage,
        scene: &Scene,
        contender: &Contender,
        trial: &Trial,
        asked: StoriesAsked,
    ) -> Result<Explanation, Error> {
        let (names, teller) = (Names::of(&stage.plan), Rc::new(RefCell::new(trial.storyteller(asked))));
        let findings = trial.simulate_before(teller.clone(), Reasons::new()).map_err(Error::input)?;
        let mut notes = Explanation::notes_before(stage, scene, contender);
        notes.extend(stage.gave_up(findings.jobs.iter().map(|job| job.trouble.gave_up)));
        let run = ExplainedRun {
            workload: stage.workload.name.clone(),
            scheduler: contender.name.clone(),
            disk: Some(stage.disk.name.clone()),
            seed: trial.seed,
            elapsed: findings.elapsed,
            plan: Some(&stage.plan),
            notes,
        };
        Explanation::of(run, &teller.borrow(), &names).with_knob(&teller.borrow(), &names, trial)
    }

    /// The same, with the knob that decided about the longest waits: simulates the trial once more with its next value.
    ///
    /// # Errors
    /// If the run stands still.
    pub fn with_knob(mut self, teller: &Storyteller, names: &Names, trial: &Trial) -> Result<Explanation, Error> {
        let (Some(who), Some(culprit)) = (&self.victim, &mut self.culprit) else { return Ok(self) };
        if let Some(knob) = lever::sentence(teller, names, who, (trial, self.elapsed))? {
            *culprit += " ";
            *culprit += &knob.text;
            if knob.helps {
                self.to_act = Some(culprit.clone());
            }
        }
        Ok(self)
    }

    /// What is known without a run.
    pub fn notes_before(stage: &Stage, scene: &Scene, contender: &Contender) -> Vec<String> {
        let alone = std::slice::from_ref(contender);
        notes_on(alone).chain(stage.notes()).chain(unthrottled(alone, scene.wbt_lat_usec)).collect()
    }
}

/// The slowest I/O in brief, and its job if it has ended: of jobs that somebody waits for, before bulk and background
/// ones. What a process waited for the cap of its own group is as it was asked for, and counts only if there is nothing
/// else.
fn slowest(teller: &Storyteller, names: &Names, run: &ExplainedRun<'_>) -> Option<(String, Option<String>)> {
    let roles = run.plan.map(|plan| (plan, plan.members_by_row()));
    let awaited = |by: SubmitterId| {
        let Some((plan, rows)) = &roles else { return 2 };
        let row = rows.iter().find(|members| members.iter().any(|&job| plan.jobs[job].submitter == by));
        match row.map_or(Role::Background, |members| Role::of(plan, members).0) {
            Role::Latency => 2,
            Role::Bulk => 1,
            Role::Background => 0,
        }
    };
    let rank = |story: &&Story| {
        let capped = |piece: &&Piece| matches!(piece.part, Part::Max(group) if names.is_within(story.begun.by, group));
        let capped = story.pieces.iter().filter(capped).fold(Span::ZERO, |sum, piece| sum + piece.length());
        let is_as_asked = capped.as_ns() * 2 > story.latency().as_ns();
        (awaited(story.begun.by), !is_as_asked, story.latency().saturating_sub(capped))
    };
    let ended = teller.slowest_of_each().max_by_key(rank);
    let lasts = |begun_at: Instant| (Instant::ZERO + run.elapsed).since(begun_at);
    let open = teller.unfinished().max_by_key(|(begun, begun_at)| (awaited(begun.by), true, lasts(*begun_at)));
    let open = open.filter(|(begun, at)| {
        let longest = teller.slowest_of_each().find(|story| story.begun.by == begun.by);
        longest.is_none_or(|story| story.latency() < lasts(*at))
            && ended.is_none_or(|story| rank(&story) < (awaited(begun.by), true, lasts(*at)))
    });
    let of_open = open.map(|(begun, at)| (brief_of_unfinished(begun, lasts(at), names), None));
    of_open.or_else(|| ended.map(|story| (brief(story, names), Some(names.job(story.begun.by)))))
}

/// Whether the journal had more than half of its time.
fn mostly_for_journal(story: &Story) -> bool {
    story.journal.waited * 2 > story.latency()
}

/// Why there is no I/O to show; `None` if there is one.
fn nothing_found(teller: &Storyteller, ios: u64) -> Option<String> {
    match (teller.matched(), teller.asked().nth, teller.asked().at) {
        (1.., ..) => None,
        (0, Some(nth), _) => {
            Some(format!("I/O {nth} did not end in this run; they are numbered from 1 to about {ios}"))
        }
        (0, None, Some(at)) => Some(format!("no I/O was in flight at {}", at.since(Instant::ZERO))),
        (0, None, None) => Some("no I/O ended in this run; --time makes it longer".to_owned()),
    }
}

impl IoStory {
    fn of(story: &Story, names: &Names) -> IoStory {
        IoStory {
            nth: story.nth,
            process: names.process(story.begun.by),
            op: format!("{:?}", story.begun.op).to_lowercase(),
            sector: story.begun.start.0,
            sectors: story.begun.sectors,
            begun_at: story.begun_at,
            latency: story.latency(),
            pieces: story.pieces.iter().map(|piece| StoryPiece::of(piece, names)).collect(),
            what: what(story, names),
            sentence: sentence(story, names),
        }
    }
}

impl StoryPiece {
    fn of(piece: &Piece, names: &Names) -> StoryPiece {
        StoryPiece {
            from: piece.from,
            length: piece.length(),
            leg: leg(piece.part.leg()),
            rule: rule(piece.part),
            whom: match piece.part.whose() {
                Whose::Nobody => None,
                whose => Some(names.whose(whose)),
            },
            commands: piece.commands,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::NoFiles;
    use blksched::Catalogue;

    fn explained(asked: StoriesAsked) -> Explanation {
        let job = "[app]\nrw=randread\nsize=64m\ndirect=1\n[log]\nrw=write\nbs=64k\nsize=64m\ndirect=1\n";
        let scene = Scene { time: "1s".parse().ok(), ..Scene::of_jobs("my.fio", job, "hdd-7200") };
        let stage = Stage::load(&scene, &NoFiles).unwrap();
        let contender = stage.one_contender(None, &scene, &Catalogue::builtin()).unwrap();
        let limit = stage.length_once(&scene, &contender).unwrap().limit;
        let trial = stage.trial(&scene, &contender, limit);
        Explanation::run(&stage, &scene, &contender, &trial, asked).unwrap()
    }

    #[test]
    fn pieces_are_the_latency_and_blame_is_what_was_waited() {
        let slowest = |slowest| explained(StoriesAsked { slowest, ..StoriesAsked::nothing() });
        let found = slowest(3);
        assert_eq!((found.stories.len(), found.disk.as_deref(), found.seed), (3, Some("hdd-7200"), 1));
        assert!(found.stories.is_sorted_by_key(|story| core::cmp::Reverse(story.latency)));
        for story in &found.stories {
            assert_eq!(story.pieces.iter().fold(Span::ZERO, |sum, piece| sum + piece.length), story.latency);
            assert_eq!(story.pieces[0].from, story.begun_at);
            assert!(["app", "log"].contains(&story.process.as_str()) && story.what.starts_with(&story.process));
        }
        let waited = found.blame.rows.iter().fold(Span::ZERO, |sum, row| sum + row.1);
        let total = found.blame.totals.values().fold(Span::ZERO, |sum, total| sum + total.0);
        assert_eq!(waited, total);
        assert_eq!(found.blame.totals.values().map(|total| total.1).sum::<u64>(), found.ios);
        assert!(found.matched == found.ios && found.ios > 100);
        assert_eq!(slowest(1).stories[..], found.stories[..1]);
    }

    #[test]
    fn an_io_that_is_not_there_is_a_note() {
        let found = explained(StoriesAsked { slowest: 1, nth: Some(1 << 40), ..StoriesAsked::nothing() });
        assert!(found.stories.is_empty() && found.matched == 0);
        assert!(found.notes.last().unwrap().starts_with("I/O 1099511627776 did not end in this run"));
    }
}
