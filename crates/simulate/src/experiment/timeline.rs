//! The activity in each second, in vmstat's terms.

use blksched::{Dir, Instant, Reason, Span};

/// One second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Second {
    /// What the disk read (`bi`) \[sectors\].
    pub read: u64,
    /// What it wrote (`bo`) \[sectors\].
    pub written: u64,
    /// The requests that it completed, with an interrupt each (`in`, without the timer's).
    pub interrupts: u64,
}

/// Every second of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunTimeline {
    seconds: Vec<Second>,
}

impl RunTimeline {
    /// Every second from the beginning to the last in which anything was completed.
    pub fn seconds(&self) -> &[Second] {
        &self.seconds
    }

    /// The mean of `what` per second, over the seconds in this window.
    pub fn mean(&self, from: Span, to: Span, what: impl Fn(&Second) -> u64) -> f64 {
        let whole = |span: Span| (span.as_ns() / 1_000_000_000) as usize;
        let (from, to) = (whole(from), whole(to));
        if to <= from {
            return f64::NAN;
        }
        let seconds = self.seconds.iter().take(to).skip(from);
        seconds.map(|second| what(second) as f64).sum::<f64>() / (to - from) as f64
    }

    pub(super) fn on_event(&mut self, at: Instant, reason: Reason) {
        let Reason::Completed { dir, sectors, .. } = reason else { return };
        let second = (at.as_ns() / 1_000_000_000) as usize;
        if self.seconds.len() <= second {
            self.seconds.resize(second + 1, Second::default());
        }
        let second = &mut self.seconds[second];
        second.interrupts += 1;
        match dir {
            Dir::Read => second.read += u64::from(sectors),
            Dir::Write => second.written += u64::from(sectors),
        }
    }
}

#[cfg(test)]
mod tests {
    use blksched::SubmitterId;
    use blksched::author::RequestId;

    use super::*;

    #[test]
    fn a_second_holds_what_was_completed_in_it() {
        let mut timeline = RunTimeline::default();
        for (ms, dir, sectors) in [(999, Dir::Read, 8), (1000, Dir::Write, 256), (2500, Dir::Read, 16)] {
            let (rq, submitter) = (RequestId::from_index(0), SubmitterId(0));
            let at = Instant::ZERO + Span::from_ms(ms);
            timeline.on_event(at, Reason::Completed { rq, dir, sectors, submitter });
        }
        assert_eq!(timeline.seconds().len(), 3);
        assert_eq!(timeline.seconds()[1], Second { read: 0, written: 256, interrupts: 1 });
        assert_eq!(timeline.mean(Span::ZERO, Span::from_secs(4), |second| second.read), 6.0);
        assert!(timeline.mean(Span::from_secs(4), Span::from_secs(4), |second| second.read).is_nan());
    }
}
