//! The control socket: one command per connection, on one line; the answer is `ok` or `error` and a text.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::assemble::Running;
use crate::orders::{Change, ClientsShown, ControlHandle, Leave, Order, Question};

/// How long a shard may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The text of a question.
pub fn write(question: &Question) -> String {
    match question {
        Question::Get(name) => format!("get {name}\n"),
        Question::Set(name, value) => format!("set {name} {value}\n"),
        Question::List(prefix) => format!("list {prefix}\n"),
        Question::Figures(_) => "figures\n".to_owned(),
        Question::Add(export) => format!("export add {export}\n"),
        Question::Remove(name, Leave::IfUnused) => format!("export remove {name}\n"),
        Question::Remove(name, Leave::Hard) => format!("export cut {name}\n"),
        Question::Resize(name, size) => {
            let size = size.map_or_else(|| "file".to_owned(), |size| size.to_string());
            format!("export resize {size} {name}\n")
        }
    }
}

fn read(line: &str) -> Result<Question, String> {
    let (verb, rest) = line.trim_end().split_once(' ').unwrap_or((line.trim_end(), ""));
    let rest = rest.trim();
    match (verb, rest.is_empty()) {
        ("get", false) => Ok(Question::Get(rest.to_owned())),
        ("set", false) => {
            let (name, value) = rest.split_once(' ').ok_or("expected set NAME VALUE")?;
            Ok(Question::Set(name.to_owned(), value.trim().to_owned()))
        }
        ("list", _) => Ok(Question::List(rest.to_owned())),
        ("figures", true) => Ok(Question::Figures(String::new())),
        ("export", false) => export(rest),
        _ => Err("expected get NAME, set NAME VALUE, list [PREFIX] or export …".to_owned()),
    }
}

fn export(rest: &str) -> Result<Question, String> {
    match rest.split_once(' ') {
        Some(("add", export)) => Ok(Question::Add(export.to_owned())),
        Some(("remove", name)) => Ok(Question::Remove(name.to_owned(), Leave::IfUnused)),
        Some(("cut", name)) => Ok(Question::Remove(name.to_owned(), Leave::Hard)),
        Some(("resize", rest)) => {
            let (size, name) = rest.split_once(' ').ok_or("expected export resize SIZE NAME")?;
            let bytes = if size == "file" { None } else { Some(size.parse().map_err(|_| "expected a size in bytes")?) };
            Ok(Question::Resize(name.to_owned(), bytes))
        }
        _ => Err("expected export add, remove, cut or resize".to_owned()),
    }
}

/// What a line asks for.
pub enum Asked {
    /// Something that changes the exports.
    Change(Question),
    /// Something that only the shards know.
    Look(Question),
}

/// Parses a line.
///
/// # Errors
/// If it is no question.
pub fn parse(line: &str) -> Result<Asked, String> {
    Ok(match read(line)? {
        question @ (Question::Add(_) | Question::Remove(..) | Question::Resize(..)) => Asked::Change(question),
        question => Asked::Look(question),
    })
}

/// The text of an answer.
pub fn shown(answer: Result<String, String>) -> String {
    match answer {
        Ok(text) => whole("ok", &text),
        Err(why) => whole("error", &why),
    }
}

/// An answer with its length, so that its reader knows whether it is whole.
pub fn whole(kind: &str, text: &str) -> String {
    format!("{kind} {}\n{text}", text.len())
}

/// The kind and the text of an answer. A server of an older version gives no length.
///
/// # Errors
/// If it is none, or not whole.
fn parts(answer: &str) -> Result<(&str, &str), String> {
    let (head, text) = answer.split_once('\n').ok_or("no server answers there")?;
    let Some((kind, length)) = head.split_once(' ') else { return Ok((head, text)) };
    match length.parse::<usize>() {
        Ok(length) if length == text.len() => Ok((kind, text)),
        Ok(length) => Err(format!("the answer broke off after {} of {length} bytes", text.len())),
        Err(_) => Err("no server answers there".to_owned()),
    }
}

/// Asks the shards: with one disk its names are unchanged, with several each begins with its disk's.
///
/// # Errors
/// If one refuses, or does not answer.
pub fn look(disks: &[DiskHandle], question: Question) -> Result<String, String> {
    match disks {
        _ if matches!(question, Question::Figures(_)) => figures(disks, ClientsShown::AsLogged),
        [only] => of_disk(only, question),
        _ => of_many(disks, question),
    }
}

fn of_many(shards: &[DiskHandle], question: Question) -> Result<String, String> {
    let find = |name: &str| {
        let names = || shards.iter().map(|shard| shard.name.as_str());
        let (disk, rest) = name.split_once('/').unwrap_or((name, ""));
        let shard = shards.iter().find(|shard| shard.name == disk);
        let known = || format!("a name begins with its disk: {}", names().collect::<Vec<_>>().join(", "));
        shard.map(|shard| (shard, rest.to_owned())).ok_or_else(known)
    };
    match question {
        Question::Get(name) => find(&name).and_then(|(shard, rest)| of_disk(shard, Question::Get(rest))),
        Question::Set(name, value) => find(&name).and_then(|(shard, rest)| of_disk(shard, Question::Set(rest, value))),
        other @ (Question::Figures(_) | Question::Add(_) | Question::Remove(..) | Question::Resize(..)) => {
            unreachable!("{other:?} is of no disk")
        }
        Question::List(prefix) => {
            let each = shards.iter().map(|shard| {
                let listed = of_disk(shard, Question::List(String::new()))?;
                Ok(listed.lines().map(|line| format!("{}/{line}\n", shard.name)).collect())
            });
            let all = each.collect::<Result<Vec<String>, String>>()?.concat();
            Ok(all.lines().filter(|line| line.starts_with(&prefix)).map(|line| format!("{line}\n")).collect())
        }
    }
}

/// A shard as another thread knows it.
#[derive(Clone)]
pub struct DiskHandle {
    name: String,
    control: ControlHandle,
}

/// All of them, for a thread that asks them.
pub fn disks(shards: &[Running]) -> Vec<DiskHandle> {
    shards.iter().map(|shard| DiskHandle { name: shard.name.clone(), control: shard.control.clone() }).collect()
}

/// The counters of all shards.
///
/// # Errors
/// If one does not answer.
pub fn figures(disks: &[DiskHandle], shown: ClientsShown) -> Result<String, String> {
    let of_one = |DiskHandle { name, control }: &DiskHandle| {
        let (sender, copy) = channel();
        control.order(Order::Copy(sender));
        let copy = copy.recv_timeout(PATIENCE).map_err(|_| format!("disk {name} does not answer"))?;
        Ok(copy.text(name, shown))
    };
    disks.iter().map(of_one).collect()
}

/// The answer of a shard.
///
/// # Errors
/// If it refuses, or does not answer.
pub fn of_shard(shard: &Running, question: Question) -> Result<String, String> {
    of_disk(&DiskHandle { name: shard.name.clone(), control: shard.control.clone() }, question)
}

fn of_disk(DiskHandle { name, control }: &DiskHandle, question: Question) -> Result<String, String> {
    let (sender, answer) = channel();
    control.order(Order::Ask(question, sender));
    answer.recv_timeout(PATIENCE).map_err(|_| format!("disk {name} does not answer"))?
}

/// Changes the tenants of a disk.
///
/// # Errors
/// If that is impossible.
pub fn make(shard: &Running, change: Change) -> Result<String, String> {
    let answer = begin(shard, change);
    answer.recv_timeout(PATIENCE).map_err(|_| format!("disk {} does not answer", shard.name))?
}

/// Begins a change; the answer comes there.
pub fn begin(shard: &Running, change: Change) -> Receiver<Result<String, String>> {
    let (sender, answer) = channel();
    shard.control.order(Order::Change(change, sender));
    answer
}

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// There is no server at the socket.
    #[error("{0}")]
    NoServer(String),
    /// The server refused, with this reason.
    #[error("{0}")]
    Refused(String),
}

/// Asks the server at its control socket.
///
/// # Errors
/// If there is no server, or it refuses.
pub fn ask(socket: &Path, question: &Question) -> Result<String, AskError> {
    let failed = |error: std::io::Error| AskError::NoServer(format!("{}: {error}", socket.display()));
    let mut stream = UnixStream::connect(socket).map_err(failed)?;
    stream.set_read_timeout(Some(2 * PATIENCE)).map_err(failed)?;
    stream.write_all(write(question).as_bytes()).map_err(failed)?;
    let mut text = String::new();
    stream.read_to_string(&mut text).map_err(failed)?;
    let named = |why: &str| AskError::NoServer(format!("{}: {why}", socket.display()));
    match parts(&text).map_err(|why| named(&why))? {
        ("ok", answer) => Ok(answer.to_owned()),
        ("error", why) => Err(AskError::Refused(why.to_owned())),
        _ => Err(named("no server answers there")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_is_not_whole_is_none() {
        let text = whole("ok", "a\tb\nc\td\n");
        assert_eq!(parts(&text), Ok(("ok", "a\tb\nc\td\n")));
        for end in 0..text.len() {
            assert!(parts(&text[..end]).is_err(), "{:?}", &text[..end]);
        }
        assert_eq!(parts(&whole("error", "")), Ok(("error", "")));
        assert_eq!(parts("ok\nof an older server"), Ok(("ok", "of an older server")));
    }

    #[test]
    fn a_question_reads_back_as_it_was_written() {
        let set = Question::Set("queue/iosched/fifo_batch".to_owned(), "16".to_owned());
        for question in [Question::Get("queue/scheduler".to_owned()), set, Question::List(String::new())] {
            assert_eq!(read(&write(&question)), Ok(question));
        }
        for line in ["", "get", "set a", "put a b"] {
            assert!(read(line).unwrap_err().starts_with("expected"), "{line}");
        }
    }
}
