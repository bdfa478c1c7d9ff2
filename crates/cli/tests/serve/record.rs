//! Recording: what a real run decided replays decision for decision.

use std::path::Path;

use blksched::Catalogue;
use blksched_nbd::{Command as Asked, Persist};
use blksched_traces::blktrace::{self, Action, Categories};

use crate::kit::{Folder, Numbers, Server};

#[test]
fn a_recorded_run_replays_decision_for_decision() {
    for elevator in Catalogue::builtin().entries().iter().map(|entry| entry.name) {
        let folder = Folder::new();
        let exports = ["--export", "a=mem:4M,weight=200,iops=2000", "--export", "b=mem:4M,level=1"];
        let others = ["--model", "nvme-ssd", "--elevator", elevator, "--record"];
        let record = folder.text("record");
        let server = Server::start(&[&exports[..], &others[..], &[&record]].concat());
        work(&server);
        server.ctl(&["set", "queue/scheduler", "mq-deadline"]).unwrap();
        server.ctl(&["set", "queue/iosched/fifo_batch", "2"]).unwrap();
        server.ctl(&["set", "tenants/a/weight", "50"]).unwrap();
        work(&server);
        assert!(server.stop());
        trace(&Path::new(&record).join("memory.blktrace.0"));
        replay(&Path::new(&record).join("memory.calls.jsonl"), elevator);
        if elevator == "bfq" {
            report(&folder, &Path::new(&record).join("memory.calls.jsonl"));
        }
    }
}

/// A recording can be the input of a report and of a table.
fn report(folder: &Folder, log: &Path) {
    let (page, rows) = (folder.text("served.html"), folder.text("rows"));
    let words = ["explain", log.to_str().unwrap(), "--report", &page, "--parquet", &rows, "--json"];
    let (code, text, errors) = blksched_cli::printed(&words, 120);
    assert_eq!(code, 0, "{errors}");
    let said: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(said["disk"].is_null() && said["stories"][0]["latency_ns"].as_u64() > Some(0), "{said}");
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(text.starts_with("<!DOCTYPE html>") && text.contains("what a server's queue did, under bfq"));
    assert!(Path::new(&rows).join("pieces.parquet").is_file());
}

/// Two clients of each tenant: reads, writes and flushes.
fn work(server: &Server) {
    let mut numbers = Numbers(5);
    let mut clients = ["a", "a", "b", "b"].map(|export| server.open(export));
    for client in &mut clients {
        for _ in 0..30 {
            let offset = 4096 * numbers.below(1000);
            match numbers.below(5) {
                0 => client.send(Asked::Flush, 0, 0, &[]),
                1 | 2 => client.send(Asked::Write(Persist::First), offset, 4096, &[1; 4096]),
                _ => client.send(Asked::Read, offset, 8192, &[]),
            }
            .unwrap();
        }
    }
    for client in &mut clients {
        (0..30).for_each(|_| drop(client.receive().unwrap().1.unwrap()));
    }
}

/// The device completed what it was given, and was given everything that was inserted.
fn trace(path: &Path) {
    let events = blktrace::read(std::fs::File::open(path).unwrap()).unwrap();
    // A flush has no request in the elevator.
    let data = || events.iter().filter(|event| event.kind.0 & Categories::FLUSH == 0);
    let count = |action| data().filter(|event| event.action == action).count();
    assert_eq!(count(Action::Queue), count(Action::GetRequest) + count(Action::BackMerge) + count(Action::FrontMerge));
    assert_eq!(count(Action::Issue), count(Action::Complete));
    assert!(count(Action::Insert) >= count(Action::Issue) && count(Action::Issue) > 0);
    assert!(events.iter().filter(|event| event.payload.starts_with(b"a\0")).count() >= 4, "clients have names");
}

fn replay(log: &Path, elevator: &str) {
    let log = blksched_traces::call_log::CallLog::open(log).unwrap();
    assert!(log.records.len() > 500, "{elevator}: {} records", log.records.len());
    let report = blksched_conformance::calls::replay(&log, &Catalogue::builtin()).unwrap();
    assert!(report.divergence.is_none(), "{elevator}: {report:?}");
}
