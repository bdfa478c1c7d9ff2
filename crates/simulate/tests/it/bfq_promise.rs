//! BFQ's documentation promises that an application starts under load nearly as fast as on an idle disk.

use std::sync::Arc;

use blksched::{Catalogue, Span};
use blksched_simulate::{Surroundings, Trial};
use blksched_workloads::fio::JobFile;

const WRITERS: &str = "
    [writers]
    rw=write
    bs=128k
    ioengine=libaio
    iodepth=32
    numjobs=4
    offset=40g";

/// The mean latency of a loading application's reads beside `others` \[ms\].
fn read_ms(elevator: &str, disk: &str, others: &str) -> f64 {
    let text = format!(
        "[global]
        direct=1
        time_based=1
        runtime=8
        size=4g
        [app]
        rw=randread
        bs=16k
        startdelay=2
        {others}"
    );
    let disk = Arc::new(blksched_disks::load(disk).unwrap());
    let sectors = disk.build(0).facts().sectors;
    let plan = JobFile::parse(&text, "app").unwrap().plan(sectors).unwrap();
    let trial = Trial {
        elevator: Catalogue::builtin().parse(elevator).unwrap(),
        knobs: Vec::new(),
        surroundings: Surroundings::default(),
        disk,
        plan: Arc::new(plan),
        seed: 1,
        limit: Span::from_secs(8),
        other_disks: Vec::new(),
        beside: Default::default(),
    };
    let findings = trial.simulate().unwrap();
    findings.jobs[0].record.read.clat.mean() / 1e6
}

#[test]
fn an_application_loads_beside_four_writers_as_on_an_idle_disk() {
    let idle = read_ms("bfq", "hdd-7200-ideal", "");
    let loaded = read_ms("bfq", "hdd-7200-ideal", WRITERS);
    let unscheduled = read_ms("none", "hdd-7200-ideal", WRITERS);
    assert!(loaded < 1.3 * idle, "{loaded} ms, and {idle} ms on an idle disk");
    assert!(unscheduled > 3.0 * loaded, "{unscheduled} ms without a scheduler, and {loaded} ms with BFQ");
}
