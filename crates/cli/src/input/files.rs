//! The files of a trace: one, or one per CPU as blktrace writes them, here or in an object store.

use std::fs::{self, File};
use std::path::Path;

use blksched_lab::scene::{PER_CPU, stem as stem_of};
use blksched_simulate::recording::Named;
use blksched_text::{name_of_path, path_of_name};

use super::uri::{self, Opened};

/// Opens the trace's files.
pub(super) fn open(trace: &str) -> Result<Vec<Named>, String> {
    if uri::is_uri(trace) {
        return open_objects(trace);
    }
    let files = match per_cpu(trace) {
        none if none.is_empty() => vec![trace.to_owned()],
        files => files,
    };
    let open = |name: String| match File::open(path_of_name(&name)) {
        Ok(file) => Ok((name, Box::new(file) as _)),
        Err(error) => Err(format!("{name}: {error}")),
    };
    files.into_iter().map(open).collect()
}

/// A user who may read an object may not always list its folder, so the folder is listed only if there is no such
/// object.
fn open_objects(trace: &str) -> Result<Vec<Named>, String> {
    let missing = |name: &str| format!("{name}: there is no such object");
    if let Opened::Stream(stream) = uri::open(trace)? {
        return Ok(vec![(trace.to_owned(), stream)]);
    }
    let opened = |name: String| match uri::open(&name)? {
        Opened::Stream(stream) => Ok((name, stream)),
        Opened::Missing => Err(missing(&name)),
    };
    let objects = per_cpu_objects(trace)?;
    if objects.is_empty() { Err(missing(trace)) } else { objects.into_iter().map(opened).collect() }
}

fn per_cpu_objects(stem: &str) -> Result<Vec<String>, String> {
    let mut objects = uri::matches(&format!("{stem}{PER_CPU}*"))?;
    objects.retain(|name| stem_of(name) == Some(stem));
    let cpu = |name: &String| name[stem.len() + PER_CPU.len()..].parse::<u32>().ok();
    objects.sort_by_key(cpu);
    Ok(objects)
}

/// Their total size \[bytes\]; a file that is not found counts as 0.
#[cfg(feature = "sweep")]
pub(super) fn bytes(trace: &str) -> u64 {
    if uri::is_uri(trace) {
        return match uri::size(trace) {
            0 => per_cpu_objects(trace).unwrap_or_default().iter().map(|name| uri::size(name)).sum(),
            bytes => bytes,
        };
    }
    let size = |name: &str| path_of_name(name).metadata().map_or(0, |file| file.len());
    match per_cpu(trace) {
        none if none.is_empty() => size(trace),
        files => files.iter().map(|name| size(name)).sum(),
    }
}

/// The files of CPUs 0, 1, … of `stem`, up to the first that is missing. A CPU without events has an empty file.
pub(super) fn per_cpu(stem: &str) -> Vec<String> {
    let path = path_of_name(stem);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let prefix = path.file_name().map(name_of_path).unwrap_or_default();
    let cpu = |name: &str| name.strip_prefix(&prefix)?.strip_prefix(PER_CPU)?.parse::<u32>().ok();
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut cpus: Vec<u32> = entries.filter_map(|entry| cpu(&name_of_path(&entry.file_name()))).collect();
    cpus.sort_unstable();
    cpus.into_iter().map(|cpu| format!("{stem}{PER_CPU}{cpu}")).collect()
}
