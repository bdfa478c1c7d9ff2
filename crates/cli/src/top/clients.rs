//! `blksched top --clients`: each connection separately, from the server's Prometheus metrics.

use std::collections::BTreeMap;

use blksched::Span;
use blksched_measure::{Cell, Column, Table};

/// The figures of one client.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ClientFigures {
    export: String,
    peer: String,
    /// By family and the sample's label (`read`, `turn`, …), if it has one.
    samples: BTreeMap<(String, String), f64>,
    /// How many requests of any kind ended within each bound \[s\].
    within: BTreeMap<u64, f64>,
}

impl ClientFigures {
    fn get(&self, family: &str, of: &str) -> f64 {
        self.samples.get(&(family.to_owned(), of.to_owned())).copied().unwrap_or(0.0)
    }

    /// The sum over all kinds.
    fn all(&self, family: &str) -> f64 {
        self.samples.iter().filter(|((own, _), _)| own == family).map(|(_, value)| value).sum()
    }
}

/// The clients by their numbers.
pub(super) fn read(figures: &str) -> BTreeMap<u64, ClientFigures> {
    let mut clients: BTreeMap<u64, ClientFigures> = BTreeMap::new();
    for line in figures.lines() {
        let Some((family, labels, value)) = sample(line) else { continue };
        let Some(family) = family.strip_prefix("client_") else { continue };
        let label = |name: &str| labels.iter().find(|(own, _)| own == name).map(|(_, value)| value.clone());
        let Some(number) = label("client").and_then(|number| number.parse().ok()) else { continue };
        let client = clients.entry(number).or_default();
        client.export = label("export").unwrap_or_default();
        client.peer = label("peer").unwrap_or_default();
        let of = label("op").or_else(|| label("for")).unwrap_or_default();
        match (family, label("le")) {
            ("request_duration_seconds_bucket", Some(bound)) => {
                let bound = bound.parse::<f64>().map_or(u64::MAX, |seconds| (seconds * 1e9).round() as u64);
                *client.within.entry(bound).or_default() += value;
            }
            _ => *client.samples.entry((family.to_owned(), of)).or_default() += value,
        }
    }
    clients
}

type Labels = Vec<(String, String)>;

/// Parses `FAMILY{name="value",…} value`; a value may contain quotes, escaped by backslashes.
fn sample(line: &str) -> Option<(&str, Labels, f64)> {
    let (family, rest) = line.split_once('{')?;
    let (mut labels, mut rest) = (Vec::new(), rest);
    while !rest.starts_with('}') {
        let (name, quoted) = rest.trim_start_matches(',').split_once("=\"")?;
        let mut value = String::new();
        let mut letters = quoted.char_indices();
        let end = loop {
            match letters.next()? {
                (at, '"') => break at,
                (_, '\\') => value.push(letters.next().map(|(_, letter)| if letter == 'n' { '\n' } else { letter })?),
                (_, letter) => value.push(letter),
            }
        };
        labels.push((name.to_owned(), value));
        rest = &quoted[end + 1..];
    }
    Some((family, labels, rest[1..].trim().parse().ok()?))
}

/// The bound within which this percentage of the new requests ended.
fn percentile(before: &ClientFigures, after: &ClientFigures, part: f64) -> Cell {
    let new = |bound: &u64| after.within[bound] - before.within.get(bound).copied().unwrap_or(0.0);
    let Some(all) = after.within.keys().next_back().map(new).filter(|all| *all > 0.0) else { return Cell::Missing };
    match after.within.keys().find(|bound| new(bound) * 100.0 >= all * part) {
        Some(&u64::MAX) | None => Cell::Text("> 10s".to_owned()),
        Some(&bound) => Cell::from(Span::from_ns(bound)),
    }
}

/// What each client did in these seconds.
pub(super) fn table(
    before: &BTreeMap<u64, ClientFigures>,
    after: &BTreeMap<u64, ClientFigures>,
    seconds: f64,
) -> Table {
    let who = [Column::words("client", "client"), Column::words("export", "export")];
    let columns = who.into_iter().chain(super::figures()).chain([Column::words("peer", "peer")]);
    let mut table = Table::new(format!("in the last {seconds:.1} s"), columns.collect());
    let none = ClientFigures::default();
    for (number, new) in after {
        let old = before.get(number).unwrap_or(&none);
        let rate = |family: &str, of: &str| (new.get(family, of) - old.get(family, of)).max(0.0) / seconds;
        let waits = ["turn", "caps", "flush", "memory"].map(|what| (what, new.get("waiting", what) as u64));
        let most = waits.into_iter().filter(|(_, count)| *count > 0).max_by_key(|(_, count)| *count);
        table.row([
            number.to_string().into(),
            new.export.as_str().into(),
            rate("requests_total", "read").into(),
            rate("requests_total", "write").into(),
            ((new.all("bytes_total") - old.all("bytes_total")).max(0.0) / seconds).into(),
            rate("device_seconds_total", "").into(),
            (new.get("requests_in_progress", "") as u64).into(),
            percentile(old, new, 50.0),
            percentile(old, new, 99.0),
            most.map_or(String::new(), |(what, count)| format!("{what} ({count})")).into(),
            new.peer.as_str().into(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_read_with_their_quotes_and_those_of_exports_are_not_taken() {
        let text = "clients{disk=\"m\",export=\"a\"} 1\n\
                    client_requests_total{disk=\"m\",export=\"a \\\"x\\\"\",client=\"7\",\
                    peer=\"unix:pid=1,uid=0\",op=\"read\"} 12\n\
                    client_waiting{disk=\"m\",export=\"a \\\"x\\\"\",client=\"7\",\
                    peer=\"unix:pid=1,uid=0\",for=\"turn\"} 3\n";
        let clients = read(text);
        assert_eq!(clients.len(), 1);
        let client = &clients[&7];
        assert_eq!((client.export.as_str(), client.peer.as_str()), ("a \"x\"", "unix:pid=1,uid=0"));
        assert_eq!((client.get("requests_total", "read"), client.get("waiting", "turn")), (12.0, 3.0));
    }

    #[test]
    fn percentiles_are_of_what_is_new() {
        let line = |le: &str, count: u32| {
            let family = "client_request_duration_seconds_bucket";
            format!("{family}{{client=\"1\",export=\"a\",peer=\"p\",op=\"read\",le=\"{le}\"}} {count}\n")
        };
        let at = |low: u32, all: u32| read(&(line("0.0001", low) + &line("0.00025", all) + &line("+Inf", all)));
        let (before, after) = (at(5, 5), at(5, 105));
        assert_eq!(percentile(&before[&1], &after[&1], 50.0), Cell::from(Span::from_us(250)));
        assert_eq!(percentile(&after[&1], &after[&1], 50.0), Cell::Missing);
    }
}
