//! A running kernel (6.18) against our elevators of 6.18 and others: the recorded block events of random writes at
//! depth 512.

use std::io::BufReader;
use std::path::Path;

use blksched::Catalogue;
use blksched_conformance::live::{Agreement, RecordedSurroundings, compare};
use blksched_traces::tracefs::{self, TracefsEvent, TracefsLine};

fn lines(scheduler: &str) -> Vec<TracefsLine> {
    let name = format!("../../testdata/traces/tracefs-{scheduler}.txt.gz");
    let path = Path::new(&name);
    let file = std::fs::File::open(path).unwrap();
    tracefs::read(BufReader::new(flate2::read::GzDecoder::new(file)), path).unwrap()
}

fn agreement(lines: &[TracefsLine], elevator: &str) -> Agreement {
    let recorded = RecordedSurroundings { nr_requests: 256, tags: 128, rotational: false, knobs: Vec::new() };
    compare(lines, &Catalogue::builtin().parse(elevator).unwrap(), &recorded).unwrap()
}

#[test]
fn mq_deadline_decides_as_a_6_18_did_wherever_the_trace_says_why() {
    let found = agreement(&lines("mq-deadline"), "mq-deadline@6.18");
    assert_eq!(found.issued, 4320);
    assert!(found.ours.is_empty(), "{found:#?}");
    assert!(found.agreed >= 4310, "{found:?}");
}

#[test]
fn another_elevator_does_not() {
    let found = agreement(&lines("mq-deadline"), "noop");
    assert!(found.share() < 0.5, "{found:?}");
    let batches_of_one =
        RecordedSurroundings { nr_requests: 256, tags: 128, rotational: false, knobs: vec![("fifo_batch".into(), 1)] };
    let elevator = Catalogue::builtin().parse("mq-deadline@6.18").unwrap();
    let mut lines = lines("mq-deadline");
    let same = compare(&lines, &elevator, &batches_of_one).unwrap();
    assert!(same.ours.is_empty(), "nothing expired, so the length of a batch decided nothing: {same:?}");
    // Exactly two swapped issues are detected.
    let issues: Vec<usize> = (3000..4000).filter(|&nth| lines[nth].event == TracefsEvent::Issue).collect();
    let same_cpu = |pair: &&[usize]| pair[0] + 1 == pair[1] && lines[pair[0]].cpu == lines[pair[1]].cpu;
    let pair = issues.windows(2).find(same_cpu).unwrap();
    let (first, second) = (lines[pair[0]].sector, lines[pair[1]].sector);
    (lines[pair[0]].sector, lines[pair[1]].sector) = (second, first);
    let found = agreement(&lines, "mq-deadline@6.18");
    assert_eq!((found.ours.len(), found.caught_up - found.raced), (1, 1), "{found:?}");
    assert_eq!(found.ours[0].kernel, second);
}
