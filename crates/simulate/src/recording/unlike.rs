//! Files that people have beside traces, recognised by name: what each is, and what can be done with it.

/// What a text is that is no trace, and what to do with it.
pub(super) fn known(text: &str) -> Option<(&'static str, &'static str)> {
    KINDS.iter().find(|kind| (kind.looks)(text)).map(|kind| (kind.what, kind.advice))
}

struct Kind {
    what: &'static str,
    advice: &'static str,
    looks: fn(&str) -> bool,
}

const KINDS: [Kind; 13] = [
    Kind {
        what: "a result of fio's, as JSON",
        advice: "its job options are a job: `blksched compare` takes the file, and prints what was measured beside",
        looks: |text| text.contains("\"fio version\""),
    },
    Kind {
        what: "a report of fio's, as text",
        advice: "name the job file itself, or run fio with --output-format=json, whose result compare takes",
        looks: |text| has_line(text, |line| line.contains("(groupid=") && line.contains("jobs=")),
    },
    Kind {
        what: "a terse result of fio's",
        advice: "name the job file itself, or run fio with --output-format=json, whose result compare takes",
        looks: |text| has_line(text, |line| line.split(';').nth(1).is_some_and(|word| word.starts_with("fio-"))),
    },
    Kind {
        what: "output of iostat",
        advice: "it has sums, not I/Os; record those: `blksched record sda --time 60s`, or `biosnoop -Q`",
        looks: |text| {
            has_line(text, |line| line.starts_with("Device") && (line.contains("tps") || line.contains("r/s")))
        },
    },
    Kind {
        what: "/proc/diskstats",
        advice: "it has sums, not I/Os; record those: `blksched record sda --time 60s`, or `biosnoop -Q`",
        looks: |text| all_lines(text, is_diskstats),
    },
    Kind {
        what: "output of lsblk",
        advice: "it describes disks: `blksched disk guess` names the nearest model (--disk)",
        looks: |text| {
            text.contains("\"blockdevices\"")
                || has_line(text, |line| line.starts_with("NAME") && line.contains("SIZE"))
        },
    },
    Kind {
        what: "output of smartctl",
        advice: "it describes a disk: `blksched disk guess` names the nearest model (--disk)",
        looks: |text| text.starts_with("smartctl ") || text.contains("\"smartctl\""),
    },
    Kind {
        what: "output of hdparm",
        advice: "it describes a disk: `blksched disk guess` names the nearest model (--disk)",
        looks: |text| text.contains("ATA device, with") || text.contains("Timing buffered disk reads"),
    },
    Kind {
        what: "output of strace",
        advice: "calls are not what a disk gets (pages are cached, I/Os merged); record that instead: `blksched record \
                 sda --time 60s`",
        looks: |text| {
            let call = |line: &str| {
                let plain = line.trim_start_matches(|c: char| c.is_ascii_digit() || " .:[]pid".contains(c));
                plain.split('(').next().is_some_and(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
                    && line.contains(") = ")
            };
            2 * text.lines().filter(|line| call(line)).count() > text.lines().count()
        },
    },
    Kind {
        what: "output of vmstat",
        advice: "it has sums, not I/Os; record those: `blksched record sda --time 60s`",
        looks: |text| text.contains("-----io----"),
    },
    Kind {
        what: "a YAML file without a job",
        advice: "a job inside a YAML file is found if its lines stand together below their [section]",
        looks: |text| has_line(text, |line| line.starts_with("apiVersion:") || line == "---"),
    },
    Kind {
        what: "settings of io.cost",
        advice: "they describe a disk: --disk 'iocost:…' with a line of them in place of the dots",
        looks: |text| text.contains("ctrl=") && text.contains("rbps="),
    },
    Kind {
        what: "a web page",
        advice: "save the raw file behind it",
        looks: |text| {
            let begin = text.trim_start().get(..14).unwrap_or_default().to_ascii_lowercase();
            begin.starts_with("<!doctype html") || begin.starts_with("<html")
        },
    },
];

fn has_line(text: &str, is: impl Fn(&str) -> bool) -> bool {
    text.lines().take(200).any(is)
}

fn all_lines(text: &str, is: impl Fn(&str) -> bool) -> bool {
    let mut lines = text.lines().take(200).peekable();
    lines.peek().is_some() && lines.all(is)
}

/// `   8       0 sda 4 0 8 1 …`
fn is_diskstats(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |word: &&str| word.bytes().all(|byte| byte.is_ascii_digit());
    words.len() >= 14 && words[..2].iter().all(number) && !number(&words[2]) && words[3..].iter().all(number)
}

/// The members of a tar archive, as far as they are in this beginning; none if it is no such archive.
pub(super) fn members(beginning: &[u8]) -> Option<Vec<String>> {
    const BLOCK: usize = 512;
    let is_header = |at: usize| beginning.get(at + 257..at + 262) == Some(b"ustar");
    if !is_header(0) {
        return None;
    }
    let (mut names, mut at) = (Vec::new(), 0);
    while is_header(at) {
        let field = |from: usize, to: usize| {
            let bytes = &beginning[at + from..at + to];
            let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
            String::from_utf8_lossy(text).trim().to_owned()
        };
        let size = usize::from_str_radix(&field(124, 136), 8).unwrap_or(0);
        if beginning.get(at + 156) != Some(&b'5') {
            names.push(field(0, 100));
        }
        let Some(next) = size.div_ceil(BLOCK).checked_add(1).and_then(|blocks| blocks.checked_mul(BLOCK)) else {
            break;
        };
        let Some(next) = at.checked_add(next).filter(|next| next + BLOCK <= beginning.len()) else { break };
        at = next;
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_called_by_its_name() {
        let what = |text: &str| known(text).map(|kind| kind.0);
        assert_eq!(what("{\"fio version\" : \"fio-3.33\"}"), Some("a result of fio's, as JSON"));
        assert_eq!(what("3;fio-3.33;a;0;0;1048576\n"), Some("a terse result of fio's"));
        assert_eq!(what("Linux 6.1\n\nDevice   tps  kB_read/s\n"), Some("output of iostat"));
        assert_eq!(what("   8       0 sda 4 0 8 1 0 0 0 0 0 1 1 0 0\n"), Some("/proc/diskstats"));
        assert_eq!(what("NAME MAJ:MIN RM SIZE\nsda 8:0 0 1T\n"), Some("output of lsblk"));
        assert_eq!(what("smartctl 7.3 2022\n"), Some("output of smartctl"));
        assert_eq!(
            what("pread64(3, \"x\", 4096, 0) = 4096\n[pid 7] 12:00:01.5 write(1, \"a\", 1) = 1\n"),
            Some("output of strace")
        );
        assert_eq!(what("apiVersion: v1\nkind: Pod\n"), Some("a YAML file without a job"));
        assert_eq!(what("8:16 ctrl=user model=linear rbps=1 rseqiops=1\n"), Some("settings of io.cost"));
        assert_eq!(what("1 2 R 4\n"), None);
    }

    #[test]
    fn an_archives_members_are_named() {
        let mut archive = vec![0; 1536];
        archive[..5].copy_from_slice(b"a.csv");
        archive[124..127].copy_from_slice(b"001");
        archive[257..262].copy_from_slice(b"ustar");
        archive[1024..1029].copy_from_slice(b"b.csv");
        archive[1281..1286].copy_from_slice(b"ustar");
        assert_eq!(members(&archive), Some(vec!["a.csv".to_owned(), "b.csv".to_owned()]));
        assert_eq!(members(b"a,b\n"), None);
    }
}
