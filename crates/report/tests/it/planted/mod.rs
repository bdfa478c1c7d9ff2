//! A run made up so that everybody knows what its pictures must look like: somebody writes in order, somebody reads
//! anywhere, and takes longer each time.

use blksched_report::{
    Against, Blame, Download, Mark, MarkKind, Published, PublishedRow, RecordedCommand, RecordedIo, RecordedRun,
    Report, ShownAnswer, Stretch, StretchKind, TimePart, TimePiece, Way,
};

/// The disk's size \[sectors\].
pub const DISK: u64 = 1 << 30;
/// The time from one I/O to the next \[ns\].
pub const GAP: u64 = 50_000;

/// A run of this many I/Os.
pub fn run(name: &str, ios: u64) -> RecordedRun {
    let mut run = RecordedRun {
        name: name.to_owned(),
        elapsed_ns: ios * GAP,
        disk_sectors: DISK,
        processes: vec!["writer".to_owned(), "reader/0".to_owned(), "reader/1".to_owned()],
        jobs: vec!["writer".to_owned(), "reader".to_owned()],
        jobs_of: vec![0, 1, 1],
        lanes: vec!["writer".to_owned(), "reader/0".to_owned()],
        words: vec!["it was its turn".to_owned(), "a request came that goes first".to_owned()],
        parts: vec![
            TimePart { leg: 1, rule: "held its turn (slice, budget)".to_owned(), whom: "writer".to_owned() },
            TimePart { leg: 3, rule: "transfer".to_owned(), whom: String::new() },
        ],
        ..RecordedRun::default()
    };
    for nth in 0..ios {
        let is_writer = nth % 2 == 0;
        let sector =
            if is_writer { nth * (DISK / 2) / ios } else { DISK / 2 + (nth * 2_654_435_761) % (DISK / 2 - 64) };
        let process = if is_writer { 0 } else { 1 + (nth / 2 % 2) as u32 };
        let way = if is_writer { Way::Write } else { Way::Read };
        let begun_ns = nth * GAP;
        let latency_ns = if is_writer { 40_000 } else { 1_000_000 + nth * 10_000_000 / ios };
        let queued_ns = begun_ns;
        let issued_ns = begun_ns + 10_000;
        let ended_ns = issued_ns + 30_000;
        run.sent.push(RecordedCommand {
            process,
            way,
            sector,
            sectors: 8,
            queued_ns,
            issued_ns,
            ended_ns,
            io: nth + 1,
        });
        let first = run.pieces.len() as u32;
        run.pieces.push(TimePiece { part: 0, ns: latency_ns - 30_000, commands: 2 });
        run.pieces.push(TimePiece { part: 1, ns: 30_000, commands: 0 });
        let pieces = (first, 2);
        run.ios.push(RecordedIo { nth: nth + 1, process, way, sector, sectors: 8, begun_ns, latency_ns, pieces });
    }
    decisions(&mut run, ios);
    run.stories.insert(2, "waited for the writer's turn".to_owned());
    run
}

fn decisions(run: &mut RecordedRun, ios: u64) {
    let turns = (ios / 10).max(2);
    let each = run.elapsed_ns / turns;
    for nth in 0..turns {
        let kind = if nth % 4 == 3 { StretchKind::Idle } else { StretchKind::Turn };
        let (from_ns, to_ns) = (nth * each, nth * each + each * 3 / 4);
        run.stretches.push(Stretch { lane: (nth % 2) as u32, kind, from_ns, to_ns, why: 0 });
        if nth % 5 == 0 {
            run.marks.push(Mark { lane: 0, kind: MarkKind::Preempted, at_ns: to_ns, why: 1 });
        }
    }
    let (who, whom) = ("reader".to_owned(), "writer".to_owned());
    let rule = "held its turn (slice, budget)".to_owned();
    run.blame.push(Blame { who, whom, rule, leg: 1, ns: ios * 1_000_000, ios: ios / 2 });
    let (who, rule) = ("reader".to_owned(), "transfer".to_owned());
    run.blame.push(Blame { who, whom: String::new(), rule, leg: 3, ns: ios * 200_000, ios: ios / 2 });
    run.totals.insert("reader".to_owned(), (ios / 2, ios * 1_200_000));
    run.totals.insert("writer".to_owned(), (ios / 2, ios * 20_000));
    let parts = [("transfer", 60), ("seek", 20), ("idle on purpose", 15), ("nothing to do", 5)];
    run.disk_time = parts.map(|(name, part)| (name.to_owned(), run.elapsed_ns * part / 100)).to_vec();
}

/// A report of two such runs, and of a published table.
pub fn report(ios: u64) -> Report {
    let row = |label: &str, ours: f64, inside: bool| PublishedRow {
        label: label.to_owned(),
        unit: "s".to_owned(),
        published: Some(10.0),
        ours: Some(ours),
        spread: Some((ours * 0.9, ours * 1.1)),
        bound: Some((8.0, 12.0)),
        inside: Some(inside),
        claimed: true,
    };
    let published = Published {
        against: Against::Published,
        name: "planted".to_owned(),
        source: "nobody".to_owned(),
        rows: vec![row("inside", 11.0, true), row("outside", 20.0, false)],
        why: vec!["Because.".to_owned()],
    };
    Report {
        answer: ShownAnswer {
            title: "planted on a disk".to_owned(),
            heading: "two runs that were made up".to_owned(),
            action: Some("Use nothing: this is a test.".to_owned()),
            sentences: vec!["reader: waits for the writer.".to_owned()],
            ..ShownAnswer::default()
        },
        runs: vec![run("first", ios), run("second", ios)],
        proposed: None,
        published: vec![published],
        downloads: vec![Download { name: "a.json".to_owned(), media_type: "application/json", text: "{}".to_owned() }],
        beside: vec!["planted.ios.parquet".to_owned()],
    }
}
