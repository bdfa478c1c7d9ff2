//! Repeated power cuts: data that was answered as stable is there afterwards, whether the file system honours the flag
//! of a single write or ignores it.

use std::collections::BTreeMap;

use blksched_nbd::Command;

use super::rig::*;
use crate::backend::Through;
use crate::engine::{EngineEvent, Io, Stable};

const SLOTS: u64 = 16;
const SLOT: u64 = 4096;

/// A medium that keeps only what was flushed, and an arbitrary part of the rest.
#[derive(Default)]
struct Medium {
    stable: BTreeMap<u64, u8>,
    volatile: BTreeMap<u64, u8>,
    honours_the_flag: bool,
}

impl Medium {
    fn does(&mut self, io: &Io) {
        match io {
            Io::Write(_, offset, parts, stable) => {
                let mut at = *offset;
                for part in parts {
                    for slot in part.buffer.bytes()[..part.length].chunks(SLOT as usize) {
                        let kept = if *stable == Stable::Now && self.honours_the_flag {
                            self.volatile.remove(&at);
                            &mut self.stable
                        } else {
                            &mut self.volatile
                        };
                        kept.insert(at, slot[0]);
                        at += SLOT;
                    }
                }
            }
            Io::Sync(_) => self.stable.append(&mut self.volatile),
            _ => {}
        }
    }
}

/// What the client knows.
#[derive(Default)]
struct Known {
    /// What was last sent to each slot, and what was stable or newer when it was last answered.
    sent: BTreeMap<u64, u8>,
    answered: BTreeMap<u64, u8>,
    stable: BTreeMap<u64, u8>,
    outstanding: BTreeMap<u64, Asked>,
    acknowledged: u32,
    writes: u32,
}

enum Asked {
    Write {
        slot: u64,
        value: u8,
        through: bool,
    },
    /// With what was answered before it was sent.
    Flush(BTreeMap<u64, u8>),
}

impl Known {
    fn hear(&mut self, cookie: u64) {
        self.acknowledged += 1;
        match self.outstanding.remove(&cookie).unwrap() {
            Asked::Write { slot, value, through } => {
                self.writes += 1;
                self.answered.insert(slot, value);
                if through {
                    self.stable.insert(slot, value);
                }
            }
            Asked::Flush(covered) => {
                for (slot, value) in covered {
                    let stable = self.stable.entry(slot).or_insert(value);
                    *stable = (*stable).max(value);
                }
            }
        }
    }
}

/// One life until the power is cut; returns what was acknowledged, and how much was done and not yet answered.
fn life(seed: u64, honours_the_flag: bool) -> (u32, u32) {
    let mut numbers = Numbers(seed * 2 + 1);
    let mut rig = Rig::new(["noop", "mq-deadline"][seed as usize % 2], 4);
    rig.shard.tenants[0].backend.through = if honours_the_flag { Through::Flag } else { Through::Sync };
    let clients = [rig.client(0), rig.client(0)];
    let mut medium = Medium { honours_the_flag, ..Medium::default() };
    let mut known = Known::default();
    let mut done = 0;
    for cookie in 0..40 + numbers.below(60) {
        let client = clients[numbers.below(2) as usize];
        if numbers.below(3) == 0 {
            let command = [WRITE, WRITE, STABLE, Command::Flush][numbers.below(4) as usize];
            let slot = numbers.below(SLOTS) * SLOT;
            let busy =
                known.outstanding.values().any(|asked| matches!(asked, Asked::Write { slot: own, .. } if *own == slot));
            if command == Command::Flush {
                known.outstanding.insert(cookie, Asked::Flush(known.answered.clone()));
                rig.ask(client, cookie, command, 0, 0);
            } else if !busy {
                let value = known.sent.get(&slot).map_or(1, |sent| sent + 1);
                known.sent.insert(slot, value);
                known.outstanding.insert(cookie, Asked::Write { slot, value, through: command == STABLE });
                let mut bytes = rig.request(client, cookie, command, slot, SLOT);
                let data = bytes.len() - SLOT as usize;
                bytes[data..].fill(value);
                assert_eq!(rig.send(client, &bytes), bytes.len());
            }
            continue;
        }
        done += step(&mut rig, &mut medium, &mut numbers);
        if numbers.below(4) == 0 {
            for client in clients {
                rig.told(client).into_iter().for_each(|(cookie, errno)| {
                    assert_eq!(errno, None);
                    known.hear(cookie);
                });
            }
        }
    }
    // The power fails: some of the volatile data survives.
    for (slot, value) in core::mem::take(&mut medium.volatile) {
        if numbers.below(2) == 0 {
            medium.stable.insert(slot, value);
        }
    }
    for (slot, least) in &known.stable {
        let found = medium.stable.get(slot).copied().unwrap_or(0);
        assert!(found >= *least, "seed {seed}: at {slot} {least} was stable, and {found} is there");
    }
    (known.acknowledged, done - known.writes)
}

/// Completes any one operation of the medium; returns whether it was a write.
fn step(rig: &mut Rig, medium: &mut Medium, numbers: &mut Numbers) -> u32 {
    let mut fake = rig.fake.lock().unwrap();
    let places: Vec<usize> = (0..fake.begun.len()).filter(|&at| is_disk(&fake.begun[at].1)).collect();
    if places.is_empty() {
        return 0;
    }
    let (token, io) = fake.begun.remove(places[numbers.below(places.len() as u64) as usize]);
    medium.does(&io);
    let writes = match &io {
        Io::Write(_, _, parts, _) => parts.len() as u32,
        _ => 0,
    };
    let result = Ok(length_of(&io));
    fake.ended.push(EngineEvent { token, io, result });
    drop(fake);
    rig.turn();
    writes
}

#[test]
fn what_was_answered_as_stable_survives_a_power_cut() {
    for honours_the_flag in [true, false] {
        let (mut acknowledged, mut unanswered) = (0, 0);
        for seed in 0..900 {
            let (answered, done) = life(seed, honours_the_flag);
            acknowledged += answered;
            unanswered += done;
        }
        println!("900 cuts, {acknowledged} acknowledged, {unanswered} writes done and not yet answered");
        assert!(acknowledged >= 10_000 && unanswered >= 100);
    }
}

#[test]
fn where_the_flag_is_forgotten_a_write_through_is_followed_by_a_sync_and_counts_as_unstable() {
    let mut rig = settled("noop", 4);
    rig.shard.tenants[0].backend.through = Through::Sync;
    let client = rig.client(0);
    rig.ask(client, 1, STABLE, 0, 4096);
    assert!(rig.end(Ok(4096), |io| matches!(io, Io::Write(_, _, _, Stable::Later))));
    assert_eq!((rig.outstanding(is_sync), rig.told(client)), (1, vec![]));
    rig.ask(client, 2, Command::Flush, 0, 0);
    assert_eq!(rig.told(client), [], "a flush beside it is not answered before it has done something");
    rig.let_disk_work();
    assert_eq!(rig.told(client).len(), 2);
}

#[test]
fn a_sync_behind_a_write_through_that_failed_is_never_forgotten() {
    let mut rig = settled("noop", 4);
    rig.shard.tenants[0].backend.through = Through::Sync;
    let client = rig.client(0);
    rig.ask(client, 1, STABLE, 0, 4096);
    rig.end(Ok(4096), is_write);
    rig.end(Err(5), is_sync);
    rig.ask(client, 2, Command::Flush, 0, 0);
    rig.let_disk_work();
    let io = Some(blksched_nbd::Errno::Io);
    assert_eq!(rig.told(client), [(1, io), (2, io)]);
}
