//! docs/mails.md: every published number of the mails beside ours, claimed or not, and which change breaks it. Our
//! numbers are those of `experiments/NAME/expected.txt`, which another test keeps true.

use std::fmt::Write;
use std::path::Path;

use blksched_simulate::experiment::{PublishedRow, short};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::{Controls, fits, load};

/// A statement of a mail, and where it is shown.
struct Mail {
    title: String,
    experiments: Vec<String>,
    statements: Vec<Statement>,
}

struct Statement {
    says: String,
    /// The experiment that shows it, and a table or label in it.
    row: Option<String>,
    /// Or the reason why it is not shown.
    lacks: Option<String>,
}

/// The tables of a list.
fn tables<'t>(value: Option<&Spanned<DeValue<'t>>>) -> Vec<DeTable<'t>> {
    let items = value.and_then(|value| value.get_ref().as_array()).into_iter().flat_map(|items| items.iter());
    items.filter_map(|item| item.get_ref().as_table().cloned()).collect()
}

/// Reads `experiments/statements.toml`.
fn mails() -> Vec<Mail> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/statements.toml");
    let text = std::fs::read_to_string(file).expect("the statements are there");
    let document = DeTable::parse(&text).expect("TOML");
    let word = |table: &DeTable<'_>, key: &str| table.get(key).and_then(|v| v.get_ref().as_str()).map(str::to_owned);
    let statement = |table: &DeTable<'_>| Statement {
        says: word(table, "says").expect("`says`"),
        row: word(table, "row"),
        lacks: word(table, "lacks"),
    };
    let mail = |table: &DeTable<'_>| Mail {
        title: word(table, "title").expect("`title`"),
        experiments: word(table, "experiments").expect("`experiments`").split(' ').map(str::to_owned).collect(),
        statements: tables(table.get("statement")).iter().map(statement).collect(),
    };
    tables(document.get_ref().get("mail")).iter().map(mail).collect()
}

/// The number of published numbers, and how many of ours are near.
#[derive(Clone, Copy, Default)]
struct Share {
    all: usize,
    near: usize,
    largest: usize,
    largest_near: usize,
}

impl Share {
    fn add(&mut self, other: Share) {
        self.all += other.all;
        self.near += other.near;
        self.largest += other.largest;
        self.largest_near += other.largest_near;
    }

    fn count(&mut self, row: &PublishedRow, ours: Option<f64>) {
        let Some(mail) = row.mail.filter(|_| !row.again) else { return };
        let ratio = ours.map_or(f64::NAN, |ours| ours / mail);
        match row.largest {
            true => {
                self.largest += 1;
                self.largest_near += usize::from((0.5..=2.0).contains(&ratio));
            }
            false => {
                self.all += 1;
                self.near += usize::from((0.75..=1.25).contains(&ratio));
            }
        }
    }
}

/// The whole page.
pub fn text(controls: &[Controls]) -> String {
    let (mut body, mut whole, mut fitted, mut claimed) = (String::new(), Share::default(), 0, 0);
    let mut shares =
        String::from("| mail | published numbers | within 25 % | largest of many | within a factor of 2 |\n");
    shares += "|---|---|---|---|---|\n";
    let mut machines = std::collections::BTreeSet::new();
    for mail in &mails() {
        let mut share = Share::default();
        writeln!(body, "## {}\n", mail.title).expect("memory");
        for name in &mail.experiments {
            let experiment = load(name, &[]);
            let is_new = experiment.machine.is_none_or(|machine| machines.insert(machine));
            let of_machine = |what: &str| what.starts_with("disk.") || what.starts_with("place.");
            fitted += experiment.fits.iter().filter(|fit| is_new || !of_machine(&fit.what)).count();
            claimed += of_experiment(name, controls, &mut body, &mut share);
        }
        statements_of(mail, &mut body);
        let Share { all, near, largest, largest_near } = share;
        writeln!(shares, "| {} | {all} | {near} | {largest} | {largest_near} |", mail.title).expect("memory");
        whole.add(share);
    }
    let Share { all, near, largest, largest_near } = whole;
    writeln!(shares, "| **all** | {all} | {near} | {largest} | {largest_near} |").expect("memory");
    let percent = 100 * near / all.max(1);
    format!(
        "# The mails, number by number\n\n\
         Every published number beside ours, whether it is claimed, and which change breaks it. Generated from\n\
         `experiments/`; a test keeps it current. A ratio in bold is off by more than 25 % (a largest value: by a \
         factor\nof 2). Rows that repeat a number, or are computed from others, are omitted.\n\n\
         **{near} of {all} published numbers ({percent} %) are within 25 %**, and {largest_near} of {largest} \
         largest ones within a\nfactor of 2; {fitted} values are fitted, {claimed} rows are claimed.\n\n\
         {shares}\n{body}"
    )
    .trim_end()
    .to_owned()
        + "\n"
}

/// The rows of an experiment; returns how many are claimed.
fn of_experiment(name: &str, controls: &[Controls], body: &mut String, share: &mut Share) -> usize {
    let experiment = load(name, &[]);
    let ours = ours(name);
    let rows: usize = experiment.tables.iter().map(|table| table.rows.len()).sum();
    assert_eq!(ours.len(), rows, "{name}: expected.txt has another number of rows");
    let mut ours = ours.into_iter();
    let mut claimed = 0;
    for (place, table) in experiment.tables.iter().enumerate() {
        let rows: Vec<(&PublishedRow, Option<f64>)> = table.rows.iter().zip(ours.by_ref()).collect();
        claimed += rows.iter().filter(|(row, _)| row.claimed).count();
        let shown: Vec<_> =
            rows.into_iter().filter(|(row, _)| row.claimed || row.mail.is_some() && !row.again).collect();
        if shown.is_empty() {
            continue;
        }
        writeln!(body, "`{name}`: {}\n", table.title.replace('|', "\\|")).expect("memory");
        *body += "| | published | ours | ratio | claimed | broken by |\n|---|---|---|---|---|---|\n";
        for (row, ours) in shown {
            share.count(row, ours);
            *body += &line(row, ours, &broken_by(name, controls, place, &row.label));
        }
        *body += "\n";
    }
    claimed
}

fn line(row: &PublishedRow, ours: Option<f64>, broken_by: &str) -> String {
    let shown = |value: Option<f64>| value.map_or("–".to_owned(), short);
    let ratio = row.mail.filter(|mail| *mail != 0.0).zip(ours).map(|(mail, ours)| ours / mail);
    let near = if row.largest { 0.5..=2.0 } else { 0.75..=1.25 };
    let ratio = match ratio {
        None => "–".to_owned(),
        Some(ratio) if near.contains(&ratio) => format!("{ratio:.2}"),
        Some(ratio) => format!("**{ratio:.2}**"),
    };
    let bound = match (row.claimed, row.low, row.high) {
        (false, ..) => String::new(),
        (true, None, None) => "the seeds' range includes it".to_owned(),
        (true, low, high) => format!("{} to {}", shown(low), shown(high)),
    };
    let unit = if row.unit.is_empty() { String::new() } else { format!(" [{}]", row.unit) };
    let (mail, ours) = (shown(row.mail), shown(ours));
    format!("| {}{unit} | {mail} | {ours} | {ratio} | {bound} | {broken_by} |\n", row.label)
}

/// The first control that names this row.
fn broken_by(name: &str, controls: &[Controls], place: usize, label: &str) -> String {
    let of = controls.iter().filter(|(of, ..)| *of == name).flat_map(|(.., controls)| controls.iter());
    let names = |(table, labels): &(usize, &[&str])| *table == place && labels.iter().any(|wanted| fits(wanted, label));
    let found = of.into_iter().find(|control| control.breaks.iter().any(names));
    let changes = |changes: &[crate::Change]| changes.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    found.map_or(String::new(), |control| changes(control.changes).replace('|', "\\|"))
}

fn statements_of(mail: &Mail, body: &mut String) {
    if mail.statements.is_empty() {
        return;
    }
    *body += "| it also says | here |\n|---|---|\n";
    for Statement { says, row, lacks } in &mail.statements {
        let here = match (row, lacks) {
            (Some(row), None) => {
                let (name, wanted) = row.split_once(": ").unwrap_or((row, ""));
                let experiment = load(name, &[]);
                let labels = experiment.tables.iter().flat_map(|table| &table.rows).map(|row| &row.label);
                let mut titles = experiment.tables.iter().map(|table| &table.title).chain(labels);
                assert!(wanted.is_empty() || titles.any(|title| title.contains(wanted)), "no row or table: {row}");
                format!("`{row}`")
            }
            (None, Some(lacks)) => format!("not: {lacks}"),
            _ => panic!("`{says}` needs `row` or `lacks`"),
        };
        writeln!(body, "| {says} | {here} |").expect("memory");
    }
    *body += "\n";
}

/// Our value of each row of `expected.txt`, in order; `None` where a run did not get that far.
fn ours(name: &str) -> Vec<Option<f64>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments").join(name).join("expected.txt");
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let of = |line: &str| {
        let (before, behind) = line.strip_prefix(' ')?.rsplit_once(" [")?;
        let range = behind.split_once(']')?.0;
        let ours = before.split_whitespace().next_back().filter(|word| *word != "ours")?;
        range.contains('–').then(|| ours.parse::<f64>().ok())
    };
    text.lines().filter_map(of).collect()
}
