//! A configuration that is read again: its differences, and which of them can be applied while the server runs.

use std::fmt;

use crate::caps::Limit;
use crate::config::{ExportConfig, ExportSource, ServerConfig, Share};
use crate::orders::Question;

/// Reads the configuration again.
pub struct Reload(pub Box<dyn Fn() -> Result<ServerConfig, String> + Send>);

impl fmt::Debug for Reload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reload")
    }
}

/// The differences.
#[derive(Debug, Default)]
pub struct Changes {
    /// Changes to make now, by the export's name; each is for that export's disk.
    pub now: Vec<(String, Question)>,
    /// Exports to resize, by name: to this size, or to that of their file \[bytes\].
    pub sizes: Vec<(String, Option<u64>)>,
    /// Exports to remove, by name.
    pub go: Vec<String>,
    /// Changes that need a restart.
    pub later: Vec<String>,
}

/// What a new configuration changes.
pub fn changes(old: &ServerConfig, new: &ServerConfig) -> Changes {
    let mut changes = Changes::default();
    let named = |config: &'_ ServerConfig, name: &str| -> Option<ExportConfig> {
        config.exports.iter().find(|export| export.name == name).cloned()
    };
    for export in &new.exports {
        let Some(before) = named(old, &export.name) else {
            // It is added.
            continue;
        };
        let settings = settings(&before.share).into_iter().zip(settings(&export.share));
        // A rate first: a burst without one is refused.
        for ((what, _), (_, value)) in settings.filter(|((_, old), (_, new))| old != new) {
            if let Some(value) = value {
                let question = Question::Set(format!("tenants/{}/{what}", export.name), value);
                changes.now.push((export.name.clone(), question));
            }
        }
        files(&before, export, &mut changes);
        let new_size = resized(&before.source, &export.source);
        changes.sizes.extend(new_size.map(|size| (export.name.clone(), size)));
        let same = before.source == export.source || new_size.is_some();
        if !same || before.disk != export.disk || before.access != export.access {
            changes.later.push(format!("export {} is of something else", export.name));
        }
    }
    let gone = old.exports.iter().filter(|export| named(new, &export.name).is_none());
    changes.go.extend(gone.map(|export| export.name.clone()));
    let others = [
        ("shares", old.shares != new.shares),
        ("io_cost_qos or io_cost_model", old.disk_files != new.disk_files),
        ("memory", old.memory != new.memory),
        ("total_memory", old.total_memory.limit != new.total_memory.limit),
        (
            "listening",
            old.listen != new.listen
                || old.vhost != new.vhost
                || old.ublk != new.ublk
                || old.control != new.control
                || old.metrics != new.metrics,
        ),
        ("TLS", old.tls.is_some() != new.tls.is_some()),
        ("allow", old.rules != new.rules),
    ];
    changes.later.extend(others.iter().filter(|(_, differs)| *differs).map(|(what, _)| (*what).to_owned()));
    changes
}

/// The new size, if that is all in which the two differ: `Some(None)` for that of the file.
pub fn resized(old: &ExportSource, new: &ExportSource) -> Option<Option<u64>> {
    match (old, new) {
        (ExportSource::Memory(old), ExportSource::Memory(new)) if old != new => Some(Some(*new)),
        (ExportSource::File { path, offset, size }, ExportSource::File { path: own, offset: at, size: new })
            if (path, offset) == (own, at) && size != new =>
        {
            Some(*new)
        }
        _ => None,
    }
}

/// The changes of one disk, in a possible order: a scheduler comes with its knobs' defaults.
pub fn of_disk(old: &ServerConfig, new: &ServerConfig, name: &str) -> Vec<Question> {
    let (before, now) = (old.of_disk(name), new.of_disk(name));
    let set = |name: &str, value: String| Question::Set(format!("queue/{name}"), value);
    let mut questions = Vec::new();
    let switched = before.elevator.to_string() != now.elevator.to_string();
    // A knob that is no longer set returns to its default.
    let untold = before.knobs.iter().any(|(knob, _)| now.knobs.iter().all(|(own, _)| own != knob));
    if switched || untold {
        questions.push(set("scheduler", now.elevator.to_string()));
    }
    let built = now.elevator.build();
    let tunables = built.elevator.tunables();
    for (knob, raw) in &now.knobs {
        let same = before.knobs.contains(&(knob.clone(), *raw)) && !switched && !untold;
        if let (false, Ok(found)) = (same, tunables.find(knob)) {
            questions.push(set(&format!("iosched/{knob}"), found.unit.show(*raw)));
        }
    }
    if before.depth != now.depth {
        questions.push(set("depth", now.depth.to_string()));
    }
    questions
}

/// The changes of an export's `io` files; a file that is no longer mentioned keeps its content.
fn files(old: &ExportConfig, new: &ExportConfig, changes: &mut Changes) {
    let name = &new.name;
    for (file, text) in new.files.written().filter(|(file, text)| old.files.read(file) != *text) {
        let question = Question::Set(format!("tenants/{name}/{file}"), text.to_owned());
        changes.now.push((name.clone(), question));
    }
    let gone = old.files.written().filter(|(file, _)| new.files.written().all(|(own, _)| own != *file));
    changes.later.extend(gone.map(|(file, _)| format!("export {name} without {file}")));
}

/// A share's settings, in a possible order; a burst only where there is a rate.
fn settings(share: &Share) -> [(&'static str, Option<String>); 7] {
    let rate = |limit: Option<Limit>| Some(limit.map_or("max".to_owned(), |limit| limit.rate.to_string()));
    let burst = |limit: Option<Limit>| limit.map(|limit| limit.burst.to_string());
    let class = match share.priority.class {
        blksched::Class::None => "none",
        blksched::Class::RealTime => "rt",
        blksched::Class::BestEffort => "be",
        blksched::Class::Idle => "idle",
    };
    [
        ("weight", Some(share.weight.to_string())),
        ("class", Some(class.to_owned())),
        // Without a class there is no level.
        ("level", (class != "none").then(|| share.priority.level.to_string())),
        ("bps", rate(share.bytes)),
        ("burst_bytes", burst(share.bytes)),
        ("iops", rate(share.ops)),
        ("burst_ops", burst(share.ops)),
    ]
}
