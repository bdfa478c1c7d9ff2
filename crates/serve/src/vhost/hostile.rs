//! A guest and a monitor of whom only the bytes are known, for fuzzers and for tests: what must hold whatever they say.

use std::io::{IoSlice, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};

use blksched_nbd::{Command, LARGEST_PAYLOAD, Persist};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use vhost::vhost_user::Listener;
use virtio_queue::{Queue, QueueOwnedT, QueueT};
use vm_memory::{Bytes, GuestAddress, GuestAddressSpace, GuestMemoryAtomic, GuestMemoryBackend, GuestMemoryMmap};

use super::ask::{Ask, Guest, GuestWish, gather, parse, scatter};
use super::{Numbers, ShownTarget, one_guest};
use crate::backend::SECTOR;

/// A guest's memory: its length, and how many places its ring has \[bytes, places\].
const MEMORY: usize = 64 << 10;
const PLACES: u16 = 16;
/// Where its table, its available and its used ring are.
const RINGS: [u32; 3] = [0, 0x100, 0x200];

/// Takes all requests of a ring: each is about this memory only, and there are no more than the ring has places.
///
/// # Panics
/// If that does not hold.
pub(super) fn only_its_own_memory_is_used(mut queue: Queue, memory: &Guest) {
    let places = usize::from(queue.size());
    let mut taken = 0;
    let Ok(chains) = queue.iter(memory.clone()) else { return };
    for chain in chains {
        taken += 1;
        let Some(Ask { wish, into, status }) = parse(chain, memory, Persist::Lazily) else { continue };
        assert!(memory.check_range(status, 1));
        let GuestWish::Disk(command, offset, length, from) = wish else { continue };
        let mut data = Vec::new();
        assert!(gather(&from, memory, &mut data).is_ok());
        let moves = matches!(command, Command::Read | Command::Write(_));
        assert!(!moves || length <= u64::from(LARGEST_PAYLOAD));
        assert!(!matches!(command, Command::Write(_)) || data.len() as u64 == length);
        assert_eq!(offset % SECTOR, 0);
        let answer = vec![0x5a; if command == Command::Read { length as usize } else { 0 }];
        assert!(scatter(&into, memory, 0, &answer).is_ok());
    }
    assert!(taken <= places, "as many as the ring has");
}

/// A guest whose memory begins with these bytes, rings and all.
///
/// # Panics
/// If the server would use memory that is not the guest's, or take more requests than there can be.
pub fn rings_say(bytes: &[u8]) {
    let memory = GuestMemoryMmap::<()>::from_ranges(&[(GuestAddress(0), MEMORY)]).expect("memory");
    memory.write_slice(&bytes[..bytes.len().min(MEMORY)], GuestAddress(0)).expect("it fits");
    let mut queue = Queue::new(PLACES).expect("a power of two");
    queue.set_size(PLACES);
    queue.set_desc_table_address(Some(RINGS[0]), Some(0));
    queue.set_avail_ring_address(Some(RINGS[1]), Some(0));
    queue.set_used_ring_address(Some(RINGS[2]), Some(0));
    queue.set_ready(true);
    only_its_own_memory_is_used(queue, &GuestMemoryAtomic::new(memory).memory());
}

/// A monitor that says all of this (a request, its flags, which files it sends, and its body) and leaves: its
/// connection ends.
///
/// # Panics
/// If there can be no socket. If the connection does not end, this does not return.
pub fn monitor_says(messages: &[(u8, u8, u8, &[u8])]) {
    let path = std::env::temp_dir().join(format!("blksched-monitor-{}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).expect("a socket");
    let mut monitor = UnixStream::connect(&path).expect("it listens");
    let _ = std::fs::remove_file(&path);
    let served = std::thread::spawn(move || {
        let (shown, numbers) = (ShownTarget::default(), Numbers::default());
        let _ = one_guest(&mut Listener::from(listener), &shown, &numbers, "fuzzed");
    });
    // Answers are not read: all of them fit into the socket.
    for &(request, flags, files, body) in messages.iter().take(64) {
        // Bit 7: a length that is not the body's.
        let length = if flags & 0x80 == 0 { body.len() as u32 } else { u32::from(flags) << 6 };
        let head = [u32::from(request), u32::from(flags & 0x7f), length].map(u32::to_le_bytes).concat();
        let files = files_of(files);
        let sent: Vec<_> = files.iter().map(AsFd::as_fd).collect();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !sent.is_empty() && !control.push(SendAncillaryMessage::ScmRights(&sent)) {
            return;
        }
        if sendmsg(&monitor, &[IoSlice::new(&head)], &mut control, SendFlags::NOSIGNAL).is_err() {
            break;
        }
        if monitor.write_all(body).is_err() {
            break;
        }
    }
    drop(monitor);
    served.join().expect("it has ended by itself");
}

/// Up to seven files, each an eventfd or memory.
fn files_of(which: u8) -> Vec<OwnedFd> {
    let memory = || {
        let memory = memfd_create("guest", MemfdFlags::CLOEXEC)?;
        ftruncate(&memory, MEMORY as u64).map(|()| memory)
    };
    let of = |nth: u8| match which >> (3 + nth % 5) & 1 {
        0 => eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK),
        _ => memory(),
    };
    (0..which & 7).filter_map(|nth| of(nth).ok()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn whatever_a_monitor_says_its_connection_ends(
            messages in prop::collection::vec(
                (0..48u8, prop_oneof![4 => Just(1u8), 1 => any::<u8>()], any::<u8>(),
                 prop::collection::vec(any::<u8>(), 0..80)),
                0..16,
            ),
        ) {
            let said: Vec<_> = messages.iter().map(|(a, b, c, body)| (*a, *b, *c, &body[..])).collect();
            monitor_says(&said);
        }

        #[test]
        fn whatever_is_in_a_guests_memory_only_that_is_used(bytes in prop::collection::vec(any::<u8>(), 0..0x400)) {
            rings_say(&bytes);
        }
    }
}
