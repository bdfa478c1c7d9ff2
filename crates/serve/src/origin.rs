//! Where a client comes from, as far as limits are concerned: its user on this machine, its address elsewhere (the /64
//! of an IPv6 address, of which one machine has all), or the name in its certificate. No origin gets more than its part
//! of what all share: handshakes, connections, lines of the log.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

/// The origin of a client that the log names like this.
pub fn of(peer: &str) -> String {
    if let Some((_, name)) = peer.split_once(",cert=") {
        return format!("cert={name}");
    }
    if let Some(address) = peer.strip_prefix("tcp:").and_then(|address| address.parse::<SocketAddr>().ok()) {
        return match address.ip().to_canonical() {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                format!("{a:x}:{b:x}:{c:x}:{d:x}::/64")
            }
        };
    }
    match peer.split_once(",uid=") {
        Some((_, uid)) => format!("uid={uid}"),
        None => peer.split(",queue=").next().unwrap_or(peer).to_owned(),
    }
}

/// The name in the certificate of a client that the log names like this, if it has one.
pub fn certificate(peer: &str) -> Vec<String> {
    peer.split_once(",cert=").map(|(_, name)| name.to_owned()).into_iter().collect()
}

/// The same client as the log names it, without what differs from one connection to the next: its process, its port.
pub fn without_numbers(peer: &str) -> String {
    let (place, certificate) = peer.split_at(peer.find(",cert=").unwrap_or(peer.len()));
    let place = match place.strip_prefix("tcp:").and_then(|address| address.parse::<SocketAddr>().ok()) {
        Some(address) => format!("tcp:{}", address.ip()),
        None => place.split_once(",uid=").map_or(place.to_owned(), |(_, uid)| format!("unix:uid={uid}")),
    };
    place + certificate
}

/// How many connections each origin has.
#[derive(Clone)]
pub struct Places {
    taken: Arc<Mutex<BTreeMap<String, usize>>>,
    most: usize,
}

/// A connection of an origin; its place is free again afterwards.
pub struct Place {
    places: Places,
    origin: String,
}

impl Places {
    /// At most this many for one origin.
    pub fn new(most: usize) -> Places {
        Places { taken: Arc::default(), most }
    }

    /// Half of the files that this process may have open: one origin leaves as many to all others.
    pub fn of_this_process() -> Places {
        let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        Places::new(files.map_or(usize::MAX, |files| (files / 2) as usize).max(1))
    }

    /// A place for one more; `None` if the origin has too many.
    pub fn take(&self, origin: String) -> Option<Place> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let own = taken.entry(origin.clone()).or_default();
        if *own >= self.most {
            return None;
        }
        *own += 1;
        Some(Place { places: self.clone(), origin })
    }

    /// The most of one origin.
    pub fn most(&self) -> usize {
        self.most
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = taken.get_mut(&self.origin) {
            *own -= 1;
            if *own == 0 {
                taken.remove(&self.origin);
            }
        }
    }
}

/// Which of these has to go so that another can come: of the origin that has the most, the one that came first. So
/// newcomers win over clients that talk and never finish, and an origin displaces others only while it has less.
pub fn displaced<T: Copy>(clients: impl Iterator<Item = (T, String, std::time::Instant)>) -> Option<T> {
    let mut origins: BTreeMap<String, (usize, std::time::Instant, T)> = BTreeMap::new();
    for (client, origin, arrived) in clients {
        let own = origins.entry(origin).or_insert((0, arrived, client));
        own.0 += 1;
        if arrived < own.1 {
            (own.1, own.2) = (arrived, client);
        }
    }
    origins
        .into_values()
        .max_by_key(|(count, arrived, _)| (*count, core::cmp::Reverse(*arrived)))
        .map(|(_, _, client)| client)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn an_origin_is_a_user_an_address_or_a_certificate() {
        for (peer, origin) in [
            ("unix:pid=77,uid=1000", "uid=1000"),
            ("unix", "unix"),
            ("tcp:192.0.2.7:40001", "192.0.2.7"),
            ("tcp:[::ffff:192.0.2.7]:40001", "192.0.2.7"),
            ("tcp:[2001:db8:1:2:3:4:5:6]:40001", "2001:db8:1:2::/64"),
            ("tcp:192.0.2.7:40001,cert=alice.example", "cert=alice.example"),
            ("vhost-user:/run/a.vhost,queue=3", "vhost-user:/run/a.vhost"),
        ] {
            assert_eq!(of(peer), origin);
        }
    }

    #[test]
    fn a_client_that_reconnects_is_called_the_same() {
        for (peer, name) in [
            ("unix:pid=77,uid=1000", "unix:uid=1000"),
            ("tcp:192.0.2.7:40001", "tcp:192.0.2.7"),
            ("tcp:[2001:db8::7]:40001,cert=alice.example", "tcp:2001:db8::7,cert=alice.example"),
            ("vhost-user:/run/a.vhost,queue=3", "vhost-user:/run/a.vhost,queue=3"),
        ] {
            assert_eq!(without_numbers(peer), name);
        }
    }

    #[test]
    fn an_origin_has_no_more_than_its_places_and_what_it_leaves_is_free() {
        let places = Places::new(2);
        let take = |origin: &str| places.take(origin.to_owned());
        let held = [take("a"), take("a")];
        assert!(held.iter().all(Option::is_some) && take("a").is_none());
        assert!(take("b").is_some(), "another's are not touched");
        drop(held);
        assert!(take("a").is_some() && places.taken.lock().unwrap().is_empty());
    }

    #[test]
    fn who_has_the_most_makes_room_with_its_oldest() {
        let now = Instant::now();
        let at = |ms: u64| now + Duration::from_millis(ms);
        let talkers = (0..3).map(|nth| (nth, "a".to_owned(), at(nth)));
        let all = [(7, "b".to_owned(), now)].into_iter().chain(talkers);
        assert_eq!(displaced(all), Some(0), "not b's, although it arrived as early");
        assert_eq!(displaced([(1, "a".to_owned(), at(5)), (2, "b".to_owned(), at(3))].into_iter()), Some(2));
        assert_eq!(displaced(std::iter::empty::<(u8, String, Instant)>()), None);
    }
}
