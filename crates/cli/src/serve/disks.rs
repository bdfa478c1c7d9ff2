//! Disks of a server that differ from the others: `--disk NAME,elevator=…,depth=…,KNOB=VALUE`.

use blksched::Catalogue;
use blksched_lab::scene::contenders;
use blksched_serve::DiskConfig;

use super::ServeArguments;
use crate::failure::Failure;

/// Parses every `--disk`, each disk once.
pub(super) fn disks(arguments: &ServeArguments, catalogue: &Catalogue) -> Result<Vec<DiskConfig>, Failure> {
    let mut disks: Vec<DiskConfig> = Vec::new();
    for text in &arguments.disk {
        let disk = disk(text, arguments, catalogue)?;
        if disks.iter().any(|other| other.name == disk.name) {
            return Err(Failure::Input(format!("--disk {}: given twice", disk.name)));
        }
        disks.push(disk);
    }
    Ok(disks)
}

/// Parses one disk. Options that are not given are those for all disks, but another scheduler has its own knobs.
fn disk(text: &str, arguments: &ServeArguments, catalogue: &Catalogue) -> Result<DiskConfig, Failure> {
    let error = |why: String| Failure::Input(format!("--disk {text}: {why}"));
    let mut words = text.split(',');
    let name = words.next().filter(|name| !name.is_empty() && !name.contains('='));
    let name = name.ok_or_else(|| error("expected NAME,OPTION…, as in flash,elevator=kyber,depth=64".to_owned()))?;
    let (mut elevator, mut depth, mut knobs) = (None, arguments.depth, Vec::new());
    for word in words {
        let said = word.split_once('=');
        let (key, value) = said.ok_or_else(|| error(format!("`{word}`: expected elevator=, depth= or KNOB=VALUE")))?;
        match key {
            "elevator" => elevator = Some(value.to_owned()),
            "depth" => {
                depth = value.parse().map_err(|why| error(format!("depth: {why}")))?;
            }
            knob => knobs.push((knob.to_owned(), value.to_owned())),
        }
    }
    let set = if elevator.is_none() { arguments.set.clone() } else { Vec::new() };
    let elevator = elevator.unwrap_or_else(|| arguments.elevator.clone());
    let said = format!("--disk {name},elevator=");
    let mut chosen = contenders(&said, std::slice::from_ref(&elevator), &set, catalogue)?;
    let mut chosen = chosen.remove(0);
    for (knob, value) in knobs {
        chosen.turn(&knob, &value).map_err(|why| error(format!("{why} (the disk's own: elevator, depth)")))?;
    }
    Ok(DiskConfig { name: name.to_owned(), elevator: chosen.choice, knobs: chosen.knobs, depth })
}

#[cfg(test)]
mod tests {
    use blksched_serve::DepthChoice;
    use clap::Parser;

    use super::*;
    use crate::args::{Arguments, Verb};

    fn read(words: &[&str]) -> Result<Vec<DiskConfig>, String> {
        let words = ["blksched", "serve", "--export=a=mem:1M"].iter().chain(words);
        let Verb::Serve(arguments) = Arguments::try_parse_from(words).unwrap().verb else { panic!("it serves") };
        disks(&arguments, &Catalogue::builtin()).map_err(|failure| match failure {
            Failure::Input(why) | Failure::Excerpts(why) | Failure::Outside(why) => why,
            _ => String::new(),
        })
    }

    #[test]
    fn a_disk_has_its_own_and_else_what_all_have() {
        let words = ["--depth=4", "--elevator=mq-deadline", "--set=mq-deadline.fifo_batch=3"];
        let own = ["--disk=x,elevator=bfq,slice_idle=0", "--disk=y,depth=64,writes_starved=5"];
        let disks = read(&[&words[..], &own].concat()).unwrap();
        let shown = |at: usize| (disks[at].elevator.to_string(), disks[at].depth, disks[at].knobs.clone());
        assert_eq!(shown(0), ("bfq".to_owned(), DepthChoice::Fixed(4), vec![("slice_idle".to_owned(), 0)]));
        let knobs = vec![("fifo_batch".to_owned(), 3), ("writes_starved".to_owned(), 5)];
        assert_eq!(shown(1), ("mq-deadline".to_owned(), DepthChoice::Fixed(64), knobs));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (disk, why) in [
            ("elevator=bfq", "expected NAME,OPTION"),
            ("x,bfq", "`bfq`: expected elevator="),
            ("x,depth=0", "expected 1..=1024 or auto, not `0`"),
            ("x,elevator=bqf", "did you mean `bfq`"),
            ("x,elevator=bfq,slice_idel=0", "did you mean `slice_idle`"),
            ("x,elevator=kyber,dept=3", "the disk's own: elevator, depth"),
        ] {
            let error = read(&[&format!("--disk={disk}")]).unwrap_err();
            assert!(error.contains(why), "{disk}: {error}");
        }
        assert!(read(&["--disk=x,depth=1", "--disk=x,depth=2"]).unwrap_err().contains("twice"));
    }
}
