//! `blksched ctl`, and what `serve` refuses.

use std::process::Command;

use blksched_nbd::{Command as Asked, Persist};

use crate::kit::{BLKSCHED, Server, captive, status, tried};

#[test]
fn values_are_listed_read_and_changed_while_it_runs() {
    let exports = ["--export", "a=mem:1M,weight=200,class=be,level=2", "--export", "b=mem:1M"];
    let server = Server::start(&[&exports[..], &["--elevator", "mq-deadline"]].concat());
    assert_eq!(server.ctl(&["get", "tenants/a/weight"]).unwrap(), "200");
    server.ctl(&["set", "tenants/a/weight", "300"]).unwrap();
    server.ctl(&["set", "tenants/b/bps", "10M"]).unwrap();
    server.ctl(&["set", "queue/iosched/fifo_batch", "3"]).unwrap();
    let all = server.ctl(&["list"]).unwrap();
    for line in
        ["tenants/a/weight\t300", "tenants/a/level\t2", "tenants/b/bps\t10485760", "queue/iosched/fifo_batch\t3"]
    {
        assert!(all.lines().any(|have| have == line), "{line} is not in\n{all}");
    }
    assert!(server.ctl(&["get", "queue/shceduler"]).unwrap_err().contains("queue/scheduler"));
}

#[test]
fn io_max_caps_a_real_client_and_is_lifted_while_it_runs() {
    let exports = ["--export", "a=mem:1M,io.max=riops=50", "--export", "b=mem:1M"];
    let server = Server::start(&[&exports[..], &["--shares", "scheduler"]].concat());
    let mut client = server.open("a");
    let began = std::time::Instant::now();
    for n in 0..30 {
        client.read(n * 512, 512).unwrap();
    }
    // A slice of 100 ms allows five at once and may have begun earlier; slowness only makes it longer.
    let least = std::time::Duration::from_millis(300);
    assert!(began.elapsed() >= least, "30 reads at 50 a second took {:?}", began.elapsed());
    assert_eq!(server.ctl(&["get", "tenants/a/io.max"]).unwrap(), "riops=50");
    let refused = server.ctl(&["set", "tenants/a/io.max", "riosp=5"]).unwrap_err();
    assert!(refused.contains("column 1: `riosp`") && refused.contains("did you mean `riops`?"), "{refused}");
    let refused = server.ctl(&["set", "queue/shares", "time"]).unwrap_err();
    assert!(refused.contains("io.max is written"), "{refused}");
    server.ctl(&["set", "tenants/a/io.max", "riops=max"]).unwrap();
    (0..1000).for_each(|n| drop(client.read(n % 2000 * 512, 512).unwrap()));
    client.leave();
}

#[test]
fn io_cost_and_io_latency_serve_real_clients() {
    let exports = ["--export", "a=mem:1M,io.weight=300,io.latency=target=10000", "--export", "b=mem:1M"];
    let cost = ["--shares", "scheduler", "--elevator", "none", "--io-cost-qos", "enable=1 min=50.00 max=100.00"];
    let server = Server::start(&[&exports[..], &cost].concat());
    for export in ["a", "b"] {
        let mut client = server.open(export);
        client.write(0, &[7; 4096]).unwrap();
        client.flush().unwrap();
        assert_eq!(client.read(0, 4096).unwrap(), [7; 4096]);
        client.leave();
    }
    server.ctl(&["set", "queue/io.cost.qos", "enable=0"]).unwrap();
    assert!(server.ctl(&["set", "tenants/b/io.weight", "50"]).unwrap_err().contains("io.cost is off"));
    server.ctl(&["set", "queue/io.cost.qos", "enable=1"]).unwrap();
    server.ctl(&["set", "tenants/b/io.weight", "50"]).unwrap();
    assert_eq!(server.ctl(&["get", "tenants/b/io.weight"]).unwrap(), "50");
}

#[test]
fn the_scheduler_changes_under_load_and_nothing_is_lost_or_mixed_up() {
    let server = Server::start(&["--export", "m=mem:4M", "--model", "nvme-ssd"]);
    let mut client = server.open("m");
    let mut sent = Vec::new();
    for (round, scheduler) in ["kyber", "cfq", "noop", "anticipatory", "deadline", "mq-deadline"].iter().enumerate() {
        for n in 0..40u64 {
            let data = vec![round as u8 + 1; 512];
            sent.push(client.send(Asked::Write(Persist::Lazily), (n * 37 % 80) * 512, 512, &data).unwrap());
        }
        server.ctl(&["set", "queue/scheduler", scheduler]).unwrap();
        assert!(server.ctl(&["get", "queue/scheduler"]).unwrap().contains(&format!("[{scheduler}")));
    }
    let mut told: Vec<u64> =
        sent.iter().map(|_| client.receive().unwrap()).map(|(cookie, ok)| (cookie, ok.unwrap()).0).collect();
    told.sort_unstable();
    assert_eq!(told, sent);
}

#[test]
fn the_captive_command_has_uris_and_its_exit_code_is_ours() {
    let (good, text) =
        captive(&["--export", "a=mem:1M", "--export", "b=mem:1M"], "echo $uri; echo $uri_b; echo $control");
    assert!(good && text.lines().count() == 3, "{text}");
    assert!(text.starts_with("nbd+unix:///a?socket=/"), "{text}");
    let status = status(Command::new(BLKSCHED).args(["serve", "--export", "a=mem:1M", "--run", "exit 7"])).unwrap();
    assert_eq!(status.code(), Some(7));
}

#[test]
fn what_cannot_be_served_is_refused_with_the_reason() {
    for (arguments, reason) in [
        (&["--export", "a=/no/such/file"][..], "/no/such/file"),
        (&["--export", "a=mem:1M", "--export", "a=mem:1M"], "two exports are called `a`"),
        (&["--export", "a=mem:1M,wieght=3"], "did you mean `weight`?"),
        (&["--export", "a=mem:1M,io.max=rpbs=3"], "io.max: column 1: `rpbs`"),
        (&["--export", "a=mem:1M,io.max=rbps=3"], "export a: io.max: expected --shares scheduler"),
        (&["--export", "a=mem:1M,io.weight=3", "--shares", "scheduler"], "expected --io-cost-qos 'enable=1'"),
        (&["--export", "a=mem:1M", "--shares", "scheduler", "--io-cost-qos", "min=1"], "io.cost stays off"),
        (&["--export", "a=mem:1M", "--io-cost-qos", "enabel=1"], "--io-cost-qos 'enabel=1': io.cost.qos: column 1"),
        (&["--export", "a=mem:1M", "--elevator", "mq-deadlin"], "mq-deadline"),
        (&["--export", "a=mem:1M", "--elevator", "mq-deadline", "--set", "mq-deadline.fifo_bach=1"], "fifo_batch"),
        (&["--export", "a=mem:1M", "--tcp", "0.0.0.0:0"], "--plain-tcp-beyond-loopback"),
        (&["--export", "a=mem:1M", "--allow", "1000:b"], "no export is called `b`"),
        (&["--export", "a=mem:1M", "--memory", "1M"], "from 40M on"),
        (&["--export", concat!("a=", env!("CARGO_MANIFEST_DIR"), "/Cargo.toml,size=1000")], "not a multiple of 512"),
        (&["--export", "a=mem:1M", "--systemd"], "LISTEN_FDS"),
    ] {
        let (good, text) = tried(arguments);
        assert!(!good && text.contains(reason), "{arguments:?}: {text}");
    }
}
