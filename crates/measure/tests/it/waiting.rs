//! Hand-made streams of reasons, and what they must amount to.

use blksched::author::RequestId;
use blksched::reasons::{BatchEnd, BatchStart, IdleFor, Unplug};
use blksched::{Dir, Instant, Listener, Reason, Sector, Span, SubmitterId};
use blksched_measure::{BeganBy, Cause, IdleKind, Reasons, Serving, fairness};

/// A stream of reasons at times in nanoseconds.
#[derive(Default)]
struct Stream(Reasons);

impl Stream {
    fn at(&mut self, ns: u64, reason: Reason) -> &mut Stream {
        self.0.on_event(Instant::from_ns(ns), reason);
        self
    }

    fn inserted(&mut self, ns: u64, index: u32, dir: Dir) -> &mut Stream {
        self.at(ns, Reason::Inserted { rq: rq(index), dir, start: Sector(0), sectors: 8, submitter: who(dir) })
    }

    fn issued(&mut self, ns: u64, index: u32, dir: Dir) -> &mut Stream {
        self.at(ns, Reason::Issued { rq: rq(index), dir, sectors: 8, submitter: who(dir) })
    }

    fn completed(&mut self, ns: u64, index: u32, dir: Dir) -> &mut Stream {
        self.at(ns, Reason::Completed { rq: rq(index), dir, sectors: 8, submitter: who(dir) })
    }

    fn began(&mut self, ns: u64, index: u32, dir: Dir, why: BatchStart) -> &mut Stream {
        self.at(ns, Reason::BatchBegan { dir, rq: rq(index), why })
    }

    fn waited(&self, dir: Dir, cause: Cause) -> u64 {
        self.0.waiting(dir).on(cause).as_ns()
    }
}

fn rq(index: u32) -> RequestId {
    RequestId::from_index(index)
}

/// Reads belong to submitter 1, writes to submitter 2.
fn who(dir: Dir) -> SubmitterId {
    SubmitterId(1 + dir as u32)
}

fn serving(dir: Dir, by: BeganBy) -> Cause {
    Cause::Serving(Serving::Batch(dir, by))
}

/// A write begins alone; two reads arrive behind it; the disk then idles for a reader before it takes the second.
fn reads_behind_a_write() -> Stream {
    let mut stream = Stream::default();
    stream.inserted(0, 0, Dir::Write).began(0, 0, Dir::Write, BatchStart::Oldest).issued(0, 0, Dir::Write);
    stream.inserted(100, 1, Dir::Read).inserted(150, 2, Dir::Read);
    stream.completed(400, 0, Dir::Write);
    stream.began(400, 1, Dir::Read, BatchStart::Oldest).issued(400, 1, Dir::Read).completed(450, 1, Dir::Read);
    let (until, why) = (Instant::from_ns(900), IdleFor::Submitter(who(Dir::Read)));
    stream.at(450, Reason::Armed { until, why }).at(470, Reason::Cancelled);
    stream.issued(490, 2, Dir::Read).completed(600, 2, Dir::Read);
    stream
}

#[test]
fn causes_add_up_to_the_waiting() {
    let stream = reads_behind_a_write();
    let reads = stream.0.waiting(Dir::Read);
    assert_eq!((reads.requests(), reads.total().as_ns()), (2, 300 + 340));
    assert_eq!(stream.waited(Dir::Read, serving(Dir::Write, BeganBy::Alone)), 300 + 250);
    assert_eq!(stream.waited(Dir::Read, serving(Dir::Read, BeganBy::Alone)), 50);
    assert_eq!(stream.waited(Dir::Read, Cause::Idle(IdleKind::Submitter)), 20);
    assert_eq!(stream.waited(Dir::Read, Cause::Unserved), 20);
    let sum: u64 = reads.causes().iter().map(|(_, span)| span.as_ns()).sum();
    assert_eq!(sum, reads.total().as_ns());
    let shares: f64 = Cause::all().map(|cause| reads.share(cause)).sum();
    assert!((shares - 1.0).abs() < 1e-12);
}

#[test]
fn the_greatest_cause_comes_first_in_words() {
    let words = reads_behind_a_write().0.waiting(Dir::Read).in_words(Dir::Read);
    assert_eq!(words[0], ("writes begun while no reads waited".to_owned(), Span::from_ns(550)));
    assert_eq!(words[1], ("reads ahead of it".to_owned(), Span::from_ns(50)));
}

#[test]
fn the_longest_waiter_is_kept_with_its_own_causes() {
    let longest = reads_behind_a_write().0.waiting(Dir::Read).longest.unwrap();
    assert_eq!((longest.queued_at.as_ns(), longest.issued_at.as_ns()), (150, 490));
    assert_eq!(longest.waited().as_ns(), 340);
    assert_eq!(longest.on(serving(Dir::Write, BeganBy::Alone)).as_ns(), 250);
}

#[test]
fn the_disks_time_adds_up_to_the_run() {
    let mut stream = reads_behind_a_write();
    stream.0.settle(Instant::from_ns(1000));
    let disk = stream.0.disk();
    assert_eq!((disk.elapsed().as_ns(), disk.busy().as_ns()), (1000, 400 + 50 + 110));
    assert_eq!(disk.on(Cause::Empty).as_ns(), 400);
    assert_eq!(disk.iter().map(|(_, span)| span.as_ns()).sum::<u64>(), 1000);
    assert_eq!(disk.busy_share(), 0.56);
}

#[test]
fn the_table_of_waiting_reads_in_words() {
    let text = reads_behind_a_write().0.waiting_table().text(None, blksched_measure::Borders::Ascii);
    let expected = "\
What requests waited for
-----------------------------------------------------------------------------------------
        waited for                                          in all   per request   share
-----------------------------------------------------------------------------------------
 read   writes begun while no reads waited                   550ns         275ns   85.9%
 read   reads ahead of it                                     50ns          25ns    7.8%
 read   the disk kept idle for a submitter's next request     20ns          10ns    3.1%
 read   nothing: the disk was free                            20ns          10ns    3.1%
-----------------------------------------------------------------------------------------
";
    assert_eq!(text, expected, "\n{text}");
}

#[test]
fn a_plugged_queue_is_waited_for_as_such() {
    let mut stream = Stream::default();
    stream.at(10, Reason::Plugged).inserted(10, 0, Dir::Read);
    stream.at(3010, Reason::Unplugged(Unplug::Timer)).issued(3010, 0, Dir::Read);
    assert_eq!(stream.waited(Dir::Read, Cause::Plugged), 3000);
    assert_eq!((stream.0.entered().plugged, stream.0.entered().unplugged(Unplug::Timer)), (1, 1));
}

#[test]
fn arrivals_wait_for_the_whole_of_a_moved_batch() {
    let mut stream = Stream::default();
    stream.inserted(0, 0, Dir::Write).inserted(0, 1, Dir::Write);
    stream.began(0, 0, Dir::Write, BatchStart::Lowest);
    stream.at(0, Reason::BatchMoved { dir: Dir::Write, requests: 2, end: BatchEnd::EndOfOrder });
    stream.issued(0, 0, Dir::Write).inserted(5, 2, Dir::Read).completed(100, 0, Dir::Write);
    stream.issued(100, 1, Dir::Write).completed(200, 1, Dir::Write);
    stream.began(200, 2, Dir::Read, BatchStart::Lowest).issued(200, 2, Dir::Read);
    assert_eq!(stream.waited(Dir::Read, serving(Dir::Write, BeganBy::Moved)), 195);
    assert_eq!(stream.waited(Dir::Write, serving(Dir::Write, BeganBy::Moved)), 100);
    assert_eq!(stream.0.batches().lengths(Dir::Write).max(), 2);
}

#[test]
fn two_in_flight_share_the_blame() {
    let mut stream = Stream::default();
    stream.inserted(0, 0, Dir::Read).issued(0, 0, Dir::Read);
    stream.inserted(0, 1, Dir::Write).issued(0, 1, Dir::Write);
    stream.inserted(10, 2, Dir::Read).completed(111, 0, Dir::Read).issued(111, 2, Dir::Read);
    let reads = stream.waited(Dir::Read, serving(Dir::Read, BeganBy::Unbatched));
    let writes = stream.waited(Dir::Read, serving(Dir::Write, BeganBy::Unbatched));
    assert_eq!((reads + writes, reads.abs_diff(writes)), (101, 1));
}

#[test]
fn the_survivor_of_a_coalescing_has_waited_as_long_as_the_older() {
    let mut stream = Stream::default();
    stream.inserted(0, 0, Dir::Write).inserted(70, 1, Dir::Write);
    stream.at(80, Reason::Coalesced { into: rq(1), victim: rq(0) });
    stream.issued(100, 1, Dir::Write).completed(150, 1, Dir::Write);
    assert_eq!((stream.0.waiting(Dir::Write).requests(), stream.0.waiting(Dir::Write).total().as_ns()), (1, 100));
    assert_eq!(stream.0.queued(Dir::Write), 0);
    assert_eq!(stream.0.entered().coalesced, 1);
}

#[test]
fn a_request_handed_back_waits_again_for_what_it_was_issued_for() {
    let mut stream = Stream::default();
    stream.inserted(0, 0, Dir::Read).began(0, 0, Dir::Read, BatchStart::Oldest).issued(20, 0, Dir::Read);
    stream.at(50, Reason::Requeued { rq: rq(0) });
    stream.inserted(55, 1, Dir::Write).began(55, 1, Dir::Write, BatchStart::Oldest);
    stream.issued(60, 0, Dir::Read).completed(90, 0, Dir::Read);
    assert_eq!(stream.0.waiting(Dir::Read).total().as_ns(), 20 + 10);
    let alone = Cause::Serving(Serving::Batch(Dir::Read, BeganBy::Alone));
    assert_eq!(stream.0.disk().on(alone).as_ns(), 30 + 30);
    let share = stream.0.submitters().next().unwrap().share;
    assert_eq!((share.asked.as_ns(), share.given.as_ns()), (90, 60));
}

#[test]
fn a_flush_is_nobodys_and_is_waited_for_as_such() {
    let mut stream = Stream::default();
    let flush = |rq| (rq, Dir::Write, 0, SubmitterId(0));
    let (rq7, dir, sectors, submitter) = flush(rq(7));
    stream.at(0, Reason::FlushSent { bios: 2 });
    stream.at(0, Reason::Issued { rq: rq7, dir, sectors, submitter });
    stream.inserted(10, 0, Dir::Read);
    stream.at(60, Reason::Completed { rq: rq7, dir, sectors, submitter });
    stream.issued(60, 0, Dir::Read);
    assert_eq!(stream.waited(Dir::Read, Cause::Serving(Serving::Flush)), 50);
    assert_eq!(stream.0.submitters().count(), 1);
    assert_eq!((stream.0.entered().flushes, stream.0.entered().flushed_bios), (1, 2));
    assert_eq!(stream.0.waiting(Dir::Write).requests(), 0);
}

#[test]
fn a_live_switch_neither_inserts_nor_restarts_the_clock() {
    let mut stream = Stream::default();
    stream.inserted(0, 0, Dir::Read).at(40, Reason::Switched { requests: 1 });
    stream.inserted(40, 0, Dir::Read).issued(100, 0, Dir::Read);
    assert_eq!((stream.0.entered().inserted.read, stream.0.queued(Dir::Read)), (1, 0));
    assert_eq!(stream.0.waiting(Dir::Read).total().as_ns(), 100);
}

#[test]
fn given_over_asked_shows_who_was_starved() {
    let mut stream = Stream::default();
    stream.inserted(0, 0, Dir::Write).issued(0, 0, Dir::Write).inserted(0, 1, Dir::Read);
    stream.completed(900, 0, Dir::Write).issued(900, 1, Dir::Read).completed(1000, 1, Dir::Read);
    let shares: Vec<_> = stream.0.submitters().map(|time| time.share).collect();
    assert_eq!(shares.iter().map(|s| s.satisfaction().unwrap()).collect::<Vec<_>>(), [1.0, 0.1]);
    assert!(fairness(&shares, &[vec![0, 1]]).is_some_and(|index| index < 0.6));
}

#[test]
fn sleeps_for_slots_are_measured() {
    let mut stream = Stream::default();
    let submitter = who(Dir::Write);
    stream.at(10, Reason::Slept { submitter, dir: Dir::Write }).at(35, Reason::Woke { submitter });
    assert_eq!(stream.0.sleeps(Dir::Write).lengths.sum(), 25);
}

#[test]
fn a_request_that_no_elevator_saw_is_served_all_the_same() {
    let mut stream = Stream::default();
    stream.issued(10, 0, Dir::Write).completed(30, 0, Dir::Write).completed(40, 1, Dir::Read);
    let share = stream.0.submitters().next().unwrap().share;
    assert_eq!((share.asked.as_ns(), share.given.as_ns()), (20, 20));
    assert_eq!(stream.0.waiting(Dir::Write).requests(), 0);
}
