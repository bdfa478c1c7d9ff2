//! This machine's disks, as described by sysfs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use blksched_lab::live::group;
use blksched_text::did_you_mean;
use blksched_traces::machine::{Device, Machine};

use crate::input::stacked;
use crate::trial::groups::GroupTree;

/// Files of a disk's directory in sysfs that a simulation can use or a reader wants to know.
pub(super) const WORDS: [(&str, &str); 10] = [
    ("model", "device/model"),
    ("size", "size"),
    ("queue_depth", "device/queue_depth"),
    ("rotational", "queue/rotational"),
    ("nr_requests", "queue/nr_requests"),
    ("max_sectors_kb", "queue/max_sectors_kb"),
    ("read_ahead_kb", "queue/read_ahead_kb"),
    ("nomerges", "queue/nomerges"),
    ("write_cache", "queue/write_cache"),
    ("wbt_lat_usec", "queue/wbt_lat_usec"),
];

/// Reads the machine whose file systems are mounted below `root`.
pub(crate) fn read(root: &Path, names: &[String]) -> Result<Machine, String> {
    let kernel = fs::read_to_string(root.join("proc/sys/kernel/osrelease")).unwrap_or_default().trim().to_owned();
    let mut devices = BTreeMap::new();
    for name in names {
        let (number, device) = device(root, &name_of(name))?;
        devices.insert(number, device);
    }
    let mut machine = Machine { priorities: has_priorities(&kernel), kernel, devices, ..Machine::default() };
    add_stacks(root, &mut machine);
    Ok(machine)
}

/// Adds what the devices lie on, and what is known of that. What sysfs does not tell is left out, and said.
fn add_stacks(root: &Path, machine: &mut Machine) {
    let names: Vec<String> =
        machine.devices.values().filter_map(|device| device.word("name").map(str::to_owned)).collect();
    for name in names {
        let found = match stacked::stack(&root.join("sys/class/block"), &name) {
            Some(Ok(found)) => found,
            Some(Err(why)) => {
                crate::output::warn(&format!("{name} is recorded without what it lies on: {why}"));
                continue;
            }
            None => continue,
        };
        for (name, word) in found {
            for member in stacked::members(&word) {
                if machine.called(member).is_none()
                    && let Ok((number, below)) = device(root, member)
                {
                    machine.members.insert(number, below);
                }
            }
            let all = machine.devices.values_mut().chain(machine.members.values_mut());
            let own = all.filter(|device| device.word("name") == Some(&name));
            own.for_each(|device| _ = device.words.insert("stack".to_owned(), word.clone()));
        }
    }
}

/// Whether the kernel traces a request's priority: since 6.7.
fn has_priorities(kernel: &str) -> bool {
    let mut numbers = kernel.split(['.', '-']).map_while(|word| word.parse::<u32>().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (6, 7)
}

/// The kernel's name of a disk: of `/dev/sda`, of what udev has linked to it (`/dev/disk/by-id/…`, `/dev/mapper/…`).
pub(crate) fn name_of(word: &str) -> String {
    let linked = Path::new(word).canonicalize().ok().filter(|_| word.starts_with("/dev/"));
    let linked = linked.and_then(|to| to.to_str().map(str::to_owned)).filter(|to| to.starts_with("/dev/"));
    let path = linked.as_deref().unwrap_or(word);
    path.strip_prefix("/dev/").unwrap_or(path).to_owned()
}

/// The disk of which this is a partition.
fn whole(root: &Path, name: &str) -> Option<String> {
    let own = root.join("sys/class/block").join(name).canonicalize().ok()?;
    let whole = own.parent().filter(|_| own.join("partition").exists())?;
    Some(whole.file_name()?.to_string_lossy().into_owned())
}

fn device(root: &Path, name: &str) -> Result<((u32, u32), Device), String> {
    let block = root.join("sys/block");
    let folder = block.join(name);
    let said = |file: &str| fs::read_to_string(folder.join(file)).ok().map(|text| text.trim().to_owned());
    let number = said("dev").filter(|_| !name.is_empty() && !name.contains('/'));
    let number = number.as_deref().and_then(|text| text.split_once(':'));
    let number = number.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    let Some(number) = number else {
        if let Some(disk) = whole(root, name) {
            return Err(format!(
                "`{name}` is a partition of {disk}, with which it shares its queue: expected `{disk}`"
            ));
        }
        let all: Vec<String> = fs::read_dir(&block)
            .map(|entries| entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
            .unwrap_or_default();
        let near = did_you_mean(name, all.iter().map(String::as_str));
        let mut all = all.clone();
        all.sort();
        return Err(format!("`{name}` is not a disk of this machine: expected one of {}{}", all.join(", "), near));
    };
    let mut device = Device::default();
    device.words.insert("name".to_owned(), name.to_owned());
    device.words.extend(WORDS.iter().filter_map(|(word, file)| Some(((*word).to_owned(), said(file)?))));
    let offered = said("queue/scheduler");
    // The active one is in brackets.
    let on = offered.as_ref().and_then(|all| Some(all.split_once('[')?.1.split_once(']')?.0.to_owned()));
    device.words.extend(on.map(|on| ("scheduler".to_owned(), on)));
    let all = offered.map(|all| all.replace(['[', ']'], "").split_whitespace().collect::<Vec<_>>().join(","));
    device.words.extend(all.map(|all| ("schedulers".to_owned(), all)));
    let qos = GroupTree::below(root).path("", "io.cost.qos").ok().and_then(|file| fs::read_to_string(file).ok());
    let line = qos.map(|qos| group::of_disk("io.cost.qos", &qos, &format!("{}:{}", number.0, number.1)));
    let is_on = line.map(|line| u8::from(line.starts_with("enable=1")).to_string());
    device.words.extend(is_on.map(|is_on| ("io_cost".to_owned(), is_on)));
    let path = folder.canonicalize().ok().filter(|path| path.to_str().is_some_and(|text| !text.contains(' ')));
    device.words.extend(path.map(|path| ("path".to_owned(), path.display().to_string())));
    let queues = fs::read_dir(folder.join("mq")).map_or(0, Iterator::count);
    if queues > 0 {
        device.words.insert("hw_queues".to_owned(), queues.to_string());
    }
    for entry in fs::read_dir(folder.join("queue/iosched")).into_iter().flatten().flatten() {
        let knob = entry.file_name().to_string_lossy().into_owned();
        let value = fs::read_to_string(entry.path()).unwrap_or_default();
        if let [value] = value.split_whitespace().collect::<Vec<_>>()[..] {
            device.knobs.insert(knob, value.to_owned());
        }
    }
    Ok((number, device))
}

/// The names of the machine's disks, without its loop devices and memory disks.
pub(crate) fn disks(root: &Path) -> Vec<String> {
    let entries = fs::read_dir(root.join("sys/block")).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> =
        names.filter(|name| !["loop", "ram", "zram"].iter().any(|kind| name.starts_with(kind))).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_what_its_files_say() {
        let root = std::env::temp_dir().join(format!("blksched-machine-{}", std::process::id()));
        let write = |file: &str, text: &str| {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("proc/sys/kernel/osrelease", "6.12.3-amd64\n");
        write("sys/block/sda/dev", "8:0\n");
        write("sys/block/sda/device/model", "WD Blue\n");
        write("sys/block/sda/queue/scheduler", "none [mq-deadline] kyber bfq\n");
        write("sys/block/sda/queue/iosched/fifo_batch", "16\n");
        write("sys/block/sda/mq/0/tags", "\n");
        let machine = read(&root, &["/dev/sda".to_owned()]).unwrap();
        assert!(machine.priorities);
        let text = machine.to_string();
        let path = root.join("sys/block/sda").canonicalize().unwrap();
        let device = format!(
            "# device 8,0 hw_queues=1 model=WD_Blue name=sda path={} scheduler=mq-deadline \
             schedulers=none,mq-deadline,kyber,bfq knobs=fifo_batch:16\n",
            path.display()
        );
        assert!(text.contains(&device), "{text}");
        let error = read(&root, &["sdaa".to_owned()]).unwrap_err();
        assert!(error.contains("did you mean `sda`?"), "{error}");
        write("sys/block/sda/sda1/partition", "1\n");
        fs::create_dir_all(root.join("sys/class/block")).unwrap();
        std::os::unix::fs::symlink(root.join("sys/block/sda/sda1"), root.join("sys/class/block/sda1")).unwrap();
        let error = read(&root, &["/dev/sda1".to_owned()]).unwrap_err();
        assert!(error.starts_with("`sda1` is a partition of sda,") && error.ends_with("expected `sda`"), "{error}");
        // Nothing in /dev is called so, and a link there is followed.
        assert_eq!(["sda", "/dev/sda-is-not-here"].map(name_of), ["sda", "sda-is-not-here"]);
        assert_ne!(name_of("/dev/stdin"), "stdin");
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_stacked_device_comes_with_what_it_lies_on() {
        let (root, blocks) = stacked::tests::sysfs();
        let (sys, block) = (root.path("sys"), root.path("sys/block"));
        fs::create_dir_all(&sys).unwrap();
        std::os::unix::fs::symlink(blocks.parent().unwrap(), sys.join("class")).unwrap();
        std::os::unix::fs::symlink(&blocks, &block).unwrap();
        for (disk, number) in [("dm-0", "253:0"), ("md0", "9:0")] {
            fs::write(blocks.join(disk).join("dev"), number).unwrap();
        }
        let machine = read(&root, &["dm-0".to_owned()]).unwrap();
        let (stacked, disks) = machine.stack_of(&machine.devices[&(253, 0)]);
        assert_eq!(
            (stacked.len(), stacked[1].1.as_str(), disks),
            (2, "md-raid1:sdb+sda", vec!["sdb".into(), "sda".into()])
        );
        assert_eq!(machine.members.len(), 3);
    }

    #[test]
    fn priorities_are_told_since_6_7() {
        assert!(
            !has_priorities("6.6.30")
                && has_priorities("6.7.0-rc1")
                && has_priorities("6.18.44-fc")
                && !has_priorities("")
        );
    }
}
