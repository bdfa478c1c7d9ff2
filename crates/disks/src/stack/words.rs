//! **What for**: stacked devices by their words: `md-raid0:2xnvme-ssd`, `md-raid1:sda+sdb`,
//! `crypt:md-raid10:4xhdd-7200,chunk=64k,no_read_workqueue`.
//!
//! **Rule**: a kind, a colon, the members, each after `+` and with a number before `x` so many times; a stacked member
//! takes all the members that follow. Behind the first comma are settings; each belongs to the outermost device that
//! knows it and has not been given it, and what no device knows is the innermost disk's, if that takes any
//! (`crypt:raid5:4xhdd-7200,failed=1`).

use blksched::Span;
use blksched_text::document::{Complaint, Source};
use blksched_text::{nearest, units};

use super::{CryptSpec, NO_SETTINGS, NOT_MODELLED, ParitySpec, StackLayout, StackSpec};
use crate::{Attached, DiskError};

/// A stacked device in words.
#[derive(Clone, Debug, PartialEq)]
pub struct StackedWord {
    /// Its kind, as in `md-raid0`.
    pub kind: &'static str,
    /// What it is.
    pub spec: StackSpec,
    /// Its members, at least as many as it needs.
    pub members: Vec<StackWord>,
}

impl StackedWord {
    /// The words for the disks below it, in their order.
    pub fn disks(&self) -> Vec<&str> {
        let below = self.members.iter().flat_map(|member| match member {
            StackWord::Disk { word, .. } => vec![word.as_str()],
            StackWord::Stacked(inner) => inner.disks(),
        });
        below.collect()
    }
}

/// A member, or the whole.
#[derive(Clone, Debug, PartialEq)]
pub enum StackWord {
    /// A disk: the word for it, and where it stands \[characters, from 1\].
    Disk {
        /// The word.
        word: String,
        /// Its column.
        column: usize,
    },
    /// Another stacked device.
    Stacked(StackedWord),
}

/// mdadm(8): the usual chunk of md's striped levels \[512-byte sectors\].
const MD_CHUNK: u64 = 1024;
/// lvcreate(8): the usual stripe size of a striped logical volume \[512-byte sectors\].
const DM_CHUNK: u64 = 128;
/// cryptsetup's FAQ: the usual length of a LUKS2 header \[512-byte sectors\].
const LUKS2_HEADER: u64 = 32_768;
/// A chunk is as long as a page, and no longer than this \[512-byte sectors\].
const CHUNKS: core::ops::RangeInclusive<u64> = 8..=(1 << 21);

/// The most disks below a device, and the most devices above one another.
const MOST_DISKS: u64 = 256;
const DEEPEST: u32 = 8;

/// Every kind, as it is without settings.
const KINDS: [(&str, StackLayout); 10] = [
    ("linear", StackLayout::Linear),
    ("lvm", StackLayout::Linear),
    ("striped", StackLayout::Striped { chunk: DM_CHUNK }),
    ("md-raid0", StackLayout::Raid0 { chunk: MD_CHUNK }),
    ("md-raid1", StackLayout::Raid1),
    ("md-raid4", StackLayout::Raid4 { chunk: MD_CHUNK }),
    ("md-raid5", StackLayout::Raid5 { chunk: MD_CHUNK }),
    ("md-raid6", StackLayout::Raid6 { chunk: MD_CHUNK }),
    ("md-raid10", StackLayout::Raid10 { chunk: MD_CHUNK }),
    ("crypt", StackLayout::Behind { header: LUKS2_HEADER }),
];

const OF_ALL: [&str; 1] = ["priority"];
const OF_CHUNKS: [&str; 2] = ["chunk", "priority"];
const OF_PARITY: [&str; 4] = ["chunk", "stripe_cache_size", "hop", "priority"];
const OF_CRYPT: [&str; 9] = [
    "no_read_workqueue",
    "no_write_workqueue",
    "allow_discards",
    "encrypt",
    "decrypt",
    "max_read_size",
    "max_write_size",
    "hop",
    "priority",
];

fn settings_of(layout: StackLayout) -> &'static [&'static str] {
    match layout {
        StackLayout::Linear | StackLayout::Raid1 => &OF_ALL,
        StackLayout::Striped { .. } | StackLayout::Raid0 { .. } | StackLayout::Raid10 { .. } => &OF_CHUNKS,
        StackLayout::Raid4 { .. } | StackLayout::Raid5 { .. } | StackLayout::Raid6 { .. } => &OF_PARITY,
        StackLayout::Behind { .. } => &OF_CRYPT,
    }
}

/// The stacked device of this description; `None` if it does not begin like one.
///
/// # Errors
/// The place, the word, what was expected and the nearest word; or what is not modelled, and why that matters.
///
/// ```
/// use blksched_disks::stack::stack_word;
///
/// assert!(stack_word("hdd-7200").is_none());
/// assert_eq!(stack_word("md-raid0:2xnvme-ssd").unwrap().unwrap().members.len(), 2);
/// let few = stack_word("md-raid1:1xssd").unwrap().unwrap_err().to_string();
/// assert!(few.contains("md-raid1:1xssd:1:10: 1 member: expected 2 to 64"), "{few}");
/// ```
pub fn stack_word(text: &str) -> Option<Result<StackedWord, DiskError>> {
    let head = text.split_once(':')?.0;
    let is_meant = kind(head).is_some() || is_refused(head) || is_like_one(head);
    is_meant.then(|| read(text).map_err(DiskError::from))
}

/// The words for all kinds.
pub(super) fn kinds() -> impl Iterator<Item = &'static str> {
    KINDS.into_iter().map(|(name, _)| name)
}

fn kind(head: &str) -> Option<(&'static str, StackLayout)> {
    KINDS.into_iter().find(|(name, _)| *name == head)
}

fn is_refused(head: &str) -> bool {
    NOT_MODELLED.iter().any(|(name, _)| *name == head)
}

/// A word that is nearly a kind, and nothing else that may stand before a colon.
fn is_like_one(head: &str) -> bool {
    let is_other = head.starts_with("raid") || ["iocost", "ideal"].contains(&head);
    let is_attached = Attached::WORDS.iter().any(|(word, _)| *word == head);
    let begins = head.starts_with("md-") || head.starts_with("dm-");
    let is_word = head.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    is_word && !is_other && !is_attached && (begins || nearest(head, KINDS.map(|(name, _)| name)).is_some())
}

/// A device while its settings are being read.
struct DeviceWord {
    kind: &'static str,
    spec: StackSpec,
    given: Vec<&'static str>,
    members: Vec<(u32, MemberWord)>,
}

impl DeviceWord {
    /// How many disks are below it.
    fn disks(&self) -> u64 {
        let below = |(times, member): &(u32, MemberWord)| match member {
            MemberWord::Disk { .. } => u64::from(*times),
            MemberWord::DeviceWord(node) => u64::from(*times).saturating_mul(node.disks()),
        };
        self.members.iter().map(below).fold(0, u64::saturating_add)
    }
}

enum MemberWord {
    Disk { word: String, at: usize },
    DeviceWord(DeviceWord),
}

fn read(text: &str) -> Result<StackedWord, Complaint> {
    let source = Source { file: text, text };
    let (devices, settings) = text.split_once(',').map_or((text, None), |(devices, rest)| (devices, Some(rest)));
    let mut node = node(source, devices, (0, 1))?;
    let mut at = devices.len() + 1;
    for setting in settings.into_iter().flat_map(|rest| rest.split(',')) {
        let (word, value) = setting.split_once('=').unwrap_or((setting, ""));
        match set(&mut node, word, value) {
            SettingTaken::Yes => {}
            SettingTaken::Bad(expected) => {
                return Err(source.complain(&(at..at), format!("{setting}: expected {expected}")));
            }
            SettingTaken::Twice => {
                return Err(source.complain(&(at..at), format!("`{word}` is given twice: expected once")));
            }
            SettingTaken::Unknown => belongs_to_disk(&mut node, source, (at, setting, word))?,
        }
        at += setting.len() + 1;
    }
    let disks = node.disks();
    if disks > MOST_DISKS {
        return Err(source.complain(&(0..0), format!("{disks} disks: expected at most {MOST_DISKS}")));
    }
    Ok(finish(node, text))
}

/// The device whose description begins at `at`, without settings.
fn node(source: Source<'_>, text: &str, (at, deep): (usize, u32)) -> Result<DeviceWord, Complaint> {
    if deep > DEEPEST {
        return Err(source.complain(&(at..at), format!("more than {DEEPEST} devices above one another")));
    }
    let (head, rest) = text.split_once(':').unwrap_or((text, ""));
    if let Some((_, why)) = NOT_MODELLED.iter().find(|(name, _)| *name == head) {
        return Err(source.complain(&(at..at), format!("{head} is not modelled: {why}")));
    }
    let Some((name, layout)) = kind(head) else {
        let problem = format!("no stacked device is called `{head}`");
        return Err(source.unknown(&(at..at), &problem, head, KINDS.map(|(name, _)| name)));
    };
    let crypt = matches!(layout, StackLayout::Behind { .. }).then(CryptSpec::default);
    let mut node = DeviceWord {
        kind: name,
        spec: StackSpec { crypt, ..StackSpec::of(layout) },
        given: Vec::new(),
        members: Vec::new(),
    };
    let (first, mut here, mut left) = (at + head.len() + 1, at + head.len() + 1, rest);
    while !left.is_empty() || here == first {
        let (times, skipped) = times(left);
        let behind = &left[skipped..];
        let stacked = stack_word_begins(behind);
        let end = if stacked { left.len() } else { left.find('+').unwrap_or(left.len()) };
        let word = &left[skipped..end.max(skipped)];
        let place = here + skipped;
        if word.is_empty() {
            let problem = format!("{name} lacks a member here: expected a disk, as in {name}:2xhdd-7200");
            return Err(source.complain(&(place..place), problem));
        }
        let member = match stacked {
            true => MemberWord::DeviceWord(self::node(source, word, (place, deep + 1))?),
            false => MemberWord::Disk { word: word.to_owned(), at: place },
        };
        node.members.push((times, member));
        if end == left.len() {
            break;
        }
        (here, left) = (here + end + 1, &left[end + 1..]);
        if left.is_empty() {
            let problem = format!("{name} lacks a member behind the `+`: expected a disk");
            return Err(source.complain(&(here..here), problem));
        }
    }
    let count: u32 = node.members.iter().map(|(times, _)| *times).fold(0, u32::saturating_add);
    let (least, most) = (layout.least_members(), layout.most_members());
    if !(least..=most).contains(&count) {
        let members = if count == 1 { "1 member".to_owned() } else { format!("{count} members") };
        let expected = if least == most { format!("{least}") } else { format!("{least} to {most}") };
        return Err(source.complain(&(first..first), format!("{members}: expected {expected}")));
    }
    Ok(node)
}

/// `4xhdd-7200`: how many times, and the length of what says it.
fn times(text: &str) -> (u32, usize) {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let is_times = digits > 0 && text[digits..].starts_with('x');
    match text[..digits].parse() {
        Ok(times) if is_times => (times, digits + 1),
        _ if is_times => (u32::MAX, digits + 1),
        _ => (1, 0),
    }
}

fn stack_word_begins(text: &str) -> bool {
    text.split_once(':').is_some_and(|(head, _)| kind(head).is_some() || is_refused(head) || is_like_one(head))
}

/// What became of a setting.
enum SettingTaken {
    Yes,
    Bad(&'static str),
    Twice,
    Unknown,
}

fn set(node: &mut DeviceWord, word: &str, value: &str) -> SettingTaken {
    let known = settings_of(node.spec.layout).iter().copied().find(|known| *known == word);
    if let Some(known) = known.filter(|known| !node.given.contains(known)) {
        node.given.push(known);
        return apply(&mut node.spec, known, value).map_or_else(SettingTaken::Bad, |()| SettingTaken::Yes);
    }
    let otherwise = if known.is_some() { SettingTaken::Twice } else { SettingTaken::Unknown };
    node.members.iter_mut().fold(otherwise, |so_far, (_, member)| match (so_far, member) {
        (SettingTaken::Unknown | SettingTaken::Twice, MemberWord::DeviceWord(node)) => set(node, word, value),
        (so_far, _) => so_far,
    })
}

fn apply(spec: &mut StackSpec, setting: &str, value: &str) -> Result<(), &'static str> {
    const SPEED: &str = "MiB/s of `cryptsetup benchmark`, a number from 1, as in 1500";
    const FLAG: &str = "no value: the word alone is the setting";
    const STRIPES: core::ops::RangeInclusive<u32> = 17..=32_768;
    let speed = || value.parse::<u64>().ok().filter(|speed| (1..=1_000_000).contains(speed)).ok_or(SPEED);
    let mut crypt = CryptSpec::default();
    let crypt = spec.crypt.as_mut().unwrap_or(&mut crypt);
    match setting {
        "priority" => {
            spec.keeps_priority = match value {
                "kept" => true,
                "lost" => false,
                _ => return Err("priority=kept or priority=lost"),
            };
        }
        "chunk" => {
            let sectors = units::bytes_or_letter(value).map(|bytes| (bytes / 512, bytes % 4096));
            let sectors = sectors.filter(|(sectors, rest)| *rest == 0 && CHUNKS.contains(sectors));
            let given = sectors.ok_or("a multiple of 4 KiB up to 1 GiB, as in chunk=512k")?.0;
            match &mut spec.layout {
                StackLayout::Striped { chunk }
                | StackLayout::Raid0 { chunk }
                | StackLayout::Raid10 { chunk }
                | StackLayout::Raid4 { chunk }
                | StackLayout::Raid5 { chunk }
                | StackLayout::Raid6 { chunk } => *chunk = given,
                StackLayout::Linear | StackLayout::Behind { .. } | StackLayout::Raid1 => {
                    unreachable!("it has no chunks")
                }
            }
        }
        "encrypt" => crypt.encrypts = speed()?,
        "decrypt" => crypt.decrypts = speed()?,
        "max_read_size" => crypt.most_read = cut_at(value)?,
        "max_write_size" => crypt.most_written = cut_at(value)?,
        "hop" => {
            let hop = value.parse::<Span>().ok().filter(|hop| *hop <= Span::from_ms(100));
            let hop = hop.ok_or("a time up to 100ms, as in hop=3us")?;
            crypt.hop = hop;
            spec.parity = spec.parity.map(|parity| ParitySpec { hop, ..parity });
        }
        "stripe_cache_size" => {
            let stripes = value.parse::<u32>().ok().filter(|stripes| STRIPES.contains(stripes));
            let stripes = stripes.ok_or("17 to 32768 stripes, as in stripe_cache_size=4096")?;
            spec.parity = spec.parity.map(|parity| ParitySpec { stripes, ..parity });
        }
        _ if !value.is_empty() => return Err(FLAG),
        "allow_discards" => crypt.allow_discards = true,
        "no_read_workqueue" => crypt.read_workqueue = false,
        _ => crypt.write_workqueue = false,
    }
    Ok(())
}

/// The length at which dm-crypt cuts \[512-byte sectors\].
fn cut_at(value: &str) -> Result<u32, &'static str> {
    const EXPECTED: &str = "a multiple of 4 KiB up to 1 GiB, as in max_read_size=128k, or none: `max_read_size=none`";
    if value == "none" {
        return Ok(u32::MAX);
    }
    let bytes = units::bytes_or_letter(value).filter(|bytes| bytes % 4096 == 0 && CHUNKS.contains(&(bytes / 512)));
    bytes.map(|bytes| (bytes / 512) as u32).ok_or(EXPECTED)
}

/// A setting that no device knows goes to the last disk, if its description takes any.
fn belongs_to_disk(
    node: &mut DeviceWord,
    source: Source<'_>,
    (at, setting, word): (usize, &str, &str),
) -> Result<(), Complaint> {
    let mut known: Vec<&str> = settings_of(node.spec.layout).to_vec();
    let mut last = node.members.last_mut();
    while let Some((_, MemberWord::DeviceWord(inner))) = last {
        known.extend(settings_of(inner.spec.layout));
        last = inner.members.last_mut();
    }
    match last {
        Some((_, MemberWord::Disk { word, .. })) if word.contains(':') => {
            *word += ",";
            *word += setting;
            Ok(())
        }
        _ => {
            if let Some((_, why)) = NO_SETTINGS.iter().find(|(name, _)| *name == word) {
                return Err(source.complain(&(at..at), format!("{word} is not modelled: {why}")));
            }
            known.sort_unstable();
            known.dedup();
            Err(source.unknown(&(at..at), &format!("no device here has `{word}`"), word, known))
        }
    }
}

fn finish(node: DeviceWord, text: &str) -> StackedWord {
    let member = |member: MemberWord| match member {
        MemberWord::Disk { word, at } => StackWord::Disk { word, column: text[..at].chars().count() + 1 },
        MemberWord::DeviceWord(node) => StackWord::Stacked(finish(node, text)),
    };
    let each = |(times, one): (u32, MemberWord)| vec![member(one); times as usize];
    StackedWord { kind: node.kind, spec: node.spec, members: node.members.into_iter().flat_map(each).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(word: &StackWord) -> String {
        match word {
            StackWord::Disk { word, column } => format!("{word}@{column}"),
            StackWord::Stacked(stacked) => whole(stacked),
        }
    }

    fn whole(stacked: &StackedWord) -> String {
        format!("{}({})", stacked.kind, stacked.members.iter().map(shown).collect::<Vec<_>>().join(" "))
    }

    fn read(text: &str) -> Result<StackedWord, String> {
        stack_word(text).expect("it begins like one").map_err(|error| error.to_string())
    }

    #[test]
    fn members_are_counted_named_and_stacked() {
        let of = |text: &str| whole(&read(text).unwrap());
        assert_eq!(of("md-raid0:2xnvme-ssd"), "md-raid0(nvme-ssd@12 nvme-ssd@12)");
        assert_eq!(of("md-raid1:sda+sdb"), "md-raid1(sda@10 sdb@14)");
        assert_eq!(of("crypt:virtio:nvme-ssd"), "crypt(virtio:nvme-ssd@7)");
        assert_eq!(of("crypt:md-raid1:a+b,hop=5us"), "crypt(md-raid1(a@16 b@18))");
        assert_eq!(of("linear:a+2xmd-raid0:2xb"), "linear(a@8 md-raid0(b@23 b@23) md-raid0(b@23 b@23))");
        assert_eq!(of("crypt:raid5:4xhdd-7200,failed=1"), "crypt(raid5:4xhdd-7200,failed=1@7)");
        assert_eq!(of("lvm:1xssd"), "lvm(ssd@7)");
    }

    #[test]
    fn settings_belong_to_the_outermost_device_that_has_them() {
        let both = read("crypt:md-raid0:2xssd,no_read_workqueue,chunk=64k,encrypt=900,priority=lost").unwrap();
        let crypt = both.spec.crypt.unwrap();
        assert_eq!((crypt.encrypts, crypt.decrypts), (900, CryptSpec::default().decrypts));
        assert!(!crypt.read_workqueue && crypt.write_workqueue && !both.spec.keeps_priority);
        let StackWord::Stacked(inner) = &both.members[0] else { panic!("it is stacked") };
        assert_eq!((inner.spec.layout, inner.spec.keeps_priority), (StackLayout::Raid0 { chunk: 128 }, true));
        let twice = read("crypt:crypt:ssd,hop=1us,hop=2us").unwrap();
        let StackWord::Stacked(inner) = &twice.members[0] else { panic!("it is stacked") };
        assert_eq!(inner.spec.crypt.unwrap().hop, Span::from_us(2));
    }

    #[test]
    fn mistakes_name_the_place_and_what_was_expected() {
        let table = [
            ("md-raid1:ssd", ":1:10: 1 member: expected 2 to 64"),
            ("md-raid0:99xssd", ":1:10: 99 members: expected 2 to 64"),
            ("md-raid0:0xssd", ":1:10: 0 members"),
            ("crypt:2xssd", ":1:7: 2 members: expected 1"),
            ("md-raid1:", ":1:10: md-raid1 lacks a member here"),
            ("md-raid1:ssd+", ":1:14: md-raid1 lacks a member behind the `+`"),
            ("md-riad0:2xssd", ":1:1: no stacked device is called `md-riad0`: expected one of linear"),
            ("md-riad0:2xssd", "did you mean `md-raid0`?"),
            ("cript:ssd", "did you mean `crypt`?"),
            ("crypt:dm-thin:ssd", ":1:7: dm-thin is not modelled: that a first write allocates"),
            ("md-raid4:2xssd", ":1:10: 2 members: expected 3 to 64"),
            ("md-raid5:2xssd", ":1:10: 2 members: expected 3 to 64"),
            ("md-raid6:3xssd", ":1:10: 3 members: expected 4 to 64"),
            ("md-raid5:3xssd,stripe_cache_size=5", ":1:16: stripe_cache_size=5: expected 17 to 32768 stripes"),
            ("md-raid5:3xssd,stripe_cache_siz=512", "did you mean `stripe_cache_size`?"),
            ("md-raid5:3xssd,resync", ":1:16: resync is not modelled: it reads all members in turn"),
            ("md-raid1:2xssd,failed=1", ":1:16: failed is not modelled"),
            ("bcache:ssd+hdd-7200", ":1:1: bcache is not modelled: what is in the cache"),
            ("smr:hdd-7200", "smr is not modelled"),
            ("md-raid0:2xssd,chonk=4k", ":1:16: no device here has `chonk`: expected one of chunk, priority"),
            ("md-raid0:2xssd,chonk=4k", "did you mean `chunk`?"),
            ("md-raid0:2xssd,chunk=4k,chunk=8k", ":1:25: `chunk` is given twice"),
            ("md-raid0:2xssd,chunk=5k", ":1:16: chunk=5k: expected a multiple of 4 KiB"),
            ("crypt:ssd,encrypt=fast", "expected MiB/s of `cryptsetup benchmark`"),
            ("crypt:ssd,no_read_workqueue=1", "expected no value"),
            ("crypt:ssd,allow_discards=yes", "expected no value"),
            ("crypt:ssd,allow_discard", "did you mean `allow_discards`?"),
            ("crypt:ssd,max_write_size=1k", "expected a multiple of 4 KiB up to 1 GiB"),
            ("crypt:ssd,max_readsize=4k", "did you mean `max_read_size`?"),
            ("crypt:ssd,priority=low", "expected priority=kept or priority=lost"),
        ];
        for (text, expected) in table {
            let error = read(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn what_is_no_stacked_device_is_left_alone() {
        for text in
            ["hdd-7200", "raid5:4xhdd-7200", "iocost:x", "ideal:nvme-ssd", "virtio:ssd", "scsi:ssd", "C:/d.toml"]
        {
            assert!(stack_word(text).is_none(), "{text}");
        }
    }
}
