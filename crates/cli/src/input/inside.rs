//! Jobs inside other files: a ConfigMap, a script, a list of words, fio's own JSON result.

use std::fmt::Write;

use blksched_lab::Error;
use blksched_lab::scene::FoundJob;
use blksched_measure::fio_json::FioResult;
use blksched_workloads::fio::{Text, command_line, embedded, is_option};

/// The job in a text that is no job file; `None` if there is none.
///
/// # Errors
/// If there are several, or it is a result of fio's that was cut off or has no job.
pub(crate) fn job_in(name: &str, text: &str) -> Result<Option<FoundJob>, Error> {
    if let Some(found) = result_of_fio(name, text)? {
        return Ok(Some(found));
    }
    let found = |name: String, text: String, told: String| FoundJob { text: Text { name, text }, told, result: None };
    let inside = embedded(text);
    if let [only] = &inside[..] {
        let told = format!("{name}: the job was found in its line {}; what stands around it is left out", only.line);
        return Ok(Some(found(name.to_owned(), only.text(text), told)));
    }
    let calls = calls(text);
    let lines: Vec<usize> = if inside.is_empty() {
        calls.iter().map(|call| call.0).collect()
    } else {
        inside.iter().map(|job| job.line).collect()
    };
    match (&calls[..], inside.is_empty()) {
        ([(line, job)], true) => {
            let told = format!("{name}: the job is the command line of fio in its line {line}");
            Ok(Some(found(format!("{name} (its line {line})"), job.clone(), told)))
        }
        ([], true) => Ok(None),
        _ => {
            let all: Vec<String> = lines.iter().take(20).map(ToString::to_string).collect();
            let first = lines.first().copied().unwrap_or(1);
            Err(Error::Input(format!(
                "{name}: {} jobs, in lines {}: expected one; cut one out, as in `sed -n '{first},$p' {name}`, up \
                 to its end, and pipe it into `blksched compare -`",
                lines.len(),
                all.join(", ")
            )))
        }
    }
}

/// The command lines of fio in a script that say a job themselves: each with its line, as a job file.
fn calls(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let (mut whole, mut begin) = (String::new(), 0);
    // A last line may end as if another followed.
    for (at, line) in text.lines().chain([""]).enumerate() {
        if whole.is_empty() {
            begin = at + 1;
        }
        whole.push_str(line.trim());
        if whole.ends_with('\\') {
            whole.pop();
            whole.push(' ');
            continue;
        }
        let line = std::mem::take(&mut whole);
        let line = line.trim_start_matches(['$', '#', '>', '`']).trim_start();
        for words in command_line::commands_in(line) {
            let (_, typed) = command_line::split(words, &|_| None);
            found.extend(typed.text.map(|text| (begin, text.text)));
        }
    }
    if found.is_empty() {
        let job = |words| command_line::split(words, &|_| None).1.text;
        let lists = super::listed::lists(text).into_iter();
        found.extend(lists.filter_map(|(line, words)| Some((line, job(words)?.text))));
    }
    found
}

/// The job file of a run whose result is fio's JSON; `None` if the text is none.
///
/// # Errors
/// If fio did not finish it.
fn result_of_fio(name: &str, text: &str) -> Result<Option<FoundJob>, Error> {
    if !text.contains("\"fio version\"") || !text.contains("\"fio-") {
        return Ok(None);
    }
    let result = FioResult::read(name, text).map_err(Error::Input)?;
    if result.version.is_none() {
        return Ok(None);
    }
    let mut job = String::from("[global]\n");
    put(&mut job, &result.global);
    let mut last = None;
    for row in &result.rows {
        // Clones that report for themselves are one job with numjobs.
        if last == Some((&row.job, &row.options)) {
            continue;
        }
        last = Some((&row.job, &row.options));
        let _ = writeln!(job, "[{}]", row.job.replace(['\n', ']'], "_"));
        put(&mut job, &row.options);
    }
    if last.is_none() {
        return Err(Error::Input(format!("{name}: its `jobs` are empty: fio did not finish")));
    }
    let version = result.version.as_deref().unwrap_or_default();
    let told = format!("{name}: the job is that of {version}'s result");
    Ok(Some(FoundJob { text: Text { name: name.to_owned(), text: job }, told, result: Some(result) }))
}

fn put(job: &mut String, options: &[(String, String)]) {
    for (name, value) in options.iter().filter(|(name, _)| *name != "name" && is_option(name)) {
        let _ = if value.is_empty() {
            writeln!(job, "{name}")
        } else {
            writeln!(job, "{name}={}", value.replace('\n', " "))
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> (String, String) {
        let job = job_in("x", text).unwrap().unwrap();
        (job.text.text, job.told)
    }

    #[test]
    fn a_script_holds_its_command_line_and_a_result_its_jobs() {
        let (job, told) = found("#!/bin/sh\nset -e\nsudo fio --name=a \\\n  --rw=read \\\n  --size=1m\n");
        assert_eq!(job, "[a]\nrw=read\nsize=1m\n");
        assert!(told.contains("in its line 3"), "{told}");
        let (job, told) = found("#!/bin/sh\nfio --name=a --rw=read --size=1m > a.log 2>&1 &\nx=$(date)\n");
        assert_eq!((job.as_str(), told.contains("in its line 2")), ("[a]\nrw=read\nsize=1m\n", true), "{told}");
        assert_eq!(found("fio --name=a \\\n  --rw=read \\\n").0, "[a]\nrw=read\n");
        let result = r#"{"fio version": "fio-3.33", "global options": {"rw": "read"}, "jobs": [
            {"jobname": "a", "job options": {"name": "a", "size": "1m", "group_reporting": ""},
             "read": {"total_ios": 256, "bw_bytes": 1048576, "iops": 256.0, "clat_ns": {"mean": 1500000.0}}}]}"#;
        let (job, told) = found(result);
        assert_eq!(job, "[global]\nrw=read\n[a]\ngroup_reporting\nsize=1m\n");
        assert!(told.contains("that of fio-3.33's result"), "{told}");
    }

    #[test]
    fn several_jobs_are_named_and_none_is_none() {
        let two = "fio --name=a --rw=read --size=1m\nfio --name=b --rw=read --size=1m\n";
        assert!(job_in("x", two).unwrap_err().to_string().contains("2 jobs, in lines 1, 2"));
        for text in ["", "{}", "kind: Pod\n", "echo fio\n", "fio x.fio\n", "{\"fio version\": 1}"] {
            assert_eq!(job_in("x", text).unwrap(), None, "{text}");
        }
    }
}
