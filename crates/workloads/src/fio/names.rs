//! The names of files.

use super::files::is_device;
use super::sections::JobSection;
use super::settings::Settings;

/// The names in a list such as `a:b\:c`, without empty ones.
pub(super) fn names_in(list: &str) -> Vec<String> {
    let parts = list.replace("\\:", "\0");
    parts.split(':').filter(|name| !name.is_empty()).map(|name| name.replace('\0', ":")).collect()
}

/// The files of one clone of a job: those in `filename`, or else `nrfiles` of its own.
pub(super) fn file_names(job: &JobSection, number: u64) -> Vec<String> {
    let s = &job.settings;
    if s.files.replay.log.is_some() {
        // A trace covers a whole device.
        return vec!["/dev/replayed".to_owned()];
    }
    let directories = s.files.directory.as_deref().map(names_in).unwrap_or_default();
    let (names, directory) = match &s.files.filename {
        // Clones share the files, so they share a directory.
        Some(list) => (names_in(list), directories.first()),
        None => {
            let names = (0..s.files.nrfiles).map(|nth| own_name(s, &job.name, (number, nth))).collect();
            (names, directories.get(number as usize % directories.len().max(1)))
        }
    };
    let names = if names.is_empty() { vec![String::new()] } else { names };
    let placed = |name: String| match directory {
        Some(directory) if !is_device(&name) => format!("{directory}/{name}"),
        _ => name,
    };
    names.into_iter().map(placed).collect()
}

/// Whether the processes of a job beside the first are given the files of the first by `filename_format`: then they do
/// nothing (tried).
pub(super) fn clones_have_nothing(s: &Settings) -> bool {
    let format = s.files.filename_format.as_deref().unwrap_or_default();
    let directories = s.files.directory.as_deref().map(names_in).unwrap_or_default();
    s.files.filename.is_none() && !format.is_empty() && !format.contains("$jobnum") && directories.len() < 2
}

fn own_name(s: &Settings, job: &str, (number, nth): (u64, u64)) -> String {
    let format = s.files.filename_format.as_deref().filter(|format| !format.is_empty());
    let words = [("$jobnum", number.to_string()), ("$filenum", nth.to_string()), ("$clientuid", String::new())];
    let format = format.unwrap_or("$jobname.$jobnum.$filenum").replace("$jobname", job);
    words.iter().fold(format, |format, (word, text)| format.replace(word, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_colon_parts_names_unless_it_is_escaped() {
        assert_eq!(names_in("a:b\\:c::d"), ["a", "b:c", "d"]);
        assert!(names_in("").is_empty() && names_in("::").is_empty());
    }
}
