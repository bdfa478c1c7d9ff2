//! Damaged traces, of every format: refused or replayed, never a panic.

use std::io::Read;
use std::sync::Arc;

use blksched::{Catalogue, Span};
use blksched_simulate::recording::{Damage, Reading, in_memory, recording};
use blksched_simulate::{OtherDisk, Surroundings, Trial};
use blksched_workloads::Plan;
use blksched_workloads::replay::Replay;

/// A small generator for test inputs (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % limit
    }
}

const CASES: u64 = 400;

fn damaged(whole: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = whole[..whole.len().min(1_000 + random.below(5_000))].to_vec();
    if let Some(end) = bytes.iter().rposition(|&byte| byte == b'\n').filter(|_| whole.is_ascii()) {
        bytes.truncate(end + 1);
    }
    for _ in 0..random.below(4) {
        let at = random.below(bytes.len());
        match random.below(4) {
            0 => bytes[at] = random.below(256) as u8,
            1 => bytes[at] ^= 1 << random.below(8),
            2 => drop(bytes.remove(at)),
            _ => bytes[at] = b"0123456789 +[]-"[random.below(15)],
        }
    }
    bytes
}

fn trial(replay: Replay) -> Option<Trial> {
    let disk = Arc::new(blksched_disks::load("fixed").unwrap());
    let mut plan = Plan::default();
    plan.add_replay(replay, disk.build(0).facts().sectors).ok()?;
    Some(Trial {
        elevator: Catalogue::builtin().parse("mq-deadline").unwrap(),
        knobs: Vec::new(),
        surroundings: Surroundings::default(),
        disk,
        plan: Arc::new(plan),
        seed: 1,
        limit: Span::from_ms(20),
        other_disks: Vec::new(),
        beside: Default::default(),
    })
}

fn replayed(bytes: Vec<u8>, said: &str) -> Option<()> {
    each_device_a_disk(bytes.clone(), said);
    let recorded = recording(vec![in_memory("trace", bytes)], &Reading::default()).ok()?;
    trial(Replay::of("trace", said, Arc::new(recorded.recording)).ok()?)?.simulate().unwrap();
    Some(())
}

/// Damage is skipped, and there may be devices that never existed.
fn each_device_a_disk(bytes: Vec<u8>, said: &str) -> Option<()> {
    let mut reading = Reading { damage: Damage::Skipped, ..Reading::default() };
    reading.filter.take("device", "each").unwrap();
    let recorded = recording(vec![in_memory("trace", bytes)], &reading).ok()?;
    let whole = Replay::of("trace", said, Arc::new(recorded.recording)).ok()?;
    let trials: Vec<Trial> = recorded.each.iter().filter_map(|of| trial(whole.on(of.device)?)).collect();
    let other = |trial: &Trial| OtherDisk { disk: trial.disk.clone(), plan: trial.plan.clone() };
    let (first, others) = trials.split_first()?;
    Trial { other_disks: others.iter().map(other).collect(), ..first.clone() }.simulate().unwrap();
    Some(())
}

fn survive(whole: &[u8], seed: u64) {
    let mut random = Random(seed);
    let timings = ["", "timing=closed,scale=2", "timing=no_stall,skip=read", "time_scale=1000000,rows=name"];
    let done = (0..CASES).filter_map(|_| replayed(damaged(whole, &mut random), timings[random.below(timings.len())]));
    assert!(done.count() as u64 > CASES / 20, "hardly any was replayed");
}

fn unpacked(packed: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(packed).read_to_end(&mut text).unwrap();
    text
}

#[test]
fn binary_traces() {
    survive(include_bytes!("../../../../testdata/traces/mq-deadline.blktrace.0"), 1);
}

#[test]
fn blkparses_text() {
    survive(&unpacked(include_bytes!("../../../../testdata/traces/mq-deadline.blkparse.txt.gz")), 2);
}

#[test]
fn tracefss_text() {
    let text = unpacked(include_bytes!("../../../../testdata/traces/tracefs-mq-deadline.txt.gz"));
    let text = String::from_utf8(text).unwrap().replace("block_rq_issue: 7,2 W 4096 () ", "block_bio_queue: 7,2 W ");
    let text = text.replace("block_rq_issue: 7,2 WS 4096 () ", "block_bio_queue: 7,2 WS ");
    survive(text.as_bytes(), 3);
}
