//! The accuracy of the recorded predictions, by kind of disk and class of load, to be shown with the next prediction.
//! `tests/reality.rs` writes `so_far.tsv` beside `docs/reality.md`, from the same cells, and checks that it is current.
//!
//! Everything was recorded on emulated disks: real kernels and a real fio, in front of a disk that is a model (ours, or
//! a constant delay). No sentence here may claim more.

use blksched_disks::Model;
use blksched_workloads::host::fs::FsKind;
use blksched_workloads::{JobPlan, Plan, Syncs};

const TABLE: &str = include_str!("so_far.tsv");
/// What is known of jobs with `ioengine=mmap`: `tests/it/mapped_files.rs` computes it.
pub const MAPPED: &str = "; mmap, on ext4: 12 of 12 rates of one job within 20 %";
/// A class of loads on files in each line: rates, mean fsyncs, pairs of schedulers. `tests/it/file_systems.rs` writes
/// it.
const FILES: &str = include_str!("so_far_files.tsv");
/// The table's first line.
pub const HEAD: &str = "# disk\tkernel\tkind\tload\twithin_20_percent\tcells\tmedian_error_percent\tp90_error_percent\t\
                        verdicts_right\tverdicts\tpairs_right\tpairs\n";

/// What a load asks of the simulator besides a scheduler; predictions are judged for each kind by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LoadClass {
    /// Nothing: every job's I/O is direct, and none waits for the disk's cache.
    Direct,
    /// I/O through the page cache.
    PageCache,
    /// `fsync`, `fdatasync`, `O_SYNC`.
    Fsync,
    /// Control groups.
    Groups,
    /// The mails' programs, as far as they are modelled.
    Programs,
    /// A recorded trace.
    Replays,
    /// Files on ext4 or xfs: `tests/it/file_systems.rs` writes their figures, by [`files_class`].
    FileSystem,
}

impl LoadClass {
    /// All of them.
    pub const ALL: [LoadClass; 7] = [
        LoadClass::Direct,
        LoadClass::PageCache,
        LoadClass::Fsync,
        LoadClass::Groups,
        LoadClass::Programs,
        LoadClass::Replays,
        LoadClass::FileSystem,
    ];

    /// The classes of this plan: one or more.
    pub fn of(plan: &Plan) -> Vec<LoadClass> {
        if plan.fs != FsKind::None && !plan.files.is_empty() {
            return vec![LoadClass::FileSystem];
        }
        let any = |is: fn(&JobPlan) -> bool| plan.jobs.iter().any(is);
        let has = [
            (LoadClass::PageCache, any(|job| job.is_buffered)),
            (LoadClass::Fsync, any(|job| job.character.syncs != Syncs::Never)),
            (LoadClass::Groups, !plan.groups.is_empty()),
            (LoadClass::Programs, plan.has_programs() && !plan.has_replays()),
            (LoadClass::Replays, plan.has_replays()),
        ];
        let classes: Vec<LoadClass> = has.into_iter().filter_map(|(class, has)| has.then_some(class)).collect();
        if classes.is_empty() { vec![LoadClass::Direct] } else { classes }
    }

    /// Its name, in the table and in sentences.
    pub fn name(self) -> &'static str {
        match self {
            LoadClass::Direct => "direct I/O",
            LoadClass::PageCache => "page cache",
            LoadClass::Fsync => "fsync",
            LoadClass::Groups => "control groups",
            LoadClass::Programs => "programs such as dd",
            LoadClass::Replays => "replayed traces",
            LoadClass::FileSystem => "ext4 and xfs",
        }
    }
}

/// One class of load on one disk that was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SoFar {
    /// The disk, and its number of tags.
    pub disk: String,
    /// The kernel.
    pub kernel: String,
    /// The kind of disk: [`kind`].
    pub kind: String,
    /// The class of load; a job that belongs to several counts for each.
    pub class: LoadClass,
    /// Bandwidths predicted within 20 %, and all.
    pub within: (u32, u32),
    /// The greatest errors of half and of nine tenths of them \[percent\].
    pub errors: (u32, u32),
    /// Jobs whose best scheduler was predicted, and all.
    pub verdicts: (u32, u32),
    /// Pairs of schedulers that really differ and were predicted in the right direction, and all.
    pub pairs: (u32, u32),
}

impl SoFar {
    /// A line of the table.
    pub fn line(&self) -> String {
        let SoFar { disk, kernel, kind, class, within, errors, verdicts, pairs } = self;
        let numbers = [within.0, within.1, errors.0, errors.1, verdicts.0, verdicts.1, pairs.0, pairs.1];
        let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
        format!("{disk}\t{kernel}\t{kind}\t{}\t{}\n", class.name(), numbers.join("\t"))
    }

    fn parse(line: &str) -> Option<SoFar> {
        let mut words = line.split('\t');
        let [disk, kernel, kind] = [words.next()?, words.next()?, words.next()?].map(str::to_owned);
        let class = words.next()?;
        let class = LoadClass::ALL.into_iter().find(|known| known.name() == class)?;
        let numbers: Vec<u32> = words.map(|word| word.parse().ok()).collect::<Option<_>>()?;
        let &[near, all, half, nine, right, jobs, agreed, pairs] = &numbers[..] else { return None };
        Some(SoFar {
            disk,
            kernel,
            kind,
            class,
            within: (near, all),
            errors: (half, nine),
            verdicts: (right, jobs),
            pairs: (agreed, pairs),
        })
    }
}

/// The kind of disk of a model; for an array, its first member's.
pub fn kind(model: &Model) -> &'static str {
    match model {
        Model::Null(_) => "null",
        Model::Fixed(_) => "fixed",
        Model::Hdd(_) => "hdd",
        Model::Ssd(_) => "ssd",
        Model::Raid(raid) => raid.members.first().map_or("raid", |member| kind(&member.model)),
    }
}

/// Every disk that was recorded.
pub fn all() -> Vec<SoFar> {
    TABLE.lines().filter(|line| !line.starts_with('#')).filter_map(SoFar::parse).collect()
}

/// Against what predictions of such a load on such a disk were checked: two sentences. There is a figure only for
/// classes of loads and kinds of disks that were compared; what was not says so.
pub fn sentence(model: &Model, plan: &Plan) -> String {
    let (all, kind) = (all(), kind(model));
    let own: Vec<&SoFar> = all.iter().filter(|one| one.kind == kind).collect();
    let (known, start) = match own.is_empty() {
        false => {
            let start = format!("Checked with a real {} and fio on {}", kernels(&own), emulated(kind));
            (own, format!("{start}, never on a real drive"))
        }
        true => {
            let known: Vec<&SoFar> = all.iter().collect();
            let start = format!("Never checked on {}; with a real {} on emulated disks", disks(kind), kernels(&known));
            (known, start)
        }
    };
    let said = |class| if class == LoadClass::FileSystem { of_files(plan) } else { of_class(&known, class) };
    let classes: Vec<String> = LoadClass::of(plan).into_iter().map(said).collect();
    let array = if matches!(model, Model::Raid(_)) { "; arrays: never compared" } else { "" };
    let several = match (&plan.member, &plan.disks[..]) {
        (Some(_), _) => "; stacked devices: never compared",
        (None, []) => "",
        (None, _) => "; several disks in one run: never compared",
    };
    let mapped = if plan.jobs.iter().any(|job| job.character.is_mapped) { MAPPED } else { "" };
    format!("{start}: {}{mapped}{array}{several}.", classes.join("; "))
}

/// "ext4 with syncs, on a disk of constant speed alone: 25 of 28 rates and …".
fn of_files(plan: &Plan) -> String {
    if !plan.fs.said().is_empty() {
        return format!("{}: never compared", plan.fs);
    }
    let syncs = |job: &JobPlan| job.character.syncs != Syncs::Never || job.character.syncs_on_close;
    let class = files_class(plan.fs.kind, plan.jobs.iter().any(syncs));
    let own = FILES.lines().find_map(|line| line.strip_prefix(&class)?.strip_prefix('\t'));
    let words: Vec<&str> = own.map(|line| line.split('\t').collect()).unwrap_or_default();
    let &[rates, syncs, pairs] = &words[..] else { return format!("{class}: never compared") };
    let syncs = if syncs == "-" { String::new() } else { format!(" and {syncs} mean fsyncs") };
    format!(
        "{class}, on a disk of constant speed alone: {rates} rates{syncs} within 20 %, {pairs} pairs of schedulers in \
         the right order"
    )
}

/// The name of a class of loads on files, in `so_far_files.tsv`.
pub fn files_class(fs: FsKind, syncs: bool) -> String {
    format!("{fs} {} syncs", if syncs { "with" } else { "without" })
}

/// "fsync: 20 of 24 rates within 20 %, best scheduler found 3 of 3 times".
fn of_class(known: &[&SoFar], class: LoadClass) -> String {
    let of: Vec<&&SoFar> = known.iter().filter(|one| one.class == class).collect();
    let sum =
        |pick: fn(&SoFar) -> (u32, u32)| of.iter().map(|one| pick(one)).fold((0, 0), |(a, b), (c, d)| (a + c, b + d));
    let name = class.name();
    // Where no two schedulers really differ, any is the best.
    let verdicts = if sum(|one| one.pairs).1 > 0 { sum(|one| one.verdicts) } else { (0, 0) };
    match (sum(|one| one.within), verdicts) {
        ((_, 0), _) => format!("{name}: never compared"),
        ((near, cells), (_, 0)) => format!("{name}: {near} of {cells} rates within 20 %"),
        ((near, cells), (right, jobs)) => {
            format!("{name}: {near} of {cells} rates within 20 %, best scheduler found {right} of {jobs} times")
        }
    }
}

fn kernels(them: &[&SoFar]) -> String {
    let mut kernels: Vec<&str> = them.iter().map(|one| one.kernel.as_str()).collect();
    kernels.sort_by_key(|kernel| kernel.split('.').map(|part| part.parse().unwrap_or(0)).collect::<Vec<u32>>());
    kernels.dedup();
    format!("Linux {}", kernels.join(" and "))
}

/// A kind of disk that was never recorded.
fn disks(kind: &str) -> &'static str {
    match kind {
        "ssd" => "flash",
        _ => "such a disk",
    }
}

/// What stood for a kind of disk when it was recorded.
fn emulated(kind: &str) -> &'static str {
    match kind {
        "hdd" => "an emulated disk (this kind)",
        _ => "an emulated disk of constant speed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blksched_workloads::fio::JobFile;

    fn said(disk: &str, options: &str) -> String {
        let text = format!("[a]\nsize=1m\n{options}\n");
        let plan = JobFile::parse(&text, "a.fio").unwrap().plan(1 << 30).unwrap();
        sentence(&blksched_disks::load(disk).unwrap().model, &plan)
    }

    #[test]
    fn the_table_is_read_as_it_is_written() {
        let lines: String = all().iter().map(SoFar::line).collect();
        assert_eq!(HEAD.to_owned() + &lines, TABLE);
        assert!(all().len() >= 4);
    }

    #[test]
    fn no_sentence_claims_a_real_drive() {
        let hdd = said("hdd-7200", "direct=1\nrw=read");
        let start = "Checked with a real Linux 6.18 and fio on an emulated disk (this kind), never on a real drive: \
                     direct I/O: ";
        let figures = " rates within 20 %, best scheduler found ";
        assert!(hdd.starts_with(start) && hdd.contains(figures), "{hdd}");
        let ssd = said("sata-ssd", "direct=1\nrw=read");
        assert!(
            ssd.starts_with("Never checked on flash; with a real Linux 6.1 and 6.18 on emulated disks: direct"),
            "{ssd}"
        );
        let fixed = said("fixed", "direct=1\nrw=read");
        assert!(fixed.contains("on an emulated disk of constant speed, never on a real drive: "), "{fixed}");
        let array = said("raid5:4xhdd-7200", "direct=1\nrw=read");
        assert!(array.ends_with("; arrays: never compared."), "{array}");
    }

    #[test]
    fn a_file_system_does_not_borrow_the_figures_of_raw_files() {
        let said = said("hdd-7200", "rw=write\nfsync=1\n; blksched: fs=ext4");
        assert!(said.contains(": ext4 with syncs, on a disk of constant speed alone: "), "{said}");
        assert!(said.contains(" mean fsyncs within 20 %, ") && !said.contains(": fsync: "), "{said}");
        let read = self::said("hdd-7200", "rw=read\n; blksched: fs=xfs");
        assert!(read.contains(": xfs without syncs, ") && !read.contains("mean fsync"), "{read}");
        let closed = self::said("hdd-7200", "rw=write\nnrfiles=4\nfsync_on_close=1\n; blksched: fs=xfs");
        assert!(closed.contains(": xfs with syncs, ") && !closed.contains("mmap"), "{closed}");
        let mapped = self::said("hdd-7200", "rw=read\nioengine=mmap\n; blksched: fs=xfs");
        assert!(mapped.ends_with(&format!("{MAPPED}.")), "{mapped}");
    }

    #[test]
    fn each_class_of_load_has_its_own_figures() {
        let hdd = |options| said("hdd-7200", options);
        let (direct, synced, cached) = (hdd("direct=1\nrw=read"), hdd("direct=1\nrw=write\nfsync=1"), hdd("rw=read"));
        assert!(synced.contains(": fsync: ") && cached.contains(": page cache: "), "{synced} {cached}");
        assert!(!direct.contains("fsync") && !direct.contains("page cache"), "{direct}");
        let both = hdd("rw=write\nfsync=1");
        assert!(both.contains(": page cache: ") && both.contains("; fsync: "), "{both}");
        // What differs under no scheduler predicts no best one.
        assert!(cached.ends_with("page cache: 28 of 28 rates within 20 %."), "{cached}");
    }
}
