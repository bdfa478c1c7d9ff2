//! The reasons that every request has arrive through methods of their own; the totals equal those of `on_event` alone.

use blksched::{
    Bio, BlockQueue, Catalogue, Instant, Listener, Next, Outcome, QueueConfig, Reason, Sector, Span, SubmitterId,
};
use blksched_measure::Reasons;

/// A listener that receives everything through `on_event`.
struct ByOneCall(Reasons);

impl Listener for ByOneCall {
    fn on_event(&mut self, at: Instant, reason: Reason) {
        self.0.on_event(at, reason);
    }
}

/// Two submitters write sequentially and read at random; the disk takes one request at a time, somewhat slowly.
fn live<L: Listener>(elevator: &str, listener: L) -> BlockQueue<L> {
    let built = Catalogue::builtin().build(elevator).unwrap();
    let config = QueueConfig { depth: 1, slots: built.slots, plugging: built.plugging, ..QueueConfig::default() };
    let mut queue = BlockQueue::with_listener(config, built.elevator, listener);
    let (mut now, mut device) = (Instant::ZERO, None);
    for nth in 0..600_u64 {
        now += Span::from_us(300);
        let (writer, reader) = (SubmitterId(1), SubmitterId(2));
        if nth < 300 && queue.requests().len() < 60 {
            let bio = match nth % 3 {
                0 => Bio::read(nth, reader, Sector(nth.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40), 8),
                _ => Bio::write_back(nth, writer, Sector(1_000_000 + nth * 8), 8),
            };
            queue.submit_alone(now, bio);
        }
        if nth % 2 == 0
            && let Some(command) = device.take()
        {
            queue.complete(now, command, Outcome::Ok);
        }
        if device.is_none()
            && let Next::Issue(command) = queue.next(now)
        {
            device = Some(command);
        }
        queue.deliveries().for_each(drop);
    }
    queue
}

#[test]
fn both_calls_amount_to_the_same() {
    for elevator in Catalogue::builtin().eras() {
        for reasons in [Reasons::new, Reasons::of_shares, Reasons::of_counts] {
            let own = format!("{:?}", live(&elevator, reasons()).listener());
            let one = format!("{:?}", live(&elevator, ByOneCall(reasons())).listener().0);
            assert_eq!(own, one, "{elevator}");
        }
    }
}
