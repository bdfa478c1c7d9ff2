//! Every engine behaves the same, whatever the size, the file's I/O mode and the memory; and the ring takes its fast
//! path.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use rustix::fs::OFlags;

use super::*;
use crate::buffer::{LARGEST, Pool};

/// A file, removed afterwards.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("blksched-{name}-{}", std::process::id()));
        File::create(&path).unwrap().set_len(64 << 20).unwrap();
        Scratch(path)
    }

    fn open(&self, how: OFlags) -> io::Result<Arc<OwnedFd>> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).custom_flags(how.bits() as i32).open(&self.0)?;
        Ok(Arc::new(file.into()))
    }

    /// With the page cache, and without it where the file system allows.
    fn ways(&self) -> Vec<Arc<OwnedFd>> {
        let direct = self.open(OFlags::DIRECT);
        if direct.is_err() {
            eprintln!("skipped: O_DIRECT, which the file system of {} does not have", self.0.display());
        }
        [self.open(OFlags::empty()), direct].into_iter().flatten().collect()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn engines() -> Vec<Box<dyn Engine>> {
    let mut engines = vec![make(EngineKind::Threads, 64).unwrap()];
    match make(EngineKind::Uring, 64) {
        Ok(ring) => engines.push(ring),
        Err(error) => eprintln!("skipped: the io_uring engine ({error})"),
    }
    engines
}

fn finish(engine: &mut dyn Engine, io: Io) -> EngineEvent {
    engine.submit(7, io);
    let mut events = Vec::new();
    while events.is_empty() {
        engine.wait(None, &mut events).unwrap();
    }
    events.remove(0)
}

/// The content of the `round`-th write: a pattern whose length divides no size.
fn content(round: u64, length: usize) -> Vec<u8> {
    let byte = |at: u64| ((at + round).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8;
    let pattern: Vec<u8> = (0..4099).map(byte).collect();
    pattern.repeat(length / pattern.len() + 1)
}

fn parts(pool: &mut Pool, lengths: &[usize], mut content: &[u8]) -> Vec<TransferPart> {
    let mut part = |&length: &usize| {
        let mut buffer = pool.take(length).unwrap();
        buffer.bytes_mut().fill(0xee);
        let (these, rest) = content.split_at(length.min(content.len()));
        buffer.bytes_mut()[..these.len()].copy_from_slice(these);
        content = rest;
        TransferPart { piece: 0, buffer, length }
    };
    lengths.iter().map(&mut part).collect()
}

fn give_back(pool: &mut Pool, parts: Vec<TransferPart>) {
    parts.into_iter().for_each(|part| pool.give(part.buffer));
}

/// Writes and reads back, and checks every byte.
fn there_and_back(engine: &mut dyn Engine, file: &Arc<OwnedFd>, pool: &mut Pool, lengths: &[usize], round: u64) {
    let (whole, start) = (lengths.iter().sum::<usize>(), 4096 * (round % 64));
    let content = content(round, whole);
    let stable = if round.is_multiple_of(2) { Stable::Later } else { Stable::Now };
    let out = parts(pool, lengths, &content);
    let event = finish(engine, Io::Write(file.clone(), start, out, stable));
    assert_eq!(event.result, Ok(whole), "{} writes {lengths:?}", engine.name());
    let Io::Write(_, _, out, _) = event.io else { unreachable!() };
    give_back(pool, out);
    let event = finish(engine, Io::Read(file.clone(), start, parts(pool, lengths, &[])));
    assert_eq!(event.result, Ok(whole), "{} reads {lengths:?}", engine.name());
    let Io::Read(_, _, back) = event.io else { unreachable!() };
    let mut at = 0;
    for part in &back {
        let (read, rest) = part.buffer.bytes().split_at(part.length);
        assert!(*read == content[at..at + part.length], "{}: {lengths:?} differ in round {round}", engine.name());
        assert!(*rest == vec![0xee; rest.len()], "{}: {lengths:?}: more than was asked for", engine.name());
        at += part.length;
    }
    give_back(pool, back);
}

#[test]
fn data_are_right_in_every_engine_from_512_bytes_to_32_mib_cached_and_direct() {
    let scratch = Scratch::new("sizes");
    let sizes: [&[usize]; 7] =
        [&[512], &[4096], &[12 << 10], &[64 << 10], &[LARGEST], &[512, 4096, 1024, 64 << 10], &[LARGEST; 32]];
    for engine in &mut engines() {
        for file in scratch.ways() {
            let mut pool = Pool::new(40 << 20);
            for (round, sizes) in (0..).zip(sizes.into_iter().cycle().take(2 * sizes.len())) {
                there_and_back(engine.as_mut(), &file, &mut pool, sizes, round);
            }
        }
    }
}

#[test]
fn data_are_right_where_buffers_come_and_go_for_want_of_memory() {
    let scratch = Scratch::new("pressure");
    let many = [4096; 200];
    for engine in &mut engines() {
        for file in scratch.ways() {
            // Room for one large buffer, or for small ones: each makes the others be freed.
            let mut pool = Pool::new(LARGEST);
            for round in 0..10 {
                there_and_back(engine.as_mut(), &file, &mut pool, &[LARGEST], 3 * round);
                many.chunks(1).for_each(|one| there_and_back(engine.as_mut(), &file, &mut pool, one, 3 * round + 1));
                there_and_back(engine.as_mut(), &file, &mut pool, &many, 3 * round + 2);
            }
        }
    }
}

/// The kernel's version; registered buffers that change need 5.19.
fn kernel() -> (u32, u32) {
    let text = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = text.split(|c: char| !c.is_ascii_digit()).map_while(|number| number.parse().ok());
    (numbers.next().unwrap(), numbers.next().unwrap_or(0))
}

#[test]
fn the_ring_makes_transfers_of_one_part_with_registered_buffers() {
    let mut ring = match make(EngineKind::Uring, 64) {
        Ok(ring) if kernel() >= (5, 19) => ring,
        _ => return eprintln!("skipped: registered buffers, which this kernel does not have"),
    };
    let scratch = Scratch::new("registered");
    let file = scratch.open(OFlags::empty()).unwrap();
    let mut pool = Pool::new(1 << 20);
    for round in 0..10 {
        there_and_back(ring.as_mut(), &file, &mut pool, &[4096], round);
    }
    assert_eq!(ring.stat(), "registered_buffers=1 fixed_ios=20 plain_ios=0");
    there_and_back(ring.as_mut(), &file, &mut pool, &[4096, 4096], 1);
    assert_eq!(ring.stat(), "registered_buffers=1 fixed_ios=20 plain_ios=2", "several parts go as vectors");
}

#[test]
fn every_engine_tells_the_same_extents_beside_other_operations() {
    let scratch = Scratch::new("extents");
    let file = scratch.open(OFlags::empty()).unwrap();
    let mut pool = Pool::new(1 << 20);
    let mut told = Vec::new();
    for engine in &mut engines() {
        there_and_back(engine.as_mut(), &file, &mut pool, &[64 << 10], 16);
        for _ in 0..3 {
            let question = Question { start: 0, length: 4 << 20, most: 9 };
            let event = finish(engine.as_mut(), Io::Extents(file.clone(), question, Vec::new()));
            let Io::Extents(_, _, extents) = event.io else { unreachable!() };
            told.push(extents);
        }
    }
    assert_eq!(told[0].iter().map(|extent| extent.length).sum::<u64>(), 4 << 20);
    assert!(told.iter().all(|extents| *extents == told[0]), "{told:?}");
}
