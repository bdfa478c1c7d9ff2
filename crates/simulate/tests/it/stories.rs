//! Where an I/O's time went: the pieces follow one another and add up to its latency, under every elevator, and what
//! they say agrees with what others counted.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use blksched::{Catalogue, Span, SubmitterId};
use blksched_measure::{Reasons, Work};
use blksched_simulate::story::{Leg, Part, Rule, StoriesAsked, Story, Storyteller, Whose};
use blksched_simulate::{Findings, Starts, Surroundings, Trial};
use blksched_workloads::fio::JobFile;

struct Told {
    teller: Storyteller,
    findings: Findings,
}

fn all() -> StoriesAsked {
    StoriesAsked { slowest: usize::MAX, nth: None, at: None, by: BTreeSet::new() }
}

fn tell(jobs: &str, elevator: &str, disk: &str, around: Surroundings, asked: StoriesAsked, limit: Span) -> Told {
    let spec = Arc::new(blksched_disks::load(disk).unwrap());
    let plan = JobFile::parse(jobs, "jobs").unwrap_or_else(|error| panic!("{error}\n{jobs}"));
    let plan = plan.plan(spec.build(0).facts().sectors).unwrap_or_else(|error| panic!("{error}\n{jobs}"));
    let trial = Trial {
        elevator: Catalogue::builtin().parse(elevator).unwrap(),
        knobs: Vec::new(),
        surroundings: around,
        disk: spec,
        plan: Arc::new(plan),
        seed: 3,
        limit,
        other_disks: Vec::new(),
        beside: Default::default(),
    };
    let teller = Rc::new(RefCell::new(trial.storyteller(asked)));
    let findings = trial.simulate_before(teller.clone(), Reasons::new()).unwrap();
    assert_eq!(findings.hash, trial.simulate().unwrap().hash, "who looks on changes nothing");
    let teller = Rc::into_inner(teller).expect("the run is over").into_inner();
    Told { teller, findings }
}

/// Job files drawn from a seed: a few processes of all kinds.
fn load(seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut draw = |choices: &[&str]| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        choices[(state % choices.len() as u64) as usize].to_owned()
    };
    let mut text = "[global]\nsize=64m\nnumber_ios=60\n".to_owned();
    for job in 0..4 {
        text += &format!("[j{job}]\n");
        text += &format!("rw={}\n", draw(&["read", "write", "randread", "randwrite", "randrw", "rw"]));
        text += &format!("bs={}\n", draw(&["4k", "8k", "64k", "1m"]));
        text += &draw(&["direct=1\nioengine=libaio\niodepth=16\n", "direct=1\n", "direct=0\n"]);
        text += &draw(&["", "", "fsync=8\n", "fdatasync=4\n", "thinktime=2ms\n"]);
        text += &draw(&["", "", "prioclass=1\n", "nice=10\n", "sync=1\n"]);
    }
    text
}

fn check(told: &Told, what: &str) {
    let stories = told.teller.stories();
    assert!(stories.len() > 100, "{what}: {} stories", stories.len());
    for Story { nth, begun_at, landed_at, pieces, .. } in stories {
        let mut now = *begun_at;
        for piece in pieces {
            assert_eq!(piece.from, now, "{what}, I/O {nth}: a gap or an overlap in {pieces:#?}");
            assert!(piece.to > piece.from, "{what}, I/O {nth}: a piece of no length in {pieces:#?}");
            assert_ne!(piece.part, Part::Forgotten, "{what}, I/O {nth}");
            now = piece.to;
        }
        assert_eq!(now, *landed_at, "{what}, I/O {nth}: the pieces do not reach its end: {pieces:#?}");
    }
    for (by, total) in told.teller.blame().totals() {
        let cells = told.teller.blame().cells().filter(|(who, ..)| *who == by);
        assert_eq!(cells.fold(Span::ZERO, |sum, (.., cell)| sum + cell.time), total.time, "{what}: cells of {by:?}");
        let own = stories.iter().filter(|story| story.begun.by == by);
        assert_eq!(own.fold(Span::ZERO, |sum, story| sum + story.latency()), total.time, "{what}: stories of {by:?}");
    }
}

#[test]
fn the_pieces_of_every_io_add_up_to_its_latency_under_every_elevator() {
    for (nth, era) in Catalogue::builtin().eras().into_iter().enumerate() {
        let disk = ["sata-2009", "sata-ssd-ideal", "fixed", "raid5:3xide-2002"][nth % 4];
        for seed in [nth as u64, 100 + nth as u64] {
            let around = match seed % 3 {
                0 => Surroundings { nr_requests: Some(4), max_sectors: Some(128), ..Surroundings::default() },
                1 => Surroundings { depth: Some(2), starts: Starts::Drawn(0), ..Surroundings::default() },
                _ => Surroundings::default(),
            };
            let jobs = load(seed);
            let told = tell(&jobs, &era, disk, around, all(), Span::from_secs(600));
            check(&told, &format!("{era} on {disk}, {jobs}"));
        }
    }
}

#[test]
fn stories_agree_with_what_the_recorder_and_the_reasons_counted() {
    // Direct, one bio per request, so that what is counted by request is counted by I/O.
    let jobs = "[global]\ndirect=1\nsize=64m\nbs=4k\nnumber_ios=200\n[a]\nrw=randread\nioengine=libaio\niodepth=8\n\
                [b]\nrw=randwrite\nioengine=libaio\niodepth=8\n";
    for elevator in ["mq-deadline", "bfq", "kyber", "none", "cfq", "deadline", "anticipatory"] {
        let none = Surroundings::default();
        let told = tell(jobs, elevator, "sata-2009", none, all(), Span::from_secs(600));
        let stories = told.teller.stories();
        for (job, outcome) in told.findings.jobs.iter().enumerate() {
            let by = SubmitterId(job as u32);
            let own: Vec<_> = stories.iter().filter(|story| story.begun.by == by).collect();
            let work = if job == 0 { Work::Read } else { Work::Write };
            let recorded = outcome.record.work(work);
            assert_eq!(own.len() as u64, recorded.ios, "{elevator}");
            let slowest = own.iter().map(|story| story.latency().as_ns()).max().unwrap_or(0);
            assert_eq!(slowest, recorded.lat.max(), "{elevator}: the slowest of job {job}");
        }
        let leg = |leg: Leg| {
            let pieces = stories.iter().flat_map(|story| &story.pieces).filter(|piece| piece.part.leg() == leg);
            pieces.fold(0, |sum, piece| sum + piece.length().as_ns())
        };
        let waited: u64 =
            blksched::Dir::BOTH.iter().map(|&dir| told.findings.reasons.waiting(dir).total().as_ns()).sum();
        assert_eq!(leg(Leg::Elevator), waited, "{elevator}: what requests waited in the queue");
        let seeks = stories.iter().flat_map(|story| &story.pieces).filter(|piece| piece.part == Part::Seek);
        let seeks = seeks.fold(0, |sum, piece| sum + piece.length().as_ns());
        let ledger = told.findings.disk.activity.seek.as_ns();
        assert!(seeks > 0 && seeks <= ledger, "{elevator}: {seeks} ns of seeks in stories, {ledger} in the disk");
    }
}

#[test]
fn a_slice_is_blamed_on_its_owner_and_idling_on_whom_it_is_for() {
    let jobs = "[global]\ndirect=1\nsize=256m\n[stream]\nrw=read\nbs=64k\n[seeker]\nrw=randread\nbs=4k\n";
    let told = tell(
        jobs,
        "cfq",
        "sata-2009",
        Surroundings { depth: Some(1), ..Surroundings::default() },
        all(),
        Span::from_secs(5),
    );
    let (stream, seeker) = (SubmitterId(0), SubmitterId(1));
    let time = |part: Part| {
        let mut cells = told.teller.blame().cells().filter(|&(who, of, _)| who == seeker && of == part);
        cells.next().map_or(Span::ZERO, |(.., cell)| cell.time)
    };
    let slice = time(Part::Behind(Whose::Process(stream), Rule::Slice));
    let total = told.teller.blame().totals().find(|&(by, _)| by == seeker).unwrap().1.time;
    assert!(slice.as_ns() * 2 > total.as_ns(), "{slice} of {total}");
    assert_eq!(time(Part::Behind(Whose::Process(seeker), Rule::Slice)), Span::ZERO, "its own slice keeps nobody");
}

#[test]
fn what_is_kept_does_not_grow_with_the_run() {
    let jobs = "[global]\ndirect=1\nsize=256m\nrw=randread\nbs=4k\nioengine=libaio\niodepth=16\n[a]\n[b]\n";
    let asked = StoriesAsked { slowest: 3, ..all() };
    let kept = |ms| {
        let around = Surroundings::default();
        let told = tell(jobs, "mq-deadline", "sata-ssd-ideal", around, asked.clone(), Span::from_ms(ms));
        assert_eq!(told.teller.stories().len(), 3);
        (told.teller.kept().1, told.teller.matched())
    };
    let ((short, few), (long, many)) = (kept(150), kept(600));
    assert!(many > 3 * few && long <= short.max(8192), "{short} after {few} I/Os, {long} after {many}");
}
