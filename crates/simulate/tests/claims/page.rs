//! docs/mails.md: every published number of the mails beside ours and beside its null, what it proves, and which change
//! breaks it. Our numbers are those of `experiments/NAME/expected.txt`, which another test keeps true; the nulls' are
//! those of `experiments/NAME/null.csv` ([`super::null`]).

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use blksched_simulate::experiment::{Proof, PublishedRow, Skill, short};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::null::{Judged, Verdict};
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

/// The experiments of the mails.
pub fn of_mails() -> Vec<String> {
    mails().into_iter().flat_map(|mail| mail.experiments).collect()
}

/// An experiment beside its nulls.
pub fn judged(name: &str) -> Judged {
    Judged::read(name, &load(name, &[]), &ours(name))
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

/// Numbers of an experiment, of a mail, of all.
#[derive(Clone, Copy, Default)]
struct Share {
    counted: usize,
    movable: usize,
    reproduced: usize,
    near: usize,
    null_near: usize,
    largest: usize,
    largest_near: usize,
    claims: usize,
    empty_claims: usize,
}

impl Share {
    fn add(&mut self, other: Share) {
        self.counted += other.counted;
        self.movable += other.movable;
        self.reproduced += other.reproduced;
        self.near += other.near;
        self.null_near += other.null_near;
        self.largest += other.largest;
        self.largest_near += other.largest_near;
        self.claims += other.claims;
        self.empty_claims += other.empty_claims;
    }

    fn of(judged: &Judged) -> Share {
        let Skill { counted, near, null_near, .. } = judged.skill;
        Share {
            counted,
            movable: judged.skill.movable(),
            reproduced: judged.skill.reproduced(),
            near,
            null_near,
            claims: judged.rows().iter().filter(|row| row.claimed).count(),
            empty_claims: judged.skill.empty_claims.len(),
            ..Share::default()
        }
    }

    fn count_largest(&mut self, row: &PublishedRow, ours: Option<f64>) {
        let Some(mail) = row.mail.filter(|_| row.largest && !row.again) else { return };
        self.largest += 1;
        self.largest_near += usize::from(ours.is_some_and(|ours| (0.5..=2.0).contains(&(ours / mail))));
    }

    fn line(&self, title: &str) -> String {
        let Share { counted, movable, reproduced, near, null_near, claims, empty_claims, .. } = self;
        format!(
            "| {title} | {counted} | {movable} | {reproduced} | {near} | {null_near} | {claims} | {empty_claims} |\n"
        )
    }
}

/// The whole page.
pub fn text(controls: &[Controls]) -> String {
    let (mut body, mut whole) = (String::new(), Share::default());
    let mut shares = String::from(
        "| mail | numbers | can be moved | reproduced beyond the null | ours within 25 % | their nulls | claims | \
         of them, none beside the null |\n|---|---|---|---|---|---|---|---|\n",
    );
    let (mut fitted, mut presets, mut machines) = (0, BTreeSet::new(), BTreeSet::new());
    for mail in &mails() {
        let mut share = Share::default();
        writeln!(body, "## {}\n", mail.title).expect("memory");
        for name in &mail.experiments {
            let experiment = load(name, &[]);
            presets.extend(experiment.presets());
            let is_new = experiment.machine.is_none_or(|machine| machines.insert(machine));
            let of_machine = |what: &str| what.starts_with("disk.") || what.starts_with("place.");
            fitted += experiment.fits.iter().filter(|fit| is_new || !of_machine(&fit.what)).count();
            of_experiment(name, controls, &mut body, &mut share);
        }
        statements_of(mail, &mut body);
        shares += &share.line(&mail.title);
        whole.add(share);
    }
    shares += &whole.line("**all**");
    let in_presets: usize = presets.iter().map(|name| blksched_disks::fitted_in(name)).sum();
    let presets: Vec<String> = presets.iter().map(|name| format!("`{name}`")).collect();
    head(&whole, (fitted, in_presets, &presets.join(", "))) + format!("{shares}\n{body}").trim_end() + "\n"
}

/// The headline, and what its words mean.
fn head(whole: &Share, (fitted, in_presets, presets): (usize, usize, &str)) -> String {
    let Share { counted, movable, reproduced, near, null_near, claims, empty_claims, largest, largest_near, .. } =
        whole;
    let (levels, true_claims) = (counted - movable, claims - empty_claims);
    let text = format!(
        "**{reproduced} of the {movable} published numbers that a scheduler can move are reproduced beyond the \
         null.**\nAnother {levels} are levels of a disk or of a load: no scheduler, patch or knob of ours moves \
         them by more than\n25 %, so they prove nothing about one. Of all {counted}, ours are within 25 % in {near} \
         and their nulls in {null_near}.\n\n\
         A number *can be moved* if two models differ there by more than 25 %: ours, or a null. A *null* knows nothing \
         of the\nmail's subject: no scheduler in any column, one and the same scheduler in every column (a patch that \
         is\na mechanism is then off, or on, everywhere; one that is a knob only off), every knob at its default. A \
         number's null\nis, of those that change it, the one that is within 25 % of most numbers of its experiment. \
         A number is *reproduced*\nif it can be moved, ours is within 25 % and its null is not; *null has \
         it*: both are; *missed*: ours is not; *a level*: \
         nothing moves it. A claim that holds under\nits null, or that no null changes, is no claim: \
         {true_claims} of {claims} are left. Several draws of one setting count once. The rules are \
         code\n(`crates/simulate/src/experiment/skill.rs`); `blksched experiment NAME --null` applies them.\n\n\
         Of {largest} largest values of many, {largest_near} are within a factor of 2; they are counted nowhere else. \
         {fitted} values are fitted in the\nexperiments and their machines, and {in_presets} in the presets that they \
         lean on ({presets})."
    );
    format!(
        "# The mails, number by number\n\n{text}\n\n\
         Generated from `experiments/`; a test keeps it current. A ratio in bold is off by more than 25 % (a largest \
         value: by a\nfactor of 2). Rows that repeat a number, or are computed from others, are shown only if they are \
         claimed.\n\n"
    )
}

/// The rows of an experiment.
fn of_experiment(name: &str, controls: &[Controls], body: &mut String, share: &mut Share) {
    let experiment = load(name, &[]);
    let ours = ours(name);
    let rows: usize = experiment.tables.iter().map(|table| table.rows.len()).sum();
    assert_eq!(ours.len(), rows, "{name}: expected.txt has another number of rows");
    let judged = Judged::read(name, &experiment, &ours);
    share.add(Share::of(&judged));
    let (mut ours, mut nth_judged) = (ours.into_iter(), 0);
    for (place, table) in experiment.tables.iter().enumerate() {
        let mut lines = String::new();
        for (row, ours) in table.rows.iter().zip(ours.by_ref()) {
            let verdict = (row.is_counted() || row.claimed).then(|| {
                nth_judged += 1;
                judged.of(nth_judged - 1)
            });
            if row.claimed || row.mail.is_some() && !row.again {
                share.count_largest(row, ours);
                lines += &line(row, ours, verdict, &broken_by(name, controls, place, &row.label));
            }
        }
        if !lines.is_empty() {
            writeln!(body, "`{name}`: {}\n", table.title.replace('|', "\\|")).expect("memory");
            *body += "| | published | ours | ratio | null | proves | claimed | broken by |\n";
            *body += "|---|---|---|---|---|---|---|---|\n";
            *body += &lines;
            *body += "\n";
        }
    }
}

fn line(row: &PublishedRow, ours: Option<f64>, verdict: Option<Verdict<'_>>, broken_by: &str) -> String {
    let shown = |value: Option<f64>| value.map_or("–".to_owned(), short);
    let ratio = row.mail.filter(|mail| *mail != 0.0).zip(ours).map(|(mail, ours)| ours / mail);
    let near = if row.largest { 0.5..=2.0 } else { 0.75..=1.25 };
    let ratio = match ratio {
        None => "–".to_owned(),
        Some(ratio) if near.contains(&ratio) => format!("{ratio:.2}"),
        Some(ratio) => format!("**{ratio:.2}**"),
    };
    let is_empty = verdict.as_ref().is_some_and(|verdict| verdict.is_empty_claim);
    let null = verdict.as_ref().and_then(|verdict| verdict.null);
    let bound = match (row.claimed, row.low, row.high) {
        (false, ..) => String::new(),
        (true, ..) if is_empty && null.is_none() => "no: no null changes it".to_owned(),
        (true, ..) if is_empty => "no: its null is inside, too".to_owned(),
        (true, None, None) => "the seeds' range includes it".to_owned(),
        (true, low, high) => format!("{} to {}", shown(low), shown(high)),
    };
    let null =
        null.map_or(String::new(), |(value, name)| format!("{} ({name})", shown(value.is_finite().then_some(value))));
    let proves = verdict.map_or("", |verdict| match verdict.proof {
        Proof::Uncounted => "",
        proof => proof.name(),
    });
    let unit = if row.unit.is_empty() { String::new() } else { format!(" [{}]", row.unit) };
    let (mail, ours) = (shown(row.mail), shown(ours));
    format!("| {}{unit} | {mail} | {ours} | {ratio} | {null} | {proves} | {bound} | {broken_by} |\n", row.label)
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
