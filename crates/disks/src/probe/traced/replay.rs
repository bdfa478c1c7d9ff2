//! **What for**: replaying a trace's commands on a model, to determine its error.
//!
//! **Rule**: a command's process had been waiting for the last completion before it: it is issued with the same delay
//! after that command's end on the model as in the trace. At recorded times instead, a model that is slower by a
//! thousandth would have an ever longer queue, and a faster one none. Commands in flight when the counted part began
//! are there from the beginning, and are not counted.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use blksched::author::RequestId;
use blksched::{Command, Instant, Sector, Span, SubmitterId};

use super::super::held_back::HeldBack;
use super::super::value::demerit;
use super::Traced;
use crate::DiskSpec;

/// The next command to issue: the time, and its number.
type DueCommand = Reverse<(Instant, usize)>;

/// The commands of a trace, in the order of issue; those before `first` are warm-up.
struct ReplayPlan<'a> {
    commands: Vec<&'a Traced>,
    first: usize,
    /// The commands that wait for this one's completion, and how long after it they come.
    behind: Vec<Vec<(usize, Span)>>,
    due: BinaryHeap<DueCommand>,
}

impl<'a> ReplayPlan<'a> {
    fn new(all: &'a [Traced], counted: usize) -> ReplayPlan<'a> {
        let begin = all.get(counted).map_or(Instant::ZERO, |first| first.issued);
        let mut commands: Vec<&Traced> = all[..counted].iter().filter(|before| before.completed > begin).collect();
        let first = commands.len();
        commands.extend(&all[counted..]);
        let mut ends: Vec<usize> = (0..commands.len()).collect();
        ends.sort_by_key(|&nth| (commands[nth].completed, nth));
        let mut plan = ReplayPlan { first, behind: vec![Vec::new(); commands.len()], due: BinaryHeap::new(), commands };
        let mut ended = 0;
        for nth in 0..plan.commands.len() {
            let issued = plan.commands[nth].issued;
            while ended < ends.len() && plan.commands[ends[ended]].completed <= issued {
                ended += 1;
            }
            // One that took no time ends when it is issued: it waits for none that is issued with it.
            match ended.checked_sub(1).map(|last| ends[last]).filter(|&last| last < nth) {
                Some(last) => plan.behind[last].push((nth, issued.since(plan.commands[last].completed))),
                None => plan.due.push(Reverse((Instant::ZERO + issued.since(begin), nth))),
            }
        }
        plan
    }
}

/// What the counted commands took in the trace and on the model.
pub(super) fn replay(spec: &DiskSpec, all: &[Traced], counted: usize) -> HeldBack {
    let mut plan = ReplayPlan::new(all, counted);
    let mut disk = spec.build(1);
    let mut free: Vec<u32> = (0..disk.facts().depth).rev().collect();
    let mut in_flight = vec![(0, Instant::ZERO); free.len()];
    let (mut now, mut ours) = (Instant::ZERO, Vec::new());
    loop {
        let issue = plan.due.peek().filter(|_| !free.is_empty()).map(|Reverse((then, _))| (*then).max(now));
        let step = disk.next();
        match (issue, step) {
            (Some(then), step) if step.is_none_or(|step| then < step) => {
                let (Some(Reverse((_, nth))), Some(slot)) = (plan.due.pop(), free.pop()) else { break };
                now = then;
                in_flight[slot as usize] = (nth, now);
                let Traced { op, start, sectors, .. } = *plan.commands[nth];
                let (rq, submitter) = (RequestId::from_index(slot), SubmitterId(1));
                disk.start(now, Command { rq, op, start: Sector(start), sectors, fua: false, submitter });
            }
            (issue, Some(step)) if issue.is_some() || disk.in_flight() > 0 => {
                now = now.max(step);
                while let Some(finished) = disk.finish(step) {
                    let (nth, begun) = in_flight[finished.rq.index()];
                    if nth >= plan.first {
                        ours.push(finished.at.since(begun).as_ns() as f64);
                    }
                    free.push(finished.rq.index() as u32);
                    let after = plan.behind[nth].iter().map(|&(next, gap)| Reverse((finished.at + gap, next)));
                    plan.due.extend(after);
                }
            }
            _ => break,
        }
    }
    let real: Vec<f64> = plan.commands[plan.first..].iter().map(|command| command.took()).collect();
    let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len().max(1) as f64;
    HeldBack {
        name: "the trace's last third",
        measured_mean: mean(&real),
        predicted_mean: mean(&ours),
        demerit: demerit(&real, &ours),
    }
}
