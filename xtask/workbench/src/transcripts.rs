//! `transcripts`: replays recorded decisions of the kernel's schedulers and reports, folder by folder, where ours
//! differ.
//!
//! Cases that their recorder marked as dependent on a tree's shape are counted separately: a divergence there is
//! reported but is not a failure. A scheduler that we do not have yet, a file that cannot be read and a panic are
//! failures.

mod report;

use std::any::Any;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, Result, bail};
use blksched_conformance::replay::{self, ReplayError};
use blksched_simulate::fs_replay::{self, FsReplayError};
use blksched_traces::fs_recording;

use crate::Verdict;
use report::{Case, Divergence, Found, Summary};

/// # Errors
/// If a path cannot be listed or contains no transcript.
pub fn run(paths: &[PathBuf]) -> Result<Verdict> {
    let summary = replay(paths)?;
    println!("{summary}");
    Ok(summary.verdict())
}

/// Replays every transcript at or below `paths`, on all cores.
///
/// # Errors
/// If a path cannot be listed or contains no transcript.
pub fn replay(paths: &[PathBuf]) -> Result<Summary> {
    let files = collect(paths)?;
    if files.is_empty() {
        let paths: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
        bail!("no .jsonl or .jsonl.gz at or below {}", paths.join(", "));
    }
    let next = AtomicUsize::new(0);
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let mut cases: Vec<Case> = thread::scope(|scope| {
        let work = || {
            let take = || files.get(next.fetch_add(1, Ordering::Relaxed));
            std::iter::from_fn(take).map(|file| case(file.as_path())).collect::<Vec<_>>()
        };
        let running: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        running.into_iter().flat_map(|worker| worker.join().expect("panics are caught per case")).collect()
    });
    cases.sort_by(|a, b| a.file.cmp(&b.file));
    Ok(Summary { cases })
}

/// Every transcript at or below `paths`, each once, sorted.
fn collect(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        let kind = fs::metadata(path).with_context(|| format!("looking at {}", path.display()))?;
        if kind.is_dir() { walk(path, &mut files)? } else { files.push(path.clone()) }
    }
    files.sort();
    files.dedup();
    Ok(files)
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("listing {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            walk(&path, files)?;
        } else if is_transcript(&path) {
            files.push(path);
        }
    }
    Ok(())
}

fn is_transcript(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".jsonl") || name.ends_with(".jsonl.gz")
}

/// Replays one.
fn case(file: &Path) -> Case {
    if fs_recording::is_recording(file).unwrap_or(false) {
        let ordered = fs_recording::FsRecording::open(file).ok().map(|recording| recording.syncs_never_overlap());
        return Case { file: file.to_path_buf(), ordered, found: file_system(file) };
    }
    let replayed = catch_unwind(AssertUnwindSafe(|| replay::replay_file(file)));
    let found = match replayed {
        Ok(Ok(report)) => Found::Replayed {
            events: report.events,
            shape_sensitive: report.shape_sensitive,
            divergence: report.divergence.map(|d| Divergence { line: d.line, what: d.what, before: d.before }),
        },
        Ok(Err(ReplayError::Unsupported { scheduler, kernel, .. })) => {
            Found::Unsupported(format!("{scheduler}@{kernel}"))
        }
        Ok(Err(error)) => Found::Broken(error.to_string()),
        Err(panic) => Found::Broken(format!("{}: panicked: {}", file.display(), message(panic.as_ref()))),
    };
    Case { file: file.to_path_buf(), ordered: None, found }
}

/// Replays a recording of a file system.
fn file_system(file: &Path) -> Found {
    match catch_unwind(AssertUnwindSafe(|| fs_replay::replay_file(file))) {
        Ok(Ok(replay)) => {
            let told: Vec<String> =
                replay.differences.iter().map(|found| format!("line {}: {}", found.line, found.what)).collect();
            let divergence = replay.differences.first().map(|first| Divergence {
                line: first.line,
                what: first.what.clone(),
                before: told,
            });
            Found::Replayed { events: replay.events, shape_sensitive: false, divergence }
        }
        Ok(Err(FsReplayError::NotModelled(what))) => Found::Unsupported(what),
        Ok(Err(error)) => Found::Broken(error.to_string()),
        Err(panic) => Found::Broken(format!("{}: panicked: {}", file.display(), message(panic.as_ref()))),
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_searched_to_the_bottom_for_transcripts_alone() {
        let root = crate::shell::target().join("xtask/transcripts-are-collected");
        fs::create_dir_all(root.join("a/b")).unwrap();
        for name in ["a/b/2.jsonl.gz", "a/1.jsonl", "a/notes.md", "3.jsonl"] {
            fs::write(root.join(name), "").unwrap();
        }
        let files = collect(&[root.clone(), root.join("3.jsonl")]).unwrap();
        let names: Vec<_> = files.iter().map(|file| file.strip_prefix(&root).unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["3.jsonl", "a/1.jsonl", "a/b/2.jsonl.gz"]);
    }

    #[test]
    fn a_path_that_is_not_there_is_named() {
        let error = replay(&["no/such/folder".into()]).err().unwrap();
        assert!(format!("{error:#}").contains("no/such/folder"));
    }

    #[test]
    fn a_file_that_is_no_transcript_is_broken_not_passed() {
        let file = crate::shell::target().join("xtask/no-transcript.jsonl");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "{\"no\":\n").unwrap();
        let summary = replay(&[file]).unwrap();
        assert!(matches!(summary.cases[0].found, Found::Broken(_)));
        assert_eq!(summary.verdict(), Verdict::Bad);
    }
}
