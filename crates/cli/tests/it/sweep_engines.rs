//! docs/sweep.md's lines for machines that share the work, each really run: GNU parallel, an array of Slurm on a
//! cluster of one node, and what the containers of the Kubernetes Job run. Skipped by name where a Debian package is
//! missing.
#![cfg(all(feature = "sweep", target_os = "linux"))]

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use blksched_testkit::Process;
use parquet::file::reader::{FileReader, SerializedFileReader};

const PLAN: &str = r#"
loads = ["reader-and-writer", "four-streams"]
disks = ["hdd-7200"]
schedulers = ["none", "mq-deadline", "bfq:slice_idle=0/8ms"]
seeds = 4
time = "50ms"
"#;
const SHARDS: usize = 16;

/// A directory with the plan and a directory of programs, in which `blksched` is ours.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("engines-{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("bin")).unwrap();
    symlink(env!("CARGO_BIN_EXE_blksched"), folder.join("bin/blksched")).unwrap();
    fs::write(folder.join("plan.toml"), PLAN).unwrap();
    folder
}

/// A shell in the directory, in which its own programs are found first.
fn shell(folder: &Path, line: &str) -> Command {
    let path = format!("{}:{}", folder.join("bin").display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(folder).env("PATH", path);
    command
}

fn runs(folder: &Path, line: &str) -> String {
    let output = blksched_testkit::output(&mut shell(folder, line)).unwrap();
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success(), "{line}\n{said}");
    said
}

/// Whether that program is installed; if not, the test is reported as skipped.
fn is_here(program: &str, package: &str) -> bool {
    let found = blksched_testkit::program(program).is_some();
    if !found {
        println!("skipped: the Debian package {package} is not here");
    }
    found
}

/// Every row in the directory as text, sorted.
fn rows(out: &Path) -> Vec<String> {
    let mut rows = Vec::new();
    for entry in fs::read_dir(out).unwrap() {
        let path = entry.unwrap().path();
        assert!(path.extension().is_some_and(|end| end == "parquet"), "{}", path.display());
        let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
        rows.extend(reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()));
    }
    rows.sort();
    rows
}

/// Checks that they made what one machine makes, in as many parts as there are shards with work.
fn agrees(folder: &Path, out: &Path) {
    runs(folder, "blksched sweep plan.toml --out alone");
    let (alone, together) = (rows(&folder.join("alone")), rows(out));
    assert!(alone == together, "{} rows and {}", alone.len(), together.len());
    assert!(fs::read_dir(out).unwrap().count() > SHARDS / 2, "there was one machine");
}

fn document() -> String {
    fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sweep.md")).unwrap()
}

/// The document's command that begins with this, with its continued lines and with `from` replaced.
fn command(begin: &str, from: &str, to: &str) -> String {
    let document = document();
    let mut lines = document.lines().skip_while(|line| !line.trim_start().starts_with(begin));
    let mut text = String::new();
    for line in lines.by_ref() {
        text += line.trim();
        match text.strip_suffix('\\') {
            Some(before) => text = before.to_owned(),
            None => break,
        }
    }
    assert!(text.contains(from), "`{from}` is not in `{text}`");
    text.replace(from, to)
}

#[test]
#[ignore = "slow: GNU parallel makes sixteen shards"]
fn parallel_makes_every_shard() {
    if !is_here("parallel", "parallel") {
        return;
    }
    let folder = folder("parallel");
    // This machine, through the shell that would reach another.
    runs(&folder, &command("seq 16 | parallel", "host1,host2", ":"));
    agrees(&folder, &folder.join("results"));
}

/// A cluster of this machine alone, which trusts every user of it.
fn cluster(folder: &Path) -> [Process; 2] {
    for name in ["state", "spool"] {
        fs::create_dir(folder.join(name)).unwrap();
    }
    let host = runs(folder, "hostname -s");
    let (host, here) = (host.trim(), folder.display());
    let ports = [(); 2].map(|()| std::net::TcpListener::bind("127.0.0.1:0").unwrap());
    let [of_controller, of_node] = ports.map(|listener| listener.local_addr().unwrap().port());
    let text = format!(
        "ClusterName=one\nSlurmctldHost={host}(127.0.0.1)\nAuthType=auth/none\nCredType=cred/none\nSlurmUser=root\n\
         SlurmdUser=root\nStateSaveLocation={here}/state\nSlurmdSpoolDir={here}/spool\nSlurmctldPidFile={here}/c.pid\n\
         SlurmdPidFile={here}/d.pid\nSlurmctldLogFile={here}/c.log\nSlurmdLogFile={here}/d.log\n\
         SlurmctldPort={of_controller}\nSlurmdPort={of_node}\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
         SelectType=select/cons_tres\nSwitchType=switch/none\nMpiDefault=none\nReturnToService=2\n\
         SlurmdParameters=config_overrides\nNodeName={host} NodeAddr=127.0.0.1 CPUs=16 State=UNKNOWN\n\
         PartitionName=all Nodes={host} Default=YES State=UP\n"
    );
    fs::write(folder.join("slurm.conf"), text).unwrap();
    ["slurmctld", "slurmd"].map(|program| {
        let mut daemon = Command::new(program);
        daemon.arg("-D").env("SLURM_CONF", folder.join("slurm.conf")).stdout(Stdio::null()).stderr(Stdio::null());
        Process::spawn(&mut daemon)
    })
}

#[test]
#[ignore = "slow: a Slurm cluster of one node makes sixteen shards"]
fn an_array_of_slurm_makes_every_shard() {
    let all = [("sbatch", "slurm-client"), ("slurmctld", "slurmctld"), ("slurmd", "slurmd")];
    if !all.into_iter().all(|(program, package)| is_here(program, package)) {
        return;
    }
    let folder = folder("slurm");
    if runs(&folder, "id -u").trim() != "0" {
        println!("skipped: slurmd is root's, and the user is not root");
        return;
    }
    let _cluster = cluster(&folder);
    let with = |line: &str| format!("SLURM_CONF=\"$PWD/slurm.conf\"; export SLURM_CONF; {line}");
    let is_up = || {
        blksched_testkit::output(&mut shell(&folder, &with("sinfo --noheader --states=idle")))
            .is_ok_and(|o| !o.stdout.is_empty())
    };
    let up = (0..300).any(|_| {
        is_up() || {
            sleep(Duration::from_millis(100));
            false
        }
    });
    assert!(up, "the node was not idle within 30 s");
    let said = runs(&folder, &with(&command("sbatch --array=1-16", "sbatch ", "timeout 300 sbatch --wait ")));
    let logs = runs(&folder, "cat slurm-*.out");
    assert_eq!(logs.matches("new runs").count(), SHARDS, "{said}{logs}");
    agrees(&folder, &folder.join("results"));
}

#[test]
#[ignore = "slow: what sixteen containers run"]
fn a_containers_command_makes_the_shard_of_its_index() {
    let folder = folder("kubernetes");
    let document = document();
    let line = document.lines().find_map(|line| line.trim().strip_prefix("command: [sh, -c, '")).unwrap();
    let line = line.strip_suffix("']").unwrap();
    let line = line.replace("/plan/", &format!("{}/", folder.display()));
    let line = line.replace("/results", &folder.join("results").display().to_string());
    for index in 0..SHARDS {
        runs(&folder, &format!("JOB_COMPLETION_INDEX={index}; export JOB_COMPLETION_INDEX; {line}"));
    }
    agrees(&folder, &folder.join("results"));
}
