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

/// How many of Debian 12's examples its fio accepts, and how many of those load.
const FIO_3_33: [usize; 2] = [67, 67 - REFUSED.len()];

/// The examples of fio 3.33 that do not load, and the one option that each fails for. Of those with `ioengine` cpuio,
/// exec, falloc, ftruncate, filecreate, filedelete and filestat transfer nothing; null and cpp_null pretend to;
/// dev-dax, libpmem, pmemblk and mtd reach memory or flash that is no block device; gfapi, ime, libhdfs, libiscsi, nbd,
/// net, rados and rbd reach another machine; libzbc needs zones that must be written in order, as `zonemode=zbd` does;
/// and e4defrag moves a file's extents, of which a simulated file has none. The rest needs jobs that adapt to their
/// results.
const REFUSED: &[(&str, &str)] = &[
    ("cpp_null.fio", "ioengine"),
    ("cpuio.fio", "ioengine"),
    ("dev-dax.fio", "ioengine"),
    ("e4defrag.fio", "ioengine"),
    ("e4defrag2.fio", "ioengine"),
    ("exec.fio", "ioengine"),
    ("falloc.fio", "ioengine"),
    ("filecreate-ioengine.fio", "ioengine"),
    ("filedelete-ioengine.fio", "ioengine"),
    ("filestat-ioengine.fio", "ioengine"),
    ("ftruncate.fio", "ioengine"),
    ("gfapi.fio", "ioengine"),
    ("ime.fio", "ioengine"),
    ("libhdfs.fio", "ioengine"),
    ("libiscsi.fio", "ioengine"),
    ("libpmem.fio", "ioengine"),
    ("libzbc-rand-write.fio", "ioengine"),
    ("libzbc-seq-read.fio", "ioengine"),
    ("mtd.fio", "ioengine"),
    ("nbd.fio", "ioengine"),
    ("netio.fio", "ioengine"),
    ("netio_multicast.fio", "ioengine"),
    ("null.fio", "ioengine"),
    ("pmemblk.fio", "ioengine"),
    ("rados.fio", "ioengine"),
    ("rbd.fio", "ioengine"),
    ("uring-cmd-zoned.fio", "zonemode"),
    ("zbd-rand-write.fio", "zonemode"),
    ("zbd-seq-read.fio", "zonemode"),
    ("zipf.fio", "ioengine"),
];

/// The option that a refusal is about: for an engine without such I/O, the engine, whatever else it says.
fn option_of(titles: &[String]) -> String {
    if titles.iter().any(|title| title.ends_with("is not a value for `ioengine`")) {
        return "ioengine".to_owned();
    }
    let words: Vec<&str> = titles[0].split('`').collect();
    // "`zbd` is not a value for `zonemode`", "`opendir` is not supported yet".
    let word = if titles[0].contains("is not a value for") { words.get(3) } else { words.get(1) };
    word.copied().unwrap_or_default().to_owned()
}

/// 8 TiB: no example is too large for it.
const DISK_SECTORS: u64 = 1 << 34;

/// The examples and that fio runs, or `None` with a printed reason.
fn examples() -> Option<Vec<PathBuf>> {
    let folder = EXAMPLES.iter().map(Path::new).find(|folder| folder.is_dir());
    let fio =
        blksched_testkit::status(Command::new("fio").arg("--version").stdout(Stdio::null())).is_ok_and(|s| s.success());
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
    let status =
        blksched_testkit::status(Command::new("fio").arg("--parse-only").arg(path).stdout(silent()).stderr(silent()));
    status.expect("fio ran before").success()
}

/// Parses an example with our parser; returns the titles of its errors if it fails.
fn ours(path: &Path) -> Result<JobFile, Vec<String>> {
    let text = std::fs::read_to_string(path).expect("an example can be read");
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    JobFile::parse(&text, &name).map_err(|e| e.problems.iter().map(|p| p.title.clone()).collect())
}

#[test]
fn examples_that_do_file_or_block_io_load_and_the_others_say_why_not() {
    let Some(files) = examples() else { return };
    let accepted: Vec<&PathBuf> = files.iter().filter(|path| accepted_by_fio(path)).collect();
    let mut loaded = Vec::new();
    let mut refused: BTreeMap<String, String> = BTreeMap::new();
    for path in &accepted {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match ours(path) {
            Ok(file) => {
                let plan = file.plan(DISK_SECTORS).unwrap_or_else(|e| panic!("{e}"));
                assert!(!plan.jobs.is_empty(), "{name}");
                loaded.push(name);
            }
            Err(titles) => {
                println!("{name}: {}", titles.join("; "));
                assert!(titles.iter().all(|title| title.contains('`')), "every refusal names its option: {titles:?}");
                refused.insert(name, option_of(&titles));
            }
        }
    }
    println!("{} of {} accepted by fio load: {}", loaded.len(), accepted.len(), loaded.join(" "));
    println!("{refused:#?}");
    let known: BTreeMap<String, String> =
        REFUSED.iter().map(|(file, option)| (file.to_string(), option.to_string())).collect();
    if accepted.len() == FIO_3_33[0] {
        assert_eq!(refused, known);
        assert_eq!(loaded.len(), FIO_3_33[1]);
    }
    let unexpected: Vec<_> = refused.keys().filter(|file| !known.contains_key(*file)).collect();
    assert!(unexpected.is_empty(), "these should load: {unexpected:?}");
}

#[test]
fn fio_accepts_the_built_in_job_files_as_they_stand() {
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
