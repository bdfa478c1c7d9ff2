//! fio's JSON result, read: the job options that fio repeats in it, and what it measured.
//!
//! Keys are those of fio 3 (recordings of 3.33, its manual for others); fio 2 had latencies in microseconds, under keys
//! without `_ns`, and rates in KiB only. With `--status-interval` fio prints one document after the other: the last
//! counts.

use serde_json::{Map, Value};

use crate::record::Work;

/// A result of fio.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FioResult {
    /// As it calls itself: `fio-3.33`.
    pub version: Option<String>,
    /// Options of `[global]`, as written; an option without a value has an empty one.
    pub global: Vec<(String, String)>,
    /// In the order of the output.
    pub rows: Vec<FioRow>,
}

/// What fio reports together: a job with `group_reporting`, otherwise each of its processes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FioRow {
    /// The job's name.
    pub job: String,
    /// fio's reporting group: jobs of one group ran at the same time.
    pub group: u64,
    /// The options of its own section, as written.
    pub options: Vec<(String, String)>,
    /// The error that ended it; 0 is none.
    pub error: i64,
    /// Reads, writes, trims, syncs.
    sides: [FioSide; 4],
}

/// What was done in a direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FioSide {
    /// How many I/Os.
    pub ios: u64,
    /// I/Os per second.
    pub iops: f64,
    /// Bytes per second.
    pub bandwidth: f64,
    /// From submission to completion, as `lat` reports it: its mean \[ns\].
    pub lat: Option<f64>,
    /// Completion latency: its mean \[ns\].
    pub clat: Option<f64>,
    /// Its percentiles: per cent, and latency \[ns\].
    pub percentiles: Vec<(f64, f64)>,
}

impl FioRow {
    /// What it did of this kind. Of syncs fio reports only how many there were and how long they took, which counts as
    /// their completion latency too.
    pub fn side(&self, work: Work) -> Option<&FioSide> {
        self.sides.get(work as usize).filter(|side| side.ios > 0 || side.iops > 0.0)
    }
}

impl FioSide {
    /// A percentile of the completion latency \[ns\], if it was asked for.
    pub fn percentile(&self, percent: f64) -> Option<f64> {
        self.percentiles.iter().find(|(of, _)| (of - percent).abs() < 1e-4).map(|(_, latency)| *latency)
    }
}

impl FioResult {
    /// Reads fio's output; `name` is for messages. fio's warnings may stand before it.
    ///
    /// # Errors
    /// If it is not JSON, with line and column, or has no `jobs`.
    pub fn read(name: &str, text: &str) -> Result<FioResult, String> {
        let begin = text.find('{').unwrap_or_default();
        let before = text[..begin].matches('\n').count();
        let mut last = None;
        let mut documents = serde_json::Deserializer::from_str(&text[begin..]).into_iter::<Value>();
        let mut read = 0;
        while let Some(value) = documents.next() {
            match value {
                Ok(value) => (last, read) = (Some(value), documents.byte_offset()),
                // fio may say something after it; a document that is cut off is no word of fio's.
                Err(_) if last.is_some() && !text[begin + read..].trim_start().starts_with('{') => break,
                Err(error) => {
                    return Err(format!("{name}:{}:{}: {error}", error.line() + before, error.column()));
                }
            }
        }
        let value = last.unwrap_or_default();
        let rows = value["jobs"].as_array().ok_or_else(|| format!("{name}: no `jobs`: expected the JSON of fio"))?;
        Ok(FioResult {
            version: value["fio version"].as_str().map(str::to_owned),
            global: options(&value["global options"]),
            rows: rows.iter().map(row).collect(),
        })
    }

    /// An option of a job, or of all.
    pub fn option<'a>(&'a self, row: &'a FioRow, option: &str) -> Option<&'a str> {
        let of = |options: &'a [(String, String)]| options.iter().find(|(name, _)| name == option).map(|(_, v)| &**v);
        of(&row.options).or_else(|| of(&self.global))
    }
}

fn options(of: &Value) -> Vec<(String, String)> {
    let empty = Map::new();
    let of = of.as_object().unwrap_or(&empty).iter();
    of.map(|(name, value)| (name.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned))).collect()
}

fn row(value: &Value) -> FioRow {
    FioRow {
        job: value["jobname"].as_str().unwrap_or_default().to_owned(),
        group: value["groupid"].as_u64().unwrap_or_default(),
        options: options(&value["job options"]),
        error: value["error"].as_i64().unwrap_or_default(),
        sides: [side(&value["read"]), side(&value["write"]), side(&value["trim"]), syncs(&value["sync"])],
    }
}

/// Since fio 3.
fn syncs(value: &Value) -> FioSide {
    let percentiles = value["lat_ns"]["percentile"].as_object().into_iter().flatten();
    let mean = value["lat_ns"]["mean"].as_f64().filter(|mean| *mean > 0.0);
    // fio counts those of `fsync` only (3.33), but times those of `fdatasync` too.
    let counted = ["total_ios", "lat_ns"].map(|key| value[key].as_u64().or_else(|| value[key]["N"].as_u64()));
    FioSide {
        ios: counted.into_iter().flatten().max().unwrap_or_default(),
        lat: mean,
        clat: mean,
        percentiles: percentiles.filter_map(|(key, value)| Some((key.parse().ok()?, value.as_f64()?))).collect(),
        ..FioSide::default()
    }
}

fn side(value: &Value) -> FioSide {
    // Before fio 3 latencies are in microseconds.
    let latency = |key: &str| match &value[format!("{key}_ns")] {
        Value::Null => (&value[key], 1e3),
        in_ns => (in_ns, 1.0),
    };
    let mean = |key: &str| latency(key).0["mean"].as_f64().map(|mean| mean * latency(key).1).filter(|mean| *mean > 0.0);
    let (clat, scale) = latency("clat");
    let percentiles = clat["percentile"].as_object().into_iter().flatten();
    let percentile = |(key, value): (&String, &Value)| Some((key.parse().ok()?, value.as_f64()? * scale));
    let bandwidth = value["bw_bytes"].as_f64().or_else(|| value["bw"].as_f64().map(|kib| kib * 1024.0));
    FioSide {
        ios: value["total_ios"].as_u64().unwrap_or_default(),
        iops: value["iops"].as_f64().unwrap_or_default(),
        bandwidth: bandwidth.unwrap_or_default(),
        lat: mean("lat"),
        clat: mean("clat"),
        percentiles: percentiles.filter_map(percentile).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_of_fio_says_what_it_did() {
        let result = FioResult::read("x", include_str!("../../tests/data/fio-3.33.json")).unwrap();
        assert_eq!((result.version.as_deref(), result.rows.len()), (Some("fio-3.33"), 2));
        let mixed = &result.rows[0];
        assert_eq!((mixed.job.as_str(), mixed.group, mixed.error), ("mixed", 0, 0));
        assert_eq!((result.option(mixed, "rw"), result.option(mixed, "direct")), (Some("randrw"), Some("1")));
        let read = mixed.side(Work::Read).unwrap();
        assert_eq!((read.ios, read.iops, read.bandwidth), (44_991, 22_484.257871, 92_095_520.0));
        assert_eq!((read.lat, read.percentile(1.0)), (Some(166_086.673468), Some(71_168.0)));
        assert_eq!((result.rows[1].side(Work::Read), mixed.side(Work::Trim)), (None, None));
    }

    #[test]
    fn warnings_before_it_and_several_documents_are_read() {
        let one = |ios: u64| {
            let read = format!(
                r#"{{"total_ios": {ios}, "iops": 2.5, "bw_bytes": 10240, "lat_ns": {{"mean": 1600.0}},
                "clat_ns": {{"mean": 1500.0, "percentile": {{"50.000000": 1200}}}}}}"#
            );
            let options = r#""job options": {"bs": "4k", "direct": ""}"#;
            let job = format!(r#"{{"jobname": "a", "groupid": 1, {options}, "read": {read}}}"#);
            let sync =
                r#""sync": {"total_ios": 0, "lat_ns": {"N": 3, "mean": 2e6, "percentile": {"99.000000": 5000000}}}"#;
            let job = job.replace(r#", "read""#, &format!(r#", {sync}, "read""#));
            format!(r#"{{"fio version": "fio-3.33", "global options": {{"rw": "read"}}, "jobs": [{job}]}}"#) + "\n"
        };
        let result = FioResult::read("x", &format!("fio: a warning\n{}{}and so", one(7), one(9))).unwrap();
        let row = &result.rows[0];
        let read = row.side(Work::Read).unwrap();
        assert_eq!((read.ios, read.iops, read.bandwidth), (9, 2.5, 10_240.0));
        assert_eq!((read.clat, read.lat, read.percentile(50.0)), (Some(1500.0), Some(1600.0), Some(1200.0)));
        assert_eq!((row.side(Work::Write), read.percentile(99.0)), (None, None));
        let sync = row.side(Work::Sync).unwrap();
        assert_eq!((sync.ios, sync.lat, sync.percentile(99.0)), (3, Some(2e6), Some(5e6)));
        let options = ["rw", "bs", "direct", "size"].map(|option| result.option(row, option));
        assert_eq!(options, [Some("read"), Some("4k"), Some(""), None]);
    }

    #[test]
    fn fio_2_counts_in_microseconds_and_kib() {
        let text = r#"{"jobs": [{"write": {"total_ios": 1, "iops": 4, "bw": 2,
            "clat": {"mean": 3, "percentile": {"99.000000": 5}}}}]}"#;
        let result = FioResult::read("x", text).unwrap();
        let write = result.rows[0].side(Work::Write).unwrap();
        assert_eq!((write.bandwidth, write.clat, write.percentile(99.0)), (2048.0, Some(3e3), Some(5e3)));
    }

    #[test]
    fn what_is_no_result_says_where() {
        let wrong = |text: &str| FioResult::read("x.json", text).unwrap_err();
        assert!(wrong("fio: x\n{\"jobs\": [}").starts_with("x.json:2:"));
        assert!(wrong("{}").contains("no `jobs`") && wrong("").contains("no `jobs`"));
    }
}
