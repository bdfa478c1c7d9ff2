//! `blksched ctl`, and what `serve` refuses.

use std::process::Command;

use blksched_nbd::{Command as Asked, Persist};

use crate::kit::{BLKSCHED, Server, captive};

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
    let status = Command::new(BLKSCHED).args(["serve", "--export", "a=mem:1M", "--run", "exit 7"]).status().unwrap();
    assert_eq!(status.code(), Some(7));
}

#[test]
fn what_cannot_be_served_is_refused_with_the_reason() {
    for (arguments, reason) in [
        (&["--export", "a=/no/such/file"][..], "/no/such/file"),
        (&["--export", "a=mem:1M", "--export", "a=mem:1M"], "two exports are called `a`"),
        (&["--export", "a=mem:1M,wieght=3"], "the nearest is `weight`"),
        (&["--export", "a=mem:1M", "--elevator", "mq-deadlin"], "mq-deadline"),
        (&["--export", "a=mem:1M", "--elevator", "mq-deadline", "--set", "mq-deadline.fifo_bach=1"], "fifo_batch"),
        (&["--export", "a=mem:1M", "--tcp", "0.0.0.0:0"], "--plain-tcp-beyond-loopback"),
        (&["--export", "a=mem:1M", "--allow", "1000:b"], "no export is called `b`"),
        (&["--export", "a=mem:1M", "--memory", "1M"], "from 40M on"),
        (&["--export", "a=mem:1000"], "multiple of 512"),
        (&["--export", "a=mem:1M", "--systemd"], "LISTEN_FDS"),
    ] {
        let (good, text) = captive(arguments, "true");
        assert!(!good && text.contains(reason), "{arguments:?}: {text}");
    }
}
