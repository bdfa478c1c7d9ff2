//! The middleware around a disk, and its TOML reader.

use std::num::NonZeroU32;

use blksched::{Op, Span};
use blksched_text::document::{Complaint, Section};

use super::reader::Quantities as _;
use super::tails::switched;
use crate::Attached;
use crate::draw::{Chance, MOST_MEANS};

/// The layers around a disk, from the inside out; by default none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MiddlewareSpec {
    /// `[[fault]]`: commands that fail or are slow.
    pub faults: Vec<FaultSpec>,
    /// `[delay]`: everything takes longer.
    pub delay: Option<DelaySpec>,
    /// `[coalescing]`: the controller gathers completions before it interrupts the host.
    pub coalescing: Option<CoalescingSpec>,
    /// `[power]`: the drive sleeps.
    pub power: Option<PowerSpec>,
    /// `[window]`: how many commands are inside at a time; `None` for all.
    pub window: Option<u32>,
    /// `[controller_cache]`: writes end in a controller's memory.
    pub controller_cache: Option<ControllerCacheSpec>,
    /// `[arbitration]`: how many commands an NVMe drive fetches from a submission queue before it turns to the next;
    /// only where a host's queues are told apart.
    pub arbitration_burst: NonZeroU32,
    /// `[caps]`: at most this much per second.
    pub caps: Option<CapsSpec>,
    /// `[tracer]`: how many of the last commands are kept for the driver to read.
    pub tracer: Option<u32>,
}

impl Default for MiddlewareSpec {
    fn default() -> MiddlewareSpec {
        MiddlewareSpec {
            faults: Vec::new(),
            delay: None,
            coalescing: None,
            power: None,
            window: None,
            controller_cache: None,
            arbitration_burst: NonZeroU32::MIN,
            caps: None,
            tracer: None,
        }
    }
}

/// A fault. It affects commands that match all its conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultSpec {
    /// What happens.
    pub action: FaultAction,
    /// How long a failing command takes, or how much longer a slow one.
    pub after: Span,
    /// The operation; `None` for any.
    pub op: Option<Op>,
    /// The first matching command that is affected, counted from 1.
    pub nth: u64,
    /// How often; `None` for ever.
    pub times: Option<u64>,
    /// First and last sector, of which a command must touch at least one; `None` for anywhere.
    pub sectors: Option<(u64, u64)>,
}

impl FaultSpec {
    /// The longest delay that it can add to a command.
    pub(super) fn longest(&self) -> Span {
        self.after
    }
}

/// What a fault does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultAction {
    /// The command fails.
    Fail,
    /// The command takes longer.
    Slow,
}

/// A delay of everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelaySpec {
    /// The delay of every command.
    pub time: Span,
    /// The greatest additional delay, uniformly distributed.
    pub jitter: Span,
    /// What delays a few commands much more: a processor that is busy with something else.
    pub rare: Option<RareDelay>,
}

impl DelaySpec {
    /// The longest delay of a command.
    pub(super) fn longest(&self) -> Span {
        self.time + self.jitter + self.rare.map_or(Span::ZERO, |rare| rare.mean * MOST_MEANS)
    }
}

/// A delay that few commands have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RareDelay {
    /// How likely it is.
    pub chance: Chance,
    /// Its mean; it is exponentially distributed.
    pub mean: Span,
}

/// Interrupt coalescing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoalescingSpec {
    /// With fewer commands than this in the controller, each completion interrupts at once.
    pub from: u32,
    /// So many completions interrupt together …
    pub most: u32,
    /// … or as many as there are when the first of them has waited so long.
    pub time: Span,
}

/// Sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerSpec {
    /// After so long without a command it sleeps.
    pub idle: Span,
    /// It takes so long to wake.
    pub wake: Span,
}

/// A controller's memory, which a battery keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControllerCacheSpec {
    /// Room for what is not written yet \[512-byte sectors\].
    pub size_sectors: u64,
    /// What a write into it takes, and a read from it.
    pub time: Span,
    /// So many commands of it are with the disk behind at a time; at least 1.
    pub at_once: u32,
}

/// How much may be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapsSpec {
    /// Operations.
    pub operations: CapSpec,
    /// The most that counts as one operation \[512-byte sectors\].
    pub unit_sectors: u64,
    /// Bytes.
    pub bytes: CapSpec,
}

/// A bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapSpec {
    /// The rate at which it fills \[1/s\]; at least 1.
    pub rate: u64,
    /// The greatest rate at which it is emptied \[1/s\]; at least `rate`.
    pub burst: u64,
    /// Its capacity.
    pub credits: u64,
}

const FAULT: &[&str] = &["action", "after", "op", "nth", "times", "first_sector", "last_sector"];

pub(super) fn read(top: &Section<'_>, attached: Attached) -> Result<MiddlewareSpec, Complaint> {
    Ok(MiddlewareSpec {
        faults: top.sections("fault", FAULT)?.iter().map(fault).collect::<Result<_, _>>()?,
        delay: top.section("delay", DELAY)?.map(|section| delay(&section)).transpose()?,
        coalescing: switched(top, "coalescing", &["state", "from", "most", "time"], coalescing)?,
        window: switched(top, "window", &["state", "commands"], |section| {
            section.count_within("commands", 1..=65_536)
        })?,
        power: switched(top, "power", &["state", "idle", "wake"], |section| {
            Ok(PowerSpec {
                idle: section.span("idle", Span::ZERO..=Span::from_secs(3600))?.value,
                wake: section.span("wake", Span::ZERO..=Span::from_secs(60))?.value,
            })
        })?,
        controller_cache: switched(top, "controller_cache", &["state", "size", "time", "at_once"], |section| {
            Ok(ControllerCacheSpec {
                size_sectors: section.sectors("size", 8..=134_217_728)?.value,
                time: section.span("time", Span::ZERO..=Span::from_ms(100))?.value,
                at_once: section.count_within("at_once", 1..=65_536)?,
            })
        })?,
        arbitration_burst: match top.section("arbitration", &["mechanism", "burst"])? {
            Some(section) => arbitration(&section, attached)?,
            None => NonZeroU32::MIN,
        },
        caps: top.section("caps", CAPS)?.map(|section| caps(&section)).transpose()?,
        tracer: match top.section("tracer", &["keep"])? {
            Some(section) => Some(section.count_within("keep", 1..=10_000_000)?),
            None => None,
        },
    })
}

/// The bursts that NVMe can express: powers of two, and none.
const BURSTS: [(&str, u32); 8] =
    [("1", 1), ("2", 2), ("4", 4), ("8", 8), ("16", 16), ("32", 32), ("64", 64), ("unlimited", u32::MAX)];

fn arbitration(section: &Section<'_>, attached: Attached) -> Result<NonZeroU32, Complaint> {
    if attached != Attached::Nvme {
        let problem = "only an NVMe drive has submission queues: expected attached = \"nvme\"";
        return Err(section.complain(section.at(), problem));
    }
    if section.text("mechanism")?.is_some_and(|text| text.value == "weighted") {
        let problem = "`weighted` is not modelled: a drive weighs its queues only if the host enables that, and Linux \
                       never does; expected round-robin";
        return Err(section.complain(&section.at_key("mechanism"), problem));
    }
    section.word_or("mechanism", &[("round-robin", ())])?;
    if !section.has("burst") {
        return Ok(NonZeroU32::MIN);
    }
    let most = match section.count_within("burst", 1..=64) {
        Ok(burst) if burst.is_power_of_two() => burst,
        Err(_) if section.text("burst").is_ok() => section.word("burst", &BURSTS)?,
        Ok(_) | Err(_) => {
            let problem = "`burst` is no such power of two: expected 1, 2, 4, 8, 16, 32, 64 or \"unlimited\"";
            return Err(section.complain(&section.at_key("burst"), problem));
        }
    };
    Ok(NonZeroU32::new(most).expect("no burst is 0"))
}

fn fault(section: &Section<'_>) -> Result<FaultSpec, Complaint> {
    let ops = [
        ("any", None),
        ("read", Some(Op::Read)),
        ("write", Some(Op::Write)),
        ("flush", Some(Op::Flush)),
        ("discard", Some(Op::Discard)),
        ("write-zeroes", Some(Op::WriteZeroes)),
    ];
    let number = |key| if section.has(key) { section.count_within(key, 1..=u32::MAX).map(Some) } else { Ok(None) };
    Ok(FaultSpec {
        action: section.word("action", &[("fail", FaultAction::Fail), ("slow", FaultAction::Slow)])?,
        after: section.span("after", Span::ZERO..=Span::from_secs(3600))?.value,
        op: if section.has("op") { section.word("op", &ops)? } else { None },
        nth: u64::from(number("nth")?.unwrap_or(1)),
        times: number("times")?.map(u64::from),
        sectors: sectors(section)?,
    })
}

fn sectors(section: &Section<'_>) -> Result<Option<(u64, u64)>, Complaint> {
    if !section.has("first_sector") && !section.has("last_sector") {
        return Ok(None);
    }
    let (first, last) = (section.sector("first_sector")?.value, section.sector("last_sector")?);
    if last.value < first {
        return Err(section.complain(&last.at, "`last_sector` lies before `first_sector`"));
    }
    Ok(Some((first, last.value)))
}

const DELAY: &[&str] = &["time", "jitter", "rare", "rare_chance"];

fn delay(section: &Section<'_>) -> Result<DelaySpec, Complaint> {
    let range = || Span::ZERO..=Span::from_secs(100);
    let rare = match (section.has("rare"), section.has("rare_chance")) {
        (false, false) => None,
        // The one that is missing is named.
        _ => Some(RareDelay {
            chance: section.chance("rare_chance")?,
            mean: section.span("rare", Span::ZERO..=Span::from_secs(1))?.value,
        }),
    };
    let time = section.span("time", range())?.value;
    Ok(DelaySpec { time, jitter: section.span_or("jitter", range(), Span::ZERO)?, rare })
}

fn coalescing(section: &Section<'_>) -> Result<CoalescingSpec, Complaint> {
    Ok(CoalescingSpec {
        from: section.count_within("from", 1..=65_536)?,
        most: section.count_within("most", 1..=65_536)?,
        time: section.span("time", Span::ZERO..=Span::from_ms(100))?.value,
    })
}

const CAPS: &[&str] = &["operations", "unit", "bytes", "credits", "burst"];

fn caps(section: &Section<'_>) -> Result<CapsSpec, Complaint> {
    let operations = section.per_second("operations")?.value;
    let burst = section.per_second("burst")?;
    if burst.value < operations {
        let problem = "`burst` is less than `operations`: credits are spent faster than they come".to_owned();
        return Err(section.complain(&burst.at, problem));
    }
    let bytes = section.rate("bytes")?.value.bytes_per_s();
    Ok(CapsSpec {
        operations: CapSpec {
            rate: operations,
            burst: burst.value,
            credits: section.count_within("credits", 1..=u32::MAX)?.into(),
        },
        unit_sectors: section.sectors("unit", 1..=65_536)?.value,
        // A hundredth of a second's bytes may come at once.
        bytes: CapSpec { rate: bytes, burst: bytes.saturating_mul(10), credits: bytes / 100 },
    })
}
