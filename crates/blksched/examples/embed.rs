//! An embedder's loop: your clients' I/O in, an elevator's order out. Replace `device` by the code that does the real
//! I/O and `now` by your clock, and this is a server's scheduler.

use blksched::{Bio, Catalogue, Delivery, Instant, Limits, Next, Outcome, Sector, Span, SubmitterId};

fn main() {
    // The elevator with its era's plugging and slots; the device gets two commands at a time.
    let built = Catalogue::builtin().build("deadline").expect("a built-in elevator");
    let mut queue = built.queue(Limits::default(), 2);
    let mut now = Instant::ZERO;
    let mut device = std::collections::VecDeque::new();

    // Two clients submit a burst each; the tag is your own identifier of the I/O.
    for (client, first_sector) in [(1, 9_000_000), (2, 1_000)] {
        let read = |nth| {
            let start = Sector(first_sector + nth * 64);
            Bio::read(u64::from(client) * 100 + nth, SubmitterId(client), start, 8)
        };
        queue.submit_burst(now, &[0, 1, 2, 3].map(read));
    }

    loop {
        // Ask until the queue has nothing more to issue. Its last answer says why.
        let pause = loop {
            match queue.next(now) {
                Next::Issue(command) => device.push_back((now + Span::from_ms(5), command)),
                pause => break pause,
            }
        };
        // Sleep until the device has completed something, or until the queue must be called.
        let done_at = device.front().map(|(at, _)| *at);
        let Some(then) = done_at.into_iter().chain(queue.deadline()).min() else { break };
        println!("{now}: {pause:?}, {} in flight", queue.in_flight());
        now = then;
        // A command is a token that completion consumes, so another client's I/O cannot be acknowledged by mistake.
        while let Some((_, command)) = device.pop_front_if(|(at, _)| *at <= now) {
            queue.complete(now, command, Outcome::Ok);
        }
        for delivery in queue.deliveries() {
            if let Delivery::Done { tag, outcome } = delivery {
                println!("{now}: I/O {} is done: {outcome:?}", tag.0);
            }
        }
    }
}
