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

/// Those of fio 3.33 that do direct I/O with the options of the first part.
const LOADS: [&str; 7] = [
    "aio-read.fio",
    "basic-verify.fio",
    "fio-seq-read.fio",
    "fsx.fio",
    "numa.fio",
    "ssd-steadystate.fio",
    "ssd-test.fio",
];

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
fn examples_with_direct_io_on_a_file_load_and_the_others_say_why_not() {
    let Some(files) = examples() else { return };
    let accepted: Vec<&PathBuf> = files.iter().filter(|path| accepted_by_fio(path)).collect();
    let mut loaded = Vec::new();
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
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
                titles.into_iter().for_each(|title| *reasons.entry(title).or_default() += 1);
            }
        }
    }
    println!("{} of {} files that fio accepts load: {}", loaded.len(), accepted.len(), loaded.join(" "));
    for file in LOADS {
        let there = accepted.iter().any(|path| path.ends_with(file));
        assert!(!there || loaded.iter().any(|name| name == file), "{file} should load");
    }
    assert!(loaded.len() >= LOADS.len(), "fewer than fio 3.33's examples: {loaded:?}");
    let named = |title: &str| title.contains('`');
    assert!(reasons.keys().all(|title| named(title)), "every refusal names the option: {reasons:?}");
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
