//! Jobs inside other files: a ConfigMap, a script, fio's own JSON result.

use std::fmt::Write;

use blksched_lab::Error;
use blksched_workloads::fio::{Text, command_line, embedded, is_option};
use serde_json::{Map, Value};

/// The job in a text that is no job file, and what a user should know about it; `None` if there is none.
///
/// # Errors
/// If there are several.
pub(super) fn job_in(name: &str, text: &str) -> Result<Option<(Text, String)>, Error> {
    if let Some((job, told)) = result_of_fio(text) {
        return Ok(Some((Text { name: name.to_owned(), text: job }, format!("{name}: {told}"))));
    }
    let inside = embedded(text);
    if let [only] = &inside[..] {
        let told = format!("{name}: the job was found in its line {}; what stands around it is left out", only.line);
        return Ok(Some((Text { name: name.to_owned(), text: only.text(text) }, told)));
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
            Ok(Some((Text { name: format!("{name} (its line {line})"), text: job.clone() }, told)))
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
    for (at, line) in text.lines().enumerate() {
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
        if let Some(words) = command_line::command_in(line) {
            let (_, typed) = command_line::split(words, &|_| None);
            found.extend(typed.text.map(|text| (begin, text.text)));
        }
    }
    found
}

/// The job file of a run whose result is fio's JSON, and what fio measured.
fn result_of_fio(text: &str) -> Option<(String, String)> {
    // fio may print warnings before it.
    let value: Value = serde_json::from_str(text.get(text.find('{')?..)?.trim_end()).ok()?;
    let version = value.get("fio version")?.as_str()?.to_owned();
    let mut job = String::new();
    let empty = Map::new();
    let options = |of: Option<&Value>| of.and_then(Value::as_object).unwrap_or(&empty).clone();
    job.push_str("[global]\n");
    put(&mut job, &options(value.get("global options")));
    let (mut last, mut measured) = (None, Vec::new());
    for run in value.get("jobs")?.as_array()? {
        let name = run.get("jobname").and_then(Value::as_str).unwrap_or("job").to_owned();
        let own = options(run.get("job options"));
        measured.extend(figures(&name, run));
        // Clones that report for themselves are one job with numjobs.
        let this = Some((name.clone(), own.clone()));
        if last == this {
            continue;
        }
        last = this;
        let _ = writeln!(job, "[{}]", name.replace(['\n', ']'], "_"));
        put(&mut job, &own);
    }
    last?;
    let measured = if measured.is_empty() { String::new() } else { format!("; it measured {}", measured.join("; ")) };
    Some((job, format!("the job is that of {version}'s result{measured}")))
}

fn put(job: &mut String, options: &Map<String, Value>) {
    for (name, value) in options.iter().filter(|(name, _)| *name != "name" && is_option(name)) {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let _ = if value.is_empty() {
            writeln!(job, "{name}")
        } else {
            writeln!(job, "{name}={}", value.replace('\n', " "))
        };
    }
}

/// "a reads 12.1 MiB/s, 3098 IOPS, mean 0.32ms"
fn figures(name: &str, run: &Value) -> Vec<String> {
    let of = |direction: &str, doing: &str| {
        let figures = run.get(direction)?;
        let number = |key: &str| figures.get(key).and_then(Value::as_f64).unwrap_or(0.0);
        let latency = figures.get("clat_ns").and_then(|clat| clat.get("mean")).and_then(Value::as_f64);
        let latency = latency.map_or(String::new(), |ns| format!(", mean {:.2}ms", ns / 1e6));
        let rate = number("bw_bytes") / f64::from(1 << 20);
        (number("total_ios") > 0.0)
            .then(|| format!("{name} {doing} {rate:.1} MiB/s, {:.0} IOPS{latency}", number("iops")))
    };
    [of("read", "reads"), of("write", "writes"), of("trim", "trims")].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> (String, String) {
        let (job, told) = job_in("x", text).unwrap().unwrap();
        (job.text, told)
    }

    #[test]
    fn a_script_holds_its_command_line_and_a_result_its_jobs() {
        let (job, told) = found("#!/bin/sh\nset -e\nsudo fio --name=a \\\n  --rw=read \\\n  --size=1m\n");
        assert_eq!(job, "[a]\nrw=read\nsize=1m\n");
        assert!(told.contains("in its line 3"), "{told}");
        let result = r#"{"fio version": "fio-3.33", "global options": {"rw": "read"}, "jobs": [
            {"jobname": "a", "job options": {"name": "a", "size": "1m", "group_reporting": ""},
             "read": {"total_ios": 256, "bw_bytes": 1048576, "iops": 256.0, "clat_ns": {"mean": 1500000.0}}}]}"#;
        let (job, told) = found(result);
        assert_eq!(job, "[global]\nrw=read\n[a]\ngroup_reporting\nsize=1m\n");
        assert!(told.contains("fio-3.33's result; it measured a reads 1.0 MiB/s, 256 IOPS, mean 1.50ms"), "{told}");
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
