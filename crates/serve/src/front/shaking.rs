//! TLS handshakes cost a signature each, so they are done on threads of their own, and those who need none wait for
//! none.
//!
//! **Rule** [`THREADS`] threads take turns among the origins that wait, one step of one handshake at a time. So an
//! origin with many handshakes delays another's by one step, and not by all of its own. At most [`MOST`] clients wait;
//! beyond that, the origin that has the most of them loses its oldest.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::elsewhere::{Speaker, Told};
use crate::ServeError;
use crate::handshaking::HandshakingClient;

/// How many threads do that.
const THREADS: usize = 2;
/// How many clients may wait for them.
const MOST: usize = 256;

/// The threads.
pub struct Shaking(Arc<Shared>);

struct Shared {
    line: Mutex<Line<HandshakingClient>>,
    changed: Condvar,
}

impl Shaking {
    /// Starts them; what they have done is told there.
    ///
    /// # Errors
    /// If there can be no more threads.
    pub fn start(speaker: &Speaker) -> Result<Shaking, ServeError> {
        let shared = Arc::new(Shared { line: Mutex::new(Line::new()), changed: Condvar::new() });
        for number in 0..THREADS {
            let (shared, speaker) = (shared.clone(), speaker.clone());
            let life = move || {
                while let Some(mut client) = shared.next() {
                    let read = client.read();
                    speaker.tell(Told::Shaken(Box::new(client), read));
                }
            };
            let spawned = std::thread::Builder::new().name(format!("tls-hello-{number}")).spawn(life);
            spawned.map_err(ServeError::system("starting a thread for TLS"))?;
        }
        Ok(Shaking(shared))
    }

    /// A client whose socket is ready for the next step of its handshake. Returns another, if it has to go.
    pub fn push(&self, client: HandshakingClient) -> Option<HandshakingClient> {
        let gone = self.0.lock().push(client.origin.clone(), client);
        self.0.changed.notify_one();
        gone
    }
}

impl Drop for Shaking {
    fn drop(&mut self) {
        self.0.lock().over = true;
        self.0.changed.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Line<HandshakingClient>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next one; `None` at the end.
    fn next(&self) -> Option<HandshakingClient> {
        let mut line = self.lock();
        loop {
            if line.over {
                return None;
            }
            if let Some(client) = line.pop() {
                return Some(client);
            }
            line = self.changed.wait(line).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Those who wait, by origin; the origins take turns.
struct Line<T> {
    origins: VecDeque<(String, VecDeque<T>)>,
    count: usize,
    over: bool,
}

impl<T> Line<T> {
    fn new() -> Line<T> {
        Line { origins: VecDeque::new(), count: 0, over: false }
    }

    /// One more; returns the one that has to go for it.
    fn push(&mut self, origin: String, client: T) -> Option<T> {
        match self.origins.iter_mut().find(|(own, _)| *own == origin) {
            Some((_, clients)) => clients.push_back(client),
            None => self.origins.push_back((origin, VecDeque::from([client]))),
        }
        self.count += 1;
        if self.count <= MOST {
            return None;
        }
        let (_, most) = self.origins.iter_mut().max_by_key(|(_, clients)| clients.len())?;
        self.count -= 1;
        most.pop_front()
    }

    fn pop(&mut self) -> Option<T> {
        let (origin, mut clients) = self.origins.pop_front()?;
        let client = clients.pop_front()?;
        self.count -= 1;
        if !clients.is_empty() {
            self.origins.push_back((origin, clients));
        }
        Some(client)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_with_many_handshakes_delays_another_by_one_step() {
        let mut line = Line::new();
        for nth in 0..100 {
            assert_eq!(line.push("many".to_owned(), ("many", nth)), None);
        }
        line.push("few".to_owned(), ("few", 0));
        line.push("few".to_owned(), ("few", 1));
        let order: Vec<_> = (0..5).map(|_| line.pop().unwrap()).collect();
        assert_eq!(order, [("many", 0), ("few", 0), ("many", 1), ("few", 1), ("many", 2)]);
        assert_eq!((0..97).filter_map(|_| line.pop()).count(), 97);
        assert!(line.pop().is_none() && line.count == 0);
    }

    #[test]
    fn of_too_many_the_oldest_of_the_largest_origin_goes() {
        let mut line = Line::new();
        line.push("few".to_owned(), ("few", 0));
        for nth in 0..MOST - 1 {
            assert_eq!(line.push("many".to_owned(), ("many", nth)), None, "just enough room");
        }
        assert_eq!(line.push("many".to_owned(), ("many", MOST)), Some(("many", 0)));
        assert_eq!(line.push("new".to_owned(), ("new", 0)), Some(("many", 1)));
        assert_eq!(line.count, MOST);
    }
}
