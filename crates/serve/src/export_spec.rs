//! An export as a user writes it: `NAME=PATH[,option]…`, as in `a=/srv/a.img,weight=200,iops=500`.

use core::str::FromStr;
use std::path::PathBuf;

use blksched::{Class, Priority};
use blksched_text::did_you_mean;
use blksched_text::units::number_or_letter;

use crate::caps::Limit;
use crate::config::{Access, ExportConfig, ExportSource, Locking, Share, with_class, with_level};
use crate::policies::{OF_TENANT, WrittenFiles};

const OPTIONS: [&str; 18] = [
    "weight",
    "class",
    "level",
    "bps",
    "iops",
    "burst_bytes",
    "burst_ops",
    "offset",
    "size",
    "disk",
    "description",
    "lock",
    "ro",
    "rw",
    "io.weight",
    "io.max",
    "io.latency",
    "io.prio.class",
];

/// Why a text is not an export.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}:{column}: {what}")]
pub struct SpecError {
    /// The text as given.
    pub text: String,
    /// The column, from 1.
    pub column: usize,
    /// What is wrong and what was expected.
    pub what: String,
}

/// The options, before they are combined.
#[derive(Default)]
struct OptionsSaid {
    share: Share,
    class: Option<Class>,
    level: Option<u8>,
    rates: [Option<u64>; 2],
    bursts: [Option<u64>; 2],
    offset: u64,
    size: Option<u64>,
    disk: Option<String>,
    description: String,
    read_only: bool,
    locking: Locking,
    files: WrittenFiles,
}

impl FromStr for ExportConfig {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<ExportConfig, SpecError> {
        let error = |column: usize, what: String| SpecError { text: text.to_owned(), column: column + 1, what };
        let (name, rest) = text
            .split_once('=')
            .ok_or_else(|| error(0, "expected NAME=PATH[,option]…, as in a=/srv/a.img,weight=200".to_owned()))?;
        if name.is_empty() || name.len() > 256 || name.contains(|c: char| c.is_control() || c == ',') {
            return Err(error(0, "an export has a name of 1 to 256 bytes without commas".to_owned()));
        }
        let mut parts = rest.split(',');
        let place = parts.next().unwrap_or_default();
        if place.is_empty() {
            return Err(error(name.len() + 1, "expected a path, or mem:SIZE".to_owned()));
        }
        let mut said = OptionsSaid::default();
        let mut column = name.len() + 1 + place.len() + 1;
        let mut keys = Vec::new();
        for part in parts {
            // `ro` and `rw` set the same thing, or its opposite.
            let key = part.split('=').next().map_or("", |key| if key == "rw" { "ro" } else { key });
            if keys.contains(&key) {
                return Err(error(column, format!("`{part}`: given before: expected each option once")));
            }
            keys.push(key);
            said.option(part).map_err(|what| error(column, what))?;
            column += part.len() + 1;
        }
        said.export(name, place).map_err(|what| error(name.len() + 1, what))
    }
}

impl OptionsSaid {
    fn option(&mut self, part: &str) -> Result<(), String> {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let size = || number_or_letter(value).ok_or_else(|| format!("{key}: expected a size as in 64K, not `{value}`"));
        let cap = || match size()? {
            0 => Err(format!("{key}: a cap is at least 1")),
            cap => Ok(Some(cap)),
        };
        match key {
            "weight" => {
                let range = blksched::group::WEIGHTS;
                let weight = value.parse().ok().filter(|weight| range.contains(weight));
                let expected = || format!("weight: expected {}..={}, not `{value}`", range.start(), range.end());
                self.share.weight = weight.ok_or_else(expected)?;
            }
            "class" => {
                self.class = Some(match value {
                    "rt" | "realtime" => Class::RealTime,
                    "be" | "best-effort" => Class::BestEffort,
                    "idle" => Class::Idle,
                    "none" => Class::None,
                    _ => return Err(format!("class: expected none, rt, be or idle, not `{value}`")),
                });
            }
            "level" => {
                let level = value.parse().ok().filter(|&level| level <= 7);
                self.level = Some(level.ok_or_else(|| format!("level: expected 0..=7, not `{value}`"))?);
            }
            "bps" => self.rates[0] = cap()?,
            "iops" => self.rates[1] = cap()?,
            "burst_bytes" => self.bursts[0] = cap()?,
            "burst_ops" => self.bursts[1] = cap()?,
            "offset" => self.offset = size()?,
            "size" => self.size = Some(size()?),
            "disk" => self.disk = Some(value.to_owned()).filter(|name| !name.is_empty()),
            "description" => self.description = value.to_owned(),
            "lock" => {
                self.locking = match value {
                    "on" => Locking::On,
                    "off" => Locking::Off,
                    _ => return Err(format!("lock: expected on or off, not `{value}`")),
                };
            }
            "ro" => self.read_only = true,
            "rw" => self.read_only = false,
            file if OF_TENANT.contains(&file) => {
                WrittenFiles::check(file, value)?;
                self.files.write(file, value);
            }
            _ => {
                let near = did_you_mean(key, OPTIONS);
                return Err(format!("no option is called `{key}`{near} (known: {})", OPTIONS.join(", ")));
            }
        }
        Ok(())
    }

    fn export(self, name: &str, place: &str) -> Result<ExportConfig, String> {
        let priority = match (self.class, self.level) {
            (Some(Class::None), Some(level)) => {
                return Err(format!("level={level} needs a class: expected rt, be or idle"));
            }
            (class, level) => {
                let priority = class.map_or(self.share.priority, |class| with_class(Priority::default(), class));
                level.map_or(priority, |level| with_level(priority, level))
            }
        };
        let [bytes, ops] = [0, 1].map(|at| limit(self.rates[at], self.bursts[at]));
        let source = match place.strip_prefix("mem:") {
            Some(size) if self.offset == 0 && self.size.is_none() => {
                let bytes = number_or_letter(size).filter(|bytes| (1..=crate::memory::LARGEST).contains(bytes));
                let expected = || format!("expected mem:SIZE up to mem:256G, as in mem:1G, not `{place}`");
                ExportSource::Memory(bytes.ok_or_else(expected)?)
            }
            Some(_) => return Err("memory has neither offset nor size beside mem:SIZE".to_owned()),
            None => ExportSource::File { path: PathBuf::from(place), offset: self.offset, size: self.size },
        };
        Ok(ExportConfig {
            name: name.to_owned(),
            source,
            disk: self.disk,
            description: self.description,
            access: if self.read_only { Access::ReadOnly } else { Access::ReadWrite },
            locking: self.locking,
            share: Share { priority, bytes: bytes?, ops: ops?, ..self.share },
            files: self.files,
        })
    }
}

/// A rate comes with a burst of a tenth of a second, unless another is given.
fn limit(rate: Option<u64>, burst: Option<u64>) -> Result<Option<Limit>, String> {
    match (rate, burst) {
        (Some(rate), burst) => Ok(Some(Limit { rate, burst: burst.unwrap_or((rate / 10).max(1)) })),
        (None, None) => Ok(None),
        (None, Some(_)) => Err("a burst needs its rate: burst_bytes needs bps, burst_ops needs iops".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        text.parse::<ExportConfig>().unwrap_err().to_string()
    }

    #[test]
    fn an_export_has_a_name_a_place_and_options() {
        let text = "a=/srv/a=1.img,weight=200,class=be,level=2,bps=10M,burst_ops=5,iops=100,offset=1M,size=4M,ro";
        let export: ExportConfig = text.parse().unwrap();
        assert_eq!(export.name, "a");
        let path = PathBuf::from("/srv/a=1.img");
        assert_eq!(export.source, ExportSource::File { path, offset: 1 << 20, size: Some(4 << 20) });
        assert_eq!((export.share.weight, export.share.priority.level), (200, 2));
        assert_eq!(export.share.bytes, Some(Limit { rate: 10 << 20, burst: 1 << 20 }));
        assert_eq!(export.share.ops, Some(Limit { rate: 100, burst: 5 }));
        assert_eq!(export.access, Access::ReadOnly);
        let text = "a=/x,io.max=rbps=1048576 wiops=120,io.latency=target=10000,io.prio.class=idle";
        let export: ExportConfig = text.parse().unwrap();
        assert_eq!(export.files.read("io.max"), "rbps=1048576 wiops=120");
        assert_eq!(export.files.written().count(), 3);
        assert_eq!("m=mem:1G".parse::<ExportConfig>().unwrap().source, ExportSource::Memory(1 << 30));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_column() {
        assert!(error("a=/x,wieght=3").contains(":6: no option is called `wieght`; did you mean `weight`?"));
        assert!(error("a=/x,ro,weight=0").contains(":9: weight: expected 1..=10000"));
        assert!(error("a").contains("NAME=PATH"));
        assert!(error("a=mem:").contains("mem:1G"));
        assert!(error("a=mem:100T").contains(":3: expected mem:SIZE up to mem:256G"));
        assert!(error("a=/x,lock=no").contains("expected on or off"));
        assert!(error("a=/x,burst_ops=5").contains("needs its rate"));
        assert!(error("=x").contains("a name"));
        assert!(error("a=/x,weight=2,weight=3").contains(":15: `weight=3`: given before"));
        assert!(error("a=/x,io.max=rbsp=5").contains(":6: io.max: column 1: `rbsp`"));
        assert!(error("a=/x,io.mux=rbps=5").contains("did you mean `io.max`?"));
        assert!(error("a=/x,ro,rw").contains(":9: `rw`: given before"));
    }
}
