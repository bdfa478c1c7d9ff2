//! A scheduler's reason in words.

use blksched::author::{Run, Waiter};
use blksched::reasons::{BatchStart, IdleFor, SliceEnd, WaitEnd};
use blksched::{Reason, SubmitterId};

use super::names::Names;
use super::phrase::time;

/// A reason as a sentence. Reasons that interest only authors of schedulers are shown in the library's own words.
pub fn reason(reason: Reason, names: &Names) -> String {
    let of = |submitter: SubmitterId| names.process(submitter);
    match reason {
        Reason::SliceBegan { owner, waiter: Waiter::Sync, .. } => format!("{}'s slice begins", of(owner)),
        Reason::SliceBegan { owner, .. } => format!("the slice of write-back ({}) begins", of(owner)),
        Reason::SliceEnded { owner, why, .. } => format!("{}'s slice ends: {}", of(owner), end(why)),
        Reason::BatchBegan { dir, why, .. } => format!("a batch of {dir}s begins: {}", start(why)),
        Reason::BatchContinued { nth, .. } => format!("the batch goes on in sector order with its request {nth}"),
        Reason::BatchMoved { dir, requests, .. } => {
            format!("a batch of {requests} {dir}s moves to the dispatch list at once")
        }
        Reason::ReadsFirst { starved } => format!("reads go first; writes have been passed over {starved} times"),
        Reason::WritesStarved { starved } => format!("writes go: they were passed over {starved} times"),
        Reason::BatchDrains { in_flight, .. } => {
            format!("the next batch waits until the disk has returned {in_flight} requests")
        }
        Reason::TookOldest { late, .. } => format!("its oldest request goes out of order: {} late", time(late)),
        Reason::Armed { until, why } => {
            let whom = match why {
                IdleFor::Submitter(submitter) => format!("for {}'s next request", of(submitter)),
                IdleFor::Group(_) => "for a group's next request".to_owned(),
                IdleFor::Statistics => "to look at its statistics".to_owned(),
                _ => "for more requests".to_owned(),
            };
            format!("a timer is set {whom}, for {:.6}s", until.as_ns() as f64 / 1e9)
        }
        Reason::Cancelled => "the timer is off".to_owned(),
        Reason::Elapsed => "the timer expired".to_owned(),
        Reason::WaitsForCompletion { submitter } => {
            format!("the disk will be kept idle for {} once its request has completed", of(submitter))
        }
        Reason::WaitEnds { submitter, why } => format!("no idling for {}: {}", of(submitter), wait_end(why)),
        Reason::NotIdled { owner, why } => format!("no idling for {}: {why:?}", of(owner)),
        Reason::BudgetAssigned { owner, sectors, .. } => format!("{} has a budget of {sectors} sectors", of(owner)),
        Reason::WeightRaised { owner, why, times, .. } => {
            format!("{}'s weight is raised {times} times: {why:?}", of(owner))
        }
        Reason::Injected { into, from, why } => {
            format!("a request of {} goes in {}'s slice: {why:?}", of(from), of(into))
        }
        Reason::Throttled { domain } => format!("no token for a {domain}"),
        Reason::TokenTaken { domain, .. } => format!("a {domain} gets a token"),
        Reason::DomainBegan { domain, .. } => format!("{domain}s have their turn"),
        Reason::Plugged => "the queue is plugged".to_owned(),
        Reason::Unplugged(why) => format!("the plug opens: {why:?}"),
        Reason::Slept { submitter, .. } => format!("{} sleeps for a request slot", of(submitter)),
        Reason::Woke { submitter } => format!("{} gets its request slot", of(submitter)),
        Reason::HeldByPolicy { submitter, by } => format!("{by} holds {} back", of(submitter)),
        Reason::Limited { shallow: 1 } => "the next request may use only one tag".to_owned(),
        Reason::Limited { shallow } => format!("the next request may use only {shallow} tags"),
        Reason::WishedRun(Run::Now) => "the scheduler asks to be run again at once".to_owned(),
        Reason::WishedRun(_) => "the scheduler asks to be run again soon".to_owned(),
        Reason::QueueMerged { submitter, into } => format!("{} shares {}'s queue from now on", of(submitter), of(into)),
        Reason::QueueSplit { submitter } => format!("{} has a queue of its own again", of(submitter)),
        other => format!("{other:?}"),
    }
}

fn start(why: BatchStart) -> String {
    match why {
        BatchStart::Expired { late } => format!("a request has been overdue for {}", time(late)),
        BatchStart::NextInOrder => "where the last one stopped".to_owned(),
        BatchStart::Oldest => "with the oldest request".to_owned(),
        BatchStart::Lowest => "with the lowest sector".to_owned(),
    }
}

fn end(why: SliceEnd) -> String {
    match why {
        SliceEnd::Used => "its time was up".to_owned(),
        SliceEnd::BudgetUsed => "its budget was used up".to_owned(),
        SliceEnd::NothingQueued => "it had nothing queued and was not worth waiting for".to_owned(),
        SliceEnd::Cooperator => "another process continues where it stopped".to_owned(),
        SliceEnd::IdledInVain => "the disk idled for it in vain".to_owned(),
        SliceEnd::WaitedBusy => "its request arrived after its slice had run out".to_owned(),
        SliceEnd::AsyncShare => "write-back has had its share".to_owned(),
        SliceEnd::IdleClass => "the idle class gets one request at a time".to_owned(),
        SliceEnd::RealTimeWaits => "a real-time queue has requests".to_owned(),
        SliceEnd::Preempted(why) => format!("preempted ({why:?})"),
        SliceEnd::Gone => "its process has exited".to_owned(),
    }
}

fn wait_end(why: WaitEnd) -> &'static str {
    match why {
        WaitEnd::Arrived => "its request has arrived",
        WaitEnd::TimeIsUp => "the wait has lasted long enough",
        WaitEnd::HasMore => "it has other requests in flight",
        WaitEnd::CloseEnough => "another process's request is as near",
        WaitEnd::Gone => "it has exited",
        WaitEnd::LikelyGone => "it is new, and most new processes exit soon",
        WaitEnd::ThinksLonger => "its think time is longer than the wait",
        WaitEnd::OutOfTurn => "a request had to go out of turn",
    }
}
