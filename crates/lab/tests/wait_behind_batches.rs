//! The wait behind batches, N · (L · c + r): on a disk where every request takes as long, the formula is what a run
//! gives; and the two knobs that are not in it act where the formula says, when several reads wait at once.

use std::sync::Arc;

use blksched::Catalogue;
use blksched_disks::DiskSpec;
use blksched_lab::runs::Runs;
use blksched_lab::runs::measured::Measured;
use blksched_lab::scene::{Stage, contenders, some_time};
use blksched_lab::{Comparison, Error, Files, Scene};
use blksched_measure::Work;

/// A disk on which every command takes as long as its name says.
struct Constant;

impl Files for Constant {
    fn disk(&self, name: &str) -> Result<DiskSpec, Error> {
        let text = format!(
            "kind = \"fixed\"\ndescription = \"\"\ncapacity = \"100GB\"\nmax_command = \"1MiB\"\n\
             depth = 1\nchannels = 1\nservice = \"{name}\"\n"
        );
        Ok(blksched_disks::parse(name, &text).expect("a disk"))
    }
}

const MS: f64 = 1e6;
const TEN_MS: f64 = 10.0 * MS;
const ONE_READER: &str = "[app]\nrw=randread\nbs=4k\nsize=1g\ndirect=1\n";
const MANY_READERS: &str = "[app]\nrw=randread\nbs=4k\nsize=1g\nioengine=libaio\niodepth=16\ndirect=1\n";
const BULK: &str = "[bulk]\nrw=randwrite\nbs=4k\nsize=4g\noffset=50%\nioengine=libaio\niodepth=128\ndirect=1\n";
const STREAM: &str = "[bulk]\nrw=read:4k\nbs=4k\nsize=4g\nioengine=libaio\niodepth=32\ndirect=1\n";

fn run(readers: &str, others: &str, knob: &str) -> Arc<Measured> {
    run_on("10ms", readers, others, knob)
}

fn run_on(disk: &str, readers: &str, others: &str, knob: &str) -> Arc<Measured> {
    let jobs = readers.to_owned() + others;
    let scene = Scene { time: some_time("30s").ok(), depth: Some(1), ..Scene::of_jobs("x.fio", &jobs, disk) };
    let (stage, _) = Stage::load(&scene, &Constant).unwrap().without_logs();
    let spec = format!("deadline@2.6.33:{knob}");
    let contender = contenders("--elevators", &[spec], &[], &Catalogue::builtin()).unwrap();
    let limit = stage.length_once(&scene, &contender[0]).unwrap().limit;
    let comparison = Comparison::of(scene, 1);
    let mut runs = Runs::new(&comparison, &stage, &contender, (limit, 1), &());
    runs.more(1, None).unwrap();
    runs.measured().remove(0)
}

/// The mean latency of `app`'s reads \[ns\].
fn mean(measured: &Measured) -> f64 {
    measured.jobs[0].work(Work::Read).unwrap().clat[0].mean()
}

/// The writes of `bulk` a second.
fn writes(measured: &Measured) -> f64 {
    measured.jobs[1].work(Work::Write).unwrap().iops.mean()
}

#[test]
fn a_lone_reader_waits_for_one_batch_and_the_other_two_knobs_are_not_in_the_formula() {
    for (length, ms) in [(1_u32, 10_u32), (2, 10), (4, 10), (16, 10), (1, 3), (4, 3), (16, 3)] {
        // When a read is complete the disk has the next command at once, and the one after it stands chosen at the
        // queue's head, before the process runs that asks for the next read: two writes, if batches are shorter.
        // Of 128 writes that are queued, one batch of 16 in eight meets the last in sector order, and ends there.
        let takes = f64::from(ms) * MS;
        let expected = f64::from(length.max(2)) * takes + takes;
        let found = mean(&run_on(&format!("{ms}ms"), ONE_READER, BULK, &format!("fifo_batch={length}")));
        assert!((found / expected - 1.0).abs() < 0.1, "L = {length}, {ms} ms: {found} ns, not {expected}");
    }
    let usual = mean(&run(ONE_READER, BULK, "fifo_batch=16"));
    for knob in ["read_expire=50", "read_expire=2000", "writes_starved=1", "writes_starved=16"] {
        let found = mean(&run(ONE_READER, BULK, knob));
        assert!((found / usual - 1.0).abs() < 0.05, "{knob}: {found} ns, not {usual}");
    }
}

#[test]
fn writes_starved_acts_as_soon_as_reads_wait_when_their_batch_ends() {
    let [few, many] = ["writes_starved=1", "writes_starved=16"].map(|knob| writes(&run(MANY_READERS, BULK, knob)));
    assert!(few > 3.0 * many, "{few} and {many} writes a second");
}

#[test]
fn read_expire_acts_as_soon_as_a_read_stands_far_from_a_stream_of_others() {
    let far = ONE_READER.replace("size=1g", "size=1g\noffset=50%");
    let [soon, late] = ["read_expire=100", "read_expire=2000"].map(|knob| mean(&run(&far, STREAM, knob)));
    // Until it is old enough and the batch of 16 that is under way ends; but those that came before it go first.
    assert!((200.0..220.0).contains(&(late / TEN_MS)), "{late} ns");
    assert!((32.0..32.0 + 17.0).contains(&(soon / TEN_MS)), "{soon} ns");
}
