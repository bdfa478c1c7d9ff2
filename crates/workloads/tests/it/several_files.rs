//! Several job files, what they include, and what they take from the host.

use std::collections::BTreeMap;

use blksched_workloads::fio::{Errors, Host, JobFile, Text};

fn text(name: &str, text: &str) -> Text {
    Text { name: name.to_owned(), text: text.to_owned() }
}

/// Reads `files`; what they include comes from `others`.
fn read(files: &[Text], others: &[(&str, &str)]) -> Result<JobFile, Errors> {
    let others: BTreeMap<&str, &str> = others.iter().copied().collect();
    let variables = BTreeMap::from([("SIZE".to_owned(), "64k".to_owned())]);
    JobFile::read(&Host { variables, ..Host::default() }, files, &mut |name| {
        others.get(name).map(|text| (*text).to_owned()).ok_or_else(|| "no such file".to_owned())
    })
}

fn plan(file: &JobFile) -> Vec<(String, u64)> {
    let plan = file.plan(1 << 21).unwrap_or_else(|e| panic!("{e}"));
    plan.jobs.iter().map(|job| (job.name.clone(), job.files.as_ref().expect("files").sectors / 2)).collect()
}

#[test]
fn each_file_has_its_own_global_section() {
    let files = [text("1", "[global]\ndirect=1\nsize=64k\n[a]\n"), text("2", "[b]\ndirect=1\nsize=8k\n")];
    let file = read(&files, &[]).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(plan(&file), [("a".to_owned(), 64), ("b".to_owned(), 8)]);
    let file = read(&[files[0].clone(), text("2", "[b]\nsize=8k\n")], &[]).unwrap_or_else(|e| panic!("{e}"));
    let buffered: Vec<bool> =
        file.plan(1 << 21).unwrap_or_else(|e| panic!("{e}")).jobs.iter().map(|job| job.is_buffered).collect();
    assert_eq!(buffered, [false, true]);
}

#[test]
fn an_include_stands_for_its_lines_and_counts_from_its_own_folder() {
    let others = [("sub/a.fio", "size=16k\ninclude b.fio\n"), ("sub/b.fio", "direct=1\n[second]\nsize=4k\n")];
    let file =
        read(&[text("x.fio", "[first]\ninclude sub/a.fio\ndirect=1\n")], &others).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(plan(&file), [("first".to_owned(), 16), ("second".to_owned(), 4)]);
}

#[test]
fn errors_and_notes_name_the_included_file() {
    let others = [("a.fio", "\n\nthread\nrw=raed\n")];
    let errors = read(&[text("x.fio", "[j]\ndirect=1\nsize=4k\ninclude a.fio\n")], &others).unwrap_err();
    assert!(errors.to_string().contains("a.fio:4:4"), "{errors}");
    let others = [("a.fio", "\n\nthread\n")];
    let file =
        read(&[text("x.fio", "[j]\ndirect=1\nsize=4k\ninclude a.fio\n")], &others).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(file.locate(&file.notes()[0].place), "a.fio:3:1");
}

#[test]
fn a_circle_of_includes_ends_in_an_error() {
    let others = [("a", "include a\ninclude a\n")];
    let errors = read(&[text("x", "[j]\ninclude a\n")], &others).unwrap_err();
    assert!(errors.to_string().contains("`a` cannot be included"), "{errors}");
}

#[test]
fn values_come_from_the_environment_and_the_simulated_host() {
    let job = |size: &str| format!("[j]\ndirect=1\nsize={size}\n");
    for (size, kib) in
        [("${SIZE}", 64), ("8*$pagesize", 32), ("$ncpus*4k", 16), ("(2*(3+1))k", 8), ("$mb_memory*1k", 4096)]
    {
        let file = read(&[text("x", &job(size))], &[]).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(plan(&file), [("j".to_owned(), kib)], "{size}");
    }
}
