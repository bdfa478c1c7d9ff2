//! What the names of a load lead to here: files, which take precedence over what is built in, standard input, objects
//! of a store, and the environment's variables.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use blksched_disks::DiskSpec;
use blksched_lab::guess::Facts;
use blksched_lab::scene::{STANDARD_INPUT, Trace, Word};
use blksched_lab::{Error, Files};
use blksched_simulate::recording::{Content, Named, content};
use blksched_text::path_of_name;
use blksched_workloads::builtin;
use blksched_workloads::fio::{Host, Text, is_option};
use blksched_workloads::programs::program;

use super::inside::job_in;
use super::texts::{bytes_of, text_of, text_of_file};
use super::{device, files, traces, uri};

/// The files of this machine, and the stores that it reaches.
#[derive(Clone, Copy, Debug, Default)]
pub struct OnDisk;

impl Files for OnDisk {
    fn expanded(&self, names: &[String]) -> Result<Vec<String>, Error> {
        uri::expanded(names).map_err(Error::Input)
    }

    fn word(&self, name: &str, typed: bool) -> Result<Word, Error> {
        word(name, typed)
    }

    fn text(&self, name: &str) -> Result<String, String> {
        text_of_file(&path_of_name(name))
    }

    fn open(&self, trace: &str) -> Result<Vec<Named>, String> {
        files::open(trace)
    }

    fn disk(&self, name: &str) -> Result<DiskSpec, Error> {
        match blksched_disks::stack::stack_word(name) {
            Some(Err(error)) => Err(Error::Disk(error)),
            Some(Ok(_)) => Err(Error::Input(format!(
                "{name}: a stacked device: expected one disk here; --disk of compare, simulate and explain takes both"
            ))),
            None => blksched_disks::load(name).map_err(Error::Disk),
        }
    }

    fn device(&self, name: &str) -> Option<Facts> {
        device::facts(Path::new("/sys/class/block"), name)
    }

    fn stack(&self, name: &str) -> Option<Result<Vec<(String, String)>, String>> {
        super::stacked::stack(Path::new("/sys/class/block"), name)
    }

    #[cfg(all(feature = "pictures", target_os = "linux"))]
    fn validated(&self, disk: &str) -> Option<String> {
        crate::validate::sentence(disk)
    }

    fn variables(&self) -> BTreeMap<String, String> {
        Host::with_environment().variables
    }

    fn trace_memory(&self) -> u64 {
        traces::most_memory()
    }
}

/// A file, which takes precedence over a name; a built-in workload; or a program. `typed`: whether fio options are on
/// the command line.
fn word(name: &str, typed: bool) -> Result<Word, Error> {
    if name == "-" {
        let text = text_of(STANDARD_INPUT, bytes_of(std::io::stdin()))?;
        return jobs(STANDARD_INPUT, text);
    }
    if uri::is_uri(name) && !path_of_name(name).exists() {
        let name = uri::local(name).map_err(Error::Input)?;
        return match uri::is_uri(&name) {
            true => traces::parse(&name).map(Word::Trace).map_err(Error::Input),
            false => word(&name, typed),
        };
    }
    let path = &*path_of_name(name);
    if path.is_dir() && builtin(name).is_none() && program(name).is_none() {
        return Err(Error::Input(format!("{name}: a directory: expected {}", job_files_in(path))));
    }
    if path.exists() && !path.is_dir() {
        return file(name, path);
    }
    if let Some(known) = Word::builtin(name) {
        return known;
    }
    traces::parse(name).map(Word::Trace).map_err(|_| Word::unknown(name, typed))
}

/// What a file contains.
fn file(name: &str, path: &Path) -> Result<Word, Error> {
    let failed = |error| Error::Input(format!("{name}: {error}"));
    if traces::is_one(name) {
        return Ok(Word::Trace(Trace::of(name, "")));
    }
    // A pipe can be read only once, so it is taken for a job file's text.
    let is_file = path.metadata().is_ok_and(|metadata| metadata.is_file());
    let content = match is_file {
        true => content(name, File::open(path).map_err(failed)?).map_err(failed)?,
        false => Content::Jobs,
    };
    match content {
        Content::Trace => Ok(Word::Trace(Trace::of(name, ""))),
        Content::Unknown(problem) => {
            let text = File::open(path).and_then(bytes_of).ok().and_then(|bytes| String::from_utf8(bytes).ok());
            match text.map(|text| job_in(name, &text)).transpose()?.flatten() {
                Some(found) => Ok(Word::Found(found)),
                None => Err(Error::Input(problem)),
            }
        }
        Content::Jobs => {
            let read = File::open(path).and_then(bytes_of);
            jobs(name, text_of(name, read)?)
        }
    }
}

/// A job file, or a text with a job inside: a job file begins with a section, or at least an option of fio's.
fn jobs(name: &str, text: String) -> Result<Word, Error> {
    let plain = |line: &&str| !line.is_empty() && !line.starts_with(['#', ';']);
    let first = text.lines().map(str::trim).find(plain).unwrap_or("[");
    let is_option = is_option(first.split('=').next().unwrap_or_default().trim());
    let found = if first.starts_with('[') || is_option { None } else { job_in(name, &text)? };
    Ok(match found {
        Some(found) => Word::Found(found),
        None => Word::Jobs(Text { name: name.to_owned(), text }),
    })
}

/// What a user who named a directory may have meant.
fn job_files_in(directory: &Path) -> String {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<_> = entries.filter(|path| path.extension().is_some_and(|end| end == "fio")).collect();
    files.sort();
    match &files[..] {
        [] => "a job file, as in my.fio".to_owned(),
        [first, ..] => format!("a job file, as in {}", first.display()),
    }
}
