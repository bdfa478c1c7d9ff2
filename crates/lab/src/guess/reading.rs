//! The readers: `smartctl -i` and `-a`, also `-j`; `hdparm -I`; `lsblk -J`.
//!
//! MEMORY: the words before each colon are those of smartctl 7 and hdparm 9, the keys those of smartctl's and lsblk's
//! JSON.

use serde_json::Value;

use super::facts::{Bus, Fact, Facts, Turning};

/// A description of a disk, or of all disks of a machine.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// What a drive says of itself.
    Drive(Facts),
    /// What a machine's kernel knows of its disks.
    Machine {
        /// The file's name.
        file: String,
        /// Each by its name.
        disks: Vec<(String, Facts)>,
    },
}

/// Command for a table of disks that can be read.
const LSBLK: &str = "lsblk -J -b -o NAME,TYPE,SIZE,ROTA,TRAN,MODEL";

impl Source {
    /// Reads a description; `file` is its name.
    ///
    /// # Errors
    /// If it is none, or tells nothing about a disk.
    pub fn read(file: &str, text: &str) -> Result<Source, String> {
        let source = if text.trim_start().starts_with('{') {
            of_json(file, text)?
        } else if text.lines().any(|line| line.contains("ATA device, with")) {
            Source::Drive(of_lines(file, text, hdparm))
        } else if text.contains("smartctl ") || text.contains("=== START OF INFORMATION SECTION ===") {
            Source::Drive(of_lines(file, text, smartctl))
        } else if text.lines().any(|line| line.starts_with("NAME") && line.contains("SIZE")) {
            return Err(format!("{file}: a table of lsblk's, which may leave out any column: expected `{LSBLK}`"));
        } else {
            let what = "expected what `smartctl -i`, `hdparm -I` or `lsblk -J` prints";
            return Err(format!("{file}:1:1: no description of a disk: {what}"));
        };
        match &source {
            Source::Drive(facts) if *facts == Facts::default() => {
                Err(format!("{file}: nothing about a disk in it; did smartctl or hdparm run as root?"))
            }
            Source::Machine { disks, .. } if disks.is_empty() => Err(format!("{file}: no disk in it")),
            _ => Ok(source),
        }
    }
}

/// Adds what a line says, given what stands before and behind its colon.
type LineReader = fn(&mut Facts, &dyn Fn() -> String, (&str, &str));

fn of_lines(file: &str, text: &str, read: LineReader) -> Facts {
    let mut facts = Facts::default();
    for (at, line) in text.lines().enumerate() {
        let (key, value) = line.split_once(':').map_or((line.trim(), ""), |(key, value)| (key.trim(), value.trim()));
        read(&mut facts, &|| format!("{file}:{}", at + 1), (key, value));
    }
    facts
}

/// The first of its kind counts.
fn put<T>(into: &mut Option<Fact<T>>, from: &dyn Fn() -> String, value: Option<T>) {
    if let (None, Some(value)) = (&into, value) {
        *into = Some(Fact { value, from: from() });
    }
}

fn smartctl(facts: &mut Facts, from: &dyn Fn() -> String, (key, value): (&str, &str)) {
    match key {
        "Device Model" | "Model Number" | "Product" => put(&mut facts.model, from, Some(value.to_owned())),
        "User Capacity" | "Total NVM Capacity" | "Namespace 1 Size/Capacity" => {
            put(&mut facts.bytes, from, grouped(value));
        }
        "Rotation Rate" => put(&mut facts.turning, from, turning(value)),
        "SATA Version is" => put(&mut facts.bus, from, Some(Bus::Sata { gbits: gbits(value) })),
        "NVMe Version" => {
            put(&mut facts.bus, from, Some(Bus::Nvme));
            put(&mut facts.turning, from, Some(Turning::No));
        }
        "Transport protocol" => put(&mut facts.bus, from, Some(Bus::Scsi)),
        _ => {}
    }
}

fn hdparm(facts: &mut Facts, from: &dyn Fn() -> String, (key, value): (&str, &str)) {
    match key {
        "Model Number" => put(&mut facts.model, from, Some(value.to_owned())),
        "Nominal Media Rotation Rate" => put(&mut facts.turning, from, turning(value)),
        _ if key.starts_with("device size with M = 1000*1000") => {
            let megabytes = value.split_whitespace().next().and_then(|word| word.parse::<u64>().ok());
            put(&mut facts.bytes, from, megabytes.and_then(|megabytes| megabytes.checked_mul(1_000_000)));
        }
        "Transport" if value.contains("Serial") => put(&mut facts.bus, from, Some(Bus::Sata { gbits: None })),
        "Transport" if value.contains("Parallel") => put(&mut facts.bus, from, Some(Bus::Ide)),
        _ => {
            // `   *    Gen3 signaling speed (6.0Gb/s)`: the last is the fastest.
            if let Some(speed) = key.split_once("signaling speed (").and_then(|(_, speed)| gbits(speed)) {
                facts.bus = Some(Fact { value: Bus::Sata { gbits: Some(speed) }, from: from() });
            }
        }
    }
}

/// `7200 rpm`, `7200`, `Solid State Device`.
fn turning(text: &str) -> Option<Turning> {
    match text.split_whitespace().next().and_then(|word| word.parse::<u32>().ok()) {
        Some(0) => Some(Turning::No),
        Some(rpm) => Some(Turning::At(rpm)),
        None => text.contains("Solid State").then_some(Turning::No),
    }
}

/// `SATA 3.1, 6.0 Gb/s (current: 3.0 Gb/s)`, `6.0Gb/s)`: the number before the first `Gb/s`.
fn gbits(text: &str) -> Option<f64> {
    let before = text.split("Gb/s").next().filter(|before| before.len() < text.len())?.trim_end();
    before.rsplit([' ', ',', '(']).next()?.parse().ok()
}

/// `2,000,398,934,016 bytes [2.00 TB]`.
fn grouped(text: &str) -> Option<u64> {
    let digits: String = text.chars().take_while(|c| c.is_ascii_digit() || ",.'\u{a0}".contains(*c)).collect();
    digits.chars().filter(char::is_ascii_digit).collect::<String>().parse().ok()
}

/// `931.5G`, as lsblk without `-b` prints it, in powers of 1024.
fn powers(text: &str) -> Option<u64> {
    let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len()));
    let power = "BKMGTPE".find(unit.chars().next().unwrap_or('B'))? as i32;
    let bytes = number.trim().replace(',', ".").parse::<f64>().ok()? * 1024_f64.powi(power);
    (bytes >= 0.0 && bytes < u64::MAX as f64).then_some(bytes as u64)
}

fn of_json(file: &str, text: &str) -> Result<Source, String> {
    let value: Value = serde_json::from_str(text)
        .map_err(|error| format!("{file}:{}:{}: JSON: {error}", error.line(), error.column().max(1)))?;
    if let Some(disks) = value.get("blockdevices").and_then(Value::as_array) {
        let disks = disks.iter().filter_map(|disk| lsblk(file, disk)).collect();
        return Ok(Source::Machine { file: file.to_owned(), disks });
    }
    if value.get("smartctl").is_some() {
        return Ok(Source::Drive(smartctl_json(file, &value)));
    }
    Err(format!("{file}: JSON, but neither lsblk's nor smartctl's: expected what `{LSBLK}` or `smartctl -ij` prints"))
}

fn smartctl_json(file: &str, value: &Value) -> Facts {
    let at = |keys: &str| keys.split('.').try_fold(value, |value, key| value.get(key));
    let from = |keys: &str| {
        let text = format!("{file}: {keys}");
        move || text.clone()
    };
    let mut facts = Facts::default();
    for keys in ["model_name", "scsi_model_name", "product"] {
        put(&mut facts.model, &from(keys), at(keys).and_then(Value::as_str).map(str::to_owned));
    }
    for keys in ["user_capacity.bytes", "nvme_total_capacity"] {
        put(&mut facts.bytes, &from(keys), at(keys).and_then(Value::as_u64));
    }
    let rpm = at("rotation_rate").and_then(Value::as_u64).and_then(|rpm| u32::try_from(rpm).ok());
    let turning = rpm.map(|rpm| if rpm == 0 { Turning::No } else { Turning::At(rpm) });
    put(&mut facts.turning, &from("rotation_rate"), turning);
    let speed = at("interface_speed.max.string").and_then(Value::as_str).and_then(gbits);
    let bus = match at("device.protocol").and_then(Value::as_str) {
        Some("NVMe") => Some(Bus::Nvme),
        Some("SCSI") => Some(Bus::Scsi),
        Some("ATA") if at("sata_version").is_some() => Some(Bus::Sata { gbits: speed }),
        Some("ATA") if at("pata_version").is_some() => Some(Bus::Ide),
        _ => None,
    };
    put(&mut facts.bus, &from("device.protocol"), bus);
    let is_nvme = facts.bus.as_ref().is_some_and(|bus| bus.value == Bus::Nvme);
    put(&mut facts.turning, &from("device.protocol"), is_nvme.then_some(Turning::No));
    facts
}

/// A disk of lsblk's; partitions and what is not on a medium are none.
fn lsblk(file: &str, disk: &Value) -> Option<(String, Facts)> {
    let word = |key: &str| disk.get(key).and_then(Value::as_str).map(str::trim).filter(|word| !word.is_empty());
    let name = word("name")?.to_owned();
    let made_up = ["loop", "ram", "zram", "sr", "fd", "dm-", "md"].iter().any(|kind| name.starts_with(kind));
    if made_up || word("type").is_some_and(|kind| kind != "disk") {
        return None;
    }
    let from = || format!("{file}: {name}");
    let mut facts = Facts::default();
    put(&mut facts.model, &from, word("model").map(str::to_owned));
    let bytes = disk.get("size").and_then(|size| size.as_u64().or_else(|| powers(size.as_str()?)));
    put(&mut facts.bytes, &from, bytes);
    // Older versions write words.
    let turns = disk.get("rota").and_then(|rota| rota.as_bool().or_else(|| Some(rota.as_str()? == "1")));
    put(&mut facts.turning, &from, turns.map(|turns| if turns { Turning::Yes } else { Turning::No }));
    let bus = match word("tran") {
        Some("sata") => Some(Bus::Sata { gbits: None }),
        Some("ata") => Some(Bus::Ide),
        Some("nvme") => Some(Bus::Nvme),
        Some("usb") => Some(Bus::Usb),
        Some("mmc") => Some(Bus::Mmc),
        Some("virtio") => Some(Bus::Virtio),
        Some("sas" | "fc" | "iscsi" | "spi") => Some(Bus::Scsi),
        _ => [("nvme", Bus::Nvme), ("mmcblk", Bus::Mmc), ("vd", Bus::Virtio), ("xvd", Bus::Virtio), ("hd", Bus::Ide)]
            .into_iter()
            .find(|(kind, _)| name.starts_with(kind))
            .map(|(_, bus)| bus),
    };
    put(&mut facts.bus, &from, bus);
    Some((name, facts))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drive(text: &str) -> Facts {
        match Source::read("f", text) {
            Ok(Source::Drive(facts)) => facts,
            other => panic!("{other:?}"),
        }
    }

    fn rows(text: &str) -> Vec<String> {
        drive(text).rows().into_iter().map(|row| row.join(" | ")).collect()
    }

    #[test]
    fn smartctl_tells_of_ata_scsi_and_nvme() {
        let nvme = "smartctl 7.4\n=== START OF INFORMATION SECTION ===\nModel Number:                       KXG60\n\
            NVMe Version:                       1.3\nNamespace 1 Size/Capacity:          1,024,209,543,168 [1.02 TB]\n";
        assert_eq!(
            rows(nvme),
            ["model | KXG60 | f:3", "kind | flash | f:4", "attached by | NVMe | f:4", "length | 1.02 TB | f:5"]
        );
        let sas = "smartctl 7.4\nVendor:               SEAGATE\nProduct:              ST600MM0006\n\
            User Capacity:        600,127,266,816 bytes [600 GB]\nRotation Rate:        10000 rpm\n\
            Transport protocol:   SAS (SPL-4)\n";
        assert_eq!(
            rows(sas),
            [
                "model | ST600MM0006 | f:3",
                "kind | turns at 10000 rpm | f:5",
                "attached by | SCSI or SAS | f:6",
                "length | 600.1 GB | f:4"
            ]
        );
        let json = r#"{"smartctl": {"version": [7, 3]}, "device": {"protocol": "ATA"}, "model_name": "CT1000MX500SSD1",
            "user_capacity": {"bytes": 1000204886016}, "rotation_rate": 0, "sata_version": {"string": "SATA 3.3"},
            "interface_speed": {"max": {"string": "6.0 Gb/s"}}}"#;
        let facts = drive(json);
        assert_eq!(facts.turning.unwrap().value, Turning::No);
        assert_eq!(
            facts.bus.unwrap(),
            Fact { value: Bus::Sata { gbits: Some(6.0) }, from: "f: device.protocol".into() }
        );
    }

    #[test]
    fn hdparm_tells_the_fastest_signal_of_its_list() {
        let text = "\n/dev/sda:\n\nATA device, with non-removable media\n\tModel Number:       WDC WD5000AAKS-00V1A0\n\
            \tTransport:          Serial, SATA 1.0a\n\tdevice size with M = 1000*1000:      500107 MBytes (500 GB)\n\
            \tNominal Media Rotation Rate: 7200\n\t   *\tGen1 signaling speed (1.5Gb/s)\n\
            \t   *\tGen2 signaling speed (3.0Gb/s)\n";
        assert_eq!(
            rows(text),
            [
                "model | WDC WD5000AAKS-00V1A0 | f:5",
                "kind | turns at 7200 rpm | f:8",
                "attached by | SATA, 3.0 Gbit/s | f:10",
                "length | 500.1 GB | f:7"
            ]
        );
    }

    #[test]
    fn what_describes_no_disk_is_refused_with_what_would() {
        let refused = |text: &str| Source::read("f", text).unwrap_err();
        assert!(refused("[a]\nrw=read\n").starts_with("f:1:1: no description of a disk"));
        assert!(refused("{\"a\": ").starts_with("f:1:"));
        assert!(refused("{\"a\": 1}").contains("neither lsblk's nor smartctl's"));
        assert!(refused("NAME SIZE\nsda 1T\n").contains("lsblk -J -b -o"));
        assert!(refused("smartctl 7.3\nPermission denied\n").contains("as root?"));
        assert!(refused("{\"blockdevices\": [{\"name\": \"loop0\"}]}").contains("no disk in it"));
    }

    #[test]
    fn any_beginning_of_a_description_is_read_or_refused() {
        let json = r#"{"blockdevices": [{"name": "sd\u00e4", "size": "1.5T", "rota": "1"}], "smartctl": 1}"#;
        let text = "smartctl 7\nProduct: \u{fc}\nUser Capacity: 1,8 \u{a0}\nRotation Rate: x\nATA device, with\n";
        for whole in [json, text] {
            for at in (0..=whole.len()).filter(|at| whole.is_char_boundary(*at)) {
                for text in [&whole[..at], &whole[at..]] {
                    assert!(Source::read("f", text).map_or_else(|said| said.starts_with("f:"), |_| true), "{text}");
                }
            }
        }
    }

    #[test]
    fn lengths_are_read_as_each_program_writes_them() {
        assert_eq!(
            (powers("931.5G"), powers("1,8T"), powers("x")),
            (Some(1_000_190_509_056), Some(1_979_120_929_996), None)
        );
        assert_eq!((grouped("2.000.398.934.016 bytes"), grouped("")), (Some(2_000_398_934_016), None));
        assert_eq!((gbits("SATA 3.1, 6.0 Gb/s (current: 3.0 Gb/s)"), gbits("x")), (Some(6.0), None));
    }
}
