//! Selects events of a trace: `device=8,0,process=mysqld,from=10s,to=20s,op=read`.

use blksched::{Op, Span};
use blksched_workloads::replay::{TraceAction, TraceEvent};

/// What is kept; by default everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// One device by its name, or all of them as one.
    pub device: Devices,
    /// The processes with this name or number.
    pub process: Option<String>,
    /// The earliest time, since the trace's first event.
    pub from: Option<Span>,
    /// The latest time.
    pub to: Option<Span>,
    /// One kind of I/O.
    pub op: Option<Op>,
}

/// Which devices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Devices {
    /// The only one.
    #[default]
    Only,
    /// This one.
    One(String),
    /// All, as one disk: their sectors overlap.
    Together,
    /// All, each as a disk of its own.
    Each,
}

/// An I/O that takes longer has no completion if the trace is cut in between: no disk that works takes that long.
const LATEST_COMPLETION: Span = Span::from_secs(60);

/// The keys of a filter, for messages.
pub const KEYS: [&str; 5] = ["device", "process", "from", "to", "op"];

impl Filter {
    /// Applies `key=value` if the key is a filter's.
    ///
    /// # Errors
    /// If the value is invalid.
    pub fn take(&mut self, key: &str, value: &str) -> Result<bool, String> {
        let time = || {
            value
                .parse::<Span>()
                .map_err(|_| format!("`{value}` is not a value of `{key}`: expected a time, as in 10s"))
        };
        match key {
            "device" if value == "all" => self.device = Devices::Together,
            "device" if value == "each" => self.device = Devices::Each,
            "device" => self.device = Devices::One(value.to_owned()),
            "process" => self.process = Some(value.to_owned()),
            "from" => self.from = Some(time()?),
            "to" => self.to = Some(time()?),
            "op" => {
                self.op = Some(match value {
                    "read" => Op::Read,
                    "write" => Op::Write,
                    "discard" | "trim" => Op::Discard,
                    "flush" | "sync" => Op::Flush,
                    _ => {
                        return Err(format!(
                            "`{value}` is not a value of `op`: expected read, write, discard or flush"
                        ));
                    }
                });
            }
            _ => return Ok(false),
        }
        match (self.from, self.to) {
            (Some(from), Some(to)) if from >= to => Err(format!("from={from} is not before to={to}")),
            _ => Ok(true),
        }
    }

    /// Whether nothing is left out.
    pub fn keeps_all(&self) -> bool {
        let Filter { device, process, from, to, op } = self;
        let whole = process.is_none() && from.is_none() && to.is_none() && op.is_none();
        whole && !matches!(device, Devices::One(_))
    }

    /// Whether nothing from this long after the first event on is wanted, so that a file need not be read further. I/Os
    /// from before the end may still complete for a while, unless all have.
    pub(super) fn is_over(&self, since: Span, all_complete: bool) -> bool {
        self.to.is_some_and(|to| since > to + LATEST_COMPLETION || all_complete && since >= to)
    }

    /// Whether an event is wanted that comes this long after the first, of a device and process with these names.
    pub(super) fn keeps(&self, event: &TraceEvent, since: Span, device: &str, process: Option<&str>) -> bool {
        let completes = event.what == TraceAction::Complete;
        let in_time = self.from.is_none_or(|from| since >= from) && self.to.is_none_or(|to| since < to || completes);
        let on_device = match &self.device {
            Devices::One(name) => name == device,
            Devices::Only | Devices::Together | Devices::Each => true,
        };
        // A completion does not tell its process: it ends whatever was kept.
        let of_process = match &self.process {
            Some(name) if matches!(event.what, TraceAction::Queue | TraceAction::Plug | TraceAction::Unplug) => {
                process == Some(name) || event.pid.to_string() == *name
            }
            _ => true,
        };
        let plugs = matches!(event.what, TraceAction::Plug | TraceAction::Unplug);
        in_time && on_device && of_process && (plugs || self.op.is_none_or(|op| op == event.op))
    }
}

#[cfg(test)]
mod tests {
    use blksched::author::Waiter;
    use blksched::{Durability, Hints};

    use super::*;

    fn filter(said: &[(&str, &str)]) -> Filter {
        let mut filter = Filter::default();
        said.iter().for_each(|(key, value)| assert_eq!(filter.take(key, value), Ok(true)));
        filter
    }

    fn event(what: TraceAction, op: Op) -> TraceEvent {
        let (waiter, hints, durability) = (Waiter::Sync, Hints::default(), Durability::default());
        TraceEvent { time: 0, what, device: (8, 0), pid: 7, op, start: 0, sectors: 8, waiter, hints, durability }
    }

    #[test]
    fn from_is_within_and_to_is_beyond() {
        let filter = filter(&[("from", "1s"), ("to", "2s")]);
        let keeps = |ms: u64| filter.keeps(&event(TraceAction::Queue, Op::Read), Span::from_ms(ms), "8,0", None);
        assert_eq!([keeps(999), keeps(1000), keeps(1999), keeps(2000)], [false, true, true, false]);
        assert!(filter.keeps(&event(TraceAction::Complete, Op::Read), Span::from_ms(2500), "8,0", None));
    }

    #[test]
    fn processes_are_named_or_numbered_and_completions_are_nobodys() {
        let keeps = |said: &str, what| {
            filter(&[("process", said)]).keeps(&event(what, Op::Read), Span::ZERO, "8,0", Some("cat"))
        };
        assert!(
            keeps("cat", TraceAction::Queue) && keeps("7", TraceAction::Queue) && !keeps("dog", TraceAction::Queue)
        );
        assert!(keeps("dog", TraceAction::Complete));
    }

    #[test]
    fn device_and_kind_are_kept_apart() {
        let keeps =
            |said: (&str, &str)| filter(&[said]).keeps(&event(TraceAction::Queue, Op::Read), Span::ZERO, "8,0", None);
        assert!(keeps(("device", "8,0")) && !keeps(("device", "8,1")) && keeps(("device", "all")));
        assert!(keeps(("op", "read")) && !keeps(("op", "write")));
    }

    #[test]
    fn a_value_that_is_none_says_what_was_expected() {
        let mut filter = Filter::default();
        assert!(filter.take("from", "soon").unwrap_err().contains("expected a time"));
        assert!(filter.take("op", "reed").unwrap_err().contains("expected read, write"));
        assert_eq!(filter.take("from", "2s"), Ok(true));
        assert!(filter.take("to", "2s").unwrap_err().contains("not before"));
        assert_eq!(filter.take("scale", "2"), Ok(false));
    }
}
