//! Nanoseconds per request through the block queue (look-up, insert, dispatch, complete, delivery): per elevator, at
//! four queue lengths, with random keys; and per bio with sequential keys, where almost every bio joins a request.

mod load;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use load::{Keys, Load, elevators};
use std::time::Duration;

const QUEUED: [u32; 4] = [128, 512, 4096, 65_536];

fn bench(criterion: &mut Criterion) {
    for (keys, word, lengths) in [(Keys::Random, "random", &QUEUED[..]), (Keys::Sequential, "sequential", &QUEUED[..1])]
    {
        let mut group = criterion.benchmark_group(word);
        group.sample_size(20).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
        group.throughput(Throughput::Elements(1));
        for elevator in elevators() {
            for &queued in lengths {
                let mut load = Load::new(&elevator, queued, keys, 1);
                group.bench_function(BenchmarkId::new(&elevator, queued), |bencher| bencher.iter(|| load.step()));
            }
        }
    }
}

/// CFQ with several processes, as it keeps state for each.
fn processes(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("processes");
    group.sample_size(20).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    group.throughput(Throughput::Elements(1));
    for elevator in elevators().into_iter().filter(|name| name.starts_with("cfq")) {
        for processes in [8, 128] {
            let mut load = Load::new(&elevator, 4096, Keys::Random, processes);
            group.bench_function(BenchmarkId::new(&elevator, processes), |bencher| bencher.iter(|| load.step()));
        }
    }
}

criterion_group!(benches, bench, processes);
criterion_main!(benches);
