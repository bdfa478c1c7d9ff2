//! What an operator has: figures, a live table, a configuration file that is checked and read again.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use blksched_testkit::port::Port;

use crate::kit::{BLKSCHED, Folder, Process, Server, output, slow_disk, status, tried};

fn http(stream: impl Read + Write) -> String {
    get(stream, "/metrics")
}

fn get(mut stream: impl Read + Write, path: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nAccept: */*\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// Every rule of Prometheus's text format that a scraper insists on.
fn check_format(page: &str) {
    let mut family = String::new();
    let mut seen = Vec::new();
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            family = rest.split(' ').next().unwrap().to_owned();
            assert!(!seen.contains(&family), "{family} stands twice");
            seen.push(family.clone());
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(name == family && ["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
        } else {
            let (name, value) = line.rsplit_once(' ').unwrap();
            assert!(name.starts_with(&family) && name.contains('{') && name.ends_with('}'), "{line} in {family}");
            assert!(value.parse::<f64>().is_ok(), "{line}");
        }
    }
}

fn value(page: &str, start: &str) -> f64 {
    let line = page.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("no {start} in\n{page}"));
    line.rsplit_once(' ').unwrap().1.parse().unwrap()
}

#[test]
fn prometheus_finds_every_figure_at_a_unix_socket_and_at_this_machines_address() {
    let folder = Folder::new();
    let socket = folder.text("metrics");
    let exports = ["--export", "a=mem:1M,weight=300", "--export", "b \"x\"=mem:1M"];
    let server = Server::start(&[&exports[..], &["--metrics", &socket]].concat());
    let mut client = server.open("a");
    for at in 0..10 {
        client.write(at * 4096, &[7; 4096]).unwrap();
        client.read(0, 512).unwrap();
    }
    client.flush().unwrap();
    let answer = http(UnixStream::connect(&socket).unwrap());
    let (head, page) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK") && head.contains("text/plain; version=0.0.4"), "{head}");
    check_format(page);
    let of_a =
        |family: &str, rest: &str| value(page, &format!("blksched_{family}{{disk=\"memory\",export=\"a\"{rest}"));
    assert_eq!((of_a("requests_total", ",op=\"write\""), of_a("bytes_total", ",op=\"write\"")), (10.0, 40960.0));
    assert_eq!(of_a("request_duration_seconds_count", ",op=\"read\""), 10.0);
    assert_eq!(of_a("request_duration_seconds_bucket", ",op=\"read\",le=\"+Inf\""), 10.0);
    assert_eq!((of_a("weight", "}"), of_a("clients", "}")), (300.0, 1.0));
    let of_client = |family: &str, rest: &str| {
        let mut lines = page.lines().filter(|line| line.starts_with(&format!("blksched_client_{family}{{")));
        let line = lines.find(|line| line.contains("export=\"a\",client=\"1\",peer=\"unix:") && line.contains(rest));
        line.unwrap_or_else(|| panic!("{family}")).rsplit_once(' ').unwrap().1.parse::<f64>().unwrap()
    };
    assert_eq!((of_client("requests_total", "op=\"write\""), of_client("bytes_total", "op=\"read\"")), (10.0, 5120.0));
    assert_eq!(of_client("request_duration_seconds_count", "op=\"flush\""), 1.0);
    promtool(page);
    assert!(page.contains(r#"export="b \"x\"""#), "names are escaped");
    let port = Port::reserve();
    let server = Server::start(&["--export", "m=mem:1M", "--metrics", &port.address().to_string()]);
    check_format(http(TcpStream::connect(port.address()).unwrap()).split_once("\r\n\r\n").unwrap().1);
    drop(server);
    let (ok, text) = tried(&["--export", "m=mem:1M", "--metrics", "0.0.0.0:9559"]);
    assert!(!ok && text.contains("of this machine"), "{text}");
}

#[test]
fn the_series_of_clients_are_bounded_and_a_client_that_comes_back_makes_no_new_one() {
    let folder = Folder::new();
    let socket = folder.text("metrics");
    let server = Server::start(&["--export", "a=mem:1M", "--metrics", &socket]);
    let clients = |count: usize| -> Vec<_> {
        let mut clients: Vec<_> = (0..count).map(|_| server.open("a")).collect();
        clients.iter_mut().for_each(|client| drop(client.read(0, 512).unwrap()));
        clients
    };
    let series = || {
        let page = http(UnixStream::connect(&socket).unwrap());
        let of_clients = page.lines().filter(|line| line.starts_with("blksched_client_"));
        of_clients.map(|line| line.rsplit_once(' ').unwrap().0.to_owned()).collect::<std::collections::BTreeSet<_>>()
    };
    let leave = |clients: Vec<crate::kit::Client>| {
        clients.into_iter().for_each(crate::kit::Client::leave);
        while !server.ctl(&["get", "tenants/a/stat"]).unwrap().contains("clients=0 ") {
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    let few = clients(20);
    let before = series();
    leave(few);
    assert!(series().is_empty(), "they end with their clients");
    let few = clients(20);
    assert_eq!(series(), before, "the same clients again");
    let many = clients(40);
    assert_eq!(series().len() * 20, before.len() * 32, "of sixty the 32 busiest");
    leave(few.into_iter().chain(many).collect());
}

/// Checks the page with Debian's promtool.
fn promtool(page: &str) {
    let mut promtool = Command::new("promtool");
    promtool.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Ok(mut child) = Process::started(&mut promtool) else { return no_prometheus() };
    child.stdin.take().unwrap().write_all(page.as_bytes()).unwrap();
    let output = child.output();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
    assert!(output.status.success() && text.is_empty(), "{text}");
}

fn no_prometheus() {
    let reason = "the Debian package prometheus is not installed";
    assert!(std::env::var_os("BLKSCHED_REQUIRE_PROMETHEUS").is_none(), "{reason}");
    println!("skipped: {reason}");
}

#[test]
#[ignore = "slow: a Prometheus looks at a live server for a quarter of a minute and answers what the dashboard asks"]
fn every_query_of_the_dashboard_is_answered_by_a_prometheus() {
    let folder = Folder::new();
    let model = slow_disk(&folder, "2ms");
    let served = ["--export", "a=mem:16M,weight=300", "--export", "b=mem:16M", "--metrics", "127.0.0.1:19561"];
    let server = Server::start(&[&served[..], &["--model", &model]].concat());
    let config = "global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: blksched\n  static_configs:\n  \
                  - targets: ['127.0.0.1:19561']\n";
    std::fs::write(folder.path("prometheus.yml"), config).unwrap();
    let mut prometheus = Command::new("prometheus");
    prometheus
        .arg(format!("--config.file={}", folder.text("prometheus.yml")))
        .arg(format!("--storage.tsdb.path={}", folder.text("data")))
        .args(["--web.listen-address=127.0.0.1:19562", "--log.level=error"]);
    let Ok(prometheus) = Process::started(&mut prometheus) else { return no_prometheus() };
    let (mut a, mut b) = (server.open("a"), server.open("b"));
    let until = std::time::Instant::now() + std::time::Duration::from_secs(15);
    while std::time::Instant::now() < until {
        for client in [&mut a, &mut b] {
            client.write(4096, &[1; 4096]).unwrap();
            client.read(0, 8192).unwrap();
            client.flush().unwrap();
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let dashboard: serde_json::Value = serde_json::from_str(include_str!("../../../../docs/grafana.json")).unwrap();
    // The guide's alert that divides, without its bound.
    let alert = include_str!("../../../../docs/operations.md").split("and on (disk, export)").nth(1).unwrap();
    let alert = alert.split("\n    # ").next().unwrap().replace("< 0.5 *", "- 0.5 *");
    let queries = dashboard["panels"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|panel| panel["targets"].as_array().unwrap())
        .map(|target| target["expr"].as_str().unwrap());
    let queries: Vec<&str> = queries.chain([alert.as_str()]).collect();
    let answers: Vec<String> = queries
        .iter()
        .map(|query| {
            let mut ask = Command::new("promtool");
            let output = output(ask.args(["query", "instant", "http://127.0.0.1:19562", query])).unwrap();
            [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat()
        })
        .collect();
    drop(prometheus);
    for (query, answer) in queries.iter().zip(answers) {
        println!("{query}\n{answer}");
        assert!(answer.contains("=> ") && !answer.contains("NaN @"), "{query}: {answer}");
    }
    assert!(queries.len() > 10);
}

#[test]
fn a_probe_at_the_socket_is_told_that_all_is_ready_and_then_which_export_is_broken() {
    let folder = Folder::new();
    let (socket, model) = (folder.text("metrics"), folder.text("faulty.toml"));
    let faulty = include_str!("faulty.toml").replace("\"read\"", "\"flush\"").replace("nth = 5", "nth = 1");
    std::fs::write(&model, faulty).unwrap();
    // The disk in memory has no cache that could be lost.
    let exports = [format!("a={}", folder.file("image", 1 << 20)), "b=mem:1M".to_owned()];
    let server =
        Server::start(&["--export", &exports[0], "--export", &exports[1], "--model", &model, "--metrics", &socket]);
    let ready = || get(UnixStream::connect(&socket).unwrap(), "/ready");
    let well = ready();
    assert!(well.starts_with("HTTP/1.1 200 OK\r\n") && well.ends_with("\r\n\r\nready\n"), "{well}");
    let mut client = server.open("a");
    client.write(0, &[1; 4096]).unwrap();
    assert!(client.flush().is_err(), "the disk's first flush fails");
    let ill = ready();
    assert!(ill.starts_with("HTTP/1.1 503 Service Unavailable\r\n"), "{ill}");
    let (_, named) = ill.split_once("\r\n\r\n").unwrap();
    assert_eq!(named.lines().count(), 1, "{named}");
    assert!(named.contains("export=\"a\"") && named.ends_with("state=\"broken\"}\n"), "{named}");
}

#[test]
fn the_dashboard_asks_for_nothing_that_is_not_served() {
    let folder = Folder::new();
    let socket = folder.text("metrics");
    let _server = Server::start(&["--export", "a=mem:1M", "--metrics", &socket]);
    let page = http(UnixStream::connect(&socket).unwrap());
    let dashboard = include_str!("../../../../docs/grafana.json");
    let value: serde_json::Value = serde_json::from_str(dashboard).unwrap();
    let mut asked = 0;
    for panel in value["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().unwrap() {
            let query = target["expr"].as_str().unwrap();
            for (at, _) in query.match_indices("blksched_") {
                let name = query[at..].split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap();
                assert!(page.contains(&format!("\n{name}{{")), "{name} is not served");
                asked += 1;
            }
        }
    }
    assert!(asked > 15);
}

#[test]
fn the_unit_is_sandboxed() {
    let unit = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/systemd/blksched.service");
    let mut analyze = Command::new("systemd-analyze");
    let Ok(output) = output(analyze.args(["security", "--offline=true", "--threshold=20", unit])) else {
        println!("skipped: there is no systemd-analyze here");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let last = text.lines().last().unwrap_or_default();
    if !text.contains("Overall exposure") {
        println!("skipped: this systemd-analyze knows no --offline");
        return;
    }
    assert!(output.status.success(), "an exposure of at most 2.0: {last}");
}

#[test]
fn top_shows_each_export_with_what_it_gets_and_waits_for() {
    let server = Server::start(&["--export", "a=mem:1M,iops=5,burst_ops=1", "--export", "b=mem:1M"]);
    let mut client = server.open("a");
    for at in 0..100 {
        client.send(blksched_nbd::Command::Read, at * 512, 512, &[]).unwrap();
    }
    let control = server.control.to_str().unwrap();
    let printed = |more: &[&str], columns| {
        let (code, text, errors) = blksched_cli::printed(&[&["top", control], more].concat(), columns);
        assert_eq!(code, 0, "{errors}");
        text
    };
    for columns in [80, 160] {
        let text = printed(&["--interval", "300ms", "--count", "2"], columns);
        assert!(text.contains("reads/s") && text.contains("caps ("), "{text}");
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(columns == 80 || widest <= 160, "{widest} columns");
        let text = printed(&["--clients", "--interval", "300ms", "--count", "1"], columns);
        assert!(text.contains("peer") && text.contains("caps ("), "{text}");
    }
}

#[test]
fn each_client_has_its_part_of_its_exports_time() {
    let folder = Folder::new();
    let model = slow_disk(&folder, "2ms");
    let server = Server::start(&["--export", "a=mem:1M", "--export", "b=mem:1M", "--model", &model]);
    let mut clients = [server.open("a"), server.open("a"), server.open("b")];
    for (client, requests) in clients.iter_mut().zip([10, 30, 20]) {
        for at in 0..requests {
            client.read(at * 4096, 512).unwrap();
        }
    }
    let figures = blksched_serve::ask(&server.control, &blksched_serve::Question::Figures(String::new())).unwrap();
    let seconds = |start: &str, whose: &str| {
        let line = figures.lines().find(|line| line.starts_with(start) && line.contains(whose));
        line.unwrap_or_else(|| panic!("{whose}")).rsplit_once(' ').unwrap().1.parse::<f64>().unwrap()
    };
    let had = [1, 2, 3].map(|number| seconds("client_device_seconds_total", &format!("client=\"{number}\"")));
    let of_a = seconds("device_seconds_total", "export=\"a\"");
    assert!((had[0] + had[1] - of_a).abs() < 1e-6, "{had:?} of {of_a}");
    assert!(had[0] >= 0.020 && had[1] >= 0.060 && had[2] >= 0.040, "2 ms each: {had:?}");
    assert_eq!(seconds("client_waiting", "client=\"1\""), 0.0);
}

const CONFIG: &str = "\
depth = 4
elevator = \"mq-deadline\"
unix = [\"SOCKET\"]
control = \"CONTROL\"

[[export]]
name = \"a\"
path = \"mem:1M\"
weight = 200

[[export]]
name = \"b\"
path = \"mem:1M\"
bps = \"10M\"
";

#[test]
fn a_configuration_file_is_checked_and_what_is_wrong_is_named_with_its_line() {
    let folder = Folder::new();
    let check = |text: &str| {
        std::fs::write(folder.path("c.toml"), text).unwrap();
        let (code, text, errors) =
            blksched_cli::printed(&["serve", "--check", "--config", &folder.text("c.toml")], 1000);
        (code, text + &errors)
    };
    assert_eq!(check(CONFIG), (0, "2 exports: understood\n".to_owned()));
    for (from, to, why) in [
        ("depth = 4", "depht = 4", "c.toml:1:1: unknown key `depht`; did you mean `depth`?"),
        ("depth = 4", "depth = 5000", "c.toml:1:9: invalid value '5000'"),
        ("weight = 200", "weight = 0", "c.toml:9:1: weight: expected 1..=10000"),
        ("weight = 200", "io.max = \"rpbs=1\"", "c.toml:9:1: io.max: column 1: `rpbs`"),
        ("weight = 200", "io.prio.class = \"idel\"", "io.prio.class: column 1: `idel`"),
        ("bps = \"10M\"", "bsp = 1", "c.toml:14:1: no option is called `bsp`; did you mean `bps`?"),
        ("path = \"mem:1M\"\nweight", "weight", "c.toml:6:1: an export without `path`"),
        ("elevator = \"mq-deadline\"", "elevator = \"mq-deadlin\"", "mq-deadline"),
        ("unix = [", "unix = ", "c.toml:3:"),
        ("name = \"b\"", "name = \"a\"", "two exports are called `a`"),
        (
            "path = \"mem:1M\"\nweight",
            "path = \"/nonexistent/a.img\"\nweight",
            "export a: /nonexistent/a.img: No such file",
        ),
        ("[[export]]", "[[disk]]\nnam = \"x\"\n[[export]]", "c.toml:6:1: a disk without `name`"),
        ("[[export]]", "[[disk]]\nname = \"x\"\nelevator = \"bqf\"\n[[export]]", "did you mean `bfq`?"),
    ] {
        let (code, text) = check(&CONFIG.replace(from, to));
        assert!(code == 2 && text.contains(why), "{to}: {text}");
    }
}

#[test]
fn a_reload_restores_sizes_that_were_changed_meanwhile() {
    let folder = Folder::new();
    let config = CONFIG.replace("SOCKET", &folder.text("s")).replace("CONTROL", &folder.text("c"));
    std::fs::write(folder.path("c.toml"), &config).unwrap();
    let mut serve = Command::new(BLKSCHED);
    serve.args(["serve", "--config", &folder.text("c.toml")]).stdout(Stdio::null());
    let child = Process::spawn(&mut serve);
    let resize = |size: &str| {
        let output = output(Command::new(BLKSCHED).args(["ctl", &folder.text("c"), "export", "resize", "b", size]));
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    let until = |size: &str, said: &str| {
        let soon = || {
            std::thread::sleep(Duration::from_millis(10));
            resize(size).starts_with(said)
        };
        assert!((0..3000).any(|_| soon()), "{size}: {said}");
    };
    // The file says 1 MiB: again after each reload, whether it was made smaller or larger.
    until("512K", "1048576 bytes become 524288");
    for _ in 0..2 {
        assert!(
            blksched_testkit::status(Command::new("kill").args(["-HUP", &child.id().to_string()])).unwrap().success()
        );
        until("2M", "1048576 bytes become 2097152");
    }
}

#[test]
fn a_sighup_reads_it_again_changes_what_can_be_changed_and_tells_systemd() {
    let folder = Folder::new();
    let config = CONFIG.replace("SOCKET", &folder.text("s")).replace("CONTROL", &folder.text("c"));
    std::fs::write(folder.path("c.toml"), &config).unwrap();
    let systemd = UnixDatagram::bind(folder.path("notify")).unwrap();
    systemd.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    let mut serve = Command::new(BLKSCHED);
    serve.args(["serve", "--config", &folder.text("c.toml"), "--log", "info"]);
    serve.env("NOTIFY_SOCKET", folder.path("notify")).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = Process::spawn(&mut serve);
    let hear = || {
        let mut text = [0; 200];
        let is_interrupted = |error: &std::io::Error| error.kind() == std::io::ErrorKind::Interrupted;
        let mut told = systemd.recv(&mut text);
        while told.as_ref().is_err_and(is_interrupted) {
            told = systemd.recv(&mut text);
        }
        let count = told.unwrap();
        String::from_utf8_lossy(&text[..count]).into_owned()
    };
    let signal = |name: &str| {
        assert!(
            blksched_testkit::status(Command::new("kill").args([name, &child.id().to_string()])).unwrap().success()
        );
    };
    let reload = || {
        signal("-HUP");
        assert!(hear().starts_with("RELOADING=1\n"));
        assert_eq!(hear(), "READY=1\n");
    };
    let get = |name: &str| {
        let output = output(Command::new(BLKSCHED).args(["ctl", &folder.text("c"), "get", name])).unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(hear(), "READY=1\n");
    assert_eq!(get("tenants/a/weight"), "200");
    let changed = config.replace("weight = 200", "weight = 700").replace("bps = \"10M\"", "iops = 50");
    std::fs::write(folder.path("c.toml"), changed.replace("depth = 4", "depth = 80\nmemory = \"80M\"")).unwrap();
    reload();
    let now = ["tenants/a/weight", "tenants/b/bps", "tenants/b/iops"].map(get);
    assert_eq!(now, ["700", "max", "50"].map(str::to_owned));
    assert_eq!(get("queue/depth"), "80", "more than it began with");
    // A disk of its own kind, with a knob.
    let disk = "\n[[disk]]\nname = \"memory\"\nelevator = \"bfq\"\ndepth = 3\nslice_idle = 5\n";
    std::fs::write(folder.path("c.toml"), format!("{config}{disk}")).unwrap();
    reload();
    assert!(get("queue/scheduler").contains("[bfq]"));
    assert_eq!(["queue/depth", "queue/iosched/slice_idle"].map(get), ["3", "5"].map(str::to_owned));
    std::fs::write(folder.path("c.toml"), &config).unwrap();
    reload();
    assert!(get("queue/scheduler").contains("[mq-deadline]") && get("queue/depth") == "4");
    // An export that is no longer in the file is removed, and a new one is added.
    let others = config.replace("name = \"b\"\npath = \"mem:1M\"", "name = \"new\"\npath = \"mem:2M\"");
    std::fs::write(folder.path("c.toml"), others).unwrap();
    reload();
    assert_eq!((get("tenants/new/bps").as_str(), get("tenants/b/bps").as_str()), ("10485760", ""));
    std::fs::write(folder.path("c.toml"), "nonsense").unwrap();
    reload();
    assert_eq!(get("tenants/a/weight"), "200", "what is not understood changes nothing");
    signal("-TERM");
    assert_eq!(hear(), "STOPPING=1\n");
    let mut log = String::new();
    child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    assert!(child.end().success());
    for line in
        ["reload: changed", "reload: takes a restart what=\"memory\"", "reload: nothing is changed", "c.toml:1:9"]
    {
        assert!(log.contains(line), "{line} is not in\n{log}");
    }
}

#[test]
fn the_audit_log_has_who_came_and_left_and_what_was_changed_and_nothing_else() {
    let folder = Folder::new();
    let audit = folder.text("audit");
    std::fs::write(&audit, "{\"an earlier line\": true}\n").unwrap();
    // The other log is silent. A process has one of each.
    let exports = ["--export", "a=mem:1M", "--export", "b=mem:1M"];
    let mut server = Server::process(&[&exports[..], &["--audit", &audit, "--log", "off"]].concat());
    server.open("a").leave();
    while !server.ctl(&["get", "tenants/a/stat"]).unwrap().contains("clients=0 ") {
        std::thread::sleep(Duration::from_millis(10));
    }
    server.ctl(&["set", "tenants/b/weight", "300"]).unwrap();
    server.ctl(&["set", "tenants/b/weight", "0"]).unwrap_err();
    server.ctl(&["export", "remove", "b"]).unwrap();
    server.signal("TERM");
    assert!(server.child().end().success());
    let text = std::fs::read_to_string(&audit).unwrap();
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let said: Vec<&str> = lines.iter().skip(1).map(|line| line["message"].as_str().unwrap()).collect();
    assert_eq!(said, ["connected", "left", "ctl: changed", "ctl: not changed", "exports: changed"], "{text}");
    assert!(lines[1]["peer"].as_str().unwrap().contains("uid=") && lines[1]["export"] == "a", "{text}");
    assert!(lines[3]["question"].as_str().unwrap().contains("tenants/b/weight"), "{text}");
    let (good, text) = tried(&["--export", "a=mem:1M", "--audit", &folder.text("nowhere/audit")]);
    assert!(!good && text.contains("--audit") && text.contains("No such file"), "{text}");
}

#[test]
fn the_audit_log_is_written_to_no_disk_that_is_served_and_waits_for_no_reader() {
    let folder = Folder::new();
    let (image, link, pipe) = (folder.file("image", 1 << 20), folder.text("link"), folder.text("pipe"));
    std::fs::hard_link(&image, &link).unwrap();
    assert!(status(Command::new("mkfifo").arg(&pipe)).unwrap().success());
    let export = format!("a={image}");
    for (file, why) in [(&image, "what is served as export a"), (&link, "served as export a"), (&pipe, "a pipe")] {
        let words = ["--export", &export, "--audit", file];
        let (good, text) = tried(&words);
        assert!(!good && text.contains("expected a file for the log") && text.contains(why), "{text}");
        let (code, text, errors) = blksched_cli::printed(&[&["serve", "--check"], &words[..]].concat(), 1000);
        assert!(code == 2 && errors.contains(why), "{text}{errors}");
    }
    assert_eq!(std::fs::metadata(&image).unwrap().len(), 1 << 20);
}
