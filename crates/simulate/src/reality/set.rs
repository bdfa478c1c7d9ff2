//! A recorded set: which disks with how many tags, on which kernel, and what was switched for which job.
//!
//! `settings.toml` says it. Its reader is handed the files that it names.

use std::collections::BTreeMap;
use std::sync::Arc;

use blksched::Span;
use blksched_disks::DiskSpec;
use blksched_workloads::Plan;
use blksched_workloads::fio::JobFile;
use toml::{Table, Value};

use super::predict::{Bench, probe};
use super::row::Row;
use crate::cpu::{CpuPreset, HostCpus};
use crate::trial::{Starts, Surroundings};
use crate::world::RaceOdds;

/// What was recorded, and with what the simulator repeats it.
#[derive(Clone, Debug)]
pub struct Set {
    /// As `6.18`.
    pub kernel: String,
    /// Of the queue.
    pub max_sectors_kb: u32,
    /// With a scheduler; with `none` the number of tags.
    pub nr_requests: u32,
    /// As many tags as the disk's driver has, which `nr_requests` under `none` cut; 0: no more than are used.
    pub driver_tags: u32,
    /// The host's processors, at what I/O usually costs them; 0: they cost nothing.
    pub cpus: u32,
    /// Who ran first when a completion let several run, as far as it was traced.
    pub odds: RaceOdds,
    /// Whether processes began in the order of the job file or as they came.
    pub starts: Starts,
    /// The job of one synchronous reader, on which the latency of the way to the disk is fitted.
    pub calibrates: String,
    /// Where the job files lie, from the set's folder.
    pub jobs: String,
    /// Only those whose names begin so; empty: all.
    pub only: Vec<String>,
    /// The disks.
    pub settings: Vec<Setting>,
    /// What was switched, by job.
    pub switched: BTreeMap<String, Switched>,
}

/// One disk with its number of tags.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Its name in the table.
    pub name: String,
    /// The disk's file and text.
    pub disk: (String, String),
    /// Its requests at a time.
    pub tags: u32,
    /// What [`probe`] said of the model when it was recorded; empty: never.
    pub model: String,
    /// Jobs that say nothing on this disk.
    pub without: Vec<String>,
}

/// What a job had that others have not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Switched {
    /// `wbt_lat_usec`; 0: off.
    pub wbt_lat_usec: Option<u32>,
    /// Scheduler, knob and raw value.
    pub knobs: Vec<(String, String, i64)>,
}

/// Predictions are means over this many seeds: BFQ's runs fall into modes, and fewer say little of how often each is.
const SEEDS: u64 = 9;

const HEAD: [&str; 12] = [
    "kernel",
    "cpus",
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

impl Set {
    /// Reads `settings.toml`; `file` has the text of what it names.
    ///
    /// # Errors
    /// What is missing or of the wrong kind, by its key.
    pub fn parse(text: &str, file: impl Fn(&str) -> Result<String, String>) -> Result<Set, String> {
        let table: Table = text.parse().map_err(|error| format!("settings.toml: {error}"))?;
        let own = table.iter().filter(|(name, _)| !HEAD.contains(&name.as_str()));
        let settings = own.map(|(name, value)| setting(name, value, &file)).collect::<Result<_, String>>()?;
        let switched = table.get("switched").and_then(Value::as_table).into_iter().flatten();
        Ok(Set {
            kernel: word(&table, "kernel")?,
            max_sectors_kb: number(&table, "max_sectors_kb")?,
            nr_requests: number(&table, "nr_requests")?,
            driver_tags: number_or(&table, "driver_tags", 0)?,
            odds: odds(&table)?,
            starts: starts(&table)?,
            cpus: number_or(&table, "cpus", 0)?,
            calibrates: word(&table, "calibrates")?,
            jobs: word(&table, "jobs")?,
            only: words(&table, "only"),
            settings,
            switched: switched
                .map(|(job, own)| Ok((job.clone(), one_switched(job, own)?)))
                .collect::<Result<_, String>>()?,
        })
    }

    /// What a setting's jobs are simulated on, where the way to the disk adds `chain_us`.
    ///
    /// # Errors
    /// If the disk's file is wrong.
    pub fn bench(&self, setting: &Setting, chain_us: f64) -> Result<Bench, String> {
        let costs = || CpuPreset::usual().costs;
        let cpus = (self.cpus > 0).then(|| HostCpus { cpus: self.cpus, costs: costs() });
        let (max_sectors, odds, starts) = (Some(2 * self.max_sectors_kb), self.odds, self.starts);
        let driver_tags = (self.driver_tags > 0).then_some(self.driver_tags);
        Ok(Bench {
            disk: setting.spec(chain_us)?,
            around: Surroundings { max_sectors, driver_tags, cpus, odds, starts, ..Surroundings::default() },
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
        let mut rows = Vec::new();
        for scheduler in schedulers {
            let wbt_latency = switched.wbt_lat_usec.map(|us| Span::from_us(us.into()));
            let own = switched.knobs.iter().filter(|knob| knob.0 == scheduler);
            let bench = Bench {
                around: Surroundings { wbt_latency, ..bench.around },
                knobs: own.map(|(_, knob, raw)| (knob.clone(), *raw)).collect(),
                ..bench.clone()
            };
            rows.extend(bench.predict(&plan, (job, scheduler))?);
        }
        Ok(rows)
    }

    /// What must be added to each command for the one synchronous reader to be as slow as it really was \[us\].
    ///
    /// # Errors
    /// As [`Set::predict`].
    pub fn fitted(&self, setting: &Setting, text: &str, measured: &[Row]) -> Result<f64, String> {
        let own = measured.iter().filter(|row| row.setting == setting.name && row.job == self.calibrates);
        let Some(real) = time_of_each(own) else { return Ok(0.0) };
        let each = |us: f64| {
            let bench = self.bench(setting, us)?;
            let rows = self.predict(&bench, (&self.calibrates, text), ["none"])?;
            time_of_each(rows.iter()).ok_or_else(|| format!("{} did nothing", self.calibrates))
        };
        // Of a disk that turns, an added wait may cost a whole turn less or more: two steps of a secant.
        let first = (real - each(0.0)?).max(0.0);
        Ok((first + real - each(first)?).max(0.0))
    }
}

/// The mean time of one I/O after another \[us\].
fn time_of_each<'a>(rows: impl Iterator<Item = &'a Row>) -> Option<f64> {
    let times: Vec<f64> = rows.map(|row| 4096e6 / row.bandwidth).collect();
    (!times.is_empty()).then(|| times.iter().sum::<f64>() / times.len() as f64)
}

fn plan(bench: &Bench, (job, text): (&str, &str)) -> Result<Arc<Plan>, String> {
    let file = JobFile::parse(text, job).map_err(|errors| errors.to_string())?;
    let plan = file.plan(bench.disk.build(0).facts().sectors).map_err(|errors| errors.to_string())?;
    Ok(Arc::new(plan))
}

impl Setting {
    /// The disk, with a wait around it.
    ///
    /// # Errors
    /// If its file is wrong.
    pub fn spec(&self, chain_us: f64) -> Result<Arc<DiskSpec>, String> {
        let (file, text) = &self.disk;
        let delay = format!("\n[delay]\ntime = \"{}us\"\n", chain_us.round());
        let text = text.clone() + if chain_us > 0.5 { &delay } else { "" };
        blksched_disks::parse(file, &text).map(Arc::new).map_err(|error| error.to_string())
    }

    /// What the model does now, as [`Setting::model`] says what it did.
    ///
    /// # Errors
    /// As [`Setting::spec`].
    pub fn model_now(&self) -> Result<String, String> {
        Ok(probe(&*self.spec(0.0)?).to_string())
    }
}

fn setting(name: &str, value: &Value, file: &impl Fn(&str) -> Result<String, String>) -> Result<Setting, String> {
    let own =
        value.as_table().ok_or_else(|| format!("settings.toml: `{name}`: expected {} or a disk", HEAD.join(", ")))?;
    let disk = word(own, "disk")?;
    let text = file(&disk)?;
    let without = words(own, "without");
    let model = own.get("model").and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok(Setting { name: name.to_owned(), disk: (disk, text), tags: number(own, "tags")?, model, without })
}

fn one_switched(job: &str, value: &Value) -> Result<Switched, String> {
    let wrong =
        |key: &str| format!("settings.toml: switched.{job}.{key}: expected wbt_lat_usec or a scheduler's knobs");
    let mut switched = Switched::default();
    for (key, value) in value.as_table().ok_or_else(|| wrong(""))? {
        match value {
            Value::Integer(us) if key == "wbt_lat_usec" => switched.wbt_lat_usec = u32::try_from(*us).ok(),
            Value::Table(knobs) => {
                for (knob, raw) in knobs {
                    let raw = raw.as_integer().ok_or_else(|| wrong(key))?;
                    switched.knobs.push((key.clone(), knob.clone(), raw));
                }
            }
            _ => return Err(wrong(key)),
        }
    }
    Ok(switched)
}

fn word(table: &Table, key: &str) -> Result<String, String> {
    let found = table.get(key).and_then(Value::as_str).map(str::to_owned);
    found.ok_or_else(|| format!("settings.toml: `{key}` is missing or no text"))
}

fn words(table: &Table, key: &str) -> Vec<String> {
    let found = table.get(key).and_then(Value::as_array).into_iter().flatten();
    found.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn number(table: &Table, key: &str) -> Result<u32, String> {
    let found = table.get(key).and_then(Value::as_integer).and_then(|number| u32::try_from(number).ok());
    found.ok_or_else(|| format!("settings.toml: `{key}` is missing or no number"))
}

fn number_or(table: &Table, key: &str, usual: u32) -> Result<u32, String> {
    if table.contains_key(key) { number(table, key) } else { Ok(usual) }
}

fn starts(table: &Table) -> Result<Starts, String> {
    match table.get("starts").map(|value| value.as_str().unwrap_or_default()) {
        // fio lets its processes begin together.
        None | Some("as-said") => Ok(Starts::AsSaid),
        Some("drawn") => Ok(Starts::Drawn(0)),
        Some(_) => Err("settings.toml: `starts`: expected \"drawn\" or \"as-said\"".to_owned()),
    }
}

fn odds(table: &Table) -> Result<RaceOdds, String> {
    let RaceOdds { owner_first, worker_first } = RaceOdds::default();
    let of = |key, usual| match number_or(table, key, usual)? {
        part @ 0..=100 => Ok(part),
        more => Err(format!("settings.toml: `{key}` is {more}: expected a part of 100")),
    };
    Ok(RaceOdds { owner_first: of("owner_first", owner_first)?, worker_first: of("worker_first", worker_first)? })
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
        assert_eq!(set.switched["two"], Switched { wbt_lat_usec: Some(0), knobs });
        let row = Row { setting: "slow".into(), job: "one".into(), bandwidth: 4096.0 / 0.0107, ..Row::default() };
        let job = "[r]\nfilename=/dev/sda\ndirect=1\nrw=randread\nsize=64m\ntime_based\nruntime=2\n";
        let chain = set.fitted(&set.settings[0], job, &[row]).unwrap();
        assert!((650.0..=750.0).contains(&chain), "{chain}");
    }

    #[test]
    fn what_is_wrong_is_named() {
        let wrong = |text: &str| Set::parse(text, |_| Ok(DISK.to_owned())).unwrap_err();
        assert!(wrong("kernel = 6").contains("`kernel`"));
        assert!(wrong(&format!("starts = \"soon\"\n{SET}")).contains("`starts`"));
        assert!(wrong(&format!("worker_first = 101\n{SET}")).contains("`worker_first` is 101"));
        assert!(wrong(&SET.replace("tags", "tag")).contains("`tags`"));
        assert!(wrong(&SET.replace("wbt_lat", "wbt")).contains("switched.two.wbt_usec"));
        assert!(wrong(&format!("nr = 1\n{SET}")).contains("`nr`"));
    }
}
