//! A shard's metrics: one line per sample, `FAMILY{labels} value`, for [`crate::metrics`].
//!
//! **Rule** The shard's thread copies its counters, some hundred bytes for each export and client; the text, a hundred
//! times as long, is written by the thread that was asked.

use std::fmt::Write;

use blksched::Span;

use crate::connection::Who;
use crate::health::HealthState;
use crate::latency::{BOUNDS_US, KINDS, LatencyCounts};
use crate::metrics::quoted;
use crate::orders::{ClientsShown, Figures};
use crate::origin;
use crate::tenant::TenantUse;

/// A copy of a shard's counters: the shard's thread only copies, and others write the text.
pub struct ShardFigures {
    /// Commands in the disk.
    pub in_flight: u32,
    /// How many it gets at a time.
    pub depth: u32,
    /// Its exports.
    pub tenants: Vec<TenantFigures>,
}

/// The counters of an export.
pub struct TenantFigures {
    /// Its name.
    pub name: String,
    /// What was done.
    pub used: TenantUse,
    /// How many connections it has.
    pub clients: u32,
    /// Requests not yet answered.
    pub outstanding: u32,
    /// Its share.
    pub weight: u32,
    /// Memory that its requests hold \[bytes\].
    pub memory: usize,
    /// What they may hold \[bytes\].
    pub memory_limit: usize,
    /// What waits, and for what.
    pub waits: [(&'static str, usize); 4],
    /// Its health.
    pub state: HealthState,
    /// How long it has been in that state.
    pub state_for: Span,
    /// Its clients.
    pub connections: Vec<ClientFigures>,
}

/// The counters of a client.
pub struct ClientFigures {
    /// The lowest number that was free when it came: one that comes back has it again.
    pub slot: usize,
    /// Its name in the log.
    pub who: Who,
    /// What was done.
    pub used: TenantUse,
    /// Requests not yet answered.
    pub outstanding: u32,
    /// Memory that its requests hold \[bytes\].
    pub held: u64,
    /// What waits, and for what.
    pub waits: [(&'static str, usize); 4],
}

impl Figures for ShardFigures {
    fn text(&self, disk: &str, shown: ClientsShown) -> String {
        let mut out = String::new();
        let disk = quoted(disk);
        let _ = writeln!(out, "disk_requests_in_flight{{disk={disk}}} {}", self.in_flight);
        let _ = writeln!(out, "disk_depth{{disk={disk}}} {}", self.depth);
        let least = self.least_shown(shown);
        for tenant in &self.tenants {
            let labels = format!("disk={disk},export={}", quoted(&tenant.name));
            tenant.text(&labels, &mut out);
            for client in tenant.connections.iter().filter(|client| client.rank() >= least) {
                let (number, peer) = match shown {
                    ClientsShown::AsLogged => (client.who.number, client.who.peer.to_string()),
                    ClientsShown::Busiest(_) => (client.slot as u64, origin::without_numbers(&client.who.peer)),
                };
                client.text(&format!("{labels},client=\"{number}\",peer={}", quoted(&peer)), &mut out);
            }
        }
        out
    }
}

impl ShardFigures {
    /// The rank from which on clients are shown.
    fn least_shown(&self, shown: ClientsShown) -> (Span, usize) {
        let ClientsShown::Busiest(most) = shown else { return (Span::ZERO, 0) };
        let clients = self.tenants.iter().flat_map(|tenant| &tenant.connections);
        let mut ranks: Vec<(Span, usize)> = clients.map(ClientFigures::rank).collect();
        ranks.sort_unstable_by(|a, b| b.cmp(a));
        match most.checked_sub(1).map(|last| ranks.get(last).copied()) {
            None => (Span::MAX, usize::MAX),
            Some(last) => last.unwrap_or((Span::ZERO, 0)),
        }
    }
}

impl TenantFigures {
    fn text(&self, labels: &str, out: &mut String) {
        let TenantUse { errors, in_device, cancelled, .. } = &self.used;
        of_used("", &self.used, labels, out);
        let mut line = |family: &str, more: &str, value: String| sample(out, (family, labels, more), &value);
        line("errors_total", "", errors.to_string());
        line("cancelled_total", "", cancelled.to_string());
        line("device_seconds_total", "", seconds(in_device.as_ns()));
        line("clients", "", self.clients.to_string());
        line("requests_in_progress", "", self.outstanding.to_string());
        line("weight", "", self.weight.to_string());
        line("memory_bytes", "", self.memory.to_string());
        line("memory_limit_bytes", "", self.memory_limit.to_string());
        for (what, count) in self.waits {
            line("waiting", &format!("for=\"{what}\""), count.to_string());
        }
        for state in HealthState::ALL {
            let is_it = u32::from(state == self.state).to_string();
            line("export_health", &format!("state=\"{}\"", state.name()), is_it);
        }
        line("export_health_seconds", "", seconds(self.state_for.as_ns()));
        line("export_broken", "", u32::from(self.state == HealthState::Broken).to_string());
    }
}

impl ClientFigures {
    /// What it had of the disk; of equal ones, the one that has been here longer, as a rule.
    fn rank(&self) -> (Span, usize) {
        (self.used.in_device, usize::MAX - self.slot)
    }

    fn text(&self, labels: &str, out: &mut String) {
        of_used("client_", &self.used, labels, out);
        sample(out, ("client_requests_in_progress", labels, ""), &self.outstanding.to_string());
        sample(out, ("client_memory_bytes", labels, ""), &self.held.to_string());
        let time = seconds(self.used.in_device.as_ns());
        sample(out, ("client_device_seconds_total", labels, ""), &time);
        for (what, count) in self.waits {
            sample(out, ("client_waiting", labels, &format!("for=\"{what}\"")), &count.to_string());
        }
    }
}

/// One sample: its family, the labels of its owner, others.
fn sample(out: &mut String, (family, labels, more): (&str, &str, &str), value: &str) {
    let comma = if more.is_empty() { "" } else { "," };
    let _ = writeln!(out, "{family}{{{labels}{comma}{more}}} {value}");
}

/// The statistics of a client or tenant; families of clients have a name of their own.
fn of_used(whose: &str, used: &TenantUse, labels: &str, out: &mut String) {
    let TenantUse { reads, bytes_read, writes, bytes_written, flushes, latency, .. } = used;
    let mut line =
        |family: &str, more: &str, value: String| sample(out, (&format!("{whose}{family}"), labels, more), &value);
    for (kind, count) in KINDS.iter().zip([reads, writes, flushes]) {
        line("requests_total", &format!("op=\"{kind}\""), count.to_string());
    }
    for (kind, bytes) in KINDS.iter().zip([bytes_read, bytes_written]) {
        line("bytes_total", &format!("op=\"{kind}\""), bytes.to_string());
    }
    for (kind, LatencyCounts { counts, sum }) in KINDS.iter().zip(&latency.0) {
        let mut all = 0;
        for (nth, count) in counts.iter().enumerate() {
            all += count;
            let bound = BOUNDS_US.get(nth).map_or("+Inf".to_owned(), |us| seconds(us * 1000));
            line("request_duration_seconds_bucket", &format!("op=\"{kind}\",le=\"{bound}\""), all.to_string());
        }
        line("request_duration_seconds_sum", &format!("op=\"{kind}\""), seconds(sum.as_ns()));
        line("request_duration_seconds_count", &format!("op=\"{kind}\""), all.to_string());
    }
}

/// Nanoseconds as seconds, exactly.
fn seconds(ns: u64) -> String {
    let text = format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
