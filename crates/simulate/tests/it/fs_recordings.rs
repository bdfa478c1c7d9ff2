//! Recordings of real file systems replay as `testdata/transcripts/fs-6.18/known-misses.tsv` says: without a
//! difference, or with that many, of which the first is there; or they are not replayed, for the reason that is there.
//! `BLESS=1` renews the table, unless it would grow.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use blksched_simulate::fs_replay::{FsReplayError, replay_file};
use rayon::prelude::*;

const HEAD: &str = "# Recordings that are not replayed to the last request and return: how many differences (at most\n\
    # 20 are counted) and the first, or why it is not replayed. BLESS=1 of the test `fs_recordings` writes this.\n\
    # recording\tdifferences\tfirst\n";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/transcripts/fs-6.18")
}

fn recordings() -> Vec<String> {
    let mut found = Vec::new();
    for fs in ["ext2", "ext3", "ext4", "xfs"] {
        for entry in std::fs::read_dir(folder().join(fs)).expect("the recordings") {
            let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
            found.extend(name.strip_suffix(".jsonl.gz").map(|name| format!("{fs}/{name}")));
        }
    }
    found.sort();
    found
}

/// A recording that differs, or is not replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Miss {
    /// `None` if it is not replayed.
    differences: Option<usize>,
    first: String,
}

impl Miss {
    /// Whether less is right than in the other.
    fn is_worse_than(&self, other: &Miss) -> bool {
        let most = |miss: &Miss| miss.differences.unwrap_or(usize::MAX);
        most(self) > most(other)
    }
}

fn miss(name: &str) -> Option<Miss> {
    match replay_file(&folder().join(format!("{name}.jsonl.gz"))) {
        Ok(replay) if replay.differences.is_empty() => {
            assert!(replay.events > 0, "{name}: nothing was compared");
            None
        }
        Ok(replay) => {
            let first = &replay.differences[0];
            let first = format!("line {}: {}", first.line, first.what);
            Some(Miss { differences: Some(replay.differences.len()), first })
        }
        Err(FsReplayError::NotModelled(why)) => Some(Miss { differences: None, first: why }),
        Err(FsReplayError::Read(error)) => panic!("{name}: {error}"),
    }
}

fn known(text: &str) -> BTreeMap<String, Miss> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let miss = |line: &str| {
        let mut columns = line.split('\t').map(str::to_owned);
        let mut column = || columns.next().unwrap_or_else(|| panic!("three columns: {line}"));
        let (name, differences, first) = (column(), column(), column());
        (name, Miss { differences: differences.parse().ok(), first })
    };
    lines.map(miss).collect()
}

#[test]
fn recordings_of_file_systems_replay_but_for_known_misses_which_only_shrink() {
    let path = folder().join("known-misses.tsv");
    let names = recordings();
    assert!(names.len() >= 60, "{} recordings", names.len());
    let found: BTreeMap<String, Miss> =
        names.par_iter().filter_map(|name| miss(name).map(|miss| (name.clone(), miss))).collect();
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let known = known(&text);
    if std::env::var_os("BLESS").is_some() {
        let worse = |(name, miss): &(&String, &Miss)| known.get(*name).is_none_or(|known| miss.is_worse_than(known));
        let grown: Vec<_> = found.iter().filter(worse).collect();
        assert!(text.is_empty() || grown.is_empty(), "the table only shrinks: {grown:#?}");
        let mut table = HEAD.to_owned();
        for (name, Miss { differences, first }) in &found {
            let count = differences.map_or("-".to_owned(), |count| count.to_string());
            writeln!(table, "{name}\t{count}\t{first}").expect("text");
        }
        std::fs::write(&path, table).expect("the table is written");
        return;
    }
    for name in &names {
        assert_eq!(found.get(name), known.get(name), "{name}: now, and in {}", path.display());
    }
    assert!(known.keys().all(|name| names.contains(name)), "the table names what is not there");
}

/// The differences in a recording when `edit` has changed one of its lines.
fn planted(edit: impl Fn(&str) -> Option<String>) -> usize {
    let file = std::fs::File::open(folder().join("ext4/01-append-fsync-1.jsonl.gz")).expect("the recording");
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("its text");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let at = (200..lines.len()).find(|at| edit(&lines[*at]).is_some()).expect("such a line");
    lines[at] = edit(&lines[at]).expect("it was found");
    let path = std::env::temp_dir().join(format!("blksched-fs-planted-{}-{at}.jsonl", std::process::id()));
    std::fs::write(&path, lines.join("\n")).expect("it is written");
    let replay = replay_file(&path);
    std::fs::remove_file(path).expect("it was written");
    replay.expect("it is replayed").differences.len()
}

#[test]
fn a_request_or_a_return_that_is_recorded_otherwise_is_noticed() {
    let log = |line: &str| line.contains(r#""ev":"bio","task":"jbd2"#) && line.contains(r#""flags":"WSM""#);
    assert_eq!(planted(|line| log(line).then(|| line.to_owned())), 0, "nothing was changed");
    assert!(planted(|line| log(line).then(|| line.replace("WSM", "WM"))) > 0, "a log write nobody waits for");
    assert!(planted(|line| log(line).then(|| line.replace("jbd2", "w0"))) > 0, "a log write by the caller");
    let late = |line: &str| {
        let returns = line.contains(r#""ev":"return""#) && line.contains(r#""op":"fsync""#);
        let (at, rest) = line.strip_prefix(r#"{"t":"#)?.split_once(',')?;
        let at: u64 = at.parse().ok()?;
        returns.then(|| format!(r#"{{"t":{},{rest}"#, at + 3_000_000))
    };
    assert!(planted(late) > 0, "3 ms later than it did");
}
