//! A fio job and a disk's name go in, what to do comes out: `cargo run -p blksched-lab --example which_scheduler`.

use blksched_lab::{Comparison, Error, Scene};

fn main() -> Result<(), Error> {
    let job = "[global]\ntime_based\nruntime=60\n[db]\nrw=randread\nbs=8k\nsize=4g\n[backup]\nrw=read\nbs=1m\nsize=20g";
    let verdict = Comparison::of(Scene::of_jobs("my.fio", job, "hdd-7200"), 5).answer()?.verdict;
    match &verdict.proposal {
        Some(better) => println!("use {better}: {:.2} times better", better.times_better.ratio),
        None => println!("keep {}", verdict.default.label()),
    }
    print!("{verdict}");
    Ok(())
}
