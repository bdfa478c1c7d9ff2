//! BFQ merges the queues of processes that begin together: what an answer that rests on that says.

use std::path::{Path, PathBuf};

use crate::printed::printed;

/// One request at a time, in 10 ms.
const DISK: &str = "kind = \"fixed\"\ndescription = \"\"\ncapacity = \"8GiB\"\nmax_command = \"1MiB\"\ndepth = 31\n\
                    channels = 1\nservice = \"10ms\"\n";
/// Together they share one queue of BFQ's, and nothing is better. Each with its own, BFQ serves the two that write one
/// block at a time sooner.
const JOBS: &str = "[global]\nruntime=30\ntime_based\nbs=4k\n[direct]\nrw=randwrite\ndirect=1\nsync=dsync\nsize=128m\n\
                    overwrite=1\n[buffered]\nrw=randwrite\nsync=dsync\nsize=64m\noverwrite=1\n[reader]\nrw=randread\n\
                    direct=1\nioengine=libaio\niodepth=4\nsize=256m\n";

fn answer(folder: &Path, elevators: &str, more: &[&str]) -> String {
    let [disk, jobs] = ["slow.toml", "jobs.fio"].map(|name| folder.join(name).to_str().expect("UTF-8").to_owned());
    let asked = ["compare", &jobs, "--disk", &disk, "--depth", "4", "--seeds", "3", "--time", "20s"];
    let all = [&asked[..], &["--elevators", elevators], more].concat();
    let output = printed(&all, 10_000);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn an_answer_says_that_it_rests_on_processes_that_begin_together() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("begin-together");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("slow.toml"), DISK).unwrap();
    std::fs::write(folder.join("jobs.fio"), JOBS).unwrap();
    let said = "but it rests on guesses: if the processes do not begin together (--starts one-first) it is: use bfq";
    let together = answer(&folder, "mq-deadline,bfq", &[]);
    assert!(together.contains(said) && together.contains("Keep mq-deadline"), "{together}");
    // And there it is so.
    let apart = answer(&folder, "mq-deadline,bfq", &["--starts", "one-first"]);
    assert!(apart.contains("Use bfq") && !apart.contains("one-first"), "{apart}");
    // The user says when they begin; neither of two merges.
    for (elevators, more) in [("mq-deadline,bfq", &["--starts", "as-said"][..]), ("mq-deadline,none", &[])] {
        let other = answer(&folder, elevators, more);
        assert!(!other.contains("begin together"), "{other}");
    }
    let each = answer(&folder, "mq-deadline,bfq", &["--sensitivity"]);
    assert!(
        each.lines().any(|line| line.contains("starts") && line.contains("one-first") && line.contains("(!)")),
        "{each}"
    );
}
