//! A shard's metrics: one line per sample, `FAMILY{labels} value`, for `crate::metrics`.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::Shard;
use crate::connection::Who;
use crate::health::HealthState;
use crate::latency::{BOUNDS_US, KINDS, LatencyCounts};
use crate::metrics::quoted;
use crate::tenant::{Tenant, TenantLife, TenantUse};

impl Shard {
    /// All counters.
    pub(super) fn figures(&self, disk: &str) -> String {
        let mut out = String::new();
        let disk = quoted(disk);
        let in_flight = self.queue.queue().in_flight();
        let _ = writeln!(out, "disk_requests_in_flight{{disk={disk}}} {in_flight}");
        let _ = writeln!(out, "disk_depth{{disk={disk}}} {}", self.depth);
        let oldest = self.oldest_commands();
        let here = |(_, tenant): &(usize, &Tenant)| tenant.life != TenantLife::Gone;
        for (at, tenant) in self.tenants.iter().enumerate().filter(here) {
            let labels = format!("disk={disk},export={}", quoted(&tenant.export.name));
            self.of_tenant(at, tenant, &labels, &mut out);
            let (state, since) = tenant.health.state(self.now, oldest[at]);
            for one in HealthState::ALL {
                let is_it = u32::from(one == state).to_string();
                sample(&mut out, ("export_health", &labels, &format!("state=\"{}\"", one.name())), &is_it);
            }
            let broken = u32::from(state == HealthState::Broken).to_string();
            sample(&mut out, ("export_broken", &labels, ""), &broken);
            sample(&mut out, ("export_health_seconds", &labels, ""), &seconds(self.now.since(since).as_ns()));
        }
        out
    }

    fn of_tenant(&self, at: usize, tenant: &Tenant, labels: &str, out: &mut String) {
        let TenantUse { errors, in_device, cancelled, .. } = &tenant.used;
        of_used("", &tenant.used, labels, out);
        let mut line = |family: &str, more: &str, value: String| sample(out, (family, labels, more), &value);
        line("errors_total", "", errors.to_string());
        line("cancelled_total", "", cancelled.to_string());
        line("device_seconds_total", "", seconds(in_device.as_ns()));
        line("clients", "", tenant.connections.to_string());
        line("requests_in_progress", "", tenant.outstanding.to_string());
        line("weight", "", tenant.share.weight.to_string());
        line("memory_bytes", "", tenant.pool.taken().to_string());
        line("memory_limit_bytes", "", tenant.pool.ceiling().to_string());
        for (what, count) in self.waits_of(at) {
            line("waiting", &format!("for=\"{what}\""), count.to_string());
        }
        let waits = self.waits_of_clients(at);
        for (number, client) in self.connections.iter().filter(|(_, client)| client.tenant == at) {
            let [caps, turn, flush] = waits.get(&number).copied().unwrap_or_default();
            let memory = usize::from(client.waits_since.is_some());
            let Who { number, peer, .. } = &client.who;
            let labels = format!("{labels},client=\"{number}\",peer={}", quoted(peer));
            of_used("client_", &client.used, &labels, out);
            sample(out, ("client_requests_in_progress", &labels, ""), &client.outstanding.to_string());
            sample(out, ("client_memory_bytes", &labels, ""), &client.held.to_string());
            let time = seconds(client.used.in_device.as_ns());
            sample(out, ("client_device_seconds_total", &labels, ""), &time);
            for (what, count) in [("caps", caps), ("turn", turn), ("flush", flush), ("memory", memory)] {
                sample(out, ("client_waiting", &labels, &format!("for=\"{what}\"")), &count.to_string());
            }
        }
    }

    /// What a tenant waits for: bios for its caps and for their turn, flushes for their time, clients for memory.
    pub(super) fn waits_of(&self, at: usize) -> [(&'static str, usize); 4] {
        let tenant = &self.tenants[at];
        let memory = self.connections.iter().filter(|(_, one)| one.tenant == at && one.waits_since.is_some()).count();
        [
            ("caps", tenant.gate.len()),
            ("turn", self.turns.waiting(at).len()),
            ("flush", tenant.held_flushes.len()),
            ("memory", memory),
        ]
    }

    /// How many of each client's pieces wait for caps, for their turn and for a flush's time.
    fn waits_of_clients(&self, tenant: usize) -> BTreeMap<usize, [usize; 3]> {
        let Tenant { gate, held_flushes, .. } = &self.tenants[tenant];
        let mut waits: BTreeMap<usize, [usize; 3]> = BTreeMap::new();
        let whose = |piece: u32| self.works[self.pieces[piece as usize].work as usize].connection;
        gate.iter().for_each(|&piece| waits.entry(whose(piece)).or_default()[0] += 1);
        self.turns.waiting(tenant).for_each(|piece| waits.entry(whose(piece)).or_default()[1] += 1);
        held_flushes.iter().for_each(|&piece| waits.entry(whose(piece)).or_default()[2] += 1);
        waits
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
