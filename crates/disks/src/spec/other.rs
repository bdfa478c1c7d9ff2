//! Files that are no TOML but tell of a disk: the kernel's `io.cost.model`, and what programs print about disks.

use super::DiskError;

/// What such a file is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum OtherFile<'t> {
    /// The one line of an `io.cost.model`: six figures.
    IoCost(&'t str),
    /// A description without figures.
    Description,
}

/// What the text of this file is, if it is one of these.
///
/// # Errors
/// If it is an `io.cost.model` of several disks.
pub(super) fn recognise<'t>(file: &str, text: &'t str) -> Result<Option<OtherFile<'t>>, DiskError> {
    let begin = text.trim_start();
    let is_json = begin.starts_with('{') && ["\"blockdevices\"", "\"smartctl\""].iter().any(|key| text.contains(key));
    let is_text = begin.starts_with("smartctl ") || text.contains("ATA device, with");
    if is_json || is_text {
        return Ok(Some(OtherFile::Description));
    }
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let Some(first) = lines.next().filter(|line| is_model(line)) else { return Ok(None) };
    match lines.next() {
        None => Ok(Some(OtherFile::IoCost(first))),
        Some(_) => {
            let reason = format!("an io.cost.model of several disks: expected one line, as in --disk 'iocost:{first}'");
            Err(DiskError::Unreadable { file: file.to_owned(), reason })
        }
    }
}

/// `8:16 ctrl=user model=linear rbps=…`; in TOML a key has no colon.
fn is_model(line: &str) -> bool {
    let numbers = line.split_whitespace().next().and_then(|word| word.split_once(':'));
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    numbers.is_some_and(|(major, minor)| is_number(major) && is_number(minor)) && line.contains("rbps=")
}

/// The error about a description.
pub(super) fn no_model(file: &str) -> DiskError {
    let reason = format!("it describes a disk, but is no model of one: `blksched disk guess {file}` names the nearest");
    DiskError::Unreadable { file: file.to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "8:16 ctrl=user model=linear rbps=174019176 rseqiops=41708 rrandiops=370 wbps=178075866 \
                        wseqiops=42705 wrandiops=378";

    #[test]
    fn what_is_no_toml_is_known_by_its_beginning() {
        let of = |text| recognise("x", text).unwrap();
        let line = format!("{LINE}\n");
        assert_eq!(of(&line), Some(OtherFile::IoCost(LINE)));
        assert_eq!(of("smartctl 7.3\n"), Some(OtherFile::Description));
        assert_eq!(of("{\"blockdevices\": []}"), Some(OtherFile::Description));
        assert_eq!((of("kind = \"null\"\n"), of("")), (None, None));
        let two = recognise("x", &format!("{LINE}\n{LINE}\n")).unwrap_err().to_string();
        assert!(two.contains("x: an io.cost.model of several disks"), "{two}");
        assert!(no_model("s.txt").to_string().contains("`blksched disk guess s.txt`"));
    }

    #[test]
    fn an_io_cost_model_is_a_disk() {
        let file = std::env::temp_dir().join(format!("blksched-io.cost.model-{}", std::process::id()));
        std::fs::write(&file, format!("{LINE}\n")).unwrap();
        let disk = crate::load(file.to_str().unwrap());
        std::fs::write(&file, LINE.replace("rseqiops=41708", "rseqiop=41708")).unwrap();
        let wrong = crate::load(file.to_str().unwrap()).unwrap_err().to_string();
        std::fs::write(&file, LINE.replace(" wrandiops=378", "")).unwrap();
        let short = crate::load(file.to_str().unwrap()).unwrap_err().to_string();
        std::fs::remove_file(&file).unwrap();
        assert!(wrong.contains(":1:44: `rseqiop`") && wrong.contains("did you mean `rseqiops`?"), "{wrong}");
        assert!(short.contains("`wrandiops` is missing"), "{short}");
        let same = crate::load(&format!("iocost:{LINE}")).unwrap();
        assert_eq!(disk.unwrap().build(0).facts().sectors, same.build(0).facts().sectors);
    }
}
