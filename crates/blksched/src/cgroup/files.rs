//! The `io` files of a cgroup, as they are written.
//!
//! **Rule** `KEY=VALUE` pairs after an optional `MAJ:MIN`, which is ignored: there is one disk. `io.max` and the files
//! of io.cost change only the named values. Names and forms are those of the kernel's cgroup-v2 document.
//! **In the kernel** `tg_set_limit`, `ioc_cost_model_write`, `ioc_qos_write`, `iolatency_set_limit`.

#![doc(alias = "tg_set_limit")]
#![doc(alias = "ioc_cost_model_write")]

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::RangeInclusive;

use super::blk_iocost::qos::{MILLION, Qos};
use super::blk_iocost::{CostFigures, Figures};
use super::blk_ioprio::PrioClass;
use super::blk_throttle::Limit;
use crate::group::WEIGHTS;
use crate::nearest::nearest;
use crate::request::{Dir, PerDir};
use crate::time::Span;

/// The parsed contents of a write.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum Written {
    /// `io.weight`: io.cost's.
    Weight(u32),
    /// `io.bfq.weight`: the elevator's.
    BfqWeight(u32),
    /// `io.max`.
    Max(Vec<MaxKey>),
    /// `io.latency`; `None`: no target.
    Latency(Option<Span>),
    /// `io.prio.class`.
    PrioClass(PrioClass),
    /// `io.cost.qos` of the root.
    CostQos(CostQos),
    /// `io.cost.model` of the root; `None`: the kernel's own.
    CostModel(Option<CostFigures>),
    /// The rate of io.cost's clock, of a million. No kernel has such a file: there it is what earlier settings left.
    CostRate(u64),
}

/// One key of `io.max`; `None`: `max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum MaxKey {
    /// Bytes read per second.
    Rbps(Option<u64>),
    /// Bytes written per second.
    Wbps(Option<u64>),
    /// Reads per second.
    Riops(Option<u64>),
    /// Writes per second.
    Wiops(Option<u64>),
}

impl MaxKey {
    /// Changes this key in the limits.
    pub fn change(self, limits: &mut PerDir<Limit>) {
        match self {
            MaxKey::Rbps(limit) => limits.read.bps = limit,
            MaxKey::Wbps(limit) => limits.write.bps = limit,
            MaxKey::Riops(limit) => limits.read.iops = limit,
            MaxKey::Wiops(limit) => limits.write.iops = limit,
        }
    }
}

/// `io.cost.qos`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CostQos {
    /// Whether io.cost is enabled; `None`: unchanged.
    pub enable: Option<bool>,
    /// The source of the device's targets; `None`: unchanged.
    pub ctrl: Option<Ctrl>,
}

/// The source of the device's targets.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum Ctrl {
    /// The kernel's, by the device's inferred class.
    Auto,
    /// A user's: keys that are not named stay unchanged.
    User(Vec<QosKey>),
}

/// One key of `io.cost.qos`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum QosKey {
    /// `rpct`, `wpct`, of a million.
    Percentile(Dir, u64),
    /// `rlat`, `wlat` \[us\].
    Latency(Dir, u64),
    /// `min`, of a million.
    Min(u64),
    /// `max`, of a million.
    Max(u64),
}

impl CostQos {
    /// The device's targets from now on; `None`: the kernel's own. `present` are those in force, `user` those that a
    /// user has set, if there are any.
    pub fn change(&self, present: Qos, user: Option<Qos>) -> Option<Qos> {
        match &self.ctrl {
            None => user,
            Some(Ctrl::Auto) => None,
            Some(Ctrl::User(keys)) => {
                let mut qos = present;
                for key in keys {
                    match *key {
                        QosKey::Percentile(Dir::Read, ppm) => qos.read.percentile_ppm = ppm,
                        QosKey::Percentile(Dir::Write, ppm) => qos.write.percentile_ppm = ppm,
                        QosKey::Latency(Dir::Read, us) => qos.read.latency_us = us,
                        QosKey::Latency(Dir::Write, us) => qos.write.latency_us = us,
                        QosKey::Min(ppm) => qos.min_ppm = ppm,
                        QosKey::Max(ppm) => qos.max_ppm = ppm,
                    }
                }
                if qos.min_ppm > qos.max_ppm {
                    (qos.min_ppm, qos.max_ppm) = (qos.max_ppm, qos.min_ppm);
                }
                Some(qos)
            }
        }
    }
}

/// All files.
pub const FILES: [&str; 7] =
    ["io.weight", "io.bfq.weight", "io.max", "io.latency", "io.prio.class", "io.cost.qos", "io.cost.model"];
/// Where io.cost's clock begins, as earlier settings left it: our own word, for no kernel lets it be written.
pub const COST_RATE: &str = "io.cost.vrate";

/// Why a file refused a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// The file, or the unknown name.
    pub file: String,
    /// The word that does not fit.
    pub word: String,
    /// Its column in the text, from 1.
    pub column: usize,
    /// What was expected.
    pub expected: String,
    /// The nearest that exists.
    pub nearest: Option<&'static str>,
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FileError { file, word, column, expected, nearest } = self;
        write!(f, "{file}: column {column}: `{word}`: expected {expected}")?;
        nearest.map_or(Ok(()), |nearest| write!(f, "; did you mean `{nearest}`?"))
    }
}

impl core::error::Error for FileError {}

/// A word of the text and its column.
#[derive(Clone, Copy)]
struct FileWord<'t> {
    file: &'t str,
    text: &'t str,
    column: usize,
}

impl<'t> FileWord<'t> {
    fn refused(self, expected: impl Into<String>, known: &[&'static str]) -> FileError {
        FileError {
            file: self.file.to_owned(),
            word: self.text.to_owned(),
            column: self.column,
            expected: expected.into(),
            nearest: nearest(self.text, known.iter().copied()),
        }
    }

    fn number(self, range: RangeInclusive<u64>) -> Result<u64, FileError> {
        let number = self.text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| self.refused(format!("a number from {} to {}", range.start(), range.end()), &[]))
    }

    /// A rate, or `max`.
    fn limit(self) -> Result<Option<u64>, FileError> {
        if self.text == "max" {
            return Ok(None);
        }
        let number = self.text.parse().ok().filter(|&number: &u64| number > 0);
        number.map(Some).ok_or_else(|| self.refused("a number above 0, without a unit, or max", &["max"]))
    }

    /// `95.5`, in millionths of the whole.
    fn percent(self, most: u64) -> Result<u64, FileError> {
        let (whole, part) = self.text.split_once('.').unwrap_or((self.text, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let hundredths = || {
            let part = format!("{part:0<2}");
            (part.len() <= 2).then_some(())?;
            whole.parse::<u64>().ok()?.checked_mul(100)?.checked_add(part.parse().ok()?)
        };
        let ppm = if digits(whole) && digits(part) { hundredths().map(|hundredths| hundredths * 100) } else { None };
        ppm.filter(|&ppm| ppm <= most * (MILLION / 100))
            .ok_or_else(|| self.refused(format!("a percentage from 0 to {most}, with two decimals at most"), &[]))
    }

    fn pair(self) -> Result<(&'t str, FileWord<'t>), FileError> {
        let (key, value) = self.text.split_once('=').ok_or_else(|| self.refused("KEY=VALUE", &[]))?;
        Ok((key, FileWord { text: value, column: self.column + key.len() + 1, ..self }))
    }
}

/// The words of a text, without the device's number at the front.
fn words<'t>(file: &'t str, text: &'t str) -> impl Iterator<Item = FileWord<'t>> {
    let is_device = |word: &str| {
        word.split_once(':').is_some_and(|(major, minor)| major.parse::<u32>().is_ok() && minor.parse::<u32>().is_ok())
    };
    let place =
        move |word: &'t str| FileWord { file, text: word, column: word.as_ptr() as usize - text.as_ptr() as usize + 1 };
    text.split_ascii_whitespace()
        .enumerate()
        .filter(move |(nth, word)| *nth > 0 || !is_device(word))
        .map(move |(_, word)| place(word))
}

/// Parses what is written to a file.
///
/// # Errors
/// If there is no such file, or it does not accept the text: the error names the word and what was expected.
pub fn parse(file: &str, text: &str) -> Result<Written, FileError> {
    let end = FileWord { file, text: "", column: text.len() + 1 };
    let mut all = words(file, text);
    match file {
        "io.weight" | "io.bfq.weight" => {
            let word = all.find(|word| word.text != "default");
            let range = u64::from(*WEIGHTS.start())..=u64::from(*WEIGHTS.end());
            let weight = word.unwrap_or(end).number(range)? as u32;
            Ok(if file == "io.weight" { Written::Weight(weight) } else { Written::BfqWeight(weight) })
        }
        "io.max" => {
            let keys = all.map(max_key).collect::<Result<Vec<_>, _>>()?;
            if keys.is_empty() { Err(end.refused("KEY=VALUE", &[])) } else { Ok(Written::Max(keys)) }
        }
        "io.latency" => {
            let (key, value) = all.next().unwrap_or(end).pair()?;
            if key != "target" {
                return Err(FileWord { text: key, ..value }.refused("target=MICROSECONDS", &["target"]));
            }
            let target = if value.text == "max" { 0 } else { value.number(0..=10_000_000_000)? };
            Ok(Written::Latency((target > 0).then(|| Span::from_us(target))))
        }
        "io.prio.class" => {
            let names: Vec<&'static str> = PrioClass::NAMES.iter().map(|(name, _)| *name).collect();
            let word = all.next().unwrap_or(end);
            let found = PrioClass::NAMES.iter().find(|(name, _)| *name == word.text);
            let (_, class) = found.ok_or_else(|| word.refused(format!("one of {}", names.join(", ")), &names))?;
            Ok(Written::PrioClass(*class))
        }
        "io.cost.qos" => cost_qos(all).map(Written::CostQos),
        "io.cost.model" => cost_model(all).map(Written::CostModel),
        COST_RATE => {
            let ppm = all.next().unwrap_or(end).percent(10_000)?;
            match all.next() {
                None => Ok(Written::CostRate(ppm.max(1))),
                Some(more) => Err(more.refused("nothing after the percentage", &[])),
            }
        }
        other => {
            let word = FileWord { file: "cgroup", text: other, column: 1 };
            let nearest = nearest(other, FILES.into_iter().chain([COST_RATE]));
            Err(FileError { nearest, ..word.refused(format!("one of {}", FILES.join(", ")), &[]) })
        }
    }
}

fn max_key(word: FileWord<'_>) -> Result<MaxKey, FileError> {
    const KEYS: [&str; 4] = ["rbps", "wbps", "riops", "wiops"];
    let (key, value) = word.pair()?;
    match key {
        "rbps" => value.limit().map(MaxKey::Rbps),
        "wbps" => value.limit().map(MaxKey::Wbps),
        "riops" => value.limit().map(MaxKey::Riops),
        "wiops" => value.limit().map(MaxKey::Wiops),
        _ => Err(FileWord { text: key, ..word }.refused("rbps, wbps, riops or wiops", &KEYS)),
    }
}

/// `enable=1 ctrl=user rpct=95.00 rlat=10000 wpct=95.00 wlat=20000 min=50.00 max=150.00`.
fn cost_qos<'t>(words: impl Iterator<Item = FileWord<'t>>) -> Result<CostQos, FileError> {
    const KEYS: [&str; 8] = ["enable", "ctrl", "rpct", "rlat", "wpct", "wlat", "min", "max"];
    let mut found = CostQos::default();
    let mut keys = Vec::new();
    let mut is_user = None;
    for word in words {
        let (key, value) = word.pair()?;
        let named = match key {
            "enable" => {
                found.enable = Some(value.number(0..=1)? == 1);
                continue;
            }
            "ctrl" => {
                is_user = match value.text {
                    "auto" => Some(false),
                    "user" => Some(true),
                    _ => return Err(value.refused("auto or user", &["auto", "user"])),
                };
                continue;
            }
            "rpct" => QosKey::Percentile(Dir::Read, value.percent(100)?),
            "rlat" => QosKey::Latency(Dir::Read, value.number(1..=60_000_000)?),
            "wpct" => QosKey::Percentile(Dir::Write, value.percent(100)?),
            "wlat" => QosKey::Latency(Dir::Write, value.number(1..=60_000_000)?),
            "min" => QosKey::Min(value.percent(10_000)?.max(1)),
            "max" => QosKey::Max(value.percent(10_000)?.max(1)),
            _ => return Err(FileWord { text: key, ..word }.refused(format!("one of {}", KEYS.join(", ")), &KEYS)),
        };
        is_user = Some(true);
        keys.push(named);
    }
    found.ctrl = is_user.map(|is_user| if is_user { Ctrl::User(keys) } else { Ctrl::Auto });
    Ok(found)
}

/// `ctrl=user model=linear rbps=… rseqiops=… rrandiops=… wbps=… wseqiops=… wrandiops=…`.
fn cost_model<'t>(words: impl Iterator<Item = FileWord<'t>>) -> Result<Option<CostFigures>, FileError> {
    const KEYS: [&str; 8] = ["ctrl", "model", "rbps", "rseqiops", "rrandiops", "wbps", "wseqiops", "wrandiops"];
    let mut model = PerDir::<Figures>::default();
    let mut is_user = false;
    for word in words {
        let (key, value) = word.pair()?;
        is_user |= !matches!(key, "ctrl" | "model");
        let field = match key {
            "ctrl" => match value.text {
                "auto" | "user" => continue,
                _ => return Err(value.refused("auto or user", &["auto", "user"])),
            },
            "model" if value.text == "linear" => continue,
            "model" => return Err(value.refused("linear", &["linear"])),
            "rbps" => &mut model.read.bps,
            "rseqiops" => &mut model.read.seqiops,
            "rrandiops" => &mut model.read.randiops,
            "wbps" => &mut model.write.bps,
            "wseqiops" => &mut model.write.seqiops,
            "wrandiops" => &mut model.write.randiops,
            _ => return Err(FileWord { text: key, ..word }.refused(format!("one of {}", KEYS.join(", ")), &KEYS)),
        };
        *field = value.number(1..=1 << 40)?;
    }
    Ok(is_user.then_some(model))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_as_one_writes_them() {
        assert_eq!(parse("io.weight", "default 250"), Ok(Written::Weight(250)));
        assert_eq!(parse("io.bfq.weight", "8:16 10"), Ok(Written::BfqWeight(10)));
        let max = [MaxKey::Rbps(Some(2_097_152)), MaxKey::Wiops(Some(120)), MaxKey::Wbps(None)];
        assert_eq!(parse("io.max", "8:16 rbps=2097152 wiops=120 wbps=max"), Ok(Written::Max(max.to_vec())));
        assert_eq!(parse("io.latency", "8:16 target=75000"), Ok(Written::Latency(Some(Span::from_ms(75)))));
        assert_eq!(parse("io.latency", "target=0"), Ok(Written::Latency(None)));
        assert_eq!(parse("io.prio.class", "restrict-to-be"), Ok(Written::PrioClass(PrioClass::RestrictToBe)));
        let Ok(Written::CostQos(qos)) = parse("io.cost.qos", "enable=1 rpct=95.5 rlat=10000 min=50.00 max=150") else {
            panic!("it is taken")
        };
        let user = qos.change(Qos::of_latency(25_000), None).unwrap();
        assert_eq!((qos.enable, user.read.percentile_ppm, user.min_ppm), (Some(true), 955_000, 500_000));
        assert_eq!(user.max_ppm, 1_500_000);
        assert_eq!(user.write.latency_us, 25_000, "what is not named stays");
        let Ok(Written::CostQos(off)) = parse("io.cost.qos", "enable=0") else { panic!("it is taken") };
        assert_eq!(off.change(user, Some(user)), Some(user));
        let Ok(Written::CostQos(auto)) = parse("io.cost.qos", "ctrl=auto") else { panic!("it is taken") };
        assert_eq!(auto.change(user, Some(user)), None);
        let text = "8:16 ctrl=user model=linear rbps=174019176 rseqiops=41708 rrandiops=370 wbps=178075866 \
                    wseqiops=42705 wrandiops=378";
        assert_eq!(
            parse("io.cost.model", text),
            Ok(Written::CostModel(Some(super::super::blk_iocost::Class::Hdd.model())))
        );
        assert_eq!(parse("io.cost.model", "ctrl=auto"), Ok(Written::CostModel(None)));
    }

    #[test]
    fn what_does_not_fit_is_named_with_its_column_and_what_was_expected() {
        for (file, text, expected) in [
            ("io.wieght", "1", "cgroup: column 1: `io.wieght`: expected one of"),
            ("io.weight", "0", "io.weight: column 1: `0`: expected a number from 1 to 10000"),
            ("io.weight", "", "io.weight: column 1: ``: expected a number"),
            (
                "io.max",
                "8:0 rpbs=1",
                "io.max: column 5: `rpbs`: expected rbps, wbps, riops or wiops; did you mean `rbps`?",
            ),
            ("io.max", "rbps=fast", "io.max: column 6: `fast`: expected a number above 0, without a unit, or max"),
            ("io.max", "rbps", "io.max: column 1: `rbps`: expected KEY=VALUE"),
            ("io.max", "8:0", "io.max: column 4: ``: expected KEY=VALUE"),
            ("io.latency", "tarot=1", "io.latency: column 7: `tarot`: expected target=MICROSECONDS"),
            ("io.prio.class", "idel", "io.prio.class: column 1: `idel`: expected one of"),
            ("io.cost.qos", "rpct=95.123", "io.cost.qos: column 6: `95.123`: expected a percentage from 0 to 100"),
            ("io.cost.model", "model=cubic", "io.cost.model: column 7: `cubic`: expected linear"),
            ("io.cost.vrate", "50.00 max=100", "io.cost.vrate: column 7: `max=100`: expected nothing after"),
        ] {
            let error = parse(file, text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
