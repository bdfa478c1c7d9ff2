//! A guest's requests: a chain of descriptors becomes an NBD request, and the addresses in the guest's memory for its
//! data and its status. No descriptor is trusted: each address is looked up in the guest's memory before a request is
//! sent, and again when it is read or written.

use blksched_nbd::{Command, Holes, LARGEST_PAYLOAD, Persist, Speed};
use virtio_bindings::virtio_blk::{
    VIRTIO_BLK_S_IOERR, VIRTIO_BLK_S_UNSUPP, VIRTIO_BLK_T_DISCARD, VIRTIO_BLK_T_FLUSH, VIRTIO_BLK_T_GET_ID,
    VIRTIO_BLK_T_IN, VIRTIO_BLK_T_OUT, VIRTIO_BLK_T_WRITE_ZEROES, VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP,
};
use virtio_queue::DescriptorChain;
use vm_memory::{Address, Bytes, GuestAddress, GuestMemoryBackend, GuestMemoryLoadGuard, GuestMemoryMmap};

use crate::backend::SECTOR;

/// A guest's memory as it was when a request was taken.
pub type Guest = GuestMemoryLoadGuard<GuestMemoryMmap<()>>;

/// The header of every request, and of each range to discard or to zero \[bytes\].
const HEAD: u64 = 16;

/// A range of a guest's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuestRange {
    address: GuestAddress,
    length: u32,
}

/// One request.
#[derive(Debug, PartialEq, Eq)]
pub struct Ask {
    /// What it asks for.
    pub wish: GuestWish,
    /// Where read data goes.
    pub into: Vec<GuestRange>,
    /// Where its status goes.
    pub status: GuestAddress,
}

/// What a request asks for.
#[derive(Debug, PartialEq, Eq)]
pub enum GuestWish {
    /// A command for the disk, with the places of written data.
    Disk(Command, u64, u64, Vec<GuestRange>),
    /// The disk's name.
    Name,
    /// Something impossible, with its status.
    Cannot(u8),
}

/// Parses a chain; `None` if there is not even a place for a status.
pub fn parse(chain: DescriptorChain<Guest>, memory: &Guest, persist: Persist) -> Option<Ask> {
    let (mut from, mut into): (Vec<GuestRange>, Vec<GuestRange>) = (Vec::new(), Vec::new());
    for descriptor in chain {
        let place = GuestRange { address: descriptor.addr(), length: descriptor.len() };
        match (descriptor.is_write_only(), into.is_empty()) {
            (true, _) => into.push(place),
            (false, true) => from.push(place),
            // Parts that the device reads come first.
            (false, false) => return None,
        }
    }
    let last = into.iter_mut().rfind(|place| place.length > 0)?;
    last.length -= 1;
    let status = last.address.checked_add(u64::from(last.length))?;
    if !memory.check_range(status, 1) {
        return None;
    }
    let lies = |place: &GuestRange| !memory.check_range(place.address, place.length as usize);
    let wish = match from.iter().chain(&into).any(lies) {
        true => None,
        false => wish(from, total(&into), memory, persist),
    };
    Some(Ask { wish: wish.unwrap_or(GuestWish::Cannot(VIRTIO_BLK_S_IOERR as u8)), into, status })
}

/// The request in these bytes of the guest; `None` if they are not one.
fn wish(mut from: Vec<GuestRange>, room: u64, memory: &Guest, persist: Persist) -> Option<GuestWish> {
    let head = take(&mut from, memory)?;
    let kind = u32::from_le_bytes(head[..4].try_into().ok()?);
    let sector = u64::from_le_bytes(head[8..].try_into().ok()?);
    let offset = || sector.checked_mul(SECTOR);
    let fits = |length: &u64| *length <= u64::from(LARGEST_PAYLOAD);
    Some(match kind {
        VIRTIO_BLK_T_IN => GuestWish::Disk(Command::Read, offset()?, Some(room).filter(fits)?, Vec::new()),
        VIRTIO_BLK_T_OUT => GuestWish::Disk(Command::Write(persist), offset()?, Some(total(&from)).filter(fits)?, from),
        VIRTIO_BLK_T_FLUSH => GuestWish::Disk(Command::Flush, 0, 0, Vec::new()),
        VIRTIO_BLK_T_GET_ID => GuestWish::Name,
        VIRTIO_BLK_T_DISCARD | VIRTIO_BLK_T_WRITE_ZEROES => range(kind, from, memory, persist)?,
        _ => GuestWish::Cannot(VIRTIO_BLK_S_UNSUPP as u8),
    })
}

/// A range to discard or to zero; the device accepts one per request.
fn range(kind: u32, mut from: Vec<GuestRange>, memory: &Guest, persist: Persist) -> Option<GuestWish> {
    if total(&from) != HEAD {
        return None;
    }
    let said = take(&mut from, memory)?;
    let offset = u64::from_le_bytes(said[..8].try_into().ok()?).checked_mul(SECTOR)?;
    let length = u64::from(u32::from_le_bytes(said[8..12].try_into().ok()?)) * SECTOR;
    let flags = u32::from_le_bytes(said[12..].try_into().ok()?);
    let command = match (kind, flags) {
        (VIRTIO_BLK_T_DISCARD, 0) => Command::Trim(persist),
        (VIRTIO_BLK_T_WRITE_ZEROES, 0) => zeroes(persist, Holes::Refused),
        (VIRTIO_BLK_T_WRITE_ZEROES, VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP) => zeroes(persist, Holes::Allowed),
        _ => return Some(GuestWish::Cannot(VIRTIO_BLK_S_UNSUPP as u8)),
    };
    Some(GuestWish::Disk(command, offset, length, Vec::new()))
}

fn zeroes(persist: Persist, holes: Holes) -> Command {
    Command::WriteZeroes { persist, holes, speed: Speed::Any }
}

fn total(places: &[GuestRange]) -> u64 {
    places.iter().map(|place| u64::from(place.length)).sum()
}

/// The first sixteen bytes, wherever they are; the rest stays.
fn take(from: &mut Vec<GuestRange>, memory: &Guest) -> Option<[u8; HEAD as usize]> {
    let mut bytes = [0; HEAD as usize];
    let mut filled = 0;
    while filled < bytes.len() {
        let place = from.first_mut()?;
        let count = (place.length as usize).min(bytes.len() - filled);
        memory.read_slice(&mut bytes[filled..filled + count], place.address).ok()?;
        filled += count;
        place.length -= count as u32;
        place.address = place.address.checked_add(count as u64)?;
        if place.length == 0 {
            from.remove(0);
        }
    }
    Some(bytes)
}

/// Appends the content of these places.
///
/// # Errors
/// If they are not in the guest's memory.
pub fn gather(places: &[GuestRange], memory: &Guest, out: &mut Vec<u8>) -> Result<(), vm_memory::GuestMemoryError> {
    for place in places {
        let before = out.len();
        out.resize(before + place.length as usize, 0);
        memory.read_slice(&mut out[before..], place.address)?;
    }
    Ok(())
}

/// Writes to these places, from their byte `at` on; what does not fit is left out.
///
/// # Errors
/// If they are not in the guest's memory.
pub fn scatter(
    places: &[GuestRange],
    memory: &Guest,
    mut at: u64,
    mut bytes: &[u8],
) -> Result<(), vm_memory::GuestMemoryError> {
    for place in places {
        let length = u64::from(place.length);
        if at >= length {
            at -= length;
            continue;
        }
        let count = ((length - at) as usize).min(bytes.len());
        memory.write_slice(&bytes[..count], GuestAddress(place.address.0 + at))?;
        (bytes, at) = (&bytes[count..], 0);
        if bytes.is_empty() {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use virtio_queue::{Queue, QueueT};
    use vm_memory::{GuestAddressSpace, GuestMemoryAtomic};

    use super::super::hostile::only_its_own_memory_is_used;
    use super::*;

    /// The guest's memory.
    const START: u64 = 0x1000;
    const SIZE: u64 = 64 << 10;
    /// The number of entries of a ring and of an indirect table.
    const PLACES: u16 = 16;

    /// A descriptor: an address in the memory, at its edges or anywhere; a length likewise; flags; the next one.
    fn descriptor() -> impl Strategy<Value = (u64, u32, u16, u16)> {
        let inside = START..START + SIZE;
        let edges = prop_oneof![Just(START - 1), Just(START + SIZE - 16), Just(START + SIZE), Just(u64::MAX - 8)];
        let address = prop_oneof![6 => inside, 2 => edges, 1 => any::<u64>(), 2 => Just(START + 0x8000)];
        let length = prop_oneof![4 => Just(16u32), 2 => Just(1), 4 => 0..8192u32, 1 => any::<u32>()];
        (address, length, 0..8u16, 0..PLACES + 2)
    }

    proptest! {
        #[test]
        fn whatever_a_ring_says_only_the_guests_own_memory_is_used(
            table in prop::collection::vec(descriptor(), usize::from(PLACES)),
            indirect in prop::collection::vec(descriptor(), usize::from(PLACES)),
            heads in prop::collection::vec(0..PLACES + 2, usize::from(PLACES)),
            ready in any::<u16>(),
            head in any::<[u8; 16]>(),
            kind in 0..16u32,
        ) {
            let memory = GuestMemoryMmap::<()>::from_ranges(&[(GuestAddress(START), SIZE as usize)]).unwrap();
            let put = |at: u64, bytes: &[u8]| memory.write_slice(bytes, GuestAddress(START + at)).unwrap();
            for (at, descriptors) in [(0, &table), (0x8000, &indirect)] {
                for (nth, (address, length, flags, next)) in descriptors.iter().enumerate() {
                    let (address, length) = (address.to_le_bytes(), length.to_le_bytes());
                    let own = [&address[..], &length, &flags.to_le_bytes(), &next.to_le_bytes()];
                    put(at + nth as u64 * 16, &own.concat());
                }
            }
            put(0x1002, &ready.to_le_bytes());
            heads.iter().zip(0u64..).for_each(|(head, nth)| put(0x1004 + 2 * nth, &head.to_le_bytes()));
            // Somewhere there is a header that makes sense.
            put(0xc000, &[&kind.to_le_bytes()[..], &head[4..]].concat());
            let mut queue = Queue::new(PLACES).unwrap();
            queue.set_size(PLACES);
            queue.set_desc_table_address(Some(START as u32), Some(0));
            queue.set_avail_ring_address(Some(START as u32 + 0x1000), Some(0));
            queue.set_used_ring_address(Some(START as u32 + 0x2000), Some(0));
            queue.set_ready(true);
            only_its_own_memory_is_used(queue, &GuestMemoryAtomic::new(memory).memory());
        }
    }
}
