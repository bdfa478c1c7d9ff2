//! The end of a server: every disk completes what it has, and one that hangs is not waited for.

use std::time::Instant;

use super::Front;
use super::replace::LOOK;
use crate::ServeError;
use crate::assemble::Running;
use crate::orders::Order;
use crate::pulse::{SILENT, Watch};
use crate::tls;

impl Front {
    /// Accepts no more clients, and completes what is in flight. What another server continues with is left alone. A
    /// disk that hangs is not waited for: what is in it was not answered, its clients are cut off, and the other disks
    /// are made stable.
    pub(super) fn stop(&mut self) -> Result<(), ServeError> {
        // Cached data of a block device is written back now, while the shards still serve.
        self.ublk.clear();
        let order = || if self.replaced { Order::Leave } else { Order::Stop };
        self.serving.shards.iter().for_each(|shard| shard.control.order(order()));
        self.doors.clear();
        self.control = None;
        self.metrics.clear();
        self.vhost.clear();
        self.guests.clear();
        self.askers.clear();
        let (now, until) = (Instant::now(), Instant::now() + self.patience);
        let shards = self.serving.shards.drain(..);
        // Sockets that were handed over are the next server's, too: shutting one down would cut off its client.
        let give_up = |shard: &Running| {
            if !self.replaced {
                shard.control.cut_off()
            }
        };
        let Ends { result, hung } = all_end(shards.map(|shard| (shard, Watch::new(now, until))).collect(), &give_up);
        if !hung.is_empty() {
            // Closing a file may take as long as whatever hangs there: the end of the process does it, after that line.
            std::mem::forget(self.pending.take());
            std::mem::take(&mut self.serving.claims).abandon(&hung);
            await_last_words();
        }
        result
    }
}

/// How all disks ended.
struct Ends {
    /// The first error.
    result: Result<(), ServeError>,
    /// The disks that have not ended.
    hung: Vec<String>,
}

/// Waits for the ends of these disks, side by side.
fn all_end(mut shards: Vec<(Running, Watch)>, give_up: &dyn Fn(&Running)) -> Ends {
    let mut ends = Ends { result: Ok(()), hung: Vec::new() };
    while !shards.is_empty() {
        let now = Instant::now();
        for at in (0..shards.len()).rev() {
            let (shard, watch) = &mut shards[at];
            let ended = match shard.thread.is_finished() {
                true => {
                    let Running { name, thread, .. } = shards.swap_remove(at).0;
                    let panicked = |_| Err(ServeError::Config(format!("disk {name}: its thread panicked")));
                    thread.join().unwrap_or_else(panicked)
                }
                false if watch.gives_up(now, shard.pulse.last()) => {
                    let shard = shards.swap_remove(at).0;
                    give_up(&shard);
                    let name = shard.name;
                    let why = format!("disk {name}: what is in it does not come back: the server ends without it");
                    ends.hung.push(name);
                    Err(ServeError::Config(why))
                }
                false => continue,
            };
            if let Err(error) = &ended {
                tracing::error!(%error, "the server ends with something undone");
            }
            ends.result = ends.result.and(ended);
        }
        if !shards.is_empty() {
            std::thread::sleep(LOOK);
        }
    }
    ends
}

/// Clients with TLS that were cut off are told so by threads of their own, before the process ends.
fn await_last_words() {
    let until = Instant::now() + SILENT / 4;
    while tls::carried() > 0 && Instant::now() < until {
        std::thread::sleep(LOOK);
    }
}
