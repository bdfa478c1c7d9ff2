//! The recording as a shell script, for machines without blksched.

use std::fmt::Write as _;

use crate::disk::{GRID_MINUTES, grid_job};

use super::machine::WORDS;
use super::tracefs::{EVENTS, NESTED};
use super::{RecordArguments, stacked};

/// What the script does, whatever is recorded.
const BODY: &str = include_str!("script.sh");

/// The script: the file that it leaves is as ours is, the machine's description before the events and the control
/// groups behind them.
pub(crate) fn script(arguments: &RecordArguments) -> String {
    let seconds = arguments.time.as_secs_f64().ceil();
    let names = arguments.devices.iter().map(|name| name.strip_prefix("/dev/").unwrap_or(name));
    let names = names.collect::<Vec<_>>().join(" ");
    let words: Vec<String> = WORDS.iter().map(|(word, file)| format!("{word}:{file}")).collect();
    let mut text = String::from(
        "#!/bin/sh\n# As root. Records the block layer's I/O of a machine's disks into one file, and removes what it \
         made in\n# tracefs. Ctrl-C ends it earlier, and keeps what was recorded. Nothing else is changed. \
         With the word --grid it then\n# also measures each disk by fio's reads, from which blksched disk fit makes a \
         model.\nset -eu\n",
    );
    let _ = writeln!(text, "disks={}\nseconds={seconds}", quoted(&names));
    let _ = writeln!(text, "out={}", quoted(&arguments.out.display().to_string()));
    let _ = writeln!(text, "# Before it is packed, in bytes; and the buffer of each CPU.");
    let _ = writeln!(text, "most={}\nbuffer_kb={}", arguments.max_size << 20, u64::from(arguments.buffer) << 10);
    let _ = writeln!(text, "# A disk's files below its folder in sysfs.\nwords='{}'", words.join(" "));
    let _ = writeln!(text, "events='{}'", EVENTS.join(" "));
    let _ = writeln!(text, "# Of a device that lies on others.\nevents_of_stacks='{}'", NESTED.join(" "));
    let _ = writeln!(text, "grid_minutes={GRID_MINUTES}\n");
    let _ = writeln!(
        text,
        "# The measurement of a device, for fio.\ngrid() {{\n    cat << END\n{}END\n}}\n",
        grid_job("$1", false).replace('`', "\\`")
    );
    // The same folder as everywhere in the script.
    text + &stacked::SHELL.replace("/sys/", "$sys/") + BODY
}

/// A word of a shell, as it is.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::{Command, Stdio};

    use blksched_testkit::{Folder, Process, output};
    use blksched_traces::groups::RecordedGroups;
    use blksched_traces::machine::Machine;

    use super::*;

    /// The kernel's part in a shell: an instance whose `trace_pipe` says one event and then nothing, and which goes
    /// with its folder.
    const KERNEL: &str = r#"
mkdir() {
    command mkdir -p "$1/per_cpu/cpu0"
    for event in $events; do command mkdir -p "$1/events/block/$event"; done
    printf 'entries: 0\noverrun: 3\ndropped events: 4\n' > "$1/per_cpu/cpu0/stats"
    mkfifo "$1/trace_pipe"
    (exec 3> "$1/trace_pipe"; echo '  db-77 [000] ..... 1.000000: block_bio_queue: 8,0 R 8 + 8 [db]' >&3
     while [ -e "$1" ]; do sleep 1; done) > /dev/null 2>&1 &
}
rmdir() { rm -r "$1"; }
lsblk() { printf '/\n\n/home\n'; }
uname() { echo 6.12.3-amd64; }
fio() { cat > "$out.job"; }
"#;

    /// A machine in a folder: a disk under mq-deadline; a service with weights and one without; its two tasks.
    fn machine() -> Folder {
        let root = Folder::new();
        for (file, text) in [
            ("sys/block/sda/dev", "8:0\n"),
            ("sys/block/sda/size", "4096\n"),
            ("sys/block/sda/device/model", "WDC WD40  \n"),
            ("sys/block/sda/mq/0/tags", ""),
            ("sys/block/sda/queue/scheduler", "none [mq-deadline] bfq\n"),
            ("sys/block/sda/queue/iosched/fifo_batch", "16\n"),
            ("sys/block/sda/queue/iosched/of two words", "a b\n"),
            ("groups/io.cost.qos", "8:0 enable=1 ctrl=auto\n"),
            ("groups/system.slice/db.service/io.weight", "default 800\n8:0 5\n"),
            ("groups/system.slice/db.service/io.bfq.weight", "default 100\n"),
            ("groups/system.slice/other.service/io.weight", "default 100\n"),
            ("proc/77/task/77/cgroup", "1:name=systemd:/x\n0::/system.slice/db.service\n"),
            ("proc/78/task/79/cgroup", "7:blkio:/web\n0::/\n"),
            ("proc/80/task/80/cgroup", "0::/\n"),
        ] {
            fs::create_dir_all(root.path(file).parent().unwrap()).unwrap();
            fs::write(root.path(file), text).unwrap();
        }
        fs::create_dir_all(root.path("tracing/instances")).unwrap();
        fs::create_dir_all(root.path("proc/self")).unwrap();
        // A task that ends while it is looked at.
        fs::create_dir_all(root.path("proc/76/task/76")).unwrap();
        let mounts = format!("cgroup2 {} cgroup2 rw 0 0\n", root.path("groups").display());
        fs::write(root.path("proc/self/mounts"), mounts).unwrap();
        root
    }

    /// The script for that machine, run by a shell that has the kernel's part.
    fn shell(root: &Folder, disk: &str, seconds: u64) -> Command {
        let mut arguments = RecordArguments::of(disk);
        arguments.time = blksched::Span::from_secs(seconds);
        arguments.out = root.path("out.trace.gz");
        let at = |name: &str, place: &str| (format!("{name}={place}\n"), format!("{name}={}{place}\n", root.display()));
        let text =
            script(&arguments).replace("tracing=/sys/kernel/tracing", &format!("tracing={}/tracing", root.display()));
        let text = [at("sys", "/sys"), at("proc", "/proc")].iter().fold(text, |text, (was, is)| text.replace(was, is));
        let text = text.replace("set -eu\n", &format!("set -eu\n{KERNEL}"));
        let mut sh = Command::new("sh");
        sh.arg(root.written("record.sh", text));
        sh
    }

    /// The recording that it left, unpacked.
    fn recorded(root: &Folder) -> String {
        let text = output(Command::new("gzip").arg("-dc").arg(root.path("out.trace.gz"))).unwrap();
        String::from_utf8(text.stdout).unwrap()
    }

    #[test]
    fn what_it_leaves_says_what_the_recorder_says_and_nothing_is_left_besides() {
        let root = machine();
        let ran = output(&mut shell(&root, "/dev/sda", 1)).unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success() && said.contains("7 events were lost"), "{said}");
        let text = recorded(&root);
        let device = format!(
            "# device 8,0 name=sda model=WDC_WD40 size=4096 hw_queues=1 path={}/sys/block/sda scheduler=mq-deadline \
             schedulers=none,mq-deadline,bfq io_cost=1 mounted=/,/home knobs=fifo_batch:16",
            root.display()
        );
        assert!(text.starts_with("# blksched record 1\n# kernel 6.12.3-amd64\n# priorities recorded\n"), "{text}");
        assert!(text.contains(&device), "{text}");
        let read = Machine::read(&text).unwrap();
        assert_eq!(read.devices[&(8, 0)].word("mounted"), Some("/,/home"));
        assert!(text.contains("\n  db-77 [000]"), "{text}");
        let mut groups = RecordedGroups::default();
        text.lines().for_each(|line| _ = groups.take(line));
        let of: Vec<_> = groups.of_task.iter().map(|(task, group)| (*task, group.as_str())).collect();
        assert_eq!(of, [(77, "/system.slice/db.service"), (79, "/web")]);
        assert_eq!(groups.to_string().lines().last(), Some("# group /system.slice/db.service io.weight=800"));
        assert_eq!(fs::read_dir(root.path("tracing/instances")).unwrap().count(), 0);
        // A second one does not write over it.
        let again = output(&mut shell(&root, "sda", 1)).unwrap();
        assert!(!again.status.success() && String::from_utf8_lossy(&again.stderr).contains("is there already"));
        let none = output(&mut shell(&machine(), "sdb", 1)).unwrap();
        assert!(String::from_utf8_lossy(&none.stderr).contains("no disk sdb here: expected one of sda"), "{none:?}");
    }

    #[test]
    fn a_disk_without_schedulers_is_recorded_and_a_recording_that_broke_off_is_not_called_whole() {
        let root = machine();
        fs::remove_file(root.path("sys/block/sda/queue/scheduler")).unwrap();
        let ran = output(&mut shell(&root, "sda", 1)).unwrap();
        assert!(ran.status.success(), "{ran:?}");
        let text = recorded(&root);
        assert!(text.contains("/sys/block/sda io_cost=1 ") && !text.contains("scheduler"), "{text}");
        assert!(text.contains("\n  db-77 [000]") && text.contains("# group /system.slice/db.service"), "{text}");
        let broken = machine();
        let mut sh = shell(&broken, "sda", 1);
        let script = fs::read_to_string(broken.path("record.sh")).unwrap();
        broken.written("record.sh", script.replace("    tasks\n    weights\n", "    false\n"));
        let ran = output(&mut sh).unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(!ran.status.success() && said.contains("is not whole") && !said.contains("lost"), "{said}");
        for root in [root, broken] {
            let left = fs::read_dir(&*root).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
            assert!(left.into_iter().all(|name| !name.contains("half")));
        }
    }

    #[test]
    fn the_grid_is_measured_on_demand_after_the_recording_and_only_reads() {
        let root = machine();
        let ran = output(shell(&root, "sda", 1).arg("--grid")).unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        let (recorded, measured) =
            (said.find("events were lost"), said.find("measuring sda by reads alone, for 20 minutes"));
        assert!(ran.status.success() && recorded.is_some_and(|at| measured > Some(at)), "{said}");
        let job = fs::read_to_string(root.path("out.trace.gz.job")).unwrap();
        assert!(job.contains("\nfilename=/dev/sda\n") && !job.contains("write\n"), "{job}");
        let other = output(shell(&machine(), "sda", 1).arg("--gird")).unwrap();
        assert!(
            !other.status.success() && String::from_utf8_lossy(&other.stderr).contains("expected --grid or nothing")
        );
    }

    #[test]
    fn ctrl_c_ends_it_earlier_and_the_file_has_the_groups_all_the_same() {
        let root = machine();
        let mut sh = shell(&root, "sda", 3600);
        std::os::unix::process::CommandExt::process_group(&mut sh, 0);
        let mut ran = Process::spawn(sh.stderr(Stdio::null()));
        let is_on = || {
            let instances = fs::read_dir(root.path("tracing/instances")).into_iter().flatten().flatten();
            instances
                .map(|one| fs::read_to_string(one.path().join("tracing_on")))
                .any(|on| on.is_ok_and(|on| on == "1\n"))
        };
        while !is_on() {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let all = format!("-{}", ran.id());
        assert!(output(Command::new("kill").args(["-INT", "--", &all])).unwrap().status.success());
        assert!(ran.end().success());
        let text = recorded(&root);
        assert!(
            text.contains("# device 8,0 name=sda") && text.contains("# task 77 /system.slice/db.service"),
            "{text}"
        );
        assert!(text.contains("# group /system.slice/db.service io.weight=800"), "{text}");
        assert_eq!(fs::read_dir(root.path("tracing/instances")).unwrap().count(), 0);
    }
}
