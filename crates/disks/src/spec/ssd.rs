//! The specification of an SSD, and its TOML reader.

use blksched::Span;
use blksched_text::document::{Complaint, Section};

use super::keys;
use super::reader::Quantities as _;
use super::tails::{self, DriveState, FlashTimes, SlcSpec, TailsSpec};
use super::units::Rate;

/// A disk of flash. Every optional part can be left out, and every number changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SsdSpec {
    /// Capacity \[512-byte sectors\].
    pub capacity_sectors: u64,
    /// Largest command \[512-byte sectors\].
    pub max_sectors: u32,
    /// The most commands that the namespace accepts at a time.
    pub depth: u32,
    /// The controller.
    pub overhead: SsdOverheadSpec,
    /// Data between drive and host.
    pub interface: SsdInterfaceSpec,
    /// Channels and dies.
    pub flash: FlashSpec,
    /// What happens to reads behind programs.
    pub interference: InterferenceSpec,
    /// Writes end in the buffer; `None` turns it off.
    pub buffer: Option<BufferSpec>,
    /// Slow writes once the free blocks are used up; `None` turns it off.
    pub collection: Option<CollectionSpec>,
    /// The same with a map of pages, instead of `collection`.
    pub page_map: Option<PageMapSpec>,
    /// Cells of one bit, in front of the others; `None` without.
    pub slc: Option<SlcSpec>,
    /// What varies.
    pub tails: TailsSpec,
    /// What it went through before the run; `None` if the file does not say, and then `collection` alone decides.
    pub state: Option<DriveState>,
}

/// The controller's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SsdOverheadSpec {
    /// The time of each command; commands overlap.
    pub command: Span,
    /// The least time from one command to the next, which limits commands per second; more than `command` where what
    /// is in front of the drive (a serial link, a controller) is slower than the drive.
    pub interval: Span,
    /// The same by the kind of command, where that differs.
    pub map: MapSpec,
}

/// The controller's time per command by direction and pattern: a map that is looked up, or must be written too. `None`
/// for `interval`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MapSpec {
    /// A read that continues one before it.
    pub sequential_read: Option<Span>,
    /// Any other read.
    pub random_read: Option<Span>,
    /// A write that continues one before it.
    pub sequential_write: Option<Span>,
    /// Any other write.
    pub random_write: Option<Span>,
}

/// Data between drive and host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SsdInterfaceSpec {
    /// The rate in one direction; towards the host, if `write_rate` differs.
    pub rate: Rate,
    /// The rate towards the drive; `None` for the same.
    pub write_rate: Option<Rate>,
    /// Whether data may cross in both directions at once. Half by default.
    pub duplex: Duplex,
}

/// Whether data crosses the interface in both directions at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplex {
    /// No, as on SATA: a read's data waits for a write's.
    Half,
    /// Yes, as on PCIe, at the full rate each.
    Full,
}

/// Channels and dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlashSpec {
    /// Channels.
    pub channels: u32,
    /// Dies on each channel (or planes, if they read independently).
    pub dies: u32,
    /// The size of a page, which is read at once, and of a stripe \[512-byte sectors\]; a power of two, at least 8.
    pub page_sectors: u64,
    /// What a die programs at once, all planes and bits of a cell together \[512-byte sectors\].
    pub program_sectors: u64,
    /// Reading a page.
    pub read: Span,
    /// Programming.
    pub program: Span,
    /// Data over one channel.
    pub channel_rate: Rate,
}

/// What happens to reads behind programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterferenceSpec {
    /// The behaviour of a read behind a running program.
    pub state: Interference,
    /// How many reads may go before a program that could begin, or suspend one that runs.
    pub patience: u32,
    /// A program can be suspended only between its pulses, which take so long each; zero for at any moment.
    pub pulse: Span,
}

/// The behaviour of a read behind a running program on its die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interference {
    /// It passes, as if reads and programs were done by different dies.
    Off,
    /// It waits for the end.
    Wait,
    /// It interrupts the program.
    Suspend {
        /// The cost of stopping and resuming the program.
        cost: Span,
    },
}

/// The write buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferSpec {
    /// Room for data that is not programmed yet \[512-byte sectors\].
    pub size_sectors: u64,
    /// What happens to it when the power fails.
    pub power_loss: PowerLoss,
}

/// What happens to buffered data when the power fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PowerLoss {
    /// It is lost: a flush waits until it is programmed, and so does a FUA write.
    Lost,
    /// Capacitors save it: a flush has nothing to do.
    Kept,
}

/// Garbage collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectionSpec {
    /// How much can be written before it begins \[512-byte sectors\]; 0 if it has already begun.
    pub after_sectors: u64,
    /// What is erased at a time \[512-byte sectors\].
    pub block_sectors: u64,
    /// How much of a block is still valid when it is collected after random writes \[percent\]; 0 to 95.
    pub valid_percent: u32,
    /// Erasing.
    pub erase: Span,
}

/// Garbage collection with a map of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageMapSpec {
    /// What is erased at a time \[512-byte sectors\].
    pub block_sectors: u64,
    /// The unit of the map \[512-byte sectors\]; a page holds whole units.
    pub unit_sectors: u64,
    /// Blocks beyond those that the capacity needs \[percent of these\].
    pub spare_percent: u32,
    /// What the disk holds before the first write.
    pub before: Before,
    /// Erasing.
    pub erase: Span,
}

/// What a disk holds before the first write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// Nothing.
    Empty,
    /// Everything, written in order.
    Sequential,
    /// Everything, after long random writes.
    Random,
}

/// The keys at the top of an ssd's file, with those common to all kinds.
pub(super) const KEYS: &[&str] = keys![
    "capacity",
    "max_command",
    "depth",
    "overhead",
    "interface",
    "flash",
    "interference",
    "buffer",
    "collection",
    "pages",
    "retry",
    "map_cache",
    "stall",
    "slc",
    "state",
];

const OVERHEAD: &[&str] =
    &["command", "interval", "sequential_read", "random_read", "sequential_write", "random_write"];

const COLLECTION: &[&str] = &["state", "after", "block", "valid", "erase", "unit", "spare", "before"];

const FLASH: &[&str] = &["channels", "dies", "page", "program_size", "read", "program", "channel_rate"];

pub(super) fn read(top: &Section<'_>) -> Result<SsdSpec, Complaint> {
    let flash = flash(&top.needs_section("flash", FLASH)?)?;
    let capacity_sectors = top.capacity("capacity")?;
    let (mut collection, mut page_map) = collection(top.section("collection", COLLECTION)?, &flash, capacity_sectors)?;
    let state = if top.has("state") { Some(top.word("state", &DriveState::WORDS)?) } else { None };
    if let Some(state) = state {
        begin(state, &mut collection, &mut page_map);
    }
    let times = FlashTimes { read: flash.read, program: flash.program };
    let one_of_each = u64::from(flash.channels * flash.dies) * flash.program_sectors;
    Ok(SsdSpec {
        capacity_sectors,
        max_sectors: super::max_command(top)?,
        depth: top.count_within("depth", 1..=65_536)?,
        overhead: overhead(&top.needs_section("overhead", OVERHEAD)?)?,
        interface: interface(&top.needs_section("interface", &["rate", "write_rate", "duplex"])?)?,
        flash,
        interference: interference(&top.needs_section("interference", &["state", "suspend", "patience", "pulse"])?)?,
        buffer: buffer(top.section("buffer", &["state", "size", "power_loss"])?)?,
        collection,
        page_map,
        slc: tails::slc(top, (times, capacity_sectors, one_of_each), state)?,
        tails: tails::read(top, times)?,
        state,
    })
}

/// Collection as it begins in this state.
fn begin(state: DriveState, collection: &mut Option<CollectionSpec>, page_map: &mut Option<PageMapSpec>) {
    let (clean, before) = match state {
        DriveState::Fresh => (true, Before::Empty),
        DriveState::Filled => (false, Before::Sequential),
        DriveState::Steady => (false, Before::Random),
    };
    if let Some(map) = page_map {
        map.before = before;
    }
    if let Some(debt) = collection
        && !clean
    {
        debt.after_sectors = 0;
    }
}

fn overhead(section: &Section<'_>) -> Result<SsdOverheadSpec, Complaint> {
    let command = section.span("command", Span::ZERO..=Span::from_ms(100))?.value;
    let interval = section.span("interval", Span::ZERO..=Span::from_ms(100))?.value;
    let time = |key| match section.has(key) {
        true => Ok(Some(section.span(key, Span::ZERO..=Span::from_ms(100))?.value)),
        false => Ok(None),
    };
    let map = MapSpec {
        sequential_read: time("sequential_read")?,
        random_read: time("random_read")?,
        sequential_write: time("sequential_write")?,
        random_write: time("random_write")?,
    };
    Ok(SsdOverheadSpec { command, interval, map })
}

fn interface(section: &Section<'_>) -> Result<SsdInterfaceSpec, Complaint> {
    let words = [("half", Duplex::Half), ("full", Duplex::Full)];
    let duplex = if section.has("duplex") { section.word("duplex", &words)? } else { Duplex::Half };
    let rate = section.rate("rate")?.value;
    let write_rate = if section.has("write_rate") { Some(section.rate("write_rate")?.value) } else { None };
    Ok(SsdInterfaceSpec { rate, write_rate, duplex })
}

fn flash(section: &Section<'_>) -> Result<FlashSpec, Complaint> {
    let page = section.sectors("page", 8..=2_048)?;
    if !page.value.is_power_of_two() {
        return Err(section.complain(&page.at, "`page` is not a power of two"));
    }
    let program = section.sectors("program_size", 8..=65_536)?;
    if program.value < page.value {
        return Err(section.complain(&program.at, "`program_size` is less than `page`"));
    }
    Ok(FlashSpec {
        channels: section.count_within("channels", 1..=64)?,
        dies: section.count_within("dies", 1..=64)?,
        page_sectors: page.value,
        program_sectors: program.value,
        read: section.span("read", Span::ZERO..=Span::from_ms(10))?.value,
        program: section.span("program", Span::ZERO..=Span::from_ms(100))?.value,
        channel_rate: section.rate("channel_rate")?.value,
    })
}

fn interference(section: &Section<'_>) -> Result<InterferenceSpec, Complaint> {
    let cost = section.span("suspend", Span::ZERO..=Span::from_ms(10))?.value;
    let states =
        [("off", Interference::Off), ("wait", Interference::Wait), ("suspend", Interference::Suspend { cost })];
    let state = section.word("state", &states)?;
    let pulse = section.span_or("pulse", Span::ZERO..=Span::from_ms(10), Span::ZERO)?;
    Ok(InterferenceSpec { state, patience: section.count_within("patience", 0..=10_000)?, pulse })
}

fn buffer(section: Option<Section<'_>>) -> Result<Option<BufferSpec>, Complaint> {
    let Some(section) = section else { return Ok(None) };
    let state = section.word("state", &[("on", true), ("off", false)])?;
    let power_loss = section.word("power_loss", &[("lost", PowerLoss::Lost), ("kept", PowerLoss::Kept)])?;
    let spec = BufferSpec { size_sectors: section.sectors("size", 8..=4_194_304)?.value, power_loss };
    Ok(state.then_some(spec))
}

/// Which keys of `[collection]` are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Collects {
    /// As a debt.
    On,
    /// With a map of pages.
    Map,
    Off,
}

/// The debt or the map; neither if collection is off.
type Collecting = (Option<CollectionSpec>, Option<PageMapSpec>);

fn collection(section: Option<Section<'_>>, flash: &FlashSpec, capacity_sectors: u64) -> Result<Collecting, Complaint> {
    let Some(section) = section else { return Ok((None, None)) };
    let state = section.word("state", &[("on", Collects::On), ("map", Collects::Map), ("off", Collects::Off)])?;
    let of_others: &[&str] = match state {
        Collects::On => &["unit", "spare", "before"],
        Collects::Map => &["after", "valid"],
        Collects::Off => &[],
    };
    if let Some(key) = of_others.iter().find(|key| section.has(key)) {
        let other = if state == Collects::On { "map" } else { "on" };
        return Err(section.complain(&section.at_key(key), format!("`{key}` belongs to `state = \"{other}\"`")));
    }
    let block = section.sectors("block", 8..=4_194_304)?;
    if block.value < flash.program_sectors {
        return Err(section.complain(&block.at, "`block` is less than `program_size`"));
    }
    let erase = section.span("erase", Span::ZERO..=Span::from_secs(1))?.value;
    if state == Collects::Map || (state == Collects::Off && !section.has("valid")) {
        let map = page_map(&section, flash, (block.value, erase), capacity_sectors)?;
        return Ok((None, (state == Collects::Map).then_some(map)));
    }
    let spec = CollectionSpec {
        after_sectors: section.sectors("after", 0..=2_000_000_000_000)?.value,
        block_sectors: block.value,
        valid_percent: section.percent("valid", 0..=95)?,
        erase,
    };
    Ok(((state == Collects::On).then_some(spec), None))
}

fn page_map(
    section: &Section<'_>,
    flash: &FlashSpec,
    (block_sectors, erase): (u64, Span),
    capacity_sectors: u64,
) -> Result<PageMapSpec, Complaint> {
    let unit = section.sectors("unit", 8..=flash.page_sectors)?;
    let whole = |of: u64| of.is_multiple_of(unit.value);
    if !whole(flash.page_sectors) || !whole(block_sectors) {
        return Err(section.complain(&unit.at, "`page` and `block` are no whole numbers of `unit`"));
    }
    let units = capacity_sectors / unit.value / u64::from(flash.channels * flash.dies);
    if units > MOST_UNITS {
        let problem = format!("{units} units in each die: expected {MOST_UNITS} at most, or a larger `unit`");
        return Err(section.complain(&unit.at, problem));
    }
    let blocks = capacity_sectors / block_sectors;
    if blocks > MOST_BLOCKS {
        let problem = format!("{blocks} blocks: expected {MOST_BLOCKS} at most, or a larger `block`");
        return Err(section.complain(&section.at_key("block"), problem));
    }
    let befores = [("empty", Before::Empty), ("sequential", Before::Sequential), ("random", Before::Random)];
    Ok(PageMapSpec {
        block_sectors,
        unit_sectors: unit.value,
        spare_percent: section.percent("spare", 1..=200)?,
        before: section.word("before", &befores)?,
        erase,
    })
}

/// So that a die's units have 32-bit numbers.
const MOST_UNITS: u64 = 1 << 31;
/// So that what is known of each block fits in memory: 16 TiB with blocks of 16 MiB.
const MOST_BLOCKS: u64 = 1 << 20;
