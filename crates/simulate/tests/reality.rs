//! The simulator's half of `testdata/reality`: every recorded cell predicted again. Figures outside of their tolerance
//! must be listed in `known-misses.tsv` with a reason, and what is listed must still be outside. `BLESS=1` renews the
//! list (new lines say that nobody knows yet why), `docs/reality.md`, and what the program says of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use blksched_simulate::reality::so_far::{self, LoadClass, SoFar};
use blksched_simulate::reality::{Cell, Judged, RealitySetting, Row, Set, judge, read};
use blksched_workloads::fio::JobFile;

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The recorded sets, each a directory, and the names of their disks here.
const SETS: [(&str, &str); 4] = [
    ("testdata/reality/6.18", ""),
    ("testdata/reality/6.18-live", " live"),
    ("testdata/reality/6.18-files", " files"),
    ("testdata/reality/6.1-guest", " guest"),
];

/// A set with its measurements.
struct Recorded {
    folder: &'static str,
    suffix: &'static str,
    set: Set,
    measured: Vec<Row>,
}

impl Recorded {
    fn load((folder, suffix): (&'static str, &'static str)) -> Recorded {
        let file = |name: &str| Ok(text(&format!("{folder}/{name}")));
        let set = Set::parse(&text(&format!("{folder}/settings.toml")), file).expect("a set");
        let measured = read("measured.tsv", &text(&format!("{folder}/measured.tsv"))).expect("rows");
        Recorded { folder, suffix, set, measured }
    }

    fn job(&self, name: &str) -> String {
        text(&format!("{}/{}/{name}.fio", self.folder, self.set.jobs))
    }

    /// The name of this setting on the page and in the list.
    fn name(&self, setting: &RealitySetting) -> String {
        format!("{}{}", setting.name, self.suffix)
    }

    /// What the way to the disk adds \[us\], and the cells.
    fn cells(&self, setting: &RealitySetting) -> (f64, Vec<Cell>) {
        let own = |row: &&Row| row.setting == setting.name && !setting.without.contains(&row.job);
        let named = |row: &Row| Row { setting: self.name(setting), ..row.clone() };
        let own: Vec<Row> = self.measured.iter().filter(own).map(named).collect();
        let chain = self.set.fitted(setting, &self.job(&self.set.calibrates), &self.measured).expect("it runs");
        let bench = self.set.bench(setting, chain).expect("a disk");
        let mut jobs: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for row in &own {
            jobs.entry(&row.job).or_default().insert(&row.scheduler);
        }
        let mut predicted = Vec::new();
        for (job, schedulers) in jobs {
            let rows = self.set.predict(&bench, (job, &self.job(job)), schedulers).expect("it runs");
            predicted.extend(rows.iter().map(named));
        }
        (chain, Cell::pair(&own, &predicted))
    }
}

const MISSES: &str = "testdata/reality/known-misses.tsv";
const PAGE: &str = "docs/reality.md";
const SO_FAR: &str = "crates/simulate/src/reality/so_far.tsv";
const UNKNOWN: &str = "not yet explained";

/// Known misses: place and figure, and the reason.
fn known() -> BTreeMap<String, String> {
    let lines = text(MISSES);
    let line = |line: &str| line.rsplit_once('\t').map(|(what, why)| (what.to_owned(), why.to_owned()));
    lines.lines().filter(|line| !line.starts_with('#')).filter_map(line).collect()
}

fn summary(page: &mut String, (name, chain_us): (&str, f64), judged: &Judged) {
    let ((near, all), (held, of)) = (judged.within, judged.held);
    let percent = |part: f64| format!("{:.0} %", part * 100.0);
    let _ = writeln!(
        page,
        "| `{name}` | {chain_us:.0} us | {near} of {all} | {held} of {of} | {} / {} | {} of {} | {} of {} |",
        percent(judged.error(0.5)),
        percent(judged.error(0.9)),
        judged.right(),
        judged.verdicts.len(),
        judged.pairs.1,
        judged.pairs.0,
    );
}

/// The same for the program: a line for each class of load.
fn lines(own: &Recorded, setting: &RealitySetting, cells: &[Cell]) -> String {
    let disk = own.set.bench(setting, 0.0).expect("a disk").disk;
    let sectors = disk.build(1).facts().sectors;
    let classes_of = |job: &str| {
        let file = JobFile::parse(&own.job(job), job).expect("a job file");
        LoadClass::of(&file.plan(sectors).expect("it fits"))
    };
    let names: BTreeSet<&str> = cells.iter().map(|cell| cell.measured.job.as_str()).collect();
    let classes: BTreeMap<&str, Vec<LoadClass>> = names.into_iter().map(|job| (job, classes_of(job))).collect();
    let of = |class: LoadClass| -> Vec<Cell> {
        cells.iter().filter(|cell| classes[cell.measured.job.as_str()].contains(&class)).cloned().collect()
    };
    let with_cells = LoadClass::ALL.into_iter().map(|class| (class, of(class))).filter(|(_, cells)| !cells.is_empty());
    with_cells.map(|(class, cells)| line(own, setting, class, &judge(&cells))).collect()
}

fn line(own: &Recorded, setting: &RealitySetting, class: LoadClass, judged: &Judged) -> String {
    let whole = |(some, all): (usize, usize)| (some as u32, all as u32);
    let percent = |part: f64| (100.0 * judged.error(part)).round() as u32;
    let disk = own.set.bench(setting, 0.0).expect("a disk").disk;
    let one = SoFar {
        disk: own.name(setting),
        kernel: own.set.kernel.clone(),
        kind: so_far::kind(&disk.model).to_owned(),
        class,
        within: whole(judged.within),
        errors: (percent(0.5), percent(0.9)),
        verdicts: whole((judged.right(), judged.verdicts.len())),
        pairs: whole((judged.pairs.1, judged.pairs.0)),
    };
    one.line()
}

fn table(page: &mut String, name: &str, cells: &[Cell]) {
    let _ = writeln!(page, "\n## {name}\n");
    let head = "| job | process | scheduler | KiB/s measured | predicted | ratio | mean latency ms | predicted \
                | p99 ms | predicted |\n|---|---|---|--:|--:|--:|--:|--:|--:|--:|\n";
    page.push_str(head);
    for Cell { measured: real, predicted: ours } in cells {
        let kib = |row: &Row| row.bandwidth / 1024.0;
        let _ = writeln!(
            page,
            "| {} | {} {} | {} | {:.1} | {:.1} | {:.2} | {:.1} | {:.1} | {:.0} | {:.0} |",
            real.job,
            real.process,
            real.dir,
            real.scheduler,
            kib(real),
            kib(ours),
            kib(ours) / kib(real),
            real.latency_us / 1e3,
            ours.latency_us / 1e3,
            real.p99_us / 1e3,
            ours.p99_us / 1e3,
        );
    }
}

const INTRODUCTION: &str = "\
# How accurate predictions have been

Real kernels were recorded, and this program predicts the same job files on the same disk with the same number of tags.
`testdata/reality` says how the recordings were made. `crates/simulate/tests/reality.rs` predicts every cell again at
each run of the tests and writes this page. It fails if a cell is outside its tolerance and not listed in
`testdata/reality/known-misses.tsv`, or listed and within its tolerance. Every listed miss has a reason; an inferred
reason is marked as such.

`cargo xtask reality` does the same on your machine, as root: it mounts disk models that take as long as they say, by
the wall clock, puts loop devices over them, runs the job files of `testdata/reality/jobs` with the real fio under each
of the running kernel's schedulers, and prints both sides. It first compares the path to the disk with the model alone;
where a machine is too slow, it is skipped by name. `--guest` does it with Debian's 6.1 in an emulated machine,
`--recorded` only predicts. `blksched validate` ([validate.md](validate.md)) does it with your job on your disk.

With `--fs ext4,xfs` the jobs run on fresh file systems ([host.md](host.md#file-systems) says how, and what was recorded
on a quiet machine). One run on a busy one (2026-11-30, Linux 6.18, one repeat, nothing fitted), within 20 %, and pairs
of schedulers that differ by more than 10 % in the right direction:

| class | bandwidth | mean sync | pairs |
|---|---|---|---|
| ext4, jobs with syncs | 28 of 28 | 15 of 16 | 21 of 21 |
| ext4, without | 36 of 40 | – | 24 of 28 |
| xfs, jobs with syncs | 27 of 28 | 16 of 16 | 15 of 15 |
| xfs, without | 38 of 40 | – | 24 of 26 |

The path from the kernel to the disk takes time of its own. It is added to every predicted command, and fitted on job 01
alone. Each set also says which process runs first on its host after a completion ([host.md](host.md)): the owner of the
completed request before a sleeper that it woke (traced: `live` 107 of 496, `guest` 397 of 402; otherwise 60 of 100 is
assumed), and the kernel's worker before any process (see below; `guest`, traced, 9 of 126). Predictions are means over
nine seeds, measurements over up to three repeats.

*Verdict right*: the scheduler predicted to have the highest geometric mean of its processes' bandwidths is, as
measured, at most 5 % worse than the best. *Pairs*: schedulers that in reality differ by more than 10 % for a process,
predicted in the right direction. Rows of a disk whose model has changed since the recording are not predicted again,
and are shown here as they last were.

**BFQ differs from run to run**, in predictions as on real kernels. Nine more runs of `live` jobs on each side, not part
of the table:

| job, disk | ratio of | real, nine runs | predicted, nine seeds |
|---|---|---|---|
| 04, fixed | w1 : w2 | 0.45 to 0.60 (3), 1.81 to 2.26 (6) | 0.47 to 0.55 (4), 1.74 to 2.16 (5) |
| 04, sata-2009 | w1 : w2 | 0.32 to 2.47 | 0.36 to 3.35 |
| 09, sata-2009 | 300 : 100 | 1.35 to 1.60 (8), 2.91 (1) | 1.52 to 1.58 (4), 2.85 to 2.88 (5) |
| 09, fixed | 300 : 100 | 0.94 to 0.96 (7), 1.46 to 1.49 (2) | 0.95 (4), 3.57 (5) |

**A race decides what a stream gets beside another.** In 02 under BFQ, reader and writer share a queue, and a read is
dispatched only if no write is queued between the dispatched one and the next; mq-deadline's batch of writes continues
as long as there is a next one. So it depends on which runs first after a completion: the kernel's worker, which asks
the scheduler, or the writer, which submits again:

| 02 on the fixed disk, fio's priority | worker first | reader under bfq, KiB/s | predicted |
|---|---|--:|--:|
| ordinary | traced: 1143 of 1504 | 721, 741 | 773 |
| real-time | traced: 45 of 2178 | 81 to 106 (five runs) | 117 |
| `live`, real-time, not traced when it was recorded | 25 of 100, FIT on mq-deadline's reader | 537 to 667 | 559 |

`fixed-10ms-4tags`, with fio at ordinary priority, has 90 of 100, which is also FIT on one cell (02 under BFQ).

**A guest's disk may be an export of our server** (`--guest --served`). With NBD, QEMU 7.2 reports nothing to the guest
until all of its outstanding commands are done: in a trace, four of our replies, 20 ms apart, became one interrupt after
80 ms. Slots then pass from process to process as on no other disk (04 under none: the reader had 1 to 101 I/Os in 8 s,
in 14 runs). So vhost-user is used, where each completion has its own interrupt, and the export is as good as the
model's file: of its 76 cells, one run each, 65 were predicted within 20 %, and 8 of 8 verdicts were right.

**6.1's limits on tags** apply to each word of the tag map, and a map that `nr_requests` shrinks keeps its word size. So
13 under BFQ in the guest depends on how many tags virtio had before they were reduced: 256, and so one word of 64
(`driver_tags` in its settings). A map made for 64 tags would have four words, and the stream would get half as much.

| setting | added to each command | within 20 % | above 20 KiB/s | median / p90 error | verdict right | pairs |
|---|--:|--:|--:|--:|--:|--:|
";

#[test]
fn recorded_cells_are_predicted_within_their_tolerances() {
    let (mut page, mut tables, mut missed) = (INTRODUCTION.to_owned(), String::new(), BTreeMap::new());
    let (mut skipped, mut so_far) = (Vec::new(), so_far::HEAD.to_owned());
    let recorded: Vec<Recorded> = SETS.into_iter().map(Recorded::load).collect();
    let settings = recorded.iter().flat_map(|own| own.set.settings.iter().map(move |setting| (own, setting)));
    for (own, setting) in settings {
        let (name, now) = (own.name(setting), setting.model_now().expect("a disk"));
        if setting.model != now {
            println!("skipped: {name}: its disk model is {now} now; record it anew");
            skipped.push(name);
            continue;
        }
        let (chain, cells) = own.cells(setting);
        let judged = judge(&cells);
        summary(&mut page, (&name, chain), &judged);
        so_far += &lines(own, setting, &cells);
        table(&mut tables, &name, &cells);
        for (job, ours, real, regret) in judged.verdicts.iter().filter(|verdict| verdict.3 > 0.05) {
            let (setting, job) = job.rsplit_once(' ').expect("a disk and a job");
            missed.insert(format!("{setting}\t{job}\t*\t*\t*\tverdict"), format!("{ours}, not {real}: {regret:.2}"));
        }
        for miss in judged.misses {
            missed.insert(
                format!("{}\t{}", miss.place.join("\t"), miss.figure),
                format!("{:.2} of the real", miss.ratio),
            );
        }
    }
    page += &tables;
    let known = known();
    if std::env::var_os("BLESS").is_some() {
        let reason = |what: &String| known.get(what).map_or(UNKNOWN, String::as_str);
        let lines: String = missed.keys().map(|what| format!("{what}\t{}\n", reason(what))).collect();
        let head = "# setting\tjob\tscheduler\tprocess\tdirection\tfigure\twhy\n";
        std::fs::write(root().join(MISSES), head.to_owned() + &lines).expect("written");
        std::fs::write(root().join(PAGE), page).expect("written");
        std::fs::write(root().join(SO_FAR), so_far).expect("written");
        return;
    }
    let new: Vec<_> = missed.iter().filter(|(what, _)| !known.contains_key(*what)).collect();
    let of_skipped = |what: &str| skipped.iter().any(|name| what.starts_with(&format!("{name}\t")));
    let gone: Vec<_> = known.keys().filter(|what| !missed.contains_key(*what) && !of_skipped(what)).collect();
    assert!(new.is_empty() && gone.is_empty(), "outside and not listed: {new:#?}\nlisted and not outside: {gone:#?}");
    if skipped.is_empty() {
        assert_eq!(text(PAGE), page, "{PAGE} is stale: run with BLESS=1");
        assert_eq!(text(SO_FAR), so_far, "{SO_FAR} is stale: run with BLESS=1");
    }
}
