//! The result of a replay of many transcripts: a table by folder, and each folder's first divergence with the events
//! before it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use crate::Verdict;

/// One transcript.
pub struct Case {
    /// Its file.
    pub file: PathBuf,
    /// Of a recording of a file system: whether no two processes are ever in a sync at the same time.
    pub ordered: Option<bool>,
    /// Its result.
    pub found: Found,
}

/// The result of a transcript.
pub enum Found {
    /// It was replayed, to its end or to the first divergence.
    Replayed {
        /// Events replayed.
        events: usize,
        /// Its recorder marked the outcome as dependent on a tree's shape.
        shape_sensitive: bool,
        /// Where our decision differs.
        divergence: Option<Divergence>,
    },
    /// We do not have this `scheduler@kernel`.
    Unsupported(String),
    /// It could not be read, or the replay panicked: which, where and why.
    Broken(String),
}

/// A decision of ours that differs from the kernel's.
pub struct Divergence {
    /// The event's line in the file, from 1.
    pub line: usize,
    /// What was recorded and what we did.
    pub what: String,
    /// Up to twenty events before it, and the event itself.
    pub before: Vec<String>,
}

/// All transcripts, sorted by file.
pub struct Summary {
    /// Each of them.
    pub cases: Vec<Case>,
}

/// A row of the table.
#[derive(Default)]
struct Row {
    cases: usize,
    events: usize,
    diverging: usize,
    by_shape: usize,
    unsupported: usize,
    broken: usize,
}

impl Summary {
    /// Good unless something diverges without being marked, is unsupported or broken.
    pub fn verdict(&self) -> Verdict {
        let all = self.total();
        Verdict::when(all.diverging + all.unsupported + all.broken == 0)
    }

    fn total(&self) -> Row {
        Row::of(self.cases.iter())
    }

    /// How many recordings of file systems are exact, those in which nothing is decided by who wakes first apart.
    fn tell_ordered(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_exact = |case: &&Case| matches!(case.found, Found::Replayed { divergence: None, .. });
        let all: Vec<&Case> = self.cases.iter().filter(|case| case.ordered.is_some()).collect();
        if all.is_empty() {
            return Ok(());
        }
        let ordered: Vec<&Case> = all.iter().copied().filter(|case| case.ordered == Some(true)).collect();
        let exact = |cases: &[&Case]| cases.iter().copied().filter(is_exact).count();
        write!(
            f,
            "\nfile systems: {} of {} exact; of one process, or whose syncs never overlap, {} of {}",
            exact(&all),
            all.len(),
            exact(&ordered),
            ordered.len()
        )
    }

    fn folders(&self) -> BTreeMap<&Path, Vec<&Case>> {
        let mut folders = BTreeMap::<_, Vec<_>>::new();
        for case in &self.cases {
            folders.entry(case.file.parent().unwrap_or(Path::new("."))).or_default().push(case);
        }
        folders
    }
}

impl Row {
    fn of<'a>(cases: impl Iterator<Item = &'a Case>) -> Row {
        let mut row = Row::default();
        for case in cases {
            row.cases += 1;
            match &case.found {
                Found::Unsupported(_) => row.unsupported += 1,
                Found::Broken(_) => row.broken += 1,
                Found::Replayed { events, shape_sensitive, divergence } => {
                    row.events += events;
                    row.diverging += usize::from(divergence.is_some() && !shape_sensitive);
                    row.by_shape += usize::from(divergence.is_some() && *shape_sensitive);
                }
            }
        }
        row
    }

    fn line(&self, name: &str, width: usize) -> String {
        let Row { cases, events, diverging, by_shape, unsupported, broken } = self;
        format!("{name:<width$} {cases:>6} {events:>9} {diverging:>10} {by_shape:>9} {unsupported:>12} {broken:>7}")
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let folders = self.folders();
        let width = folders.keys().map(|folder| folder.display().to_string().chars().count()).max().unwrap_or(0).max(6);
        let head = ["cases", "events", "diverging", "by shape", "unsupported", "broken"];
        let [cases, events, diverging, by_shape, unsupported, broken] = head;
        writeln!(
            f,
            "{:<width$} {cases:>6} {events:>9} {diverging:>10} {by_shape:>9} {unsupported:>12} {broken:>7}",
            "folder"
        )?;
        for (folder, cases) in &folders {
            writeln!(f, "{}", Row::of(cases.iter().copied()).line(&folder.display().to_string(), width))?;
        }
        write!(f, "{}", self.total().line("all", width))?;
        self.tell_ordered(f)?;
        folders.values().try_for_each(|cases| tell(f, cases))
    }
}

/// A folder's first divergence, its first by shape, what it has that we have not, and what is broken.
fn tell(f: &mut fmt::Formatter<'_>, cases: &[&Case]) -> fmt::Result {
    for marked in [false, true] {
        let first = cases.iter().find_map(|case| match &case.found {
            Found::Replayed { shape_sensitive, divergence: Some(divergence), .. } if *shape_sensitive == marked => {
                Some((&case.file, divergence))
            }
            _ => None,
        });
        if let Some((file, divergence)) = first {
            tell_divergence(f, file, divergence, marked)?;
        }
    }
    let mut names = BTreeSet::new();
    for case in cases {
        match &case.found {
            Found::Unsupported(name) if names.insert(name) => {
                write!(f, "\n\n{}: no {name} here yet", case.file.display())?;
            }
            Found::Broken(why) => write!(f, "\n\n{why}")?,
            _ => {}
        }
    }
    Ok(())
}

fn tell_divergence(f: &mut fmt::Formatter<'_>, file: &Path, told: &Divergence, marked: bool) -> fmt::Result {
    let note = if marked { " (marked as dependent on a tree's shape)" } else { "" };
    let events = told.before.len().saturating_sub(1);
    write!(f, "\n\nfirst divergence{note}, after these {events} events:")?;
    for event in &told.before {
        write!(f, "\n    {event}")?;
    }
    write!(f, "\n{}:{}: {}", file.display(), told.line, told.what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(file: &str, found: Found) -> Case {
        Case { file: file.into(), ordered: None, found }
    }

    fn replayed(line: Option<usize>, shape_sensitive: bool) -> Found {
        let divergence = line.map(|line| Divergence {
            line,
            what: "recorded 3, ours 4".to_owned(),
            before: (0..21).map(|n| format!("event {n}")).collect(),
        });
        Found::Replayed { events: 100, shape_sensitive, divergence }
    }

    fn verdict(found: Found) -> Verdict {
        Summary { cases: vec![case("a/1.jsonl", replayed(None, false)), case("a/2.jsonl", found)] }.verdict()
    }

    #[test]
    fn a_divergence_that_is_not_marked_is_bad() {
        assert_eq!(verdict(replayed(None, false)), Verdict::Good);
        assert_eq!(verdict(replayed(Some(7), true)), Verdict::Good);
        assert_eq!(verdict(replayed(Some(7), false)), Verdict::Bad);
    }

    #[test]
    fn what_cannot_be_replayed_is_bad() {
        assert_eq!(verdict(Found::Unsupported("kyber@6.1".to_owned())), Verdict::Bad);
        assert_eq!(verdict(Found::Broken("cut off".to_owned())), Verdict::Bad);
    }

    #[test]
    fn the_table_counts_by_folder() {
        let cases = vec![
            case("b/1.jsonl", replayed(None, false)),
            case("b/2.jsonl", replayed(Some(7), true)),
            case("cc/1.jsonl", Found::Unsupported("kyber@6.1".to_owned())),
        ];
        let text = Summary { cases }.to_string();
        let rows: Vec<Vec<&str>> = text.lines().take(4).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[1], ["b", "2", "200", "0", "1", "0", "0"]);
        assert_eq!(rows[2], ["cc", "1", "0", "0", "0", "1", "0"]);
        assert_eq!(rows[3], ["all", "3", "200", "0", "1", "1", "0"]);
        assert!(text.contains("cc/1.jsonl: no kyber@6.1 here yet"), "{text}");
    }

    #[test]
    fn the_first_divergence_is_told_with_the_twenty_events_before_it() {
        let cases = vec![case("a/1.jsonl", replayed(Some(31), false)), case("a/2.jsonl", replayed(Some(99), false))];
        let text = Summary { cases }.to_string();
        assert!(text.ends_with("    event 20\na/1.jsonl:31: recorded 3, ours 4"), "{text}");
        assert_eq!(text.matches("    event ").count(), 21, "{text}");
        assert!(!text.contains("a/2.jsonl"), "{text}");
    }
}
