//! **What for**: stacked devices in a TOML file.
//!
//! ```toml
//! [stack.dm-0]
//! kind = "crypt"
//! members = ["md0"]
//! no_read_workqueue = true
//!
//! [stack.md0]
//! kind = "md-raid1"
//! members = ["sda", "sata-ssd"]
//!
//! [disks]
//! sda = "hdd-7200"
//! ```
//!
//! **Rule**: a single device without a name is `[stack]` itself. Settings are those of the words, flags `true` or
//! `false`. The file becomes the words that stand behind `--disk`.

use blksched_text::document::{Complaint, Section, Source, TextRange, describe};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::stack_word;
use super::words::kinds;
use crate::DiskError;

/// The devices of this file in the words of `--disk`; `None` if it is no file with stacked devices.
///
/// # Errors
/// File, line, column, the word, and what was expected.
///
/// ```
/// use blksched_disks::stack::stack_file;
///
/// let text = "[stack]\nkind = \"md-raid0\"\nmembers = [\"nvme-ssd\", \"nvme-ssd\"]\nchunk = \"64k\"\n";
/// assert_eq!(stack_file("a.toml", text).unwrap().unwrap(), "md-raid0:nvme-ssd+nvme-ssd,chunk=64k");
/// let wrong = text.replace("md-raid0", "md-riad0");
/// let wrong = stack_file("a.toml", &wrong).unwrap().unwrap_err().to_string();
/// assert!(wrong.starts_with("a.toml:2:8: ") && wrong.contains("did you mean `md-raid0`?"), "{wrong}");
/// ```
pub fn stack_file(file: &str, text: &str) -> Option<Result<String, DiskError>> {
    let word = |(name, word): (String, String)| if name.is_empty() { word } else { format!("{name}={word}") };
    let words = |all: Vec<(String, String)>| all.into_iter().map(word).collect::<Vec<_>>().join(",");
    stack_bindings(file, text).map(|all| all.map(words))
}

/// The same by name; the only device may have none.
pub(super) fn stack_bindings(file: &str, text: &str) -> Option<Result<Vec<(String, String)>, DiskError>> {
    let source = Source { file, text };
    // What is no TOML at all is refused where disks are read.
    let document = source.parse().ok()?;
    let has_stack = document.get_ref().contains_key("stack");
    has_stack.then(|| read(source, &document).map_err(DiskError::from))
}

fn read(source: Source<'_>, document: &Spanned<DeTable<'_>>) -> Result<Vec<(String, String)>, Complaint> {
    let top = Section::open(source, "", document.get_ref(), document.span(), &["stack", "disks"])?;
    let stack = table(source, document.get_ref(), "stack")?;
    if ["kind", "members"].iter().any(|key| stack.get_ref().contains_key(*key)) {
        if top.has("disks") {
            return Err(top.complain(&top.at_key("disks"), "[disks] needs devices with names: expected [stack.NAME]"));
        }
        return Ok(vec![(String::new(), device(source, "stack", &stack)?)]);
    }
    let mut devices: Vec<(&str, TextRange)> =
        stack.get_ref().iter().map(|(name, value)| (name.get_ref().as_ref(), value.span())).collect();
    if devices.is_empty() {
        let problem = "[stack] has no device: expected kind and members, or tables [stack.NAME]";
        return Err(source.complain(&stack.span(), problem));
    }
    devices.sort_by_key(|(_, at)| at.start);
    let mut all = Vec::new();
    for (name, _) in devices {
        let own = table(source, stack.get_ref(), name)?;
        all.push((name.to_owned(), device(source, &format!("stack.{name}"), &own)?));
    }
    if top.has("disks") {
        let disks = table(source, document.get_ref(), "disks")?;
        for (name, disk) in disks.get_ref().iter() {
            let word = disk.get_ref().as_str();
            let problem = || format!("{} is no disk: expected a text, as in \"hdd-7200\"", describe(disk.get_ref()));
            let word = word.ok_or_else(|| source.complain(&disk.span(), problem()))?;
            all.push((name.get_ref().to_string(), word.to_owned()));
        }
    }
    Ok(all)
}

/// A table inside another, and where it is.
fn table<'t, 'v>(
    source: Source<'_>,
    outside: &'v DeTable<'t>,
    name: &str,
) -> Result<Spanned<&'v DeTable<'t>>, Complaint> {
    let value = outside.get(name).expect("the caller has seen it");
    match value.get_ref() {
        DeValue::Table(table) => Ok(Spanned::new(value.span(), table)),
        other => {
            let problem = format!("`{name}` is {}: expected a table", describe(other));
            Err(source.complain(&value.span(), problem))
        }
    }
}

/// `md-raid1:sda+sdb,chunk=64k`
fn device(source: Source<'_>, name: &str, table: &Spanned<&DeTable<'_>>) -> Result<String, Complaint> {
    let at = table.span();
    let section = Section::unjudged(source, "stack", table.get_ref(), at.clone());
    let lacks = |what: &str| source.complain(&at, format!("[{name}] lacks {what}"));
    let kind = section.text("kind")?.ok_or_else(|| lacks("`kind`, as in kind = \"md-raid1\""))?;
    let members = section.texts("members")?;
    if !kinds().any(|known| known == kind.value) && stack_word(&format!("{}:x", kind.value)).is_none() {
        return Err(source.unknown(
            &kind.at,
            &format!("no stacked device is called `{}`", kind.value),
            &kind.value,
            kinds(),
        ));
    }
    if members.is_empty() {
        return Err(lacks("`members`, as in members = [\"sda\", \"sdb\"]"));
    }
    let mut word = format!("{}:", kind.value);
    word += &members.iter().map(|member| member.value.as_str()).collect::<Vec<_>>().join("+");
    for (key, value) in table.get_ref().iter().filter(|(key, _)| !["kind", "members"].contains(&key.get_ref().as_ref()))
    {
        match value.get_ref() {
            DeValue::Boolean(true) => word += &format!(",{}", key.get_ref()),
            DeValue::Boolean(false) => {}
            _ => word += &format!(",{}={}", key.get_ref(), source.scalar(value)?),
        }
    }
    match stack_word(&word) {
        Some(Ok(_)) => Ok(word),
        Some(Err(error)) => Err(refused(source, table, &kind.at, error)),
        None => Err(source.unknown(
            &kind.at,
            &format!("no stacked device is called `{}`", kind.value),
            &kind.value,
            kinds(),
        )),
    }
}

/// The complaint about the words, at the key that it is about.
fn refused(source: Source<'_>, table: &Spanned<&DeTable<'_>>, kind: &TextRange, error: DiskError) -> Complaint {
    // The place in the words says nothing to the reader of the file.
    let (problem, nearest) = match error {
        DiskError::Invalid { problem, nearest, .. } => (problem, nearest),
        other => (other.to_string(), None),
    };
    let is_about = |key: &str| problem.contains(&format!("`{key}`")) || problem.contains(&format!("{key}="));
    let key = table.get_ref().keys().find(|key| is_about(key.get_ref())).map(Spanned::span);
    let of_members = || table.get_ref().get("members").filter(|_| problem.contains("member")).map(Spanned::span);
    source
        .complain(&key.or_else(of_members).unwrap_or_else(|| kind.clone()), problem.as_str())
        .meaning(nearest.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Result<String, String> {
        stack_file("a.toml", text).expect("it has a table [stack]").map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_says_what_words_say() {
        let text = "[stack.dm-0]\nkind = \"crypt\"\nmembers = [\"md0\"]\nno_read_workqueue = true\n\
                    allow_discards = false\nencrypt = 900\n[stack.md0]\nkind = \"md-raid1\"\n\
                    members = [\"sda\", \"sata-ssd\"]\n[disks]\nsda = \"hdd-7200\"\n";
        let said = words(text).unwrap();
        assert_eq!(said, "dm-0=crypt:md0,encrypt=900,no_read_workqueue,md0=md-raid1:sda+sata-ssd,sda=hdd-7200");
        assert!(stack_file("a.toml", "kind = \"hdd\"\n").is_none(), "a disk");
    }

    #[test]
    fn mistakes_name_the_line_the_word_and_what_was_expected() {
        let device = "[stack]\nkind = \"md-raid0\"\nmembers = [\"a\", \"b\"]\n";
        for (text, expected) in [
            ("[stack]\nmembers = [\"a\"]\n".to_owned(), "a.toml:1:1: [stack] lacks `kind`"),
            ("[stack.x]\nkind = \"lvm\"\n".to_owned(), "a.toml:1:1: [stack.x] lacks `members`"),
            ("[stack]\n".to_owned(), "a.toml:1:1: [stack] has no device"),
            ("stack = 1\n".to_owned(), "a.toml:1:9: `stack` is 1: expected a table"),
            (
                format!("{device}chonk = \"4k\"\n"),
                "a.toml:4:1: no device here has `chonk`: expected one of chunk, priority",
            ),
            (format!("{device}chunk = \"5k\"\n"), "a.toml:4:1: chunk=5k: expected a multiple of 4 KiB"),
            ("[stack]\nkind = \"md-raid1\"\nmembers = [\"a\"]\n".to_owned(), "a.toml:3:11: 1 member: expected 2 to 64"),
            ("[stack]\nkind = \"bcache\"\nmembers = [\"a\"]\n".to_owned(), "a.toml:2:8: bcache is not modelled"),
            (format!("{device}[disk]\na = \"ssd\"\n"), "unknown key `disk`: expected here one of stack, disks"),
            ("[stack.x]\nkind = \"lvm\"\nmembers = [\"a\"]\n[disks]\na = 1\n".to_owned(), "a.toml:5:5: 1 is no disk"),
        ] {
            let error = words(&text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
