//! Several job files, what they include, and what they take from the host.

use std::collections::BTreeMap;

use blksched_workloads::fio::{Errors, Host, JobFile, Text, Typed};

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

/// As fio 3.33 has it (tried): the options of a command line are for every file, its jobs come first, and one file's
/// `[global]` is not for the next.
#[test]
fn a_command_line_is_global_for_all_files_and_sections_are_chosen() {
    let files = [text("c.fio", "[global]\nbs=64k\n[c]\nrw=read\n[e]\nrw=read\n"), text("d.fio", "[d]\nrw=read\n")];
    let typed = |line: &str, sections: &[&str]| Typed {
        text: Some(text("command line", line)),
        sections: sections.iter().map(|name| (*name).to_owned()).collect(),
        ..Typed::default()
    };
    let plan = |typed: &Typed| {
        let none = &mut |name: &str| Err(format!("no file {name}"));
        JobFile::read_beside(&Host::default(), typed, &files, none).and_then(|file| file.plan(1 << 21))
    };
    let names = |plan: &blksched_workloads::Plan| plan.jobs.iter().map(|job| job.name.clone()).collect::<Vec<_>>();
    let all = plan(&typed("[global]\nsize=1m\n[n]\nrw=write\n", &[])).unwrap();
    assert_eq!(names(&all), ["n", "c", "e", "d"]);
    let some = plan(&typed("[global]\nsize=1m\n", &["e", "d"])).unwrap();
    assert_eq!(names(&some), ["e", "d"]);
    let none = plan(&typed("[global]\nsize=1m\n", &["x"])).unwrap_err().to_string();
    assert!(none.contains("no job is called `x`, as --section says"), "{none}");
}

#[test]
fn a_buffered_block_may_have_any_length_and_a_direct_one_is_refused() {
    let of = |options: &str| JobFile::parse(&format!("[t]\nrw=write\nfdatasync=1\n{options}\n"), "etcd.fio");
    let file = of("size=230k\nbs=2300").unwrap();
    assert!(file.notes().iter().all(|note| note.option != "bs"));
    // fio 3.33 does 102 writes (tried).
    let amount = file.plan(1 << 21).unwrap().jobs[0].character.amount;
    assert_eq!(amount, Some(102 * 2300));
    assert!(of("size=230k\nbs=2300\ndirect=1").unwrap_err().to_string().contains("multiples of 512 bytes"));
    assert!(of("size=230k\nbs=10").is_ok() && of("size=3g\nbs=2G").is_ok());
    for refused in ["size=230k\nbs=10\nioengine=sg", "size=230k\nbs=10\nzonemode=strided", "size=9g\nbs=3g"] {
        assert!(of(refused).unwrap_err().to_string().contains("multiples of 512 bytes; at most 2g"), "{refused}");
    }
    let thousands = of("size=1m\nbs=8KiB\ndirect=1").unwrap_err().to_string();
    assert!(thousands.contains("8000 bytes: if `8KiB` stands there"), "{thousands}");
    assert!(of("size=1GiB\nbs=4k").unwrap().notes().iter().any(|note| note.why.contains("counts in thousands")));
}

/// As fio 3.33 reads them (tried); each is from a job file that somebody published.
#[test]
fn what_fio_reads_only_in_part_is_read_so() {
    let of = |options: &str| JobFile::parse(&format!("[t]\nrw=write\ndirect=1\n{options}\n"), "t.fio");
    let bytes = |options: &str| {
        let file = of(options).unwrap_or_else(|error| panic!("{error}"));
        let plan = file.plan(1 << 21).unwrap_or_else(|error| panic!("{error}"));
        (plan.jobs[0].character.amount, file.notes().len())
    };
    assert_eq!(bytes("size=64k:32k"), (Some(65_536), 1));
    assert_eq!(bytes("size=1m\nper_job_logs=0/1"), (Some(1 << 20), 1));
    assert_eq!(bytes("size=4m\nbs=2Mi"), (Some(4 << 20), 0));
    assert_eq!(bytes("size=1m\ntime_based"), (Some(1 << 20), 1));
    assert_eq!(bytes("size=1m\nnowait=0\nlockfile=readwrite"), (Some(1 << 20), 0));
    assert!(of("size=1m\nnowait=1").unwrap_err().to_string().contains("0: with 1 an I/O"));
    let shared = of("size=1m\nfilename=a\nlockfile=exclusive").unwrap_err().to_string();
    assert!(shared.contains("not supported yet for a file that jobs may share"), "{shared}");
    let named = JobFile::parse("[fio-test]G\nsize=1m\n", "t.fio").unwrap().plan(1 << 21).unwrap();
    assert_eq!(named.jobs[0].name, "fio-test]");
}

#[test]
fn what_a_shell_shows_before_a_line_is_left_out() {
    for before in ["ubuntu@ubuntu:~$", "root@pod-1:/mnt/a#", "[root@db ~]#", "[1]", "setsid", "log_must eval"] {
        let line = format!("{before} fio --name=a --rw=read --size=1m");
        let words = line.split(' ').map(str::to_owned).collect();
        let (rest, typed) = blksched_workloads::fio::command_line::split(words, &|_| None);
        assert_eq!(typed.text.map(|text| text.text).as_deref(), Some("[a]\nrw=read\nsize=1m\n"), "{before}: {rest:?}");
    }
    let words = ["log_must", "eval", "fio --name=a --rw=read --size=1m"].map(str::to_owned).to_vec();
    let (rest, typed) = blksched_workloads::fio::command_line::split(words, &|_| None);
    assert!(typed.text.is_some() && rest.is_empty(), "{rest:?}");
}
