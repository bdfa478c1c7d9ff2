//! Simulated requests per second, on one core: at three depths, with and without a command queue in the disk, with
//! nothing kept and with what `compare` keeps.

mod scene;

use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use scene::Scene;

fn bench(criterion: &mut Criterion) {
    for scene in Scene::all() {
        let mut group = criterion.benchmark_group("simulate");
        group.sample_size(20).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
        group.throughput(Throughput::Elements(1));
        let mut running = scene.begin();
        running.complete(1000);
        group.bench_function(scene.name(), |bencher| {
            bencher.iter_custom(|requests| {
                let begun = Instant::now();
                running.complete(requests);
                begun.elapsed()
            });
        });
    }
}

criterion_group!(benches, bench);
criterion_main!(benches);
