//! The contenders: schedulers with their knobs and the settings around them, `bfq:slice_idle=0:nr_requests=64`.

use blksched::tunables::{KnobError, Tunables};
use blksched::{Catalogue, Choice, Span};
use blksched_simulate::Surroundings;
use blksched_text::{did_you_mean, nearest};
use blksched_workloads::host::HostKnobs;

use crate::error::{Error, Expected, WordError};

/// One scheduler to run, with its changed knobs.
#[derive(Clone, Debug)]
pub struct Contender {
    /// Its name in tables: as typed, numbered if typed twice.
    pub name: String,
    /// The scheduler, its kernel and its mechanisms.
    pub choice: Choice,
    /// Its changed knobs, with raw values.
    pub knobs: Vec<(String, i64)>,
    /// The settings of the queue around it.
    pub around: QueueSettings,
}

/// Notes for the user who named these: a release may have no preset of its own.
pub fn notes_on(contenders: &[Contender]) -> impl Iterator<Item = String> {
    contenders.iter().filter_map(|contender| contender.choice.note())
}

/// Why an option changes nothing for some schedulers.
const NO_THROTTLING: &str = "writeback throttling is simulated with the schedulers of blk-mq only, as in 6.x";

/// A note on the elevators without writeback throttling, if a target was given for all.
pub fn unthrottled(contenders: &[Contender], target: Option<u64>) -> Option<String> {
    let deaf = contenders.iter().filter(|contender| target.is_some() && !contender.can_be_throttled());
    let names: Vec<&str> = deaf.map(|contender| contender.name.as_str()).collect();
    (!names.is_empty()).then(|| format!("--wbt-lat-usec changes nothing for {}: {NO_THROTTLING}", names.join(", ")))
}

/// Settings of the queue around this contender alone, by their names in sysfs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueSettings {
    /// How many requests may exist.
    pub nr_requests: Option<u32>,
    /// How many the disk gets at a time.
    pub queue_depth: Option<u32>,
    /// The largest request \[KiB\].
    pub max_sectors_kb: Option<u32>,
    /// Raw, in the host knob's representation.
    pub read_ahead_kb: Option<i64>,
    /// The target of writeback throttling \[us\]; 0 for off.
    pub wbt_lat_usec: Option<u32>,
}

/// These settings, and their files in sysfs below the disk's directory.
pub const AROUND: [(&str, &str); 5] = [
    ("nr_requests", "queue/nr_requests"),
    ("queue_depth", "device/queue_depth"),
    ("max_sectors_kb", "queue/max_sectors_kb"),
    ("read_ahead_kb", "queue/read_ahead_kb"),
    ("wbt_lat_usec", "queue/wbt_lat_usec"),
];
/// The greatest `wbt_lat_usec`.
const LONGEST_TARGET: u32 = 1_000_000_000;

impl QueueSettings {
    /// Sets one of them; `None` if there is none of this name.
    pub fn set(&mut self, name: &str, value: &str) -> Option<Result<(), WordError>> {
        let within = |least: u32, most: u32| match value.parse::<u32>() {
            Ok(number) if (least..=most).contains(&number) => Ok(Some(number)),
            _ => {
                let message = format!("`{value}` is not a value of {name}: expected a number from {least} to {most}");
                Err(WordError::new(Expected::Value, value, message))
            }
        };
        let count = |most: u32| within(1, most);
        let host = HostKnobs::default();
        Some(match name {
            "nr_requests" => count(1_000_000).map(|n| self.nr_requests = n),
            "queue_depth" => count(65_536).map(|n| self.queue_depth = n),
            "max_sectors_kb" => count(1_048_576).map(|n| self.max_sectors_kb = n),
            "wbt_lat_usec" => within(0, LONGEST_TARGET).map(|n| self.wbt_lat_usec = n),
            "read_ahead_kb" => {
                let knob = host.find(name).expect("the host has it");
                knob.parse(value)
                    .map(|raw| self.read_ahead_kb = Some(raw))
                    .map_err(|error| WordError::knob(&error, value))
            }
            _ => return None,
        })
    }

    /// The settings as names and values.
    pub fn settings(&self) -> Vec<(&'static str, i64)> {
        let values = [
            self.nr_requests.map(i64::from),
            self.queue_depth.map(i64::from),
            self.max_sectors_kb.map(i64::from),
            self.read_ahead_kb,
            self.wbt_lat_usec.map(i64::from),
        ];
        AROUND.iter().zip(values).filter_map(|((name, _), value)| Some((*name, value?))).collect()
    }

    /// Whether this one is set.
    pub fn has(&self, name: &str) -> bool {
        self.settings().iter().any(|(said, _)| *said == name)
    }

    /// The settings as typed.
    pub fn shown(&self) -> Vec<String> {
        self.settings().iter().map(|(name, value)| format!("{name}={value}")).collect()
    }

    /// The settings for all contenders, overridden by these.
    pub fn apply(&self, of_all: Surroundings) -> Surroundings {
        let mut host = of_all.host;
        if let Some(raw) = self.read_ahead_kb {
            host.set("read_ahead_kb", raw).expect("it was checked when it was read");
        }
        Surroundings {
            nr_requests: self.nr_requests.or(of_all.nr_requests),
            depth: self.queue_depth.or(of_all.depth),
            max_sectors: self.max_sectors_kb.map(|kib| 2 * kib).or(of_all.max_sectors),
            wbt_latency: self.wbt_lat_usec.map(|us| Span::from_us(us.into())).or(of_all.wbt_latency),
            host,
            ..of_all
        }
    }
}

/// Parses `NAME[@KERNEL][+MECHANISM=VARIANT][:KNOB=VALUE[/VALUE…]]…`: one contender per combination of values.
fn variants(option: &str, text: &str, catalogue: &Catalogue) -> Result<Vec<Contender>, Error> {
    let (spec, turned) = text.split_once(':').unwrap_or((text, ""));
    let choice = catalogue.parse(spec).map_err(|error| WordError::scheduler(option, text, error))?;
    let plain = Contender { name: String::new(), choice, knobs: Vec::new(), around: QueueSettings::default() };
    let mut all = vec![plain];
    for part in turned.split(':').filter(|part| !part.trim().is_empty()) {
        let expected = "expected KNOB=VALUE or KNOB=VALUE/VALUE, as in bfq:slice_idle=0/8ms";
        let whole = format!("{option} {text}");
        let nothing = || WordError::new(Expected::Knob, part, format!("{whole}: `{part}` sets nothing: {expected}"));
        let (knob, values) = part.split_once('=').ok_or_else(nothing)?;
        let mut longer = Vec::new();
        for contender in &all {
            for value in values.split('/') {
                let mut with = contender.clone();
                with.turn(knob.trim(), value.trim()).map_err(|error| error.within(&whole))?;
                longer.push(with);
            }
        }
        all = longer;
    }
    Ok(all)
}

impl Contender {
    /// Whether the scheduler or the queue around it has such a knob.
    pub fn knows(&self, knob: &str) -> bool {
        AROUND.iter().any(|(name, _)| *name == knob) || self.choice.build().elevator.tunables().find(knob).is_ok()
    }

    /// Sets a knob of the scheduler or of the queue around it.
    ///
    /// # Errors
    /// If there is no such knob, with the nearest; or if it takes no such value.
    pub fn turn(&mut self, knob: &str, value: &str) -> Result<(), WordError> {
        if knob == "wbt_lat_usec" && !self.can_be_throttled() {
            let message = format!("{}: {knob}: {NO_THROTTLING}", self.choice);
            return Err(WordError::new(Expected::Knob, knob, message));
        }
        if let Some(done) = self.around.set(knob, value) {
            return done;
        }
        let built = self.choice.build();
        let tunables = built.elevator.tunables();
        let found = tunables.find(knob).map_err(|error| {
            let known = WordError::knob(&error, value);
            if matches!(error, KnobError::OtherKernels { .. }) {
                return known.within(&self.choice);
            }
            let around = || AROUND.iter().map(|(name, _)| *name);
            let names = around().collect::<Vec<_>>().join(", ");
            let near = did_you_mean(knob, around());
            let message = format!("{}: {error}{near} (around it: {names})", self.choice);
            let nearest = known.nearest.clone().or_else(|| nearest(knob, around()).map(str::to_owned));
            WordError { message, nearest, ..known }
        })?;
        let raw = found.parse(value).map_err(|error| WordError::knob(&error, value))?;
        self.knobs.retain(|(name, _)| name != knob);
        self.knobs.push((knob.to_owned(), raw));
        Ok(())
    }

    /// The contender with these knobs also set, of the scheduler or the queue around it; all are known and in range.
    pub fn with(&self, turned: &[(String, i64)]) -> Contender {
        let mut with = self.clone();
        for (name, raw) in turned {
            match name.as_str() {
                "nr_requests" => with.around.nr_requests = Some(*raw as u32),
                "queue_depth" => with.around.queue_depth = Some(*raw as u32),
                "max_sectors_kb" => with.around.max_sectors_kb = Some(*raw as u32),
                "read_ahead_kb" => with.around.read_ahead_kb = Some(*raw),
                "wbt_lat_usec" => with.around.wbt_lat_usec = Some(*raw as u32),
                _ => {
                    with.knobs.retain(|(known, _)| known != name);
                    with.knobs.push((name.clone(), *raw));
                }
            }
        }
        with
    }

    /// Its name with the knobs that were changed, as on a command line.
    pub fn label(&self) -> String {
        let built = self.choice.build();
        let show = |(name, raw): &(String, i64)| match built.elevator.tunables().find(name) {
            Ok(knob) => format!(":{name}={}", knob.unit.show(*raw)),
            Err(_) => format!(":{name}={raw}"),
        };
        let around = self.around.shown().into_iter().map(|said| format!(":{said}"));
        self.name.clone() + &self.knobs.iter().map(show).chain(around).collect::<String>()
    }

    /// Whether writeback throttling is in front of its queue.
    pub fn can_be_throttled(&self) -> bool {
        self.choice.build().slots.era().is_some()
    }

    fn is_twin_of(&self, other: &Contender) -> bool {
        let said = |contender: &Contender| contender.choice.to_string();
        said(self) == said(other) && self.knobs == other.knobs && self.around == other.around
    }
}

/// Numbers contenders that were typed twice.
fn name(contenders: &mut [Contender]) {
    for nth in 0..contenders.len() {
        let twins = contenders[..nth].iter().filter(|other| other.is_twin_of(&contenders[nth])).count();
        let choice = &contenders[nth].choice;
        contenders[nth].name = if twins == 0 { choice.to_string() } else { format!("{choice} ({})", twins + 1) };
    }
}

/// Parses the schedulers that `option` names, and applies `--set`. Each `--set` must apply to at least one.
pub fn contenders(
    option: &str,
    typed: &[String],
    set: &[String],
    catalogue: &Catalogue,
) -> Result<Vec<Contender>, Error> {
    let mut contenders: Vec<Contender> = Vec::new();
    for text in typed {
        contenders.extend(variants(option, text.trim(), catalogue)?);
    }
    for KnobSetting { text, target, knob, value } in settings(set)? {
        let option = format!("--set {text}");
        let mut turned = 0;
        for contender in contenders.iter_mut().filter(|contender| is_meant(contender, target)) {
            contender.turn(knob, value).map_err(|error| error.within(&option))?;
            turned += 1;
        }
        if turned == 0 {
            let run: Vec<String> = contenders.iter().map(|contender| contender.choice.to_string()).collect();
            let names = contenders.iter().map(|contender| contender.choice.entry.name);
            let near = nearest(target, names.chain(run.iter().map(String::as_str)));
            let meant = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            let message = format!("no elevator `{target}` is being run{meant} (being run: {})", run.join(", "));
            return Err(WordError::new(Expected::Contender, target, message).near(near).within(option).into());
        }
    }
    name(&mut contenders);
    Ok(contenders)
}

/// One `--set`.
#[derive(Clone, Copy)]
struct KnobSetting<'t> {
    text: &'t str,
    target: &'t str,
    knob: &'t str,
    value: &'t str,
}

/// All `--set` options; those for a bare name come first, so that those for one elevator of that name override them.
fn settings(set: &[String]) -> Result<Vec<KnobSetting<'_>>, Error> {
    let mut settings: Vec<KnobSetting<'_>> = Vec::new();
    for text in set {
        let setting = KnobSetting::read(text)?;
        let twin = |other: &&KnobSetting<'_>| (other.target, other.knob) == (setting.target, setting.knob);
        if let Some(other) = settings.iter().find(twin) {
            let message = format!("--set {text}: --set {} already sets the same knob", other.text);
            return Err(Error::Input(message));
        }
        settings.push(setting);
    }
    settings.sort_by_key(|setting| setting.target.contains(['@', '+']));
    Ok(settings)
}

impl KnobSetting<'_> {
    fn read(text: &str) -> Result<KnobSetting<'_>, Error> {
        let parts = || {
            let (left, value) = text.rsplit_once('=')?;
            let (target, knob) = left.rsplit_once('.')?;
            (!target.is_empty() && !knob.is_empty()).then_some(KnobSetting { text, target, knob, value })
        };
        let expected = "expected ELEVATOR.KNOB=VALUE, as in deadline.fifo_batch=16";
        parts().ok_or_else(|| Error::Input(format!("--set {text}: {expected}")))
    }
}

/// `deadline.fifo_batch=16` applies to every deadline; `deadline@2.6.33.fifo_batch=16` only to that one.
fn is_meant(contender: &Contender, target: &str) -> bool {
    target == contender.choice.entry.name || target == contender.choice.to_string()
}
