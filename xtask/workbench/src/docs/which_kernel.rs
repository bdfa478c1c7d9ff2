//! `docs/which-kernel.md`: the schedulers of each release, the default for each kind of disk, and the preset of ours
//! that decides as it does.
//!
//! The history is here; the catalogue says which preset decides as a release does. Adjacent releases with the same data
//! share a row.

use std::fmt::Write;

use blksched::author::Kernels;
use blksched::text::{ALIKE, DISTRIBUTIONS, Distribution};
use blksched::{Catalogue, Kernel};

/// A scheduler, and the releases that had it.
struct Had {
    scheduler: &'static str,
    releases: Kernels,
    source: &'static str,
}

/// The default of a kind of disk, without a choice by the user.
struct Default {
    disk: Disk,
    releases: Kernels,
    scheduler: &'static str,
    source: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Disk {
    /// Rotating or not, on IDE, SCSI or SATA.
    Scsi,
    Nvme,
}

const fn old(minor: u16, patch: u16) -> Kernel {
    Kernel::new(2, minor, patch)
}

const fn v(major: u16, minor: u16) -> Kernel {
    Kernel::new(major, minor, 0)
}

const HAD: &[Had] = &[
    Had {
        scheduler: "linus",
        releases: Kernels::between(old(4, 0), old(4, 37)),
        source: "behaviour/elevator-linus.md; of 2.4",
    },
    Had {
        scheduler: "linus",
        releases: Kernels::between(old(5, 0), old(5, 38)),
        source: "behaviour/elevator-linus.md; no source says that 2.5.39 replaced it; mails of \
                 2002-09-26 have deadline as a patch that replaces it",
    },
    Had {
        scheduler: "noop",
        releases: Kernels::between(old(4, 0), old(4, 37)),
        source: "behaviour/elevator-linus.md; of 2.4",
    },
    Had {
        scheduler: "noop",
        releases: Kernels::between(old(5, 0), v(4, 20)),
        source: "kernel documentation, block/switching-sched; 5.0 removed the single-queue block layer",
    },
    Had {
        scheduler: "deadline",
        releases: Kernels::between(old(5, 39), v(4, 20)),
        source: "mails of 2002-09-26 and 2002-10-31; kernel documentation, block/deadline-iosched",
    },
    Had {
        scheduler: "anticipatory",
        releases: Kernels::between(old(5, 75), old(6, 32)),
        source: "kernel documentation, block/as-iosched; removed in 2.6.33 (linux-mag.com/id/7724); present and the \
                 default by 2003-09-13 (its date); no source says that 2.5.75 was the first",
    },
    Had {
        scheduler: "cfq",
        releases: Kernels::between(old(6, 6), v(4, 20)),
        source: "kernel documentation, block/cfq-iosched; since 2.6.6 (kernelnewbies.org/Linux_2_6_6)",
    },
    Had {
        scheduler: "none",
        releases: Kernels::since(v(3, 13)),
        source: "kernel documentation, block/blk-mq; with blk-mq, since 3.13 (docs.slackware.com, blk-mq)",
    },
    Had {
        scheduler: "mq-deadline",
        releases: Kernels::since(v(4, 11)),
        source: "kernel documentation, block/deadline-iosched; since 4.11 (message of merge 772c8f6f3bbd)",
    },
    Had {
        scheduler: "kyber",
        releases: Kernels::since(v(4, 12)),
        source: "kernel documentation, block/kyber-iosched; since 4.12 (message of merge 694752922b12)",
    },
    Had {
        scheduler: "bfq",
        releases: Kernels::since(v(4, 12)),
        source: "kernel documentation, block/bfq-iosched; since 4.12 (message of merge 694752922b12)",
    },
];

const DEFAULTS: &[Default] = &[
    Default {
        disk: Disk::Scsi,
        releases: Kernels::between(old(4, 0), old(4, 37)),
        scheduler: "linus",
        source: "behaviour/elevator-linus.md",
    },
    Default {
        disk: Disk::Scsi,
        releases: Kernels::between(old(5, 0), old(5, 38)),
        scheduler: "linus",
        source: "behaviour/elevator-linus.md",
    },
    Default {
        disk: Disk::Scsi,
        releases: Kernels::between(old(5, 39), old(5, 74)),
        scheduler: "deadline",
        source: "there was no other except noop; no source says that 2.5.39 was the first",
    },
    Default {
        disk: Disk::Scsi,
        releases: Kernels::between(old(5, 75), old(6, 17)),
        scheduler: "anticipatory",
        source: "from 2.6.0 to 2.6.17: Wikipedia, Anticipatory scheduling; kernel documentation, block/as-iosched of \
                 2003-09-13; nothing was found on 2.5.75 itself",
    },
    Default {
        disk: Disk::Scsi,
        releases: Kernels::between(old(6, 18), v(3, 16)),
        scheduler: "cfq",
        source: "linux.com/news/cfq-become-default-io-scheduler-2618",
    },
    Default {
        disk: Disk::Scsi,
        releases: Kernels::between(v(3, 17), v(4, 10)),
        scheduler: "cfq (none with scsi_mod.use_blk_mq=1)",
        source: "kernel documentation, kernel-parameters",
    },
    Default {
        disk: Disk::Scsi,
        releases: Kernels::between(v(4, 11), v(4, 18)),
        scheduler: "cfq (mq-deadline with scsi_mod.use_blk_mq=1)",
        source: "kernel documentation, kernel-parameters",
    },
    Default {
        disk: Disk::Scsi,
        releases: Kernels::between(v(4, 19), v(4, 20)),
        scheduler: "mq-deadline (cfq with scsi_mod.use_blk_mq=0)",
        source: "unix.stackexchange.com/q/483881: the default of 4.19's configuration",
    },
    Default {
        disk: Disk::Scsi,
        releases: Kernels::since(v(5, 0)),
        scheduler: "mq-deadline",
        source: "one hardware queue: 5.0: berthon.eu/tag/scheduler; messages of commits a0958ba7fcdc (2019) and \
                 90b7198001f2 (2021); no source says otherwise for releases after 5.15",
    },
    Default {
        disk: Disk::Nvme,
        releases: Kernels::between(v(3, 3), v(3, 18)),
        scheduler: "no scheduler: the driver takes bios",
        source: "messages of commits b60503ba432b (2011, the driver) and a4aea5623d4a (bio-based until then); no \
                 source says that 3.3 was the first to have it",
    },
    Default {
        disk: Disk::Nvme,
        releases: Kernels::since(v(3, 19)),
        scheduler: "none",
        source: "several hardware queues: messages of commits a0958ba7fcdc and 90b7198001f2; blk-mq since 3.19: \
                 slideshare.net/71049918, Function-level analysis of the Linux NVMe driver",
    },
];

/// Every mainline release from 2.5 on, oldest first.
fn releases() -> Vec<Kernel> {
    let series = |major, last: u16| (0..=last).map(move |minor| v(major, minor));
    let two = (0..=75).map(|patch| old(5, patch)).chain((0..=39).map(|patch| old(6, patch)));
    let later = series(3, 19).chain(series(4, 20)).chain(series(5, 19)).chain(series(6, 19));
    two.chain(later).chain((0..=3).map(|minor| v(7, minor))).collect()
}

/// The preset that decides like a release's scheduler; `None` if it was not examined.
fn ours(catalogue: &Catalogue, scheduler: &str, release: Kernel) -> Option<String> {
    let entry = catalogue.entries().iter().find(|entry| entry.name == scheduler)?;
    if entry.presets.iter().any(|preset| preset.kernel == release) {
        return Some(format!("{scheduler}@{release}"));
    }
    let alike = ALIKE.iter().find(|alike| alike.elevator == scheduler && alike.releases.contain(release))?;
    let switched: String = alike.switched.iter().map(|(name, variant)| format!("+{name}={variant}")).collect();
    Some(format!("{scheduler}@{}{switched}", alike.preset))
}

/// The columns of a release, apart from its name.
#[derive(PartialEq, Eq)]
struct Row {
    schedulers: Vec<&'static str>,
    defaults: [Option<&'static str>; 2],
    ours: Vec<String>,
    sources: Vec<&'static str>,
}

impl Row {
    fn of(catalogue: &Catalogue, release: Kernel) -> Row {
        let had: Vec<&Had> = HAD.iter().filter(|had| had.releases.contain(release)).collect();
        let default = |disk| DEFAULTS.iter().find(|it| it.disk == disk && it.releases.contain(release));
        let found = [Disk::Scsi, Disk::Nvme].map(default);
        let sources = found.iter().flatten().map(|it| it.source);
        Row {
            schedulers: had.iter().map(|had| had.scheduler).collect(),
            defaults: found.map(|it| it.map(|it| it.scheduler)),
            ours: had.iter().filter_map(|had| ours(catalogue, had.scheduler, release)).collect(),
            sources: sources.collect(),
        }
    }

    fn text(&self, from: Kernel, to: Kernel) -> String {
        let releases = if from == to { from.to_string() } else { format!("{from} to {to}") };
        let [scsi, nvme] = self.defaults.map(|default| default.unwrap_or("–"));
        let code = |words: &[String]| words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
        let ours = if self.ours.is_empty() { "–".to_owned() } else { code(&self.ours) };
        let mut sources = self.sources.clone();
        sources.dedup();
        let (schedulers, sources) = (self.schedulers.join(", "), sources.join("; "));
        format!("| {releases} | {schedulers} | {scsi} | {nvme} | {ours} | {sources} |\n")
    }
}

pub fn text() -> String {
    let catalogue = Catalogue::builtin();
    let mut text = String::from(HEAD);
    let mut open: Option<(Row, Kernel, Kernel)> = None;
    for release in releases() {
        let row = Row::of(&catalogue, release);
        open = Some(match open {
            Some((same, from, _)) if same == row => (same, from, release),
            before => {
                text += &before.map_or(String::new(), |(row, from, to)| row.text(from, to));
                (row, release, release)
            }
        });
    }
    text += &open.map_or(String::new(), |(row, from, to)| row.text(from, to));
    text += "\n## Since when, and where that is known from\n\n| scheduler | releases | source |\n|---|---|---|\n";
    for Had { scheduler, releases, source } in HAD {
        writeln!(text, "| {scheduler} | {releases} | {source} |").unwrap();
    }
    text += "\n## Releases without a preset of their own\n\n";
    text += "| asked for | understood as | known from |\n|---|---|---|\n";
    for alike in ALIKE {
        let as_ours = ours(&catalogue, alike.elevator, alike.releases.first).unwrap_or_default();
        writeln!(text, "| `{}@{}` | `{as_ours}` | {} |", alike.elevator, alike.releases, alike.source).unwrap();
    }
    text += DISTRIBUTED;
    for Distribution { name, kernel, known, source, changed } in DISTRIBUTIONS {
        let of = |scheduler: &&str| match changed.iter().any(|(elevator, _)| elevator == scheduler) {
            true => Some(format!("{scheduler}: refused")),
            false => ours(&catalogue, scheduler, *kernel).map(|ours| format!("`{ours}`")),
        };
        let ours: Vec<String> = ["none", "mq-deadline", "kyber", "bfq"].iter().filter_map(of).collect();
        let ours = if ours.is_empty() { "refused".to_owned() } else { ours.join(", ") };
        let but: String = changed.iter().map(|(elevator, how)| format!("; {elevator}: {how}")).collect();
        writeln!(text, "| `{name}` | {kernel} | {ours} | {} | {source}{but} |", known.in_words()).unwrap();
    }
    text
}

const DISTRIBUTED: &str = "
## Distributions

A scheduler with a distribution's name, as in `bfq@ubuntu-22.04`, is that of the kernel with which the release shipped.
*Recorded*: from that distribution's own source. *Read*: its files were compared with those recorded. *Not examined*:
the number of its kernel is all that is known, from memory; its patches may change anything. Kernels that a distribution
offers later (hardware enablement, backports) are named by their numbers.

| name | kernel | decides as | known | source |
|---|---|---|---|---|
";

const HEAD: &str = "\
# Which kernel had which scheduler

Generated by `cargo xtask docs`; do not edit. Mainline releases from 2.5 on; adjacent releases with the same data share
a row. *Decides as* names the preset that makes the same decisions as that release's scheduler, according to recordings
or documents. A scheduler of the release that is missing in that column was not examined, and its name with that release
is refused. The defaults are the kernel's own; distributions set others by udev rules. *No source says* or *nothing was
found*: neither the kernel's documentation nor kernelnewbies' lists of changes, messages of commits or the press say it,
as far as they could be searched; it is given here from memory. [what-changed.md](what-changed.md) says what the steps
from one long-term kernel to the next change for loads.

| releases | schedulers | default for SCSI, SATA, IDE | default for NVMe | decides as | source of the defaults |
|---|---|---|---|---|---|
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_release_has_schedulers_and_one_default_for_a_disk_among_them() {
        for release in releases() {
            let row = Row::of(&Catalogue::builtin(), release);
            let of_scsi = DEFAULTS.iter().filter(|it| it.disk == Disk::Scsi && it.releases.contain(release));
            assert_eq!(of_scsi.count(), 1, "{release}");
            let default = row.defaults[0].unwrap().split(' ').next().unwrap();
            assert!(row.schedulers.contains(&default), "{release}: {default} is none of its schedulers");
        }
        let newest = ALIKE.iter().filter_map(|alike| alike.releases.last).max();
        assert_eq!(releases().last().copied(), newest, "the table ends where anybody looked");
    }

    #[test]
    fn every_preset_of_mainline_and_every_release_alike_is_in_a_row() {
        let text = text();
        for entry in
            Catalogue::builtin().entries().iter().filter(|entry| entry.home == blksched::author::Home::Mainline)
        {
            for preset in entry.presets {
                // 2.5.38's deadline was a patch to that kernel.
                let had = HAD.iter().any(|had| had.scheduler == entry.name && had.releases.contain(preset.kernel));
                let spec = format!("`{}@{}`", entry.name, preset.kernel);
                assert!(!had || text.contains(&spec), "{spec}");
            }
        }
        assert!(text.contains("| 6.6 to 6.11 |") && text.contains("`mq-deadline@6.12+tags=per_word+at_head=class`"));
    }
}
