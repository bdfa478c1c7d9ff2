//! Events of a blktrace recording per second: looked through as `trace info` does, and read for a replay.

use std::time::Duration;

use blksched_simulate::recording::{Info, Named, Reading, Stream, in_memory, recording};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

/// A real recording, one file per CPU, of one second.
const RECORDED: [&[u8]; 2] = [
    include_bytes!("../../../testdata/traces/mq-deadline.blktrace.0"),
    include_bytes!("../../../testdata/traces/mq-deadline.blktrace.1"),
];
/// So often, one behind the other.
const TIMES: u64 = 20;
/// From one to the next \[ns\].
const APART: u64 = 2_000_000_000;
/// An event's bytes, without what it brings along; where its moment stands, and the length of the rest.
const EVENT: usize = 48;
const TIME: usize = 8;
const REST: usize = 46;

fn bench(criterion: &mut Criterion) {
    let traces = RECORDED.map(repeated);
    let events: u64 = traces.iter().map(|(_, events)| *events).sum();
    let files = || -> Vec<Named> { traces.iter().map(|(bytes, _)| in_memory("cpu", bytes.clone())).collect() };
    let mut group = criterion.benchmark_group("trace");
    group.sample_size(20).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(2));
    group.throughput(Throughput::Elements(events));
    group.bench_function("info", |bencher| {
        bencher.iter(|| {
            let mut stream = Stream::open(files(), Reading::default()).expect("a trace").without_plugs();
            Info::of(&mut stream).expect("a whole trace").ios()
        });
    });
    group.bench_function("recording", |bencher| {
        bencher.iter(|| recording(files(), &Reading::default()).expect("a whole trace").recording.ios());
    });
}

/// The bytes so often, each time later; and how many events they are.
fn repeated(bytes: &[u8]) -> (Vec<u8>, u64) {
    let (mut all, mut events) = (Vec::with_capacity(bytes.len() * TIMES as usize), 0);
    for time in 0..TIMES {
        let mut rest = bytes;
        while let Some(event) = rest.get(..EVENT) {
            let length = EVENT + usize::from(u16::from_le_bytes([event[REST], event[REST + 1]]));
            let begin = all.len();
            all.extend_from_slice(&rest[..length]);
            let moment: &mut [u8] = &mut all[begin + TIME..begin + TIME + 8];
            let at = moment.iter().rev().fold(0_u64, |sum, &byte| sum << 8 | u64::from(byte));
            moment.copy_from_slice(&(at + time * APART).to_le_bytes());
            rest = &rest[length..];
            events += 1;
        }
    }
    (all, events)
}

criterion_group!(benches, bench);
criterion_main!(benches);
