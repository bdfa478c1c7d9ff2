//! A server's scheduler on threads of the standard library: two tenants by weight, a client that gives up, and errors
//! that reach the client whose I/O failed.
//!
//! One thread owns the queue and is the only one to read the clock; clients and the device send it messages. Try `cargo
//! run --example threads`.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant as Clock};

use blksched::{
    Bio, BlockQueue, Cancelled, Catalogue, Delivery, Group, GroupId, InFlight, Instant, Limits, Next, Outcome, Sector,
    Span, SubmitterId, Tag,
};

const GOLD: GroupId = GroupId(1);
const SILVER: GroupId = GroupId(2);
/// The number of reads of each client.
const READS: u64 = 60;

/// A message to the scheduler's thread.
enum Message {
    /// A client submits an I/O; the outcome is sent to this channel.
    Submit(Bio, Sender<Outcome>),
    /// A client cancels an I/O.
    Cancel(Tag),
    /// The device has completed a command.
    Completed(InFlight, Outcome),
}

/// The state of the scheduler's thread.
struct Scheduler {
    queue: BlockQueue,
    /// The clients that wait for an I/O, by its tag.
    waiting: BTreeMap<Tag, Sender<Outcome>>,
    device: Sender<InFlight>,
    started: Clock,
}

impl Scheduler {
    fn now(&self) -> Instant {
        Instant::ZERO + Span::from(self.started.elapsed())
    }

    /// Runs until all senders are gone.
    fn run(mut self, messages: &Receiver<Message>) {
        loop {
            while let Next::Issue(command) = self.queue.next(self.now()) {
                self.device.send(command).expect("the device outlives the scheduler");
            }
            let deliveries: Vec<Delivery> = self.queue.deliveries().collect();
            for delivery in deliveries {
                if let Delivery::Done { tag, outcome } = delivery
                    && let Some(client) = self.waiting.remove(&tag)
                {
                    // A client that is gone no longer receives.
                    _ = client.send(outcome);
                }
            }
            // Sleep until a message arrives, or until the queue must be called.
            let until = self.queue.deadline().unwrap_or(Instant::NEVER).since(self.now());
            match messages.recv_timeout(Duration::from(until).min(Duration::from_secs(3600))) {
                Ok(message) => self.hear(message),
                Err(RecvTimeoutError::Timeout) => self.queue.elapse(self.now()),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn hear(&mut self, message: Message) {
        let now = self.now();
        match message {
            Message::Submit(bio, client) => {
                self.waiting.insert(bio.tag, client);
                self.queue.submit_burst(now, &[bio]);
            }
            // If it was taken back, no outcome will follow: its client finds the channel closed.
            Message::Cancel(tag) => {
                if self.queue.cancel(now, tag) == Cancelled::TakenBack {
                    self.waiting.remove(&tag);
                }
            }
            Message::Completed(command, outcome) => self.queue.complete(now, command, outcome),
        }
    }
}

/// The device: two commands at a time, 2 ms each; sector 4096 is broken.
fn device(commands: &Receiver<InFlight>, scheduler: &Sender<Message>) {
    for command in commands {
        thread::sleep(Duration::from_millis(2));
        let outcome = if command.start == Sector(4096) { Outcome::Failed } else { Outcome::Ok };
        if scheduler.send(Message::Completed(command, outcome)).is_err() {
            return;
        }
    }
}

/// Reads one sector after another; returns how many reads succeeded, and how long all took.
fn client(name: u32, group: GroupId, scheduler: &Sender<Message>) -> (u64, Duration) {
    let (started, mut read) = (Clock::now(), 0);
    for nth in 0..READS {
        let (answer, done) = mpsc::channel();
        let start = Sector(u64::from(name) * 1_000_000 + nth * 64);
        let bio = Bio::read(u64::from(name) << 32 | nth, SubmitterId(name), start, 8).with_group(group);
        scheduler.send(Message::Submit(bio, answer)).expect("the scheduler runs");
        read += u64::from(done.recv() == Ok(Outcome::Ok));
    }
    (read, started.elapsed())
}

fn main() {
    let mut queue = Catalogue::builtin().build("bfq").expect("a built-in elevator").queue(Limits::default(), 1);
    for (tenant, weight) in [(GOLD, 300), (SILVER, 100)] {
        queue.set_group(Instant::ZERO, tenant, Group { weight, ..Group::default() }).expect("weights within 1 to 1000");
    }
    let (scheduler, messages) = mpsc::channel();
    let (commands, to_device) = mpsc::channel();
    let done = scheduler.clone();
    thread::spawn(move || device(&to_device, &done));
    let waiting = BTreeMap::new();
    thread::spawn(move || Scheduler { queue, waiting, device: commands, started: Clock::now() }.run(&messages));

    // Errors reach the client that submitted the I/O.
    let (answer, failed) = mpsc::channel();
    let broken = Bio::read(1, SubmitterId(9), Sector(4096), 8);
    scheduler.send(Message::Submit(broken, answer)).expect("the scheduler runs");
    println!("a broken sector: {:?}", failed.recv().expect("an answer"));

    // A client that gives up: requests that the device has not begun are cancelled, and their channel is closed.
    let queued: Vec<_> = (0..8)
        .map(|nth| {
            let (answer, done) = mpsc::channel();
            let bio = Bio::read(100 + nth, SubmitterId(8), Sector(nth * 5000 + 9000), 8);
            scheduler.send(Message::Submit(bio, answer)).expect("the scheduler runs");
            done
        })
        .collect();
    (0..8).for_each(|nth| scheduler.send(Message::Cancel(Tag(100 + nth))).expect("the scheduler runs"));
    let done = queued.iter().filter(|done| done.recv().is_ok()).count();
    println!("of 8 cancelled I/Os {done} were done all the same");

    let tenants = [("gold", 1, GOLD), ("silver", 2, SILVER)].map(|(tenant, name, group)| {
        let scheduler = scheduler.clone();
        (tenant, thread::spawn(move || client(name, group, &scheduler)))
    });
    for (tenant, client) in tenants {
        let (read, took) = client.join().expect("a client that ends");
        println!("{tenant}: {read} reads in {took:.0?}");
    }
}
