//! A recorded set: its disks with their tags, its kernel, and the settings changed for each job.
//!
//! `settings.toml` contains this. Its reader is given the files that it names.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use blksched::Span;
use blksched_disks::DiskSpec;
use blksched_text::document::{Complaint, Section, Source, TextRange};
use blksched_workloads::Plan;
use blksched_workloads::fio::JobFile;
use blksched_workloads::host::HostKnobs;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::predict::{Bench, probe};
use super::row::Row;
use crate::cpu::{CpuPreset, HostCpus};
use crate::surroundings::{Starts, Surroundings};
use crate::world::RaceOdds;

/// A recorded set, and the settings with which the simulator repeats it.
#[derive(Clone, Debug)]
pub struct Set {
    /// The kernel, as `6.18`.
    pub kernel: String,
    /// The queue's.
    pub max_sectors_kb: u32,
    /// The value with a scheduler; with `none`, the number of tags.
    pub nr_requests: u32,
    /// How many tags the disk's driver has, which `nr_requests` cuts under `none`; 0 for no more than are used.
    pub driver_tags: u32,
    /// The host's processors, with the usual costs of I/O; 0 for free I/O.
    pub cpus: u32,
    /// The host's memory.
    pub host: HostKnobs,
    /// Whether processes began in the order of the job file or as they came.
    pub starts: Starts,
    /// The job of one synchronous reader, to which the latency of the way to the disk is fitted.
    pub calibrates: String,
    /// The directory of the job files, from the set's directory.
    pub jobs: String,
    /// Only job files whose names begin with one of these; all if empty.
    pub only: Vec<String>,
    /// The disks.
    pub settings: Vec<RealitySetting>,
    /// Changed settings, by job.
    pub switched: BTreeMap<String, Switched>,
}

/// One disk with its number of tags.
#[derive(Clone, Debug)]
pub struct RealitySetting {
    /// Its name in the table.
    pub name: String,
    /// The disk's file and text.
    pub disk: (String, String),
    /// The number of concurrent requests.
    pub tags: u32,
    /// [`probe`]'s result for the model when the set was recorded; empty if unknown.
    pub model: String,
    /// Jobs that say nothing about this disk.
    pub without: Vec<String>,
    /// Which task ran first when a completion woke several, as far as it was traced: the set's odds, or this disk's own
    /// if its rows were recorded on another host or under another load.
    pub odds: RaceOdds,
}

/// Settings that one job had and others did not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Switched {
    /// `wbt_lat_usec`; 0 for off.
    pub wbt_lat_usec: Option<u32>,
    /// The host's memory, if it was not the set's.
    pub host: Option<HostKnobs>,
    /// Scheduler, knob and raw value.
    pub knobs: Vec<(String, String, i64)>,
}

/// Predictions are means over this many seeds: BFQ's runs fall into modes, and with fewer seeds their frequencies are
/// uncertain.
const SEEDS: u64 = 9;

const HEAD: [&str; 13] = [
    "kernel",
    "cpus",
    "host",
    "owner_first",
    "worker_first",
    "starts",
    "max_sectors_kb",
    "nr_requests",
    "driver_tags",
    "calibrates",
    "jobs",
    "only",
    "switched",
];

/// Keys of a disk's table.
const OF_A_DISK: [&str; 6] = ["disk", "tags", "model", "without", "owner_first", "worker_first"];

impl Set {
    /// Reads `settings.toml`; `file` returns the text of what it names.
    ///
    /// # Errors
    /// What is missing, unknown or of the wrong kind, with its line and column.
    pub fn parse(text: &str, file: impl Fn(&str) -> Result<String, String>) -> Result<Set, String> {
        let source = Source { file: "settings.toml", text };
        let read = source.parse().and_then(|table| read(source, table.get_ref(), table.span(), &file));
        read.map_err(|complaint| complaint.to_string())
    }

    /// What a setting's jobs are simulated on, if the way to the disk adds `chain_us`.
    ///
    /// # Errors
    /// If the disk's file is wrong.
    pub fn bench(&self, setting: &RealitySetting, chain_us: f64) -> Result<Bench, String> {
        let costs = || CpuPreset::usual().costs;
        let cpus = (self.cpus > 0).then(|| HostCpus { cpus: self.cpus, costs: costs() });
        let (max_sectors, odds, starts) = (Some(2 * self.max_sectors_kb), setting.odds, self.starts);
        let driver_tags = (self.driver_tags > 0).then_some(self.driver_tags);
        Ok(Bench {
            disk: setting.spec(chain_us)?,
            around: Surroundings {
                max_sectors,
                driver_tags,
                cpus,
                odds,
                starts,
                host: self.host,
                ..Surroundings::default()
            },
            nr_requests: Some(self.nr_requests),
            tags: Some(setting.tags),
            knobs: Vec::new(),
            kernel: self.kernel.clone(),
            seeds: SEEDS,
            limit: Span::from_secs(12),
        })
    }

    /// A job's rows under these schedulers.
    ///
    /// # Errors
    /// If the job file is wrong, or a scheduler is not known.
    pub fn predict<'a>(
        &self,
        bench: &Bench,
        (job, text): (&str, &str),
        schedulers: impl IntoIterator<Item = &'a str>,
    ) -> Result<Vec<Row>, String> {
        let plan = plan(bench, (job, text))?;
        let switched = self.switched.get(job).cloned().unwrap_or_default();
        let host = switched.host.unwrap_or(bench.around.host);
        let mut rows = Vec::new();
        for scheduler in schedulers {
            let wbt_latency = switched.wbt_lat_usec.map(|us| Span::from_us(us.into()));
            let own = switched.knobs.iter().filter(|knob| knob.0 == scheduler);
            let bench = Bench {
                around: Surroundings { wbt_latency, host, ..bench.around },
                knobs: own.map(|(_, knob, raw)| (knob.clone(), *raw)).collect(),
                ..bench.clone()
            };
            rows.extend(bench.predict(&plan, (job, scheduler))?);
        }
        Ok(rows)
    }

    /// The time to add to each command so that the one synchronous reader is as slow as it really was \[us\].
    ///
    /// # Errors
    /// As [`Set::predict`].
    pub fn fitted(&self, setting: &RealitySetting, text: &str, measured: &[Row]) -> Result<f64, String> {
        let own = measured.iter().filter(|row| row.setting == setting.name && row.job == self.calibrates);
        let Some(real) = time_of_each(own) else { return Ok(0.0) };
        let each = |us: f64| {
            let bench = self.bench(setting, us)?;
            let rows = self.predict(&bench, (&self.calibrates, text), ["none"])?;
            time_of_each(rows.iter()).ok_or_else(|| format!("{} did nothing", self.calibrates))
        };
        // On a spinning disk, an added delay may cost a whole revolution less or more: two steps of the secant method.
        let first = (real - each(0.0)?).max(0.0);
        Ok((first + real - each(first)?).max(0.0))
    }
}

/// The mean time from one I/O to the next \[us\].
fn time_of_each<'a>(rows: impl Iterator<Item = &'a Row>) -> Option<f64> {
    let times: Vec<f64> = rows.map(|row| 4096e6 / row.bandwidth).collect();
    (!times.is_empty()).then(|| times.iter().sum::<f64>() / times.len() as f64)
}

fn plan(bench: &Bench, (job, text): (&str, &str)) -> Result<Arc<Plan>, String> {
    let file = JobFile::parse(text, job).map_err(|errors| errors.to_string())?;
    let plan = file.plan(bench.disk.build(0).facts().sectors).map_err(|errors| errors.to_string())?;
    Ok(Arc::new(plan))
}

impl RealitySetting {
    /// The disk, with a delay around it.
    ///
    /// # Errors
    /// If its file is wrong.
    pub fn spec(&self, chain_us: f64) -> Result<Arc<DiskSpec>, String> {
        let (file, text) = &self.disk;
        let delay = format!("\n[delay]\ntime = \"{}us\"\n", chain_us.round());
        let text = text.clone() + if chain_us > 0.5 { &delay } else { "" };
        blksched_disks::parse(file, &text).map(Arc::new).map_err(|error| error.to_string())
    }

    /// The present model's result, to be compared with [`RealitySetting::model`].
    ///
    /// # Errors
    /// As [`RealitySetting::spec`].
    pub fn model_now(&self) -> Result<String, String> {
        Ok(probe(&*self.spec(0.0)?).to_string())
    }
}

fn read<'t>(
    source: Source<'t>,
    table: &'t DeTable<'t>,
    at: TextRange,
    file: &impl Fn(&str) -> Result<String, String>,
) -> Result<Set, Complaint> {
    let head = Section::unjudged(source, "", table, at);
    let own = table.iter().filter(|(name, _)| !HEAD.contains(&name.get_ref().as_ref()));
    let odds = odds_or(&head, RaceOdds::default())?;
    let disks = own.map(|(name, value)| setting(source, (name, value), odds, file));
    let settings = disks.collect::<Result<_, Complaint>>()?;
    Ok(Set {
        kernel: head.needs_text("kernel")?.value,
        max_sectors_kb: head.count_within("max_sectors_kb", 0..=u32::MAX)?,
        nr_requests: head.count_within("nr_requests", 0..=u32::MAX)?,
        driver_tags: count_or(&head, "driver_tags", 0, u32::MAX)?,
        // fio starts its processes together.
        starts: head.word_or("starts", &Starts::WORDS)?,
        cpus: count_or(&head, "cpus", 0, u32::MAX)?,
        host: match head.text("host")? {
            Some(said) => HostKnobs::parse(&said.value).map_err(|error| head.complain(&said.at, error.to_string()))?,
            None => HostKnobs::default(),
        },
        calibrates: head.needs_text("calibrates")?.value,
        jobs: head.needs_text("jobs")?.value,
        only: words(&head, "only")?,
        settings,
        switched: switched(&head)?,
    })
}

fn setting<'t>(
    source: Source<'t>,
    (name, value): (&Spanned<Cow<'t, str>>, &'t Spanned<DeValue<'t>>),
    odds: RaceOdds,
    file: &impl Fn(&str) -> Result<String, String>,
) -> Result<RealitySetting, Complaint> {
    let word: &str = name.get_ref();
    let DeValue::Table(table) = value.get_ref() else {
        return Err(source.unknown(&name.span(), &format!("`{word}` is neither a disk's table nor a key"), word, HEAD));
    };
    let own = Section::open(source, "DISK", table, value.span(), &OF_A_DISK)?;
    let disk = own.needs_text("disk")?;
    let text = file(&disk.value).map_err(|error| source.complain(&disk.at, error))?;
    let model = own.text("model")?.map_or_else(String::new, |model| model.value);
    let tags = own.count_within("tags", 0..=u32::MAX)?;
    let without = words(&own, "without")?;
    let odds = odds_or(&own, odds)?;
    Ok(RealitySetting { name: word.to_owned(), disk: (disk.value, text), tags, model, without, odds })
}

fn odds_or(section: &Section<'_>, usual: RaceOdds) -> Result<RaceOdds, Complaint> {
    Ok(RaceOdds {
        owner_first: count_or(section, "owner_first", usual.owner_first, 100)?,
        worker_first: count_or(section, "worker_first", usual.worker_first, 100)?,
    })
}

fn switched(head: &Section<'_>) -> Result<BTreeMap<String, Switched>, Complaint> {
    let mut found: BTreeMap<String, Switched> = BTreeMap::new();
    for (address, values) in head.leaves_below("switched")? {
        let wrong = || {
            let problem = format!("switched.{}: expected wbt_lat_usec, host or a scheduler's knobs", address.value);
            head.complain(&address.at, problem)
        };
        let parts: Vec<&str> = address.value.split('.').collect();
        let (Some((&job, what)), [value]) = (parts.split_first(), &values[..]) else { return Err(wrong()) };
        let own = found.entry(job.to_owned()).or_default();
        match *what {
            ["host"] => {
                let host = HostKnobs::parse(&value.value);
                own.host = Some(host.map_err(|error| head.complain(&value.at, error.to_string()))?);
            }
            ["wbt_lat_usec"] => own.wbt_lat_usec = Some(value.value.parse().map_err(|_| wrong())?),
            [scheduler, knob] => {
                let raw = value.value.parse().map_err(|_| wrong())?;
                own.knobs.push((scheduler.to_owned(), knob.to_owned(), raw));
            }
            _ => return Err(wrong()),
        }
    }
    Ok(found)
}

fn words(section: &Section<'_>, key: &str) -> Result<Vec<String>, Complaint> {
    Ok(section.texts(key)?.into_iter().map(|word| word.value).collect())
}

fn count_or(section: &Section<'_>, key: &str, usual: u32, most: u32) -> Result<u32, Complaint> {
    if section.has(key) { section.count_within(key, 0..=most) } else { Ok(usual) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISK: &str = "kind = \"fixed\"\ndescription = \"d\"\ncapacity = \"1GiB\"\nmax_command = \"1MiB\"\ndepth = 8\n\
                        channels = 1\nservice = \"10ms\"\n";
    const SET: &str = "kernel = \"6.18\"\nmax_sectors_kb = 8\nnr_requests = 64\ncalibrates = \"one\"\njobs = \"jobs\"\n\
                       [slow]\ndisk = \"d.toml\"\ntags = 4\n[switched.two]\nwbt_lat_usec = 0\nbfq.low_latency = 0\n";

    #[test]
    fn a_set_says_what_was_switched_and_the_chain_is_what_one_reader_lacks() {
        let set = Set::parse(SET, |_| Ok(DISK.to_owned())).unwrap();
        let knobs = vec![("bfq".to_owned(), "low_latency".to_owned(), 0)];
        assert_eq!(set.switched["two"], Switched { wbt_lat_usec: Some(0), host: None, knobs });
        let row = Row { setting: "slow".into(), job: "one".into(), bandwidth: 4096.0 / 0.0107, ..Row::default() };
        let job = "[r]\nfilename=/dev/sda\ndirect=1\nrw=randread\nsize=64m\ntime_based\nruntime=2\n";
        let chain = set.fitted(&set.settings[0], job, &[row]).unwrap();
        assert!((650.0..=750.0).contains(&chain), "{chain}");
    }

    #[test]
    fn a_job_may_have_had_other_limits_of_dirty_memory() {
        let text = format!("host = \"memory=2g\"\n{SET}host = \"memory=2g,max_bytes=32m\"\n");
        let set = Set::parse(&text, |_| Ok(DISK.to_owned())).unwrap();
        assert_eq!((set.host.memory, set.host.max_bytes), (2 << 30, 0));
        assert_eq!(set.switched["two"].host.map(|host| host.max_bytes), Some(32 << 20));
    }

    #[test]
    fn a_disk_that_was_recorded_elsewhere_has_odds_of_its_own() {
        let text = format!("owner_first = 22\nworker_first = 25\n{SET}");
        let odds = |text: &str| Set::parse(text, |_| Ok(DISK.to_owned())).unwrap().settings[0].odds;
        assert_eq!(odds(&text), RaceOdds { owner_first: 22, worker_first: 25 });
        let own = text.replace("tags = 4", "tags = 4\nowner_first = 30");
        assert_eq!(odds(&own), RaceOdds { owner_first: 30, worker_first: 25 });
        assert_eq!(odds(SET), RaceOdds::default());
    }

    #[test]
    fn what_is_wrong_is_named() {
        let wrong = |text: &str| Set::parse(text, |_| Ok(DISK.to_owned())).unwrap_err();
        assert!(wrong("kernel = 6").contains("`kernel`"));
        assert!(wrong(&format!("starts = \"soon\"\n{SET}")).contains("`starts`"));
        assert!(
            wrong(&format!("worker_first = 101\n{SET}"))
                .contains("settings.toml:1:16: 101 is not a value for `worker_first`")
        );
        assert!(wrong(&SET.replace("tags = 4", "tags = 4\nowner_first = 101")).contains("for `owner_first`"));
        assert!(wrong(&SET.replace("tags", "tag")).contains("`tags`"));
        assert!(wrong(&format!("host = \"memry=1g\"\n{SET}")).contains("did you mean `memory`?"));
        assert!(wrong(&SET.replace("wbt_lat", "wbt")).contains("switched.two.wbt_usec"));
        assert!(wrong(&format!("nr = 1\n{SET}")).contains("`nr`"));
    }
}
