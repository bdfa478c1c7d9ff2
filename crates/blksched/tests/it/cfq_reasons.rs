//! CFQ's reasons: slices, idling, preemption, write-back held back, cooperators. And its shares by priority.

use blksched::author::Waiter;
use blksched::reasons::{HeldBack, NotIdled, Preempt, SliceEnd};
use blksched::{
    Bio, BlockQueue, Catalogue, Class, InFlight, Instant, Next, Outcome, Priority, QueueConfig, Reason, Sector, Span,
    SubmitterId,
};

type Heard = Vec<(Instant, Reason)>;

/// A queue whose disk takes `service` for each request.
struct Rig {
    queue: BlockQueue<Heard>,
    now: Instant,
    tags: u64,
}

impl Rig {
    fn new(name: &str) -> Rig {
        let built = Catalogue::builtin().build(name).unwrap();
        let config = QueueConfig { born: Instant::from_ns(10_000_000_000), depth: 31, ..QueueConfig::default() };
        Rig { queue: BlockQueue::with_listener(config, built.elevator, Vec::new()), now: config.born, tags: 0 }
    }

    fn bio(&mut self, process: u32, start: u64, level: u8) {
        self.tags += 1;
        let priority = Priority { class: Class::BestEffort, level };
        let bio = Bio { priority, ..Bio::read(self.tags, SubmitterId(process), Sector(start), 8) };
        self.queue.submit(self.now, bio);
    }

    fn write_back(&mut self, process: u32, start: u64) {
        self.tags += 1;
        self.queue.submit(self.now, Bio::write_back(self.tags, SubmitterId(process), Sector(start), 8));
    }

    fn issue(&mut self) -> Option<InFlight> {
        match self.queue.next(self.now) {
            Next::Issue(command) => Some(command),
            _ => None,
        }
    }

    fn wait(&mut self, span: Span) {
        self.now += span;
        self.queue.elapse(self.now);
    }

    fn complete(&mut self, command: InFlight) {
        self.now += Span::from_ms(1);
        self.queue.complete(self.now, command, Outcome::Ok);
        self.queue.deliveries().for_each(drop);
    }

    /// One read that is issued at once and completes.
    fn read(&mut self, process: u32, start: u64) {
        self.bio(process, start, 4);
        let rq = self.issue().expect("nobody else is there");
        self.complete(rq);
    }

    fn said(&self, wanted: impl Fn(&Reason) -> bool) -> bool {
        self.queue.listener().iter().any(|(_, reason)| wanted(reason))
    }
}

const ERAS: [&str; 5] = ["cfq@2.6.31", "cfq@2.6.32", "cfq@2.6.33", "cfq@4.20", "cfq@4.20+groups"];

#[test]
fn a_reader_that_runs_empty_is_idled_for_and_the_timer_ends_its_slice() {
    for era in ERAS {
        let mut rig = Rig::new(era);
        rig.read(1, 8000);
        rig.bio(2, 1 << 30, 4);
        let answer = rig.queue.next(rig.now);
        assert!(
            matches!(answer, Next::Idle { why: blksched::reasons::IdleFor::Submitter(SubmitterId(1)), .. }),
            "{era}"
        );
        rig.wait(Span::from_ms(20));
        let in_vain = |reason: &Reason| matches!(reason, Reason::SliceEnded { why: SliceEnd::IdledInVain, .. });
        assert!(rig.said(in_vain) && rig.issue().is_some(), "{era}");
    }
}

#[test]
fn without_slice_idle_nobody_is_idled_for_and_it_says_so() {
    for era in ERAS {
        let mut rig = Rig::new(era);
        rig.queue.set(rig.now, "slice_idle", 0).unwrap();
        // Where there are groups, the disk also idles for them.
        let _without_groups = rig.queue.set(rig.now, "group_idle", 0);
        rig.read(1, 8000);
        rig.bio(2, 1 << 30, 4);
        assert!(rig.issue().is_some(), "{era}");
        assert!(rig.said(|reason| matches!(reason, Reason::NotIdled { why: NotIdled::NotWorthIt, .. })), "{era}");
    }
}

#[test]
fn a_read_preempts_write_back_and_says_why() {
    for era in ERAS {
        let mut rig = Rig::new(era);
        (0..8).for_each(|n| rig.write_back(1, n * 1000));
        let write = rig.issue().unwrap();
        rig.bio(2, 1 << 30, 4);
        let wanted = SliceEnd::Preempted(Preempt::SyncOverAsync);
        assert!(rig.said(|reason| matches!(reason, Reason::SliceEnded { why, .. } if *why == wanted)), "{era}");
        rig.complete(write);
        // Since 2.6.33 the time of write-back as a kind of load continues.
        if era < "cfq@2.6.33" {
            let read = rig.issue().unwrap();
            assert_eq!(rig.queue.requests()[read.rq].waiter, Waiter::Sync, "{era}");
        }
    }
}

#[test]
fn low_latency_lets_one_write_go_soon_after_a_read_and_says_which_formula_said_so() {
    for (era, most) in [("cfq@2.6.31", 4), ("cfq@2.6.32", 1), ("cfq@2.6.32+async_depth=unlimited", 4)] {
        let mut rig = Rig::new(era);
        (0..8).for_each(|n| rig.write_back(1, n * 1000));
        rig.write_back(2, 1 << 20);
        let sent = (0..20).map_while(|_| rig.issue()).count();
        // A queue alone dispatches four times its quantum in 2.6.31.
        assert!(sent >= most && (most == 4 || sent == 1), "{era}: {sent}");
        let held = |reason: &Reason| matches!(reason, Reason::HeldBack { why: HeldBack::AsyncDepth, .. });
        assert_eq!(rig.said(held), most == 1, "{era}");
    }
}

/// How many requests each process had in two virtual seconds, each reading sequentially without think time.
fn shares(era: &str, levels: &[u8]) -> Vec<u32> {
    let mut rig = Rig::new(era);
    let mut done = vec![0; levels.len()];
    let mut at: Vec<u64> = (0..levels.len() as u64).map(|process| (process + 1) << 30).collect();
    for (process, &level) in levels.iter().enumerate() {
        rig.bio(process as u32, at[process], level);
    }
    for _ in 0..20_000 {
        let Some(rq) = rig.issue() else {
            rig.wait(Span::from_ms(1));
            continue;
        };
        let process = rig.queue.requests()[rq.rq].submitter.0 as usize;
        rig.complete(rq);
        done[process] += 1;
        at[process] += 8;
        rig.bio(process as u32, at[process], levels[process]);
    }
    done
}

#[test]
fn equal_readers_get_equal_shares_within_one_slice() {
    for era in ERAS {
        let done = shares(era, &[4, 4, 4, 4]);
        let (least, most) = (done.iter().min().unwrap(), done.iter().max().unwrap());
        assert!(most - least <= 110, "{era}: {done:?}");
    }
}

#[test]
fn readers_of_other_levels_share_as_their_slices_say() {
    for era in ["cfq@2.6.32", "cfq@2.6.33", "cfq@4.20", "cfq@4.20+groups"] {
        let done = shares(era, &[0, 4, 7]);
        let per_ms = |process: usize, slice: f64| f64::from(done[process]) / slice;
        let (first, middle, last) = (per_ms(0, 180.0), per_ms(1, 100.0), per_ms(2, 40.0));
        assert!(done[0] > done[1] && done[1] > done[2], "{era}: {done:?}");
        assert!((first / middle - 1.0).abs() < 0.35 && (last / middle - 1.0).abs() < 0.35, "{era}: {done:?}");
    }
}

#[test]
fn a_priority_changed_while_running_counts_from_the_next_request_on() {
    for era in ERAS {
        let mut rig = Rig::new(era);
        rig.read(1, 0);
        rig.wait(Span::from_ms(20));
        rig.read(2, 1 << 30);
        let mut class_of = |process: u32, start: u64, class| {
            rig.tags += 1;
            let priority = Priority { class, level: 0 };
            rig.queue.submit(rig.now, Bio { priority, ..Bio::read(rig.tags, SubmitterId(process), Sector(start), 8) });
        };
        // The disk idles for the second; the first becomes real-time and reads far away.
        class_of(1, 1 << 40, Class::RealTime);
        let first = rig.issue().unwrap_or_else(|| panic!("{era}: real time does not wait for best effort"));
        assert_eq!(rig.queue.requests()[first.rq].submitter, SubmitterId(1), "{era}");
        let wanted = SliceEnd::Preempted(Preempt::RealTime);
        assert!(rig.said(|reason| matches!(reason, Reason::SliceEnded { why, .. } if *why == wanted)), "{era}");
    }
}

#[test]
fn a_process_that_exits_is_not_idled_for() {
    for era in ERAS {
        let mut rig = Rig::new(era);
        rig.read(1, 0);
        assert!(rig.queue.deadline().is_some(), "{era}: the disk idles for the first");
        rig.bio(2, 1 << 30, 4);
        rig.queue.forget(rig.now, SubmitterId(1));
        assert!(rig.said(|reason| matches!(reason, Reason::SliceEnded { why: SliceEnd::Gone, .. })), "{era}");
        let next = rig.issue().unwrap_or_else(|| panic!("{era}: the second may go"));
        assert_eq!(rig.queue.requests()[next.rq].submitter, SubmitterId(2), "{era}");
    }
}
