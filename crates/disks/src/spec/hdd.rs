//! The specification of a spinning disk, and its TOML reader.

use blksched::Span;
use blksched_text::document::{Complaint, Located, Section};

use super::keys;
use super::layout::{self, LayoutSpec};
use super::look_ahead_rules::{self, LookAheadRules};
use super::overhead::{self, CaseOverheads, Watermarks};
use super::reader::Quantities as _;
use super::units::{Rate, Turn};

/// A spinning disk. Every optional part can be left out, and every number changed.
///
/// Built from code rather than a file, the numbers must keep the relations that the loader checks: rates falling
/// inwards, seek times rising, skews long enough for the switch they cover.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HddSpec {
    /// Capacity \[512-byte sectors\].
    pub capacity_sectors: u64,
    /// Largest command \[512-byte sectors\].
    pub max_sectors: u32,
    /// Speed \[revolutions per minute\].
    pub rpm: u32,
    /// Where the disk is fast and where it is slow.
    pub zones: ZonesSpec,
    /// Heads and skews.
    pub geometry: GeometrySpec,
    /// Measured zone by zone; `None` for `zones` and `geometry`. If present, those two only summarise it.
    pub layout: Option<LayoutSpec>,
    /// The arm.
    pub seek: SeekSpec,
    /// Measured seek times by distance \[cylinders\]; if empty, `seek` applies.
    pub seek_curve: Vec<(u32, Span)>,
    /// Decoding a command.
    pub overhead: OverheadSpec,
    /// Data between buffer and host.
    pub interface: Rate,
    /// How much of a command's data must have arrived before it proceeds.
    pub watermarks: Watermarks,
    /// Reading ahead after a read; `None` turns it off.
    pub look_ahead: Option<LookAheadSpec>,
    /// Writes end in the buffer; `None` turns it off.
    pub write_cache: Option<WriteCacheSpec>,
    /// Several commands at a time; `None` for one, in order of arrival.
    pub ncq: Option<NcqSpec>,
}

/// Sustained rates, outermost zone to innermost, in equal steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZonesSpec {
    /// The number of zones; 1 makes the whole disk as fast as `outer`.
    pub count: u32,
    /// Outermost zone.
    pub outer: Rate,
    /// Innermost zone.
    pub inner: Rate,
}

/// Heads and skews.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GeometrySpec {
    /// Surfaces in use.
    pub heads: u32,
    /// How far a track's first sector is behind that of the previous track, on the next head.
    pub track_skew: Turn,
    /// The same on the next cylinder; at least `track_skew`.
    pub cylinder_skew: Turn,
}

/// The arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeekSpec {
    /// To the next cylinder.
    pub min: Span,
    /// Over a third of the stroke.
    pub average: Span,
    /// Over the whole stroke.
    pub max: Span,
    /// To another head of the same cylinder.
    pub head_switch: Span,
    /// The additional wait of a write after any of these.
    pub write_settle: Span,
    /// The wait of a read that needs none of these and does not continue where the head is.
    pub acquire: Span,
}

/// Decoding a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverheadSpec {
    /// When the drive was idle.
    pub command: Span,
    /// When others were in flight; the same as `command` turns the overlap off.
    pub queued: Span,
    /// Hits and misses, reads and writes separately; `None` for `command` in all cases.
    pub cases: Option<CaseOverheads>,
}

/// Reading ahead after a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LookAheadSpec {
    /// One segment of the buffer \[512-byte sectors\]; also how far it reads ahead.
    pub segment_sectors: u64,
    /// The number of segments, and so of streams that are remembered.
    pub segments: u32,
    /// How much is read ahead before dirty sectors are drained \[512-byte sectors\]; 0 turns the hold off.
    pub hold_sectors: u64,
    /// How far, when, and what stays.
    pub rules: LookAheadRules,
}

/// Writes that end in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteCacheSpec {
    /// The order of draining.
    pub order: CacheOrder,
    /// Buffer for dirty data \[512-byte sectors\].
    pub size_sectors: u64,
    /// Separate dirty extents that the drive keeps track of.
    pub extents: u32,
    /// The longest extent: a continuation begins another \[512-byte sectors\].
    pub extent_sectors: u64,
    /// How much is written between two checks of the queue \[512-byte sectors\].
    pub chunk_sectors: u64,
    /// How many extents ahead of the head `position` chooses from.
    pub reach: u32,
    /// When it is drained.
    pub destage: DestageSpec,
    /// What the drive may do during a flush.
    pub flush: FlushMode,
}

/// When dirty data goes to the medium, and what it may cost readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DestageSpec {
    /// After this long without a read the drive drains by itself.
    pub idle: Span,
    /// Data that has been dirty for this long no longer waits for a gap between commands.
    pub dirty_limit: Span,
    /// The part of the medium's time for draining while it is urgent and commands wait \[%\].
    pub share_percent: u32,
    /// How long draining has the medium at a time.
    pub turn: Span,
}

impl DestageSpec {
    /// The default.
    pub const USUAL: DestageSpec =
        DestageSpec { idle: Span::ZERO, dirty_limit: Span::from_secs(1), share_percent: 30, turn: Span::from_ms(50) };

    /// How long the commands have the medium at a time.
    pub fn commands_turn(&self) -> Span {
        let share = u64::from(self.share_percent);
        Span::from_ns(self.turn.as_ns() * (100 - share) / share)
    }
}

/// What the drive may do during a flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushMode {
    /// Nothing: ATA's FLUSH CACHE is not queued, so what came before ends first, and what comes later waits.
    Alone,
    /// Anything: SCSI's SYNCHRONIZE CACHE is a command among others.
    Queued,
}

/// The order in which a write cache is drained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheOrder {
    /// Oldest first.
    Fifo,
    /// Over the disk in one direction.
    Position,
}

/// Several commands at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NcqSpec {
    /// The number of commands.
    pub depth: u32,
    /// Which is next.
    pub order: QueueOrder,
    /// It is decided so many commands ahead: as many of the youngest are not looked at; 0 to 31.
    pub ahead: u32,
    /// A command older than this is next in any case.
    pub age_limit: Span,
    /// Reads that continue the last one go first until another command has waited for this long.
    pub sequential_limit: Span,
    /// How long the head waits for such a read although other commands are queued.
    pub sequential_wait: Span,
}

/// Which queued command is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueOrder {
    /// The oldest.
    Arrival,
    /// The one that can begin soonest.
    Positioning,
    /// The one on the nearest cylinder, wherever the platters are.
    Seek,
}

impl HddSpec {
    /// The time of one revolution.
    pub fn revolution(&self) -> Span {
        Span::from_ns((60_000_000_000 + u64::from(self.rpm) / 2) / u64::from(self.rpm))
    }
}

/// The keys at the top of an hdd's file, with those common to all kinds.
pub(super) const KEYS: &[&str] = keys![
    "capacity",
    "max_command",
    "speed",
    "zones",
    "geometry",
    "seek",
    "overhead",
    "interface",
    "zone",
    "look_ahead",
    "write_cache",
    "ncq",
];

const NCQ_KEYS: &[&str] = &["order", "depth", "ahead", "age_limit", "sequential_limit", "sequential_wait"];

const WRITE_CACHE_KEYS: &[&str] =
    &["order", "size", "extents", "extent", "chunk", "reach", "idle", "dirty_limit", "share", "turn", "flush"];

pub(super) fn read(top: &Section<'_>) -> Result<HddSpec, Complaint> {
    let rpm = top.rpm("speed")?;
    let layout = layout::read(top)?;
    let (zones, geometry) = match &layout {
        Some(layout) => layout.sum_up(rpm),
        None => (
            zones(&top.needs_section("zones", &["count", "outer", "inner"])?)?,
            geometry(&top.needs_section("geometry", &["heads", "track_skew", "cylinder_skew"])?)?,
        ),
    };
    let arm = top.needs_section("seek", SEEK_KEYS)?;
    let interface = top.needs_section("interface", &["rate", "read_watermark", "write_watermark"])?;
    let spec = HddSpec {
        capacity_sectors: capacity(top, layout.as_ref())?,
        max_sectors: super::max_command(top)?,
        rpm,
        zones,
        geometry,
        layout,
        seek: seek(&arm)?,
        seek_curve: layout::curve(&arm)?,
        overhead: overhead::read(&top.needs_section("overhead", overhead::KEYS)?)?,
        interface: interface.rate("rate")?.value,
        watermarks: overhead::watermarks(&interface)?,
        look_ahead: look_ahead(top.section("look_ahead", look_ahead_rules::KEYS)?)?,
        write_cache: write_cache(top.section("write_cache", WRITE_CACHE_KEYS)?)?,
        ncq: ncq(top.section("ncq", NCQ_KEYS)?)?,
    };
    if spec.layout.is_none() {
        check_skews(top, &spec)?;
    }
    Ok(spec)
}

const SEEK_KEYS: &[&str] = &["min", "average", "max", "head_switch", "write_settle", "acquire", "curve"];

/// A disk's capacity must fit into its zones.
fn capacity(top: &Section<'_>, layout: Option<&LayoutSpec>) -> Result<u64, Complaint> {
    let capacity = top.capacity("capacity")?;
    match layout.map(LayoutSpec::sectors).filter(|&sectors| sectors < capacity) {
        Some(sectors) => {
            Err(top.complain(top.at(), format!("`capacity` is {capacity} sectors, but the zones hold {sectors}")))
        }
        None => Ok(capacity),
    }
}

const NO_TIME: Span = Span::ZERO;

fn zones(section: &Section<'_>) -> Result<ZonesSpec, Complaint> {
    let count = section.count_within("count", 1..=200)?;
    let (outer, inner) = (section.rate("outer")?.value, section.rate("inner")?);
    if inner.value > outer {
        return Err(section.complain(&inner.at, "`inner` is faster than `outer`: rates fall towards the centre"));
    }
    Ok(ZonesSpec { count, outer, inner: inner.value })
}

fn geometry(section: &Section<'_>) -> Result<GeometrySpec, Complaint> {
    let heads = section.count_within("heads", 1..=64)?;
    let (track, cylinder) = (section.turn("track_skew")?.value, section.turn("cylinder_skew")?);
    if cylinder.value < track {
        return Err(section.complain(&cylinder.at, "`cylinder_skew` is less than `track_skew`"));
    }
    Ok(GeometrySpec { heads, track_skew: track, cylinder_skew: cylinder.value })
}

fn seek(section: &Section<'_>) -> Result<SeekSpec, Complaint> {
    let time = |key| section.span(key, NO_TIME..=Span::from_ms(500));
    let (min, average, max) = (time("min")?.value, time("average")?, time("max")?);
    let rising = |low: Span, high: &Located<Span>, problem: &str| {
        if high.value < low { Err(section.complain(&high.at, problem.to_owned())) } else { Ok(()) }
    };
    rising(min, &average, "`average` is less than `min`: seek times rise with the distance")?;
    rising(average.value, &max, "`max` is less than `average`: seek times rise with the distance")?;
    Ok(SeekSpec {
        min,
        average: average.value,
        max: max.value,
        head_switch: time("head_switch")?.value,
        write_settle: time("write_settle")?.value,
        acquire: section.span_or("acquire", NO_TIME..=Span::from_ms(500), NO_TIME)?,
    })
}

fn look_ahead(section: Option<Section<'_>>) -> Result<Option<LookAheadSpec>, Complaint> {
    let Some(section) = section else { return Ok(None) };
    let state = section.word("state", &[("on", true), ("off", false)])?;
    let segment = section.sectors("segment", 8..=4_194_304)?.value;
    let hold = section.sectors("hold", 0..=4_194_304)?;
    if hold.value > segment {
        return Err(section.complain(&hold.at, "`hold` is more than `segment`: it could not be kept"));
    }
    let spec = LookAheadSpec {
        segment_sectors: segment,
        segments: section.count_within("segments", 1..=64)?,
        hold_sectors: hold.value,
        rules: look_ahead_rules::read(&section, segment)?,
    };
    Ok(state.then_some(spec))
}

fn write_cache(section: Option<Section<'_>>) -> Result<Option<WriteCacheSpec>, Complaint> {
    let Some(section) = section else { return Ok(None) };
    let orders = [("off", None), ("fifo", Some(CacheOrder::Fifo)), ("position", Some(CacheOrder::Position))];
    let order = section.word("order", &orders)?;
    let size_sectors = section.sectors("size", 8..=4_194_304)?.value;
    let chunk_sectors = section.sectors("chunk", 1..=65_536)?.value;
    let (extents, reach) = (section.count_within("extents", 1..=65_536)?, section.count_within("reach", 1..=256)?);
    let extent_sectors = if section.has("extent") { section.sectors("extent", 8..=4_194_304)?.value } else { u64::MAX };
    let destage = destage(&section)?;
    let modes = [("alone", FlushMode::Alone), ("queued", FlushMode::Queued)];
    let flush = if section.has("flush") { section.word("flush", &modes)? } else { FlushMode::Alone };
    let spec =
        |order| WriteCacheSpec { order, size_sectors, extents, extent_sectors, chunk_sectors, reach, destage, flush };
    Ok(order.map(spec))
}

fn destage(section: &Section<'_>) -> Result<DestageSpec, Complaint> {
    let usual = DestageSpec::USUAL;
    Ok(DestageSpec {
        idle: section.span_or("idle", NO_TIME..=Span::from_secs(60), usual.idle)?,
        dirty_limit: section.span_or("dirty_limit", NO_TIME..=Span::from_secs(3600), usual.dirty_limit)?,
        share_percent: if section.has("share") { section.percent("share", 1..=99)? } else { usual.share_percent },
        turn: section.span_or("turn", Span::from_ms(1)..=Span::from_secs(10), usual.turn)?,
    })
}

fn ncq(section: Option<Section<'_>>) -> Result<Option<NcqSpec>, Complaint> {
    let Some(section) = section else { return Ok(None) };
    let orders = [
        ("off", None),
        ("arrival", Some(QueueOrder::Arrival)),
        ("positioning", Some(QueueOrder::Positioning)),
        ("seek", Some(QueueOrder::Seek)),
    ];
    let order = section.word("order", &orders)?;
    let depth = section.count_within("depth", 1..=256)?;
    let ahead = if section.has("ahead") { section.count_within("ahead", 0..=31)? } else { 0 };
    let age_limit = section.span("age_limit", Span::from_ms(1)..=Span::from_secs(3600))?.value;
    let sequential_limit = section.span_or("sequential_limit", NO_TIME..=age_limit, age_limit)?;
    let sequential_wait = section.span_or("sequential_wait", NO_TIME..=Span::from_secs(1), NO_TIME)?;
    Ok(order.map(|order| NcqSpec { depth, order, ahead, age_limit, sequential_limit, sequential_wait }))
}

/// A skew shorter than the switch that it covers would cost a revolution per track.
fn check_skews(top: &Section<'_>, spec: &HddSpec) -> Result<(), Complaint> {
    let section = top.needs_section("geometry", &["heads", "track_skew", "cylinder_skew"])?;
    let covers = |key, needed: Span, what: &str| {
        let skew = section.turn(key)?;
        let time = skew.value.of(spec.revolution());
        if time >= needed {
            return Ok(());
        }
        let problem =
            format!("`{key}` is {time} at {}rpm, shorter than {what} ({needed}) that it must cover", spec.rpm);
        Err(section.complain(&skew.at, problem))
    };
    if spec.geometry.heads > 1 {
        covers("track_skew", spec.seek.head_switch, "the head_switch")?;
    }
    covers("cylinder_skew", spec.seek.min, "the seek.min")
}
