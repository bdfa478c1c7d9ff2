//! The settings that can be read and changed while the shard runs, under the names that sysfs would have.

use blksched::tunables::{Knob, Unit};
use blksched::{Class, Priority};
use blksched_text::did_you_mean;
use blksched_text::units::number_or_letter;

use super::Shard;
use super::auto_depth::AutoDepth;
use crate::caps::Limit;
use crate::config::{DepthChoice, Shares, with_class, with_level};
use crate::latency::{BOUNDS_US, KINDS};
use crate::orders::Question;
use crate::policies::{OF_DISK, OF_TENANT as FILES_OF_TENANT};
use crate::tenant::{Tenant, TenantLife, TenantUse};

/// The values of a tenant.
const OF_TENANT: [&str; 11] =
    ["weight", "class", "level", "bps", "iops", "burst_bytes", "burst_ops", "health", "latency", "stat", "waits"];

impl Shard {
    /// Answers a question.
    pub(super) fn answer(&mut self, question: &Question) -> Result<String, String> {
        match question {
            Question::Get(name) => self.get(name),
            Question::Set(name, value) => self.set(name, value.trim()).map(|()| String::new()),
            Question::Figures(_) => unreachable!("its counters are copied"),
            Question::Add(_) | Question::Remove(..) | Question::Resize(..) => {
                unreachable!("the front makes a change of it")
            }
            Question::List(prefix) => {
                let names = self.names().into_iter().filter(|name| name.starts_with(prefix.as_str()));
                names.map(|name| Ok(format!("{name}\t{}\n", self.get(&name)?))).collect()
            }
        }
    }

    /// Every name, in order.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            ["depth", "depth_mode", "engine", "engine_stat", "max_sectors_kb", "rotational", "scheduler", "shares"]
                .iter()
                .map(|name| format!("queue/{name}"))
                .collect();
        names.extend(OF_DISK.iter().map(|file| format!("queue/{file}")));
        names.extend(self.knobs().iter().map(|knob| format!("queue/iosched/{}", knob.name)));
        for tenant in self.tenants.iter().filter(|tenant| tenant.life != TenantLife::Gone) {
            let own = OF_TENANT.iter().chain(&FILES_OF_TENANT);
            names.extend(own.map(|name| format!("tenants/{}/{name}", tenant.export.name)));
        }
        names.sort();
        names
    }

    fn knobs(&self) -> Vec<&'static Knob> {
        self.queue.queue().elevator().tunables().knobs()
    }

    fn unknown(&self, name: &str) -> String {
        let names = self.names();
        let near = did_you_mean(name, names.iter().map(String::as_str));
        format!("nothing is called `{name}`{near}")
    }

    fn get(&self, name: &str) -> Result<String, String> {
        let config = self.queue.header().queue;
        if let Some(knob) = name.strip_prefix("queue/iosched/") {
            let tunables = self.queue.queue().elevator().tunables();
            let found = tunables.find(knob).map_err(|error| error.to_string())?;
            return Ok(shown(found, tunables.get(knob).unwrap_or_default()));
        }
        if let Some((tenant, what)) = of_tenant(name) {
            let at = self.tenant_called(tenant).ok_or_else(|| self.unknown(name))?;
            if let Some(text) = self.tenant_file(at, what) {
                return Ok(text);
            }
            let tenant = &self.tenants[at];
            if what == "health" {
                return Ok(self.health_of(at));
            }
            if what == "waits" {
                let waits = self.waits_of(at);
                return Ok(waits.map(|(what, count)| format!("{what}={count}")).join(" "));
            }
            return value_of(tenant, what).ok_or_else(|| self.unknown(name));
        }
        if let Some(text) = name.strip_prefix("queue/").and_then(|file| self.disk_file(file)) {
            return Ok(text);
        }
        match name {
            "queue/scheduler" => Ok(self.schedulers()),
            "queue/shares" => Ok(self.shown_shares()),
            "queue/depth" => Ok(self.depth.to_string()),
            "queue/depth_mode" => Ok(if self.auto_depth.is_some() { "auto" } else { "fixed" }.to_owned()),
            "queue/max_sectors_kb" => Ok((config.max_sectors / 2).to_string()),
            "queue/rotational" => Ok(u32::from(config.rotational).to_string()),
            "queue/engine" => Ok(self.engine.name().to_owned()),
            "queue/engine_stat" => Ok(self.engine.stat()),
            _ => Err(self.unknown(name)),
        }
    }

    /// As in sysfs: all of them, the present one in brackets.
    fn schedulers(&self) -> String {
        let present = self.elevator.entry.name;
        let each = |name: &str| match name == present {
            true => format!("[{}]", self.elevator),
            false => name.to_owned(),
        };
        self.catalogue.entries().iter().map(|entry| each(entry.name)).collect::<Vec<_>>().join(" ")
    }

    fn shown_shares(&self) -> String {
        let each = Shares::ALL.map(|(name, shares)| match shares == self.setting.shares {
            true => format!("[{name}]"),
            false => name.to_owned(),
        });
        each.join(" ")
    }

    /// From now on the disk finds its depth, up to this.
    pub(crate) fn find_depth(&mut self, most: u32) {
        let auto = AutoDepth::new(self.now, most);
        self.depth = auto.depth();
        self.auto_depth = Some(auto);
    }

    /// Sets a value that is known to be one.
    #[cfg(test)]
    pub(super) fn set_for_tests(&mut self, name: &str, value: &str) {
        self.set(name, value).unwrap();
    }

    /// Sets the depth of the device.
    fn set_depth(&mut self, value: &str) -> Result<(), String> {
        let most = self.queue.header().queue.depth;
        if value == "auto" {
            if self.setting.shares == Shares::ByScheduler {
                return Err(format!("queue/depth: {}", DepthChoice::NEEDS_TURNS));
            }
            self.find_depth(self.model.as_ref().map_or(most, |model| model.facts().depth.min(most)));
            return Ok(());
        }
        let depth = value.parse().ok().filter(|depth| (1..=most).contains(depth));
        let expected = || format!("queue/depth: expected 1..={most} or auto, not `{value}`");
        (self.depth, self.auto_depth) = (depth.ok_or_else(expected)?, None);
        Ok(())
    }

    fn set_shares(&mut self, value: &str) -> Result<(), String> {
        let found = Shares::ALL.into_iter().find(|(name, _)| *name == value);
        let (_, shares) = found.ok_or_else(|| format!("queue/shares: expected time or scheduler, not `{value}`"))?;
        self.may_keep(shares).map_err(|why| format!("queue/shares: {why}"))?;
        if shares == Shares::ByScheduler && self.auto_depth.is_some() {
            return Err(format!("queue/shares: {}; set queue/depth first", DepthChoice::NEEDS_TURNS));
        }
        self.setting.shares = shares;
        // What waits for its turn moves to where it waits now.
        for (tenant, piece) in self.turns.release() {
            self.offer(piece, tenant);
        }
        Ok(())
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        if let Some(knob) = name.strip_prefix("queue/iosched/") {
            let tunables = self.queue.queue().elevator().tunables();
            let raw = tunables.find(knob).and_then(|knob| knob.parse(value)).map_err(|error| error.to_string())?;
            return self.queue.set(self.now, knob, raw).map_err(|error| error.to_string());
        }
        if let Some((tenant, what)) = of_tenant(name) {
            let at = self.tenant_called(tenant).ok_or_else(|| self.unknown(name))?;
            return self.set_of_tenant(at, what, value).map_err(|why| match why {
                None => self.unknown(name),
                Some(why) => format!("{name}: {why}"),
            });
        }
        if let Some(file) = name.strip_prefix("queue/").filter(|file| OF_DISK.contains(file)) {
            return self.write_disk_file(file, value);
        }
        match name {
            "queue/scheduler" => {
                let choice = self.catalogue.parse(value).map_err(|error| format!("{name}:{error}"))?;
                self.queue.switch(self.now, &choice);
                self.elevator = choice;
                Ok(())
            }
            "queue/shares" => self.set_shares(value),
            "queue/depth" => self.set_depth(value),
            _ if self.get(name).is_ok() => Err(format!("{name} can be read only")),
            _ => Err(self.unknown(name)),
        }
    }

    /// `Err(None)` if there is no such value.
    fn set_of_tenant(&mut self, at: usize, what: &str, value: &str) -> Result<(), Option<String>> {
        if FILES_OF_TENANT.contains(&what) {
            return self.write_tenant_file(at, what, value).map_err(Some);
        }
        let now = self.now;
        let tenant = &mut self.tenants[at];
        let share = &mut tenant.share;
        match what {
            "weight" => {
                let weight = value.parse::<u32>().ok().filter(|weight| blksched::group::WEIGHTS.contains(weight));
                let range = blksched::group::WEIGHTS;
                share.weight =
                    weight.ok_or_else(|| format!("expected {}..={}, not `{value}`", range.start(), range.end()))?;
                self.tell_weight(at);
            }
            "class" => {
                share.priority = with_class(share.priority, parse_class(value)?);
                self.tell_weight(at);
            }
            "level" => {
                let level = value.parse::<u8>().ok().filter(|&level| level <= 7);
                let level = level.ok_or_else(|| format!("expected 0..=7, not `{value}`"))?;
                share.priority = with_level(share.priority, level);
                self.tell_weight(at);
            }
            "bps" | "burst_bytes" => {
                share.bytes = changed(share.bytes, what == "bps", value)?;
                tenant.caps.set_bytes(now, share.bytes);
            }
            "iops" | "burst_ops" => {
                share.ops = changed(share.ops, what == "iops", value)?;
                tenant.caps.set_ops(now, share.ops);
            }
            "health" | "stat" | "latency" | "waits" => return Err(Some("can be read only".to_owned())),
            _ => return Err(None),
        }
        Ok(())
    }

    fn tenant_called(&self, name: &str) -> Option<usize> {
        self.tenants.iter().position(|tenant| tenant.life != TenantLife::Gone && tenant.export.name == name)
    }
}

/// `tenants/NAME/WHAT`; a name may have slashes.
fn of_tenant(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("tenants/")?.rsplit_once('/')
}

fn value_of(tenant: &Tenant, what: &str) -> Option<String> {
    let limit = |limit: Option<Limit>, part: fn(Limit) -> u64| {
        limit.map_or_else(|| "max".to_owned(), |limit| part(limit).to_string())
    };
    let Tenant { share, used, .. } = tenant;
    Some(match what {
        "weight" => share.weight.to_string(),
        "class" => class_name(share.priority).to_owned(),
        "level" => share.priority.level.to_string(),
        "bps" => limit(share.bytes, |limit| limit.rate),
        "burst_bytes" => limit(share.bytes, |limit| limit.burst),
        "iops" => limit(share.ops, |limit| limit.rate),
        "burst_ops" => limit(share.ops, |limit| limit.burst),
        "latency" => latency(used),
        "stat" => {
            let TenantUse { reads, bytes_read, writes, bytes_written, flushes, errors, in_device, cancelled, .. } =
                used;
            format!(
                "clients={} rios={reads} rbytes={bytes_read} wios={writes} wbytes={bytes_written} flushes={flushes} \
                 errors={errors} cancelled={cancelled} in_progress={} device_us={}",
                tenant.connections,
                tenant.outstanding,
                in_device.as_ns() / 1000
            )
        }
        _ => return None,
    })
}

/// For each kind of request, how many ended within each bound in microseconds.
fn latency(used: &TenantUse) -> String {
    let bounds = BOUNDS_US.map(|us| us.to_string());
    let bounds = || bounds.iter().map(String::as_str).chain(["inf"]);
    let kinds = KINDS.iter().zip(&used.latency.0).map(|(kind, histogram)| {
        let counts = bounds().zip(histogram.counts).map(|(bound, count)| format!("{bound}:{count}"));
        format!("{kind}={}", counts.collect::<Vec<_>>().join(","))
    });
    kinds.collect::<Vec<_>>().join(" ")
}

/// A cap with its rate or its burst changed. A new rate comes with a burst of a tenth of a second.
fn changed(limit: Option<Limit>, is_rate: bool, value: &str) -> Result<Option<Limit>, Option<String>> {
    if value == "max" {
        return if is_rate { Ok(None) } else { Err(Some("only the rate can be `max`".to_owned())) };
    }
    let error = || Some(format!("expected a number of at least 1 (as in 500 or 10M) or `max`, not `{value}`"));
    let number = number_or_letter(value).filter(|&number| number > 0).ok_or_else(error)?;
    match (is_rate, limit) {
        (true, limit) => Ok(Some(Limit { rate: number, burst: limit.map_or((number / 10).max(1), |own| own.burst) })),
        (false, Some(limit)) => Ok(Some(Limit { burst: number, ..limit })),
        (false, None) => Err(Some("there is no cap: set its rate first".to_owned())),
    }
}

/// As in sysfs: a time in whole milliseconds as a plain number.
fn shown(knob: &Knob, raw: i64) -> String {
    match knob.unit {
        Unit::Ms if raw % 1_000_000 == 0 => (raw / 1_000_000).to_string(),
        unit => unit.show(raw),
    }
}

fn class_name(priority: Priority) -> &'static str {
    match priority.class {
        Class::None => "none",
        Class::RealTime => "rt",
        Class::BestEffort => "be",
        Class::Idle => "idle",
    }
}

fn parse_class(value: &str) -> Result<Class, Option<String>> {
    match value {
        "none" => Ok(Class::None),
        "rt" => Ok(Class::RealTime),
        "be" => Ok(Class::BestEffort),
        "idle" => Ok(Class::Idle),
        _ => Err(Some(format!("expected none, rt, be or idle, not `{value}`"))),
    }
}
