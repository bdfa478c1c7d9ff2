//! Metrics for Prometheus, in its text format: base units, totals that only grow, each family once with a description.

use std::fmt::Write;

/// Every family: its name after `blksched_`, its type, its meaning.
const FAMILIES: [(&str, &str, &str); 25] = [
    ("requests_total", "counter", "Requests of clients that were answered without an error."),
    ("bytes_total", "counter", "Bytes that clients read and wrote."),
    ("errors_total", "counter", "Pieces of requests that failed on the disk."),
    ("cancelled_total", "counter", "Pieces of requests withdrawn because their client had disconnected."),
    ("device_seconds_total", "counter", "The disk's time that the export got, or paid for."),
    ("request_duration_seconds", "histogram", "How long requests took, from their arrival to their reply."),
    ("clients", "gauge", "Connections."),
    ("requests_in_progress", "gauge", "Requests not yet answered."),
    (
        "waiting",
        "gauge",
        "What is waiting, and for what: bios at caps, for their turn or for a flush; clients for memory.",
    ),
    (
        "export_health",
        "gauge",
        "1 for the export's state: ok; slow or stuck (a command has been in the device for 1 or 10 s); broken.",
    ),
    ("export_health_seconds", "gauge", "How long it has been in that state."),
    ("export_broken", "gauge", "1 if a sync failed: what was answered may be lost, and every flush fails."),
    ("weight", "gauge", "The export's share of its disk."),
    ("memory_bytes", "gauge", "Memory that its requests hold."),
    ("memory_limit_bytes", "gauge", "Memory that they may hold."),
    ("client_requests_total", "counter", "Requests of a connected client that were answered without an error."),
    ("client_bytes_total", "counter", "Bytes that it read and wrote."),
    ("client_request_duration_seconds", "histogram", "How long its requests took."),
    ("client_requests_in_progress", "gauge", "Its requests not yet answered."),
    ("client_memory_bytes", "gauge", "Memory that its requests hold."),
    (
        "client_device_seconds_total",
        "counter",
        "The disk's time that it got; of flushes, only those it asked for, not what others' flushes cost its export.",
    ),
    ("client_waiting", "gauge", "What is waiting, and for what, as for the export."),
    ("disk_requests_in_flight", "gauge", "Commands in the disk."),
    ("disk_depth", "gauge", "How many commands it gets at a time."),
    ("info", "gauge", "The server's version."),
];

/// A label's value in quotes.
pub fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

/// Samples of all shards, family by family.
pub fn page(samples: &str) -> String {
    let version = format!("info{{version={}}} 1", quoted(env!("CARGO_PKG_VERSION")));
    let mut page = String::new();
    for (name, kind, meaning) in FAMILIES {
        let of_it = |line: &&str| {
            let family = line.split('{').next().unwrap_or_default();
            let stem = family.strip_prefix(name).unwrap_or("no");
            stem.is_empty() || (kind == "histogram" && ["_bucket", "_sum", "_count"].contains(&stem))
        };
        let _ = writeln!(page, "# HELP blksched_{name} {meaning}\n# TYPE blksched_{name} {kind}");
        for line in samples.lines().chain([version.as_str()]).filter(of_it) {
            let _ = writeln!(page, "blksched_{line}");
        }
    }
    page
}

/// The exports that a probe should know of, from the samples: each with its state, `stuck` or `broken`.
fn unhealthy(samples: &str) -> String {
    let bad = |line: &&str| ["stuck", "broken"].iter().any(|state| line.ends_with(&format!("state=\"{state}\"}} 1")));
    let lines = samples.lines().filter(|line| line.starts_with("export_health{")).filter(bad);
    lines.map(|line| format!("{}\n", line.trim_start_matches("export_health").trim_end_matches(" 1"))).collect()
}

/// The answer to an HTTP request: the page, whatever the path's query; whether all exports are served (`/ready`); or an
/// error.
pub fn http(request: &str, samples: impl FnOnce() -> Result<String, String>) -> String {
    const TEXT: &str = "text/plain; charset=utf-8";
    let mut words = request.split_whitespace();
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = path.split('?').next().unwrap_or_default();
    let unavailable = |why: String| ("503 Service Unavailable", TEXT, why);
    let (status, kind, body) = match (method, path) {
        ("GET" | "HEAD", "/metrics") => match samples() {
            Ok(samples) => ("200 OK", "text/plain; version=0.0.4; charset=utf-8", page(&samples)),
            Err(why) => unavailable(format!("{why}\n")),
        },
        ("GET" | "HEAD", "/ready") => match samples().map(|samples| unhealthy(&samples)) {
            Ok(bad) if bad.is_empty() => ("200 OK", TEXT, "ready\n".to_owned()),
            Ok(bad) => unavailable(bad),
            Err(why) => unavailable(format!("{why}\n")),
        },
        ("GET" | "HEAD", _) => ("404 Not Found", TEXT, "expected /metrics or /ready\n".to_owned()),
        _ => ("405 Method Not Allowed", TEXT, "expected GET or HEAD\n".to_owned()),
    };
    let length = body.len();
    let body = if method == "HEAD" { "" } else { &body };
    format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_stand_together_with_what_they_mean() {
        let samples = "clients{export=\"a\"} 1\nerrors_total{export=\"a\"} 0\nclients{export=\"b\"} 2\n";
        let page = page(samples);
        assert!(page.contains(
            "# TYPE blksched_clients gauge\nblksched_clients{export=\"a\"} 1\nblksched_clients{export=\"b\"} 2\n"
        ));
        assert_eq!(quoted("a\"b\\\n"), r#""a\"b\\\n""#);
    }

    #[test]
    fn only_the_metrics_are_there() {
        let ask = |request: &str| http(request, || Ok(String::new()));
        assert!(ask("GET /metrics HTTP/1.1").starts_with("HTTP/1.1 200 OK\r\n"));
        assert!(ask("GET / HTTP/1.1").starts_with("HTTP/1.1 404"));
        assert!(ask("POST /metrics HTTP/1.1").starts_with("HTTP/1.1 405"));
        assert!(ask("HEAD /metrics HTTP/1.1").ends_with("\r\n\r\n"));
    }

    #[test]
    fn a_probe_is_told_of_exports_that_are_stuck_or_broken_and_of_disks_that_do_not_answer() {
        let line = |export: &str, state: &str, is: u8| {
            format!("export_health{{disk=\"d\",export=\"{export}\",state=\"{state}\"}} {is}\n")
        };
        let ready = |samples: String| http("GET /ready HTTP/1.1", || Ok(samples));
        let good = line("a", "ok", 1) + &line("a", "broken", 0) + &line("b", "slow", 1);
        assert!(ready(good.clone()).starts_with("HTTP/1.1 200"));
        for state in ["stuck", "broken"] {
            let bad = ready(good.clone() + &line("c", state, 1));
            let named = format!("{{disk=\"d\",export=\"c\",state=\"{state}\"}}\n");
            assert!(bad.starts_with("HTTP/1.1 503") && bad.ends_with(&named), "{bad}");
        }
        let silent = http("GET /ready HTTP/1.1", || Err("disk d does not answer".to_owned()));
        assert!(silent.starts_with("HTTP/1.1 503") && silent.contains("does not answer"));
    }
}
