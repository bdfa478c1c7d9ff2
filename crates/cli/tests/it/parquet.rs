//! `--parquet`: the tables are there, hold what JSON and CSV hold, and a report without room has all of it beside it.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use std::process::Output;

use blksched_testkit::Folder;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use serde_json::Value;

/// The tables as documented in docs/schema.md.
const PAGE: &str = include_str!("../../../../docs/schema.md");

fn blksched(words: &str, more: &[&str]) -> Output {
    let all: Vec<&str> = words.split(' ').chain(more.iter().copied()).collect();
    let output = crate::printed::printed(&all, 120);
    assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

fn name(folder: &Folder) -> &str {
    folder.to_str().expect("a temporary name is text")
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).expect("it is there");
    entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("text")).collect()
}

fn rows(path: &Path) -> Vec<Row> {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let reader = SerializedFileReader::new(file).expect("a Parquet file");
    reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row")).collect()
}

fn columns(path: &Path) -> Vec<String> {
    let reader = SerializedFileReader::new(File::open(path).expect("it is there")).expect("a Parquet file");
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    schema.columns().iter().map(|column| column.name().to_owned()).collect()
}

fn field<'r>(row: &'r Row, name: &str) -> &'r Field {
    row.get_column_iter().find(|(known, _)| *known == name).map_or_else(|| panic!("no {name}"), |(_, field)| field)
}

fn number(row: &Row, name: &str) -> f64 {
    match field(row, name) {
        Field::Long(value) => *value as f64,
        Field::Double(value) => *value,
        other => panic!("{name} is {other:?}"),
    }
}

fn text(row: &Row, name: &str) -> String {
    match field(row, name) {
        Field::Str(value) => value.clone(),
        Field::Null => String::new(),
        other => panic!("{name} is {other:?}"),
    }
}

#[test]
fn a_comparisons_figures_are_those_of_its_csv() {
    let words = "compare --time 2 --disk ide-2002 --seeds 2 --elevators none,deadline:fifo_batch=4";
    let folder = Folder::new();
    let csv = blksched(words, &["--csv", "--parquet", name(&folder)]).stdout;
    let csv = String::from_utf8(csv).expect("text");
    assert_eq!(names(&folder), ["contrasts.parquet", "figures.parquet"].map(str::to_owned).into());
    let figures = folder.join("figures.parquet");
    let (head, lines) = csv.split_once('\n').expect("a header");
    assert_eq!(columns(&figures).join(","), head);
    let rows = rows(&figures);
    assert_eq!(rows.len(), lines.lines().count());
    for (row, line) in rows.iter().zip(lines.lines()) {
        let cells: Vec<&str> = line.split(',').collect();
        let texts = [0, 1, 2, 3, 5, 7, 8, 9, 10].map(|nth| (nth, head.split(',').nth(nth).expect("a name")));
        texts.iter().for_each(|(nth, name)| assert_eq!(text(row, name), cells[*nth], "{line}"));
        assert_eq!(number(row, "seed"), cells[4].parse::<f64>().expect("a seed"));
        assert_eq!(number(row, "value"), cells[11].parse::<f64>().expect("a value"));
    }
    let json = blksched(words, &["--json"]).stdout;
    let json: Value = serde_json::from_slice(&json).expect("JSON");
    let told = json["contrasts"].as_array().expect("contrasts");
    let contrasts = self::rows(&folder.join("contrasts.parquet"));
    assert_eq!(contrasts.len(), told.len());
    for (row, one) in contrasts.iter().zip(told) {
        assert_eq!(text(row, "figure"), one["figure"].as_str().expect("text"));
        assert_eq!(number(row, "ratio"), one["ratio"]["ratio"].as_f64().expect("a number"));
    }
}

#[test]
fn one_file_has_the_first_table_and_a_folder_that_cannot_be_made_is_said() {
    let folder = Folder::new();
    let file = folder.join("one.parquet");
    blksched("simulate --time 1 --disk ide-2002", &["--parquet", file.to_str().expect("text")]);
    assert_eq!(names(&folder), ["one.parquet".to_owned()].into());
    assert!(rows(&file).iter().any(|row| text(row, "figure") == "p50"));
    let said = |place: &str| {
        let words = ["simulate", "--time", "1", "--disk", "ide-2002", "--parquet", place];
        let output = crate::printed::printed(&words, 120);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, text) = said("/proc/no/such");
    assert!(code == Some(1) && text.contains("/proc/no/such: "), "{text}");
    let other = folder.join("other.csv");
    std::fs::write(&other, "a,b").expect("written");
    let (code, text) = said(other.to_str().expect("text"));
    assert!(code == Some(2) && text.contains("other.csv: is a file: expected a folder"), "{text}");
}

#[test]
fn a_runs_ios_and_their_pieces_add_up_to_what_explain_tells() {
    let usual = "--time 2 --disk ide-2002 --elevator cfq";
    let folder = Folder::new();
    blksched(&format!("simulate {usual}"), &["--parquet", name(&folder)]);
    let all = ["commands", "decisions", "figures", "ios", "pieces"].map(|name| format!("{name}.parquet"));
    assert_eq!(names(&folder), all.into());
    let ios = rows(&folder.join("ios.parquet"));
    let pieces = rows(&folder.join("pieces.parquet"));
    for io in ios.iter().step_by(7) {
        let own = pieces.iter().filter(|piece| number(piece, "io") == number(io, "io"));
        let sum: f64 = own.map(|piece| number(piece, "ns")).sum();
        assert_eq!(sum, number(io, "latency_ns"), "{io}");
    }
    let explained = Folder::new();
    let said = blksched(&format!("explain {usual} --slowest 3 --json"), &["--parquet", name(&explained)]);
    let said: Value = serde_json::from_slice(&said.stdout).expect("JSON");
    assert_eq!(names(&explained), ["blame", "pieces", "stories"].map(|name| format!("{name}.parquet")).into());
    let stories = rows(&explained.join("stories.parquet"));
    assert_eq!(stories.len(), 3);
    for (row, story) in stories.iter().zip(said["stories"].as_array().expect("stories")) {
        assert_eq!(number(row, "latency_ns"), story["latency_ns"].as_f64().expect("a number"));
        assert_eq!(text(row, "sentence"), story["sentence"].as_str().expect("text"));
        assert!(
            ios.iter().any(
                |io| number(io, "io") == number(row, "io") && number(io, "latency_ns") == number(row, "latency_ns")
            )
        );
    }
    let blame: f64 = rows(&explained.join("blame.parquet")).iter().map(|row| number(row, "ns")).sum();
    let told = said["blame"].as_array().expect("blame").iter();
    assert_eq!(blame, told.map(|row| row["ns"].as_f64().expect("a number")).sum::<f64>());
}

#[test]
#[ignore = "slow: packs some 190,000 I/Os"]
fn a_report_without_room_has_every_io_beside_it() {
    let folder = Folder::new();
    let job = folder.join("many.fio");
    let fast = "[many]\nrw=randread\nbs=4k\niodepth=32\nioengine=libaio\ndirect=1\nsize=1g\nnumjobs=4\n";
    std::fs::write(&job, fast).expect("written");
    let page = folder.join("big.html");
    let (job, page) = (job.to_str().expect("text"), page.to_str().expect("text"));
    let said = blksched(&format!("simulate {job} --time 320ms --disk nvme-ssd --report {page} --json"), &[]).stdout;
    let said: Value = serde_json::from_slice(&said).expect("JSON");
    let note = said["notes"].to_string();
    assert!(note.contains("big.ios.parquet, big.pieces.parquet") && note.contains("beside it"), "{note}");
    assert!(std::fs::metadata(page).expect("written").len() <= 8 << 20);
    let ios = rows(&folder.join("big.ios.parquet")).len() as f64;
    let counted = said["scheduler"]["jobs"].as_array().expect("jobs").iter();
    let counted: f64 = counted.filter_map(|job| job["read"]["ios"]["mean"].as_f64()).sum();
    assert!(ios >= counted && counted > 170_000.0, "{ios} rows, {counted} I/Os");
    for name in ["pieces", "commands", "decisions"] {
        assert!(names(&folder).contains(&format!("big.{name}.parquet")), "{name}");
    }
}

#[test]
fn every_column_stands_in_the_documentation() {
    let (_, section) = PAGE.split_once("## `--parquet DIR|FILE`").expect("it has a section");
    let section = section.split("\n## ").next().expect("it has a text");
    let folder = Folder::new();
    blksched("simulate --time 1 --disk ide-2002 --elevator cfq", &["--parquet", name(&folder)]);
    blksched("explain --time 1 --disk ide-2002", &["--parquet", name(&folder)]);
    for name in names(&folder) {
        let known = format!("{section}{PAGE}");
        for column in columns(&folder.join(&name)) {
            assert!(
                known.contains(&format!("`{column}`")) || known.contains(&format!("].{column}`")),
                "{name}: {column}"
            );
        }
    }
}
