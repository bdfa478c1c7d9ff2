//! The first part of a report: sentences, tables as printed, and how the figures were obtained.

use std::sync::Arc;

use blksched::Span;
use blksched_lab::runs::measured::{JobMeasure, Measured};
use blksched_lab::scene::Stage;
use blksched_lab::verdict::brief::About;
use blksched_lab::{Scene, Verdict};
use blksched_measure::{Align, Cell, Quantity, Sample, Table, Work};
use blksched_report::{Grid, ShownAnswer};

/// A table of the command line as the report's grid.
pub(super) fn grid(table: &Table) -> Grid {
    let row = |row: &Vec<Cell>| row.iter().zip(&table.columns).map(|(cell, column)| show(cell, column.unit)).collect();
    Grid {
        title: table.title.clone(),
        columns: table.columns.iter().map(|column| (column.header.clone(), column.align == Align::Right)).collect(),
        rows: table.rows.iter().map(row).collect(),
        notes: table.notes.clone(),
    }
}

fn show(cell: &Cell, unit: Quantity) -> String {
    match cell {
        Cell::Text(text) => text.clone(),
        Cell::Number(value) => unit.show(*value),
        Cell::Spread(spread) if spread.count == 0 => "–".to_owned(),
        Cell::Spread(spread) if spread.stddev == 0.0 => unit.show(spread.mean),
        Cell::Spread(spread) => unit.show_varying(spread.mean, spread.stddev),
        Cell::Missing => "–".to_owned(),
    }
}

/// Job by job, a row per scheduler: its throughput and latencies, and the disk time it asked for and was given.
pub(super) fn jobs(measured: &[Arc<Measured>]) -> Grid {
    let header = ["job", "scheduler", "throughput", "p50", "p99", "fsync p99", "disk time asked", "given"];
    let columns = header.iter().enumerate().map(|(nth, name)| ((*name).to_owned(), nth > 1)).collect();
    let mut rows = Vec::new();
    for nth in 0..measured.first().map_or(0, |first| first.jobs.len()) {
        for (scheduler, one) in measured.iter().enumerate() {
            let Some(job) = one.jobs.get(nth) else { continue };
            let name = if scheduler == 0 { job.label() } else { String::new() };
            rows.push([vec![name, one.label()], figures(job)].concat());
        }
    }
    let note = "Means over the seeds, ± the standard deviation. p50 and p99: of reads if the job reads, otherwise of \
                writes, from submission to completion; disk time: the part of the run in which the job wanted the disk \
                (more than 100 % for several processes) and that in which the disk worked for it. –: too few I/Os.";
    Grid { title: "Each job under each scheduler".to_owned(), columns, rows, notes: vec![note.to_owned()] }
}

fn figures(job: &JobMeasure) -> Vec<String> {
    let of = |wanted: Work| job.work.iter().find(|(work, _)| *work == wanted).map(|(_, measure)| measure);
    let moves = of(Work::Read).or_else(|| of(Work::Write));
    let said = |sample: Option<&Sample>, unit: Quantity| {
        let spread = sample.map(Sample::spread).filter(|spread| spread.count > 0);
        spread.map_or("–".to_owned(), |spread| show(&Cell::Spread(spread), unit))
    };
    let rates: Vec<String> = [(Work::Read, ""), (Work::Write, " written")]
        .into_iter()
        .filter_map(|(work, word)| of(work).map(|m| said(Some(&m.bandwidth), Quantity::Bandwidth) + word))
        .collect();
    vec![
        if rates.is_empty() { "–".to_owned() } else { rates.join(", ") },
        said(moves.map(|m| &m.clat[1]), Quantity::Time),
        said(moves.map(|m| &m.clat[2]), Quantity::Time),
        said(of(Work::Sync).map(|m| &m.clat[2]), Quantity::Time),
        said(Some(&job.asked), Quantity::Fraction),
        said(Some(&job.given), Quantity::Fraction),
    ]
}

/// The answer, what to do apart; then what differs under each scheduler.
pub(super) fn verdict(answer: &mut ShownAnswer, verdict: &Verdict) {
    let price = verdict.brief.lines.iter().find(|(about, _)| *about == About::Price).map(|(_, line)| line.as_str());
    // The page sets the price below what it is for.
    let action = [Some(verdict.advice()), price].into_iter().flatten().collect::<Vec<_>>().join(" ");
    answer.action = Some(action).filter(|action| !action.is_empty());
    let lines = verdict.brief.lines.iter().skip(1).filter(|(about, _)| *about != About::Price);
    answer.sentences = lines.map(|(_, line)| line.clone()).collect();
    // The other sentences; what to do has been said.
    let is_said = |sentence: &&String| {
        let first = sentence.split(' ').next().unwrap_or_default();
        ["Use", "Keep", "Not", "No", "Nothing", "One", "We"].contains(&first) || sentence.contains(": keep ")
    };
    let others = verdict.sentences.iter().filter(|sentence| !is_said(sentence));
    answer.sentences.extend(others.flat_map(|sentence| per_job(sentence)));
}

/// `A against B: reader: …; log: …; backup: ….` as a sentence for each job.
fn per_job(sentence: &str) -> Vec<String> {
    let Some((pair, rest)) = sentence.split_once(": ").filter(|(pair, _)| pair.contains(" against ")) else {
        return vec![sentence.to_owned()];
    };
    let (figures, why) = rest.split_once(" Why: ").map_or((rest, None), |(figures, why)| (figures, Some(why)));
    let jobs = parted(figures.trim_end_matches('.'));
    if jobs.len() < 2 {
        return vec![sentence.to_owned()];
    }
    let mut said: Vec<String> = jobs.iter().map(|job| format!("{pair}: {job}.")).collect();
    said.extend(why.map(|why| format!("{pair}: why: {why}")));
    said
}

/// The parts between `; `, ignoring those in brackets.
fn parted(text: &str) -> Vec<&str> {
    let (mut parts, mut from, mut depth) = (Vec::new(), 0, 0_i32);
    for (at, c) in text.char_indices() {
        depth += i32::from(c == '(') - i32::from(c == ')');
        if depth == 0 && text[at..].starts_with("; ") {
            parts.push(&text[from..at]);
            from = at + 2;
        }
    }
    parts.push(&text[from..]);
    parts
}

/// How the report was made: named facts.
pub(super) fn facts(stage: &Stage, scene: &Scene, seeds: (u64, usize)) -> Vec<(String, String)> {
    let mut facts = made();
    let (first, count) = seeds;
    let said = if count == 1 { format!("{first}") } else { format!("{count} from {first}; the pictures show {first}") };
    facts.push(("seeds".to_owned(), said));
    let size = Quantity::Bytes.show((stage.disk.build(scene.seed).facts().sectors * 512) as f64);
    facts.push(("disk".to_owned(), format!("{} ({size}): {}", stage.disk.name, stage.disk.description)));
    facts.push(("the disk's model".to_owned(), blksched_disks::sheet::truth(&stage.disk).sentence()));
    facts
}

/// Which run the pictures show, if the figures above them come from others too.
pub(super) fn pictured(stage: &Stage, (first, count): (u64, usize)) -> String {
    let mut said = Vec::new();
    if count > 1 {
        said.push(format!("The pictures show one run, seed {first}; the figures above are means over {count} seeds."));
    }
    let warm_up = stage.plan.jobs.iter().map(|job| job.report.ramp).max().unwrap_or(Span::ZERO);
    if warm_up > Span::ZERO {
        let long = Quantity::Time.show(warm_up.as_ns() as f64);
        said.push(format!("The first {long} are warm-up: the pictures include it, the figures above do not."));
    }
    said.join(" ")
}

/// The program and its arguments.
pub(super) fn made() -> Vec<(String, String)> {
    let words = std::env::args_os().skip(1).map(|word| quoted(&word.to_string_lossy()));
    let command = std::iter::once("blksched".to_owned()).chain(words).collect::<Vec<_>>().join(" ");
    vec![("command".to_owned(), command), ("version".to_owned(), format!("blksched {}", env!("CARGO_PKG_VERSION")))]
}

/// A word quoted for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@+%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_job_has_a_sentence_of_its_own() {
        let said = per_job(
            "bfq against mq-deadline: reader: a 2.0 times (1; 1 to 2), b; log: c. Why: a read waits 3ms for d.",
        );
        assert_eq!(
            said,
            [
                "bfq against mq-deadline: reader: a 2.0 times (1; 1 to 2), b.",
                "bfq against mq-deadline: log: c.",
                "bfq against mq-deadline: why: a read waits 3ms for d.",
            ]
        );
        let one = "Roles assumed: a is b (c); d is e; --goal overrides them.";
        assert_eq!(per_job(one), [one]);
    }

    #[test]
    fn a_word_with_blanks_or_quotes_is_quoted_for_a_shell() {
        assert_eq!(quoted("my.fio"), "my.fio");
        assert_eq!(quoted("db: p99"), "'db: p99'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted(""), "''");
    }
}
