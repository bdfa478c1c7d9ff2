//! The outputs of a recording, compared with the queue's.

use blksched::author::{RequestId, Run};
use blksched::reasons::{End, IdleFor};
use blksched::{Instant, Reason, Submitted};
use blksched_traces::elevator_transcript::{Add, AddResult, Event, Kick, MergeKind};

use super::setup::Outputs;

/// The queue's reasons during one event.
#[derive(Clone, Debug, Default)]
pub(super) struct Said {
    /// The most urgent run requested.
    pub(super) run: Run,
    /// The last deadline armed.
    pub(super) armed: Option<Instant>,
    /// Whether a deadline was cancelled and none armed again.
    pub(super) cancelled: bool,
    /// 2.5: how many requests were moved.
    pub(super) moved: Option<u32>,
    /// The depth that admission allowed; 0: unlimited.
    pub(super) shallow: u32,
    /// Kyber: the token taken.
    pub(super) token: Option<u32>,
    /// The coalesced requests: survivor, victim.
    pub(super) coalesced: Vec<(RequestId, RequestId)>,
    /// 2.4: the smallest counter, as last reported before a request was absorbed.
    pub(super) least: Option<i32>,
    /// The last new request; `grown`: the last that grew.
    pub(super) inserted: Option<RequestId>,
    pub(super) merged: Option<(RequestId, End)>,
    /// ADIOS: base and slope of each model that was updated.
    pub(super) learned: Vec<(u64, u64)>,
}

impl Said {
    pub(super) fn of(reasons: impl Iterator<Item = Reason>) -> Said {
        let mut said = Said::default();
        for reason in reasons {
            match reason {
                Reason::WishedRun(run) => said.run = said.run.max(run),
                // Recordings do not show statistics timers.
                Reason::Armed { why: IdleFor::Statistics, .. } => {}
                Reason::Armed { until, .. } => {
                    said.armed = Some(until);
                    said.cancelled = false;
                }
                Reason::Cancelled => said.cancelled = true,
                Reason::BatchMoved { requests, .. } => said.moved = Some(requests),
                Reason::TokenTaken { token, .. } => said.token = Some(token),
                Reason::Limited { shallow } => said.shallow = shallow,
                Reason::Coalesced { into, victim } => said.coalesced.push((into, victim)),
                Reason::Patience { least } => said.least = Some(least),
                Reason::Inserted { rq, .. } => said.inserted = Some(rq),
                Reason::Merged { into, end } => said.merged = Some((into, end)),
                Reason::Learned { base, slope, .. } => said.learned.push((base, slope)),
                _ => {}
            }
        }
        said
    }
}

/// Checks the result of a submission; returns the new request, if there is one.
pub(super) fn submitted(
    add: &Add,
    here: Submitted,
    said: &Said,
    id_of: impl Fn(u64) -> Option<RequestId>,
    name: impl Fn(RequestId) -> String,
) -> Result<Option<RequestId>, String> {
    if add.shallow.is_some_and(|shallow| here_allocates(here) && shallow != said.shallow) {
        return Err(format!("the depth allowed was {:?}, but here it is {}", add.shallow, said.shallow));
    }
    match (&add.result, here) {
        (AddResult::Word(word), Submitted::Inserted(rq)) if word == "insert" => Ok(Some(rq)),
        (AddResult::Word(word), Submitted::Asleep) if word == "wait" => Ok(None),
        (AddResult::Merge { merge, into }, Submitted::Merged { into: here, end })
            if id_of(*into) == Some(here) && *merge == kind(end) =>
        {
            Ok(None)
        }
        (AddResult::Merge { merge: MergeKind::Insert, into }, Submitted::MergedOnInsert { into: here })
            if id_of(*into) == Some(here) =>
        {
            Ok(None)
        }
        (recorded, Submitted::Merged { into, end }) => {
            Err(format!("recorded {recorded:?}, but here it merged at the {end:?} of {}", name(into)))
        }
        (recorded, here) => Err(format!("recorded {recorded:?}, but here {here:?}")),
    }
}

fn here_allocates(here: Submitted) -> bool {
    !matches!(here, Submitted::Merged { .. })
}

fn kind(end: End) -> MergeKind {
    match end {
        End::Back => MergeKind::Back,
        End::Front => MergeKind::Front,
    }
}

/// ADIOS: checks the models after the event.
pub(super) fn models(recorded: Option<&[(u64, u64)]>, said: &Said) -> Result<(), String> {
    match recorded.filter(|&recorded| recorded != said.learned) {
        Some(recorded) => Err(format!("the models became {recorded:?}, but here {:?}", said.learned)),
        None => Ok(()),
    }
}

/// Checks the kick and the timer of an event.
pub(super) fn run_and_timer(
    event: &Event,
    said: &Said,
    outputs: Outputs,
    instant: impl Fn(u64) -> Instant,
) -> Result<(), String> {
    let kick = match said.run {
        Run::No => None,
        Run::Soon => Some(Kick::Later),
        Run::Now => Some(Kick::Now),
    };
    if outputs == Outputs::Kicks && event.kick != kick {
        return Err(format!("recorded kick {:?}, but here {kick:?}", event.kick));
    }
    let armed = event.idle_until.map(instant);
    // The recordings of 2.x and 4.20 show an armed timer even if it was cancelled within the event.
    let here = said.armed.filter(|_| outputs == Outputs::Kicks || !said.cancelled);
    if armed != here {
        return Err(format!("recorded idle_until {armed:?}, but here {here:?}"));
    }
    let cancelled = event.idle_cancel.is_some();
    if outputs == Outputs::Cancels && cancelled != said.cancelled {
        return Err(format!("recorded timer cancelled: {cancelled}, but here: {}", said.cancelled));
    }
    Ok(())
}
