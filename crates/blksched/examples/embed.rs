//! An embedder's loop: your clients' I/O in, an elevator's order out. Replace `device` by whatever really does the I/O
//! and `now` by your clock, and this is a server's scheduler.

use blksched::{Bio, BlockQueue, Catalogue, Delivery, Instant, Next, Outcome, QueueConfig, Sector, Span, SubmitterId};

fn main() {
    let built = Catalogue::builtin().build("deadline").expect("a built-in elevator");
    let config = QueueConfig { depth: 2, plugging: built.plugging, slots: built.slots, ..QueueConfig::default() };
    let mut queue = BlockQueue::new(config, built.elevator);
    let mut now = Instant::ZERO;
    let mut device = std::collections::VecDeque::new();

    // Two clients submit a burst each; the tag is your own name for the I/O.
    for (client, first_sector) in [(1, 9_000_000), (2, 1_000)] {
        for nth in 0..4 {
            let start = Sector(first_sector + nth * 64);
            queue.submit(now, Bio::read(u64::from(client) * 100 + nth, SubmitterId(client), start, 8));
        }
        queue.waits(now, SubmitterId(client));
    }

    loop {
        // Ask until the queue has nothing more to send. Its last answer says why.
        let pause = loop {
            match queue.next(now) {
                Next::Issue(command) => device.push_back((now + Span::from_ms(5), command)),
                pause => break pause,
            }
        };
        // Sleep until the device is done, or until the queue wants to be told the time.
        let done_at = device.front().map(|&(at, _)| at);
        let Some(then) = done_at.into_iter().chain(queue.deadline()).min() else { break };
        println!("{now}: {pause:?}, {} in flight", queue.in_flight());
        now = then;
        while let Some((_, command)) = device.pop_front_if(|&mut (at, _)| at <= now) {
            queue.complete(now, command.rq, Outcome::Ok);
        }
        for delivery in queue.deliveries() {
            if let Delivery::Done { tag, outcome } = delivery {
                println!("{now}: I/O {} is done: {outcome:?}", tag.0);
            }
        }
    }
}
