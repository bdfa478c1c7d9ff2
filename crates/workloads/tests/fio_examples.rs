//! The job files of the Debian package `fio-examples`: each that fio itself accepts loads here, or its errors name
//! options that are not supported yet.
//!
//! Skipped, saying so, where the packages are not installed; `BLKSCHED_REQUIRE_FIO=1` makes that a failure.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use blksched_workloads::fio::JobFile;

/// Where Debian's package has its files.
const EXAMPLES: [&str; 2] = ["/usr/share/doc/fio/examples", "/usr/share/doc/fio-examples/examples"];

/// Of fio 3.33's examples that fio accepts: those that load.
const LOADS: [&str; 22] = [
    "aio-read.fio",
    "backwards-read.fio",
    "basic-verify.fio",
    "cmdprio-bssplit.fio",
    "cmdprio-percentage.fio",
    "dedupe-global.fio",
    "fio-rand-RW.fio",
    "fio-rand-read.fio",
    "fio-rand-write.fio",
    "fio-seq-RW.fio",
    "fio-seq-read.fio",
    "fio-seq-write.fio",
    "fsx.fio",
    "iometer-file-access-server.fio",
    "jesd219.fio",
    "numa.fio",
    "rand-zones.fio",
    "ssd-steadystate.fio",
    "ssd-test.fio",
    "surface-scan.fio",
    "tiobench-example.fio",
    "waitfor.fio",
];

/// How many Debian 12 has that its fio accepts.
const FIO_3_33: [usize; 1] = [67];
/// Of these: unsupported options; engines that do something else.
const REFUSED: [usize; 2] = [13, 32];

/// What refuses the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Refusal {
    /// An option of fio's that is not supported, each named.
    Option,
    /// An engine that does no I/O on a file or block device, or needs a machine of its own.
    Engine,
}

fn refusal(titles: &[String]) -> Refusal {
    let engine = |title: &String| title.ends_with("is not a value for `ioengine`");
    if titles.iter().any(engine) { Refusal::Engine } else { Refusal::Option }
}

/// The examples and that fio runs, or `None` with a printed reason.
fn examples() -> Option<Vec<PathBuf>> {
    let folder = EXAMPLES.iter().map(Path::new).find(|folder| folder.is_dir());
    let fio = Command::new("fio").arg("--version").stdout(Stdio::null()).status().is_ok_and(|s| s.success());
    let Some(folder) = folder.filter(|_| fio) else {
        let reason = "the Debian packages fio and fio-examples are not installed";
        assert!(std::env::var_os("BLKSCHED_REQUIRE_FIO").is_none(), "{reason}");
        println!("skipped: {reason}");
        return None;
    };
    let entries = std::fs::read_dir(folder).expect("a folder that is there can be read");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("and so can its entries").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "fio"));
    files.sort();
    assert!(!files.is_empty(), "no examples in {}", folder.display());
    Some(files)
}

fn accepted_by_fio(path: &Path) -> bool {
    let silent = || Stdio::null();
    let status = Command::new("fio").arg("--parse-only").arg(path).stdout(silent()).stderr(silent()).status();
    status.expect("fio ran before").success()
}

/// Whether our parser takes it, and if not, the titles of its errors.
fn ours(path: &Path) -> Result<JobFile, Vec<String>> {
    let text = std::fs::read_to_string(path).expect("an example can be read");
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    JobFile::parse(&text, &name).map_err(|e| e.problems.iter().map(|p| p.title.clone()).collect())
}

#[test]
fn examples_with_io_on_a_file_load_and_the_others_say_why_not() {
    let Some(files) = examples() else { return };
    let accepted: Vec<&PathBuf> = files.iter().filter(|path| accepted_by_fio(path)).collect();
    let mut loaded = Vec::new();
    let mut refused: BTreeMap<Refusal, Vec<String>> = BTreeMap::new();
    for path in &accepted {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match ours(path) {
            Ok(file) => {
                let plan = file.plan(1 << 33).unwrap_or_else(|e| panic!("{e}"));
                assert!(!plan.jobs.is_empty(), "{name}");
                loaded.push(name);
            }
            Err(titles) => {
                println!("{name}: {}", titles.join("; "));
                assert!(titles.iter().all(|title| title.contains('`')), "every refusal names its option: {titles:?}");
                refused.entry(refusal(&titles)).or_default().push(name);
            }
        }
    }
    let count = |refusal| refused.get(&refusal).map_or(0, Vec::len);
    let counts = [Refusal::Option, Refusal::Engine].map(count);
    println!("{} of {} accepted by fio load: {}", loaded.len(), accepted.len(), loaded.join(" "));
    println!("options, engines: {counts:?} {refused:?}");
    if FIO_3_33.contains(&accepted.len()) {
        assert_eq!(loaded, LOADS);
        assert_eq!(counts, REFUSED);
    }
    for file in LOADS {
        let there = accepted.iter().any(|path| path.ends_with(file));
        assert!(!there || loaded.iter().any(|name| name == file), "{file} should load");
    }
}

#[test]
fn fio_accepts_the_built_in_job_files() {
    if examples().is_none() {
        return;
    }
    for builtin in blksched_workloads::BUILTINS {
        let path = std::env::temp_dir().join(format!("blksched-{}-{}.fio", std::process::id(), builtin.name));
        std::fs::write(&path, builtin.text).expect("the folder for temporary files can be written");
        let accepted = accepted_by_fio(&path);
        std::fs::remove_file(&path).expect("it was just written");
        assert!(accepted, "{}", builtin.name);
    }
}
