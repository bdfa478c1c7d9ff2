//! A machine for tests: a queue whose switches do what a kernel's do, and a load whose latency wanders.

use std::collections::BTreeMap;

use blksched::{Instant, Span};

use super::{LiveIo, LiveKind, LiveMachine, LiveTick, Place, group};

/// The machine.
pub struct SimulatedMachine {
    pub values: BTreeMap<Place, String>,
    pub now: Instant,
    pub state: u64,
    /// The load's own drift, in logarithms.
    pub drift: f64,
    /// The deviation of a second's latency, in logarithms.
    pub rough: f64,
    /// How many times slower everything is under BFQ.
    pub slower: f64,
    /// How many times larger the load's I/Os are meanwhile.
    pub larger: u32,
    /// Somebody else, who sets something at this time.
    pub other: Option<(Instant, Place, String)>,
    /// When it is stopped.
    pub stops: Option<Instant>,
    /// An I/O never ends.
    pub hangs: bool,
    /// What is written to `nr_requests` changes nothing, and no error says so.
    pub deaf: bool,
    /// When the group `web` is removed.
    pub vanishes: Option<Instant>,
    /// How much of its drift the load keeps from one second to the next.
    pub memory: f64,
    /// What was written.
    pub written: Vec<(Place, String)>,
}

impl SimulatedMachine {
    pub fn new(seed: u64) -> SimulatedMachine {
        let mut machine = SimulatedMachine {
            values: BTreeMap::new(),
            now: Instant::ZERO + Span::from_secs(1),
            state: seed.wrapping_mul(0x1234_5678_9abc_def1),
            drift: 0.0,
            rough: 0.1,
            slower: 1.0,
            larger: 1,
            other: None,
            stops: None,
            hangs: false,
            deaf: false,
            vanishes: None,
            memory: 0.99,
            written: Vec::new(),
        };
        machine.values.insert(Place::Queue("read_ahead_kb".to_owned()), "128".to_owned());
        let memory = [("dirty_ratio", "20"), ("dirty_background_ratio", "10")];
        let unused = ["dirty_bytes", "dirty_background_bytes"].map(|name| (name, "0"));
        let memory = memory.into_iter().chain(unused);
        machine.values.extend(memory.map(|(name, value)| (Place::Memory(name.to_owned()), value.to_owned())));
        for path in ["io.cost.qos", "web/io.max", "web/io.bfq.weight"] {
            let (place, file) = (Place::of_path(path), path.rsplit('/').next().unwrap_or(path));
            machine.values.insert(place, group::of_disk(file, "", "8:0"));
        }
        machine.switch("mq-deadline");
        machine
    }

    /// A switch makes knobs, tags and throttling anew.
    fn switch(&mut self, scheduler: &str) {
        self.values.retain(|place, _| !matches!(place, Place::Knob(_)));
        let knobs: &[_] = match scheduler {
            "mq-deadline" => &[("async_depth", "256"), ("fifo_batch", "16")],
            "bfq" => &[("slice_idle", "8"), ("slice_idle_us", "8000")],
            _ => &[],
        };
        self.values.extend(knobs.iter().map(|(name, value)| (Place::Knob((*name).to_owned()), (*value).to_owned())));
        let (tags, wbt) =
            (if scheduler == "none" { "128" } else { "256" }, if scheduler == "bfq" { "0" } else { "2000" });
        self.values.insert(Place::Queue("nr_requests".to_owned()), tags.to_owned());
        self.values.insert(Place::Queue("wbt_lat_usec".to_owned()), wbt.to_owned());
        self.values.insert(Place::Scheduler, scheduler.to_owned());
        if self.cost_is_on() {
            self.values.insert(Place::Queue("wbt_lat_usec".to_owned()), "0".to_owned());
        }
        if let Some(weight) = self.values.get_mut(&Place::of_path("web/io.bfq.weight")) {
            "default".clone_into(weight);
        }
    }

    fn cost_is_on(&self) -> bool {
        self.values[&Place::of_path("io.cost.qos")].contains("enable=1")
    }

    /// As documented: figures written are by hand, and io.cost and throttling are never both on by themselves.
    fn write_group(&mut self, place: &Place, file: &str, value: &str) -> Result<(), String> {
        let was = self.values[place].clone();
        if file == "io.bfq.weight" && self.values[&Place::Scheduler] != "bfq" {
            return Err("Operation not supported".to_owned());
        }
        let was_on = self.cost_is_on();
        let merged = group::merged(file, &was, value);
        self.values.insert(place.clone(), merged);
        if self.cost_is_on() != was_on {
            let throttling = if was_on { "2000" } else { "0" };
            self.values.insert(Place::Queue("wbt_lat_usec".to_owned()), throttling.to_owned());
        }
        Ok(())
    }

    fn even(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Roughly normal.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.even()).sum::<f64>() - 6.0
    }
}

impl LiveMachine for SimulatedMachine {
    fn read(&mut self, place: &Place) -> Result<String, String> {
        self.values.get(place).cloned().ok_or_else(|| format!("{}: no such file", place.path()))
    }

    fn write(&mut self, place: &Place, value: &str) -> Result<(), String> {
        self.written.push((place.clone(), value.to_owned()));
        self.read(place)?;
        match place {
            Place::Scheduler if self.values[place] == value => {}
            Place::Scheduler => self.switch(value),
            Place::Knob(name) if name == "slice_idle" || name == "slice_idle_us" => {
                let number: u64 = value.parse().map_err(|_| "Invalid argument".to_owned())?;
                let us = if name == "slice_idle" { number * 1000 } else { number };
                self.values.insert(Place::Knob("slice_idle".to_owned()), (us / 1000).to_string());
                self.values.insert(Place::Knob("slice_idle_us".to_owned()), us.to_string());
            }
            Place::Group { file, .. } => self.write_group(place, &file.clone(), value)?,
            Place::Queue(name) if name == "nr_requests" && self.deaf => {}
            // As observed on 6.18.
            Place::Queue(name) if name == "nr_requests" => {
                self.values.insert(place.clone(), value.to_owned());
                let depth = self.values.get_mut(&Place::Knob("async_depth".to_owned()));
                depth.into_iter().for_each(|depth| *depth = value.to_owned());
            }
            Place::Queue(name) if name == "wbt_lat_usec" && value == "-1" => {
                self.values.insert(place.clone(), "2000".to_owned());
            }
            // As documented of dirty_bytes: what is too little is ignored; a limit zeroes the other of its pair.
            Place::Memory(_) if value == "0" => {}
            Place::Memory(_) => {
                let partner =
                    self.values.keys().find(|other| *other != place && place.is_the_same_knob(other)).cloned();
                self.values.extend(partner.map(|partner| (partner, "0".to_owned())));
                self.values.insert(place.clone(), value.to_owned());
            }
            _ => drop(self.values.insert(place.clone(), value.to_owned())),
        }
        Ok(())
    }

    fn is_gone(&mut self, place: &Place) -> bool {
        place.path().starts_with("web/") && !self.values.contains_key(place)
    }

    fn knobs(&mut self) -> Vec<String> {
        let knobs = self.values.keys().filter_map(|place| match place {
            Place::Knob(name) => Some(name.clone()),
            _ => None,
        });
        knobs.collect()
    }

    fn weighted(&mut self) -> Result<Vec<Place>, String> {
        let weight = Place::of_path("web/io.bfq.weight");
        Ok(self.values.get(&weight).is_some_and(|weight| weight != "default").then_some(weight).into_iter().collect())
    }

    fn now(&mut self) -> Instant {
        self.now
    }

    fn watch(&mut self, span: Span) -> Result<LiveTick, String> {
        self.now += span;
        // A load drifts over minutes: half of it is forgotten in about a minute.
        let fresh = (1.0 - self.memory * self.memory).sqrt();
        self.drift = self.memory * self.drift + fresh * self.rough * self.normal();
        let under_bfq = self.values[&Place::Scheduler] == "bfq";
        let times = if under_bfq { self.slower } else { 1.0 };
        let second = self.drift + self.rough * self.normal();
        let bytes = if under_bfq { 4096 * self.larger } else { 4096 };
        let done = (0..20).map(|_| {
            let waited = 2e6 * times * (second + 0.5 * self.normal()).exp();
            LiveIo { task: "db".to_owned(), kind: LiveKind::Read, bytes, waited: Span::from_ns(waited as u64) }
        });
        let done = done.collect();
        if self.vanishes.take_if(|at| *at <= self.now).is_some() {
            self.values.retain(|place, _| !place.path().starts_with("web/"));
        }
        if let Some((_, place, value)) = self.other.take_if(|(at, ..)| *at <= self.now) {
            self.write(&place, &value)?;
        }
        let oldest = self.hangs.then_some(Instant::ZERO);
        let stop = self.stops.take_if(|at| *at <= self.now).is_some();
        Ok(LiveTick { done, oldest, stop, ..LiveTick::default() })
    }
}
