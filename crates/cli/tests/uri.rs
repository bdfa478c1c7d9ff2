//! Traces by URI, against a server that speaks S3 (`moto_server`, of PyPI's `moto[server]`), on this machine alone:
//! they are read as the files are, piece by piece, and what is wrong says so. Skipped by name where it is not to be
//! had.
#![cfg(all(feature = "uri", feature = "sweep", target_os = "linux"))]

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write, copy, sink};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use blksched_testkit::Process;
use parquet::file::reader::{FileReader, SerializedFileReader};

const TARGET: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/..");
const TRACES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/traces");
const BUCKET: &str = "traces";

/// A server with an empty bucket, which ends when dropped.
struct Server {
    _process: Process,
    port: u16,
}

impl Server {
    /// `None` if there is no such program, and the test is reported as skipped.
    fn start() -> Option<Server> {
        let program = Path::new(TARGET).join("python/bin/moto_server");
        if !program.is_file() {
            println!(
                "skipped: moto_server is not installed; `cargo xtask test --install` gets it from PyPI (moto[server])"
            );
            return None;
        }
        // It chooses a free port itself and reports it: one that was free a moment ago may be taken by now.
        let mut command = Command::new(program);
        command.args(["-H", "127.0.0.1", "-p", "0"]).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = Process::spawn(&mut command);
        let mut said = BufReader::new(process.stderr.take().unwrap());
        let mut server = Server { _process: process, port: 0 };
        let mut before = String::new();
        server.port = loop {
            let mut line = String::new();
            assert!(said.read_line(&mut line).unwrap() > 0, "moto_server ended before it was up: {before}");
            match line.split_once("http://127.0.0.1:") {
                Some((_, port)) => break port.trim().parse().unwrap(),
                None => before += &line,
            }
        };
        // Its later output is read and dropped, so that it never blocks.
        thread::spawn(move || copy(&mut said, &mut sink()));
        server.make_bucket();
        Some(server)
    }

    /// It is up when it has made a bucket. Until then connections may be refused or reset.
    fn make_bucket(&self) {
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            match self.try_put(BUCKET, &[]) {
                Ok(answer) if answer.starts_with("HTTP/1.1 200") => return,
                told if Instant::now() > end => panic!("moto_server did not come up in a minute: {told:?}"),
                _ => sleep(Duration::from_millis(50)),
            }
        }
    }

    /// A bucket, or an object in it.
    fn put(&self, path: &str, bytes: &[u8]) {
        let answer = self.try_put(path, bytes).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
    }

    fn try_put(&self, path: &str, bytes: &[u8]) -> io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        let key = "Authorization: AWS4-HMAC-SHA256 Credential=test/20261122/us-east-1/s3/aws4_request";
        let head = format!("PUT /{path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{key}\r\nContent-Length: {}\r\n", bytes.len());
        stream.write_all(format!("{head}Connection: close\r\n\r\n").as_bytes())?;
        stream.write_all(bytes)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }

    /// A command with the store's environment variables and no others of a store.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_blksched"));
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("AWS_")) {
            command.env_remove(name);
        }
        let endpoint = format!("http://127.0.0.1:{}", self.port);
        let said = [("ENDPOINT", endpoint.as_str()), ("ACCESS_KEY_ID", "test"), ("SECRET_ACCESS_KEY", "test")];
        command.envs(said.map(|(name, value)| (format!("AWS_{name}"), value)));
        command.envs([("AWS_ALLOW_HTTP", "true"), ("AWS_REGION", "us-east-1")]).args(words);
        command
    }

    fn say(&self, words: &[&str]) -> Output {
        blksched_testkit::output(&mut self.command(words)).unwrap()
    }

    fn prints(&self, words: &[&str]) -> String {
        let output = self.say(words);
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn complains(&self, words: &[&str]) -> String {
        let output = self.say(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", String::from_utf8_lossy(&output.stdout));
        String::from_utf8(output.stderr).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("uri-{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The rows of a sweep without the load's name, sorted.
fn rows(out: &Path) -> Vec<String> {
    let mut rows = Vec::new();
    for entry in fs::read_dir(out).unwrap() {
        let reader = SerializedFileReader::new(File::open(entry.unwrap().path()).unwrap()).unwrap();
        for row in reader.get_row_iter(None).unwrap() {
            let row = row.unwrap();
            let told = row.get_column_iter().filter(|(name, _)| !["key", "workload"].contains(&name.as_str()));
            rows.push(told.map(|(name, value)| format!("{name}={value} ")).collect());
        }
    }
    rows.sort();
    rows
}

#[test]
fn a_trace_in_a_store_is_read_as_its_files_are() {
    let Some(server) = Server::start() else { return };
    for name in ["mq-deadline.blktrace.0", "mq-deadline.blktrace.1", "mq-deadline.blkparse.txt.gz"] {
        server.put(&format!("{BUCKET}/monday/{name}"), &fs::read(Path::new(TRACES).join(name)).unwrap());
    }
    // All files of a per-CPU trace belong together, whichever is named, also by a pattern.
    let here = server.prints(&["trace", "info", &format!("{TRACES}/mq-deadline.blktrace.0")]);
    let as_uri = here.replace(TRACES, "s3://traces/monday");
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    for named in ["mq-deadline.blktrace.1", "mq-deadline", "*.blktrace.?"] {
        let told = server.prints(&["trace", "info", &format!("s3://traces/monday/{named}")]);
        assert_eq!(words(&told), words(&as_uri), "{named}");
    }
    let uri = format!("file://{}:from=0s", fs::canonicalize(TRACES).unwrap().join("mq-deadline.blktrace.0").display());
    assert_eq!(words(&server.prints(&["trace", "info", &uri])).len(), words(&here).len());
    let compare = |load: &str| {
        server.prints(&["compare", load, "--elevators", "none,bfq", "--seeds", "2", "--time", "200ms", "--csv"])
    };
    let numbers = |text: String, name: &str| text.replace(name, "");
    let local = compare(&format!("{TRACES}/mq-deadline.blkparse.txt.gz:scale=2"));
    let remote = compare("s3://traces/monday/mq-deadline.blkparse.txt.gz:scale=2");
    assert_eq!(numbers(local, TRACES), numbers(remote, "s3://traces/monday"));

    let folder = folder("sweep");
    let plan = |traces: &str| {
        let text =
            format!("loads = [\"{traces}/*mq-*:scale=2\"]\ndisks = [\"hdd-7200\"]\nschedulers = [\"none\", \"bfq\"]\n");
        let path = folder.join(format!("{}.toml", traces.len()));
        fs::write(&path, text + "seeds = 2\ntime = \"200ms\"\n").unwrap();
        path.display().to_string()
    };
    let swept = |traces: &str, shards: u32| {
        let out = folder.join(format!("{}-{shards}", traces.len()));
        for nth in 1..=shards {
            let shard = format!("{nth}/{shards}");
            server.prints(&["sweep", &plan(traces), "--out", &out.display().to_string(), "--shard", &shard]);
        }
        rows(&out)
    };
    let copies = folder.join("traces");
    fs::create_dir(&copies).unwrap();
    for name in ["mq-deadline.blktrace.0", "mq-deadline.blktrace.1", "mq-deadline.blkparse.txt.gz"] {
        fs::copy(Path::new(TRACES).join(name), copies.join(name)).unwrap();
    }
    let (remote, local) = (swept("s3://traces/m?nday", 1), swept(&format!("file://{}", copies.display()), 1));
    assert!(remote == local && remote.len() >= 2 * 2 * 2, "{remote:#?}\n{local:#?}");
    assert_eq!(remote, swept("s3://traces/m?nday", 3));
}

#[test]
fn a_large_object_is_never_held_whole() {
    let Some(server) = Server::start() else { return };
    const ROWS: u64 = 40_000;
    let mut bytes = Vec::new();
    for nth in 0..ROWS {
        write!(bytes, "7,{},{},4096,{},", ["R", "W"][(nth % 2) as usize], nth * 4096, nth * 1000).unwrap();
        bytes.resize(bytes.len() + 4000, b'x');
        bytes.push(b'\n');
    }
    let size = bytes.len() as u64;
    server.put(&format!("{BUCKET}/wide.csv"), &bytes);
    drop(bytes);
    let wide = "s3://traces/wide.csv:columns=device,op,offset@B,size@B,time@us,-";
    let mut child = Process::spawn(server.command(&["trace", "info", wide, "--json"]).stdout(Stdio::piped()));
    // Its own memory alone: the pages of the program's file are most of what a debug build has in memory.
    let mut peak = 0_u64;
    while child.try_wait().unwrap().is_none() {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        peak = peak.max(kib.unwrap_or(0) * 1024);
        sleep(Duration::from_millis(2));
    }
    let output = child.output();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && told.contains(&format!("\"ios\": {ROWS}")), "{told}");
    assert!(peak > 0 && peak < size / 6, "{peak} bytes of memory for an object of {size}");
}

#[test]
fn what_cannot_be_read_says_why_and_where() {
    let Some(server) = Server::start() else { return };
    server.put(&format!("{BUCKET}/good.csv"), b"7,R,0,4096,1000000\n7,R,8192,4096,1000500\n");
    let bad = "7,R,0,4096,1000000\n".repeat(4000) + "7,X,8192,4096,1000500\n";
    server.put(&format!("{BUCKET}/bad.csv"), bad.as_bytes());
    let info = |uri: &str| server.complains(&["trace", "info", uri]);
    assert!(info("s3://traces/godo.csv").contains("s3://traces/godo.csv: there is no such object"));
    assert!(info("s3://traces/n*.csv").contains("s3://traces/n*.csv: no object matches"));
    assert!(
        info("s3://traces/bad.csv").contains("s3://traces/bad.csv:4001:3: `X` is not"),
        "{}",
        info("s3://traces/bad.csv")
    );
    let nowhere = info("s3://nobody/x.csv");
    assert!(nowhere.contains("s3://nobody/x.csv") && nowhere.contains("NoSuchBucket"), "{nowhere}");
    assert!(info("gs://traces/x.csv").contains("unknown scheme `gs`: expected file or s3"));
    assert!(info("s3://traces").contains("expected a bucket and a key"));
    let nobody = blksched_testkit::output(
        server.command(&["trace", "info", "s3://traces/good.csv"]).env("AWS_ENDPOINT", "http://127.0.0.1:1"),
    );
    assert_eq!(nobody.unwrap().status.code(), Some(2));

    // A trace that fails marks its rows, and the rest goes on.
    let folder = folder("bad");
    let (plan, out) = (folder.join("plan.toml"), folder.join("out"));
    let loads = r#"loads = ["s3://traces/*d.csv", "s3://traces/gone.csv"]"#;
    fs::write(&plan, format!("{loads}\ndisks = [\"null\"]\nschedulers = [\"none\"]\ntime = \"1s\"\n")).unwrap();
    let said = server.prints(&["sweep", &plan.display().to_string(), "--out", &out.display().to_string()]);
    assert!(said.starts_with("3 new runs") && said.contains("2 of them failed"), "{said}");
    let rows = rows(&out);
    let with = |text: &str| rows.iter().filter(|row| row.contains(text)).count();
    assert_eq!(
        (with("bad.csv:4001:3"), with("gone.csv: there is no such object"), with("error=null")),
        (1, 1, 1),
        "{rows:#?}"
    );
}
