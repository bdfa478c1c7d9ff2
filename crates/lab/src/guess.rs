//! The preset that is nearest to a disk of which only descriptions are at hand: what `smartctl`, `hdparm -I` and
//! `lsblk -J` print.
//!
//! None of them tells a speed; they tell what kind of disk it is, how it is attached and how long it is. So speeds,
//! cache and firmware are the model's, and [`Guess::assumed`] says so.
//!
//! ```
//! use blksched_lab::guess::{Source, guess};
//!
//! let text = "smartctl 7.3\nDevice Model:     WDC WD40EFRX-68N32N0\nRotation Rate:    5400 rpm\n";
//! let source = Source::read("smartctl.txt", text).unwrap();
//! let guess = guess(&[source], None).unwrap();
//! assert_eq!(guess.preset, "hdd-7200");
//! assert!(guess.assumed.iter().any(|line| line.contains("5400")));
//! ```

mod facts;
mod reading;

use blksched_disks::DiskError;
use blksched_text::did_you_mean;

pub use facts::{Bus, Fact, Facts, Turning};
pub use reading::Source;

/// A preset, and what it rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Guess {
    /// Its name, as `--disk` takes it.
    pub preset: &'static str,
    /// What was read about the disk.
    pub facts: Facts,
    /// What was not read and is taken from the model, or differs from it.
    pub assumed: Vec<String>,
}

/// A serial ATA drive of this length and more is taken for a present one \[bytes\]: about half-way, by ratio, between
/// the 500 GB of `sata-2009` and the 2 TB of `hdd-7200`, but below the 1 TB that a drive of 2009 seldom has.
const PRESENT_BYTES: u64 = 900_000_000_000;
/// SATA III, on sale since 2009 \[Gbit/s\].
const PRESENT_SATA: f64 = 6.0;
/// Behind USB, what is no longer than this and does not say how fast it turns is taken for flash \[bytes\]: sticks
/// often call themselves turning disks.
const LONGEST_STICK: u64 = 300_000_000_000;

/// The nearest preset to the disk that all of `sources` are about; `name` (`sda`) says which, if one of them has
/// several.
///
/// # Errors
/// If they are about several disks, or tell too little, or a disk of which no preset is a model.
pub fn guess(sources: &[Source], name: Option<&str>) -> Result<Guess, String> {
    let facts = one_disk(sources, name)?;
    let (preset, mut assumed) = nearest(&facts)?;
    let described = blksched_disks::builtin(preset).map_err(|error: DiskError| error.to_string())?;
    let length = described.build(0).facts().sectors * 512;
    if let Some(bytes) = &facts.bytes
        && (bytes.value as f64 / length as f64 - 1.0).abs() > 0.1
    {
        assumed.push(format!(
            "the model is {} long, not {}: files are spread over its whole length, so seeks are longer or shorter \
             (`blksched list {preset}` prints its file, whose `capacity` may be changed)",
            facts::length(length),
            facts::length(bytes.value)
        ));
    }
    assumed.push(
        "speeds, cache and firmware are the model's, since no description tells them; `blksched disk measure /dev/…` \
         measures the disk itself, by reading only"
            .to_owned(),
    );
    Ok(Guess { preset, facts, assumed })
}

/// What all of them say about one disk.
fn one_disk(sources: &[Source], name: Option<&str>) -> Result<Facts, String> {
    let mut facts = Facts::default();
    // What asks the drive itself goes before what the kernel believes of it.
    for source in sources {
        if let Source::Drive(told) = source {
            if let (Some(one), Some(other)) = (&facts.model, &told.model)
                && !facts::alike(&one.value, &other.value)
            {
                return Err(format!(
                    "two disks: {} is about `{}`, {} about `{}`: expected descriptions of one",
                    one.from, one.value, other.from, other.value
                ));
            }
            facts.add(told);
        }
    }
    for source in sources {
        let Source::Machine { file, disks } = source else { continue };
        let is_it = |disk: &&(String, Facts)| match (name, &facts.model, &disk.1.model) {
            (Some(name), ..) => disk.0 == name,
            (None, Some(one), Some(other)) => facts::alike(&one.value, &other.value),
            (None, Some(_), None) => false,
            (None, None, _) => true,
        };
        let found: Vec<&(String, Facts)> = disks.iter().filter(is_it).collect();
        let names = || disks.iter().map(|disk| disk.0.as_str()).collect::<Vec<_>>();
        match (&found[..], disks.len(), name) {
            // With one disk on either side there is nothing to choose.
            ([], 1, None) if disks[0].1.model.is_none() => facts.add(&disks[0].1),
            ([only], ..) => facts.add(&only.1),
            ([], _, Some(name)) => {
                let near = did_you_mean(name, names());
                return Err(format!("{file}: no disk `{name}`: expected one of {}{near}", names().join(", ")));
            }
            ([], ..) => {
                let model = facts.model.as_ref().map_or("", |fact| fact.value.as_str());
                return Err(format!("{file}: none of its disks, {}, is a `{model}`: `--of NAME`", names().join(", ")));
            }
            _ => {
                return Err(format!(
                    "{file}: {} disks, and nothing says which is meant: `--of {}`, or another of {}",
                    disks.len(),
                    names().first().unwrap_or(&"sda"),
                    names().join(", ")
                ));
            }
        }
    }
    Ok(facts)
}

/// The preset for these facts, and what had to be assumed beside its speeds.
///
/// # Errors
/// If they tell too little, or of a disk of which no preset is a model.
pub fn nearest(facts: &Facts) -> Result<(&'static str, Vec<String>), String> {
    let mut assumed = Vec::new();
    let bytes = facts.bytes.as_ref().map(|fact| fact.value);
    let turning = facts.turning.as_ref().map(|fact| fact.value);
    let model = facts.model.as_ref().map_or("", |fact| fact.value.as_str());
    if model.starts_with("Amazon Elastic Block Store") {
        assumed
            .push("the volume is of type gp3 with what its price includes; --disk cloud-gp2 is the other".to_owned());
        return Ok(("cloud-gp3", assumed));
    }
    let preset = match (facts.bus.as_ref().map(|fact| fact.value), turning) {
        (Some(Bus::Virtio), _) => {
            return Err(
                "a virtual disk does not show what is behind it: describe the host's disk, or measure it inside \
                        the guest (`blksched disk measure /dev/vda`)"
                    .to_owned(),
            );
        }
        (Some(Bus::Mmc), _) => "sd-card",
        (Some(Bus::Nvme), _) => "nvme-ssd",
        (Some(Bus::Usb), Some(Turning::At(_))) => {
            assumed.push("what the USB bridge adds to every command is left out".to_owned());
            spinning(facts, &mut assumed)
        }
        (Some(Bus::Usb), _) if bytes.is_none_or(|bytes| bytes <= LONGEST_STICK) => {
            if turning == Some(Turning::Yes) {
                assumed.push("it is a stick: it says that it turns, as many do, but not how fast".to_owned());
            }
            "usb-stick"
        }
        (Some(Bus::Usb), Some(Turning::Yes)) => {
            assumed
                .push("it is a hard disk, since no stick is as long; what the USB bridge adds is left out".to_owned());
            spinning(facts, &mut assumed)
        }
        (Some(Bus::Usb), _) => {
            assumed.push("it is an SSD behind a USB bridge; what the bridge adds is left out".to_owned());
            "sata-ssd"
        }
        (bus, Some(Turning::No)) => {
            match bus {
                None => assumed.push("it is attached by SATA".to_owned()),
                Some(Bus::Scsi) => {
                    assumed.push("a SAS drive is as fast as a SATA one, and takes no more commands at once".to_owned());
                }
                _ => {}
            }
            "sata-ssd"
        }
        (_, Some(Turning::Yes | Turning::At(_))) => spinning(facts, &mut assumed),
        (_, None) => {
            return Err(
                "no file says whether the disk turns: add one from `smartctl -i /dev/sda` or from `lsblk -J -b -o \
                        NAME,TYPE,SIZE,ROTA,TRAN,MODEL`"
                    .to_owned(),
            );
        }
    };
    Ok((preset, assumed))
}

/// The preset of a disk that turns.
fn spinning(facts: &Facts, assumed: &mut Vec<String>) -> &'static str {
    let bytes = facts.bytes.as_ref().map(|fact| fact.value);
    let bus = facts.bus.as_ref().map(|fact| fact.value);
    let preset = match bus {
        Some(Bus::Ide) => "ide-2002",
        Some(Bus::Sata { gbits: Some(gbits) }) if gbits < PRESENT_SATA => "sata-2009",
        _ if bytes.is_some_and(|bytes| bytes < PRESENT_BYTES) => "sata-2009",
        _ => "hdd-7200",
    };
    if bytes.is_none() && bus != Some(Bus::Ide) {
        assumed.push("it is a present disk of several TB, since no file tells its length".to_owned());
    }
    if bus == Some(Bus::Scsi) {
        assumed.push("it takes as many commands at once as a SATA drive; SAS drives take more".to_owned());
    }
    match facts.turning.as_ref().map(|fact| fact.value) {
        Some(Turning::At(rpm)) if rpm != 7200 => {
            let than = if rpm < 7200 { "longer" } else { "shorter" };
            let rest = f64::from(30_000_u32) / f64::from(rpm);
            assumed.push(format!(
                "it turns at {rpm} rpm, the model at 7200: half a revolution is {rest:.1}ms, {than} than 4.2ms"
            ));
        }
        Some(Turning::Yes) => assumed.push("it turns at 7200 rpm: no file tells".to_owned()),
        _ => {}
    }
    preset
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMART: &str = "smartctl 7.3 2022-02-28 r5338 [x86_64-linux-6.1.0] (local build)\n\n\
        === START OF INFORMATION SECTION ===\nModel Family:     Seagate Barracuda 7200.14 (AF)\n\
        Device Model:     ST2000DM001-1CH164\nUser Capacity:    2,000,398,934,016 bytes [2.00 TB]\n\
        Rotation Rate:    7200 rpm\nSATA Version is:  SATA 3.1, 6.0 Gb/s (current: 6.0 Gb/s)\n";
    const LSBLK: &str = r#"{"blockdevices": [
        {"name":"loop0", "type":"loop", "size":4096, "rota":false},
        {"name":"sda", "type":"disk", "size":2000398934016, "rota":true, "tran":"sata", "model":"ST2000DM001-1CH1"},
        {"name":"sdb", "type":"disk", "size":"14.9G", "rota":true, "tran":"usb", "model":"Ultra Fit"},
        {"name":"nvme0n1", "type":"disk", "size":"931.5G", "rota":false, "tran":"nvme", "model":"Samsung SSD 980"},
        {"name":"vda", "type":"disk", "size":"20G", "rota":true, "tran":"virtio", "model":null}]}"#;

    fn of(files: &[(&str, &str)], name: Option<&str>) -> Result<Guess, String> {
        let sources: Vec<Source> = files.iter().map(|(file, text)| Source::read(file, text).unwrap()).collect();
        guess(&sources, name)
    }

    #[test]
    fn smartctl_and_lsblk_are_about_the_disk_of_that_model() {
        let guess = of(&[("l.json", LSBLK), ("s.txt", SMART)], None).unwrap();
        assert_eq!((guess.preset, guess.facts.model.as_ref().unwrap().from.as_str()), ("hdd-7200", "s.txt:5"));
        assert_eq!(guess.facts.bytes.as_ref().unwrap().from, "s.txt:6");
        assert!(guess.assumed.iter().all(|line| !line.contains("TB long")), "{:?}", guess.assumed);
        let longer = SMART.replace("2,000,398,934,016", "6,001,175,126,016");
        let guess = of(&[("s.txt", &longer)], None).unwrap();
        assert!(guess.assumed.iter().any(|line| line.contains("2.00 TB long, not 6.00 TB")), "{:?}", guess.assumed);
    }

    #[test]
    fn each_disk_of_a_machine_has_its_kind() {
        let named = |name| of(&[("l.json", LSBLK)], Some(name)).map(|guess| guess.preset);
        assert_eq!((named("sda"), named("sdb"), named("nvme0n1")), (Ok("hdd-7200"), Ok("usb-stick"), Ok("nvme-ssd")));
        assert!(named("vda").unwrap_err().contains("a virtual disk"));
        assert!(named("sdx").unwrap_err().contains("did you mean `sda`?"), "{:?}", named("sdx"));
        let unnamed = of(&[("l.json", LSBLK)], None).unwrap_err();
        assert!(unnamed.contains("4 disks") && unnamed.contains("--of sda"), "{unnamed}");
    }

    #[test]
    fn what_contradicts_or_tells_too_little_is_refused() {
        let other = SMART.replace("ST2000DM001-1CH164", "WDC WD40EFRX");
        assert!(of(&[("a", SMART), ("b", &other)], None).unwrap_err().contains("two disks: a:5"));
        let elsewhere = LSBLK.replace("ST2000DM001-1CH1", "TOSHIBA");
        let none = of(&[("a", SMART), ("l", &elsewhere)], None).unwrap_err();
        assert!(none.contains("l: none of its disks, sda, sdb, nvme0n1, vda, is a `ST2000DM001-1CH164`"), "{none}");
        let silent = "smartctl 7.3\nDevice Model:     X\n";
        assert!(of(&[("a", silent)], None).unwrap_err().contains("whether the disk turns"));
    }

    #[test]
    fn bounds_decide_between_old_and_new() {
        let drive = |bytes: u64, bus: Option<Bus>, turning: Turning| {
            let fact = |value| Fact { value, from: "x:1".to_owned() };
            let bus = bus.map(|value| Fact { value, from: "x:2".to_owned() });
            let turning = Some(Fact { value: turning, from: "x:3".to_owned() });
            nearest(&Facts { bytes: Some(fact(bytes)), bus, turning, ..Facts::default() }).map(|found| found.0)
        };
        let turns = Turning::At(7200);
        let sata = |gbits| Some(Bus::Sata { gbits: Some(gbits) });
        assert_eq!(drive(PRESENT_BYTES - 1, sata(6.0), turns), Ok("sata-2009"));
        assert_eq!(drive(PRESENT_BYTES, sata(6.0), turns), Ok("hdd-7200"));
        assert_eq!(drive(PRESENT_BYTES, sata(3.0), turns), Ok("sata-2009"));
        assert_eq!(drive(80_000_000_000, Some(Bus::Ide), turns), Ok("ide-2002"));
        assert_eq!(drive(LONGEST_STICK, Some(Bus::Usb), Turning::Yes), Ok("usb-stick"));
        assert_eq!(drive(LONGEST_STICK + 1, Some(Bus::Usb), Turning::No), Ok("sata-ssd"));
        assert_eq!(drive(4_000_000_000_000, Some(Bus::Usb), Turning::Yes), Ok("hdd-7200"));
        assert_eq!(drive(1, Some(Bus::Scsi), Turning::No), Ok("sata-ssd"));
        assert_eq!(drive(1, Some(Bus::Mmc), Turning::No), Ok("sd-card"));
    }
}
