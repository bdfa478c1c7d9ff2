//! Events of a blktrace recording per second: looked through as `trace info` does, and read for a replay.

mod events;

use std::time::Duration;

use blksched_simulate::recording::{Info, Named, Reading, Stream, in_memory, recording};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use events::{RECORDED, count, events};

/// How many times the trace is repeated.
const TIMES: u64 = 20;

fn bench(criterion: &mut Criterion) {
    let traces = RECORDED.map(|bytes| events(bytes, TIMES * count(bytes)));
    let all: u64 = traces.iter().map(|bytes| count(bytes)).sum();
    let files = || -> Vec<Named> { traces.iter().map(|bytes| in_memory("cpu", bytes.clone())).collect() };
    let mut group = criterion.benchmark_group("trace");
    group.sample_size(20).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(2));
    group.throughput(Throughput::Elements(all));
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

criterion_group!(benches, bench);
criterion_main!(benches);
