//! A scheduler in a tokio server: one task owns the queue; connections and the device are tasks that send it messages.
//!
//! A client sends lines, `read SECTOR`, and receives `ok` or `failed` for each when its I/O is done. Try `cargo run
//! --example tokio_server`: it serves two clients of its own and ends with them.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use blksched::{
    Bio, BlockQueue, Catalogue, Delivery, InFlight, Instant, Limits, Next, Outcome, Sector, Span, SubmitterId, Tag,
};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant as Clock, sleep, sleep_until};

/// An I/O that a connection submits, and the channel for its outcome.
struct Order {
    bio: Bio,
    done: oneshot::Sender<Outcome>,
}

/// The task that owns the queue. It ends when no task can send it orders any more.
async fn schedule(mut queue: BlockQueue, mut orders: mpsc::Receiver<Order>) {
    let (started, mut waiting) = (Clock::now(), BTreeMap::<Tag, oneshot::Sender<Outcome>>::new());
    let now = || Instant::ZERO + Span::from(started.elapsed());
    let (completed, mut completions) = mpsc::unbounded_channel::<InFlight>();
    loop {
        while let Next::Issue(command) = queue.next(now()) {
            let completed = completed.clone();
            // The device: 2 ms per command.
            tokio::spawn(async move {
                sleep(Duration::from_millis(2)).await;
                _ = completed.send(command);
            });
        }
        for delivery in queue.deliveries() {
            if let Delivery::Done { tag, outcome } = delivery
                && let Some(done) = waiting.remove(&tag)
            {
                // A connection that is gone no longer receives.
                _ = done.send(outcome);
            }
        }
        let deadline = queue.deadline().map(|at| started + Duration::from(at.since(Instant::ZERO)));
        tokio::select! {
            order = orders.recv() => {
                let Some(Order { bio, done }) = order else { return };
                waiting.insert(bio.tag, done);
                queue.submit_burst(now(), &[bio]);
            }
            Some(command) = completions.recv() => queue.complete(now(), command, Outcome::Ok),
            () = sleep_until(deadline.unwrap_or(started)), if deadline.is_some() => queue.elapse(now()),
        }
    }
}

/// Serves one client's lines, one I/O at a time.
async fn serve(client: SubmitterId, stream: TcpStream, orders: mpsc::Sender<Order>) -> io::Result<()> {
    let (read, mut write) = stream.into_split();
    let (mut lines, mut nth) = (BufReader::new(read).lines(), 0);
    while let Some(line) = lines.next_line().await? {
        let Some(sector) = line.strip_prefix("read ").and_then(|sector| sector.parse().ok()) else {
            let answer = format!("`{line}` is not understood: expected `read SECTOR`, as in `read 4096`\n");
            write.write_all(answer.as_bytes()).await?;
            continue;
        };
        let (done, outcome) = oneshot::channel();
        nth += 1;
        let bio = Bio::read(u64::from(client.0) << 32 | nth, client, Sector(sector), 8);
        if orders.send(Order { bio, done }).await.is_err() {
            return Ok(());
        }
        let answer: &[u8] = if outcome.await == Ok(Outcome::Ok) { b"ok\n" } else { b"failed\n" };
        write.write_all(answer).await?;
    }
    Ok(())
}

/// A client of our own: reads sequentially, then sends an invalid line.
async fn client(address: std::net::SocketAddr, first: u64) -> io::Result<()> {
    let (read, mut write) = TcpStream::connect(address).await?.into_split();
    let mut answers = BufReader::new(read).lines();
    for line in (0..5).map(|nth| format!("read {}\n", first + nth * 8)).chain(["raed 7\n".to_owned()]) {
        write.write_all(line.as_bytes()).await?;
        println!("{}: {}", line.trim_end(), answers.next_line().await?.unwrap_or_default());
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let queue = Catalogue::builtin().build("mq-deadline").expect("a built-in elevator").queue(Limits::default(), 2);
    let (orders, to_schedule) = mpsc::channel(64);
    let scheduler = tokio::spawn(schedule(queue, to_schedule));

    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let clients = [1_000_000, 9_000_000].map(|first| tokio::spawn(client(address, first)));
    for name in 1..=2 {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(serve(SubmitterId(name), stream, orders.clone()));
    }
    for client in clients {
        client.await??;
    }
    drop(orders);
    scheduler.await?;
    Ok(())
}
