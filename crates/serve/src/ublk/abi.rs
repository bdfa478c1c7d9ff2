//! The constants and structures of Linux's ublk driver, as given by its documentation (Documentation/block/ublk.rst)
//! and the pages of the crates `ublk-sys` and `libublk`. Everything is bytes in the machine's order; nothing here calls
//! the kernel.

use blksched_nbd::{Command, Export, Holes, Persist, Speed};

use crate::backend::SECTOR;

/// The most requests of a queue.
pub const MOST_DEPTH: u16 = 4096;
/// The most queues.
pub const MOST_QUEUES: u16 = 64;
/// The longest request \[bytes\].
pub const LARGEST: u32 = 1 << 20;
/// The longest range to discard or to zero in one request \[sectors\]: 1 GiB.
const LONGEST: u32 = 1 << 21;
/// Asks the driver for any free number.
pub const ANY: u32 = u32::MAX;
/// The queue of a command that belongs to none.
const NO_QUEUE: u16 = u16::MAX;

/// The size of a control command \[bytes\].
pub const CONTROL: usize = 32;
/// The size of a device's information \[bytes\].
pub const INFO: usize = 64;
/// The size of a request's description \[bytes\].
pub const DESCRIPTION: usize = 24;
/// The size of a command of a queue \[bytes\].
pub const QUEUE: usize = 16;

/// The server reads and writes a request's data at the character device (UBLK_F_USER_COPY, Linux 6.5).
pub const USER_COPY: u64 = 1 << 7;
/// Commands have the numbers of `ioctl`'s encoding (UBLK_F_CMD_IOCTL_ENCODE).
const IOCTL_NUMBERS: u64 = 1 << 6;
/// The required features of a device.
pub const WISHES: u64 = USER_COPY | IOCTL_NUMBERS;

/// Where the data of requests is in the character device \[bytes\].
const DATA: u64 = 0x8000_0000;
/// The room of each tag there, as a power of two.
const TAG_SHIFT: u32 = 25;
/// The number of tags of each queue, as a power of two.
const QUEUE_SHIFT: u32 = 41;

/// A command for `/dev/ublk-control`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Get a device's information.
    Info,
    /// Add a device.
    Add,
    /// Delete a device.
    Delete,
    /// Make its block device appear.
    Start,
    /// Remove its block device.
    Stop,
    /// Set the properties of the block device.
    Parameters,
    /// Get the driver's features.
    Features,
}

impl Control {
    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Control::Info => "GET_DEV_INFO",
            Control::Add => "ADD_DEV",
            Control::Delete => "DEL_DEV",
            Control::Start => "START_DEV",
            Control::Stop => "STOP_DEV",
            Control::Parameters => "SET_PARAMS",
            Control::Features => "GET_FEATURES",
        }
    }

    /// Its number.
    pub fn number(self) -> u32 {
        match self {
            Control::Info => numbered(DataDirection::Out, 0x02, CONTROL),
            Control::Add => numbered(DataDirection::Both, 0x04, CONTROL),
            Control::Delete => numbered(DataDirection::Both, 0x05, CONTROL),
            Control::Start => numbered(DataDirection::Both, 0x06, CONTROL),
            Control::Stop => numbered(DataDirection::Both, 0x07, CONTROL),
            Control::Parameters => numbered(DataDirection::Both, 0x08, CONTROL),
            Control::Features => numbered(DataDirection::Out, 0x13, CONTROL),
        }
    }

    /// The bytes of the command for this device; `buffer` is the place and length of its data.
    pub fn bytes(self, device: u32, buffer: (u64, u16), data: u64) -> [u8; CONTROL] {
        let mut bytes = [0; CONTROL];
        bytes[0..4].copy_from_slice(&device.to_ne_bytes());
        bytes[4..6].copy_from_slice(&NO_QUEUE.to_ne_bytes());
        bytes[6..8].copy_from_slice(&buffer.1.to_ne_bytes());
        bytes[8..16].copy_from_slice(&buffer.0.to_ne_bytes());
        bytes[16..24].copy_from_slice(&data.to_ne_bytes());
        bytes
    }
}

/// A queue's message to the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tell {
    /// The first requests may come.
    Fetch,
    /// One is done, and its tag may carry the next.
    Done,
}

impl Tell {
    /// Its number.
    pub fn number(self) -> u32 {
        match self {
            Tell::Fetch => numbered(DataDirection::Both, 0x20, QUEUE),
            Tell::Done => numbered(DataDirection::Both, 0x21, QUEUE),
        }
    }
}

/// The message about one tag: the result of its request, in bytes or as a negative error.
pub fn of_tag(queue: u16, tag: u16, result: i32) -> [u8; QUEUE] {
    let mut bytes = [0; QUEUE];
    bytes[0..2].copy_from_slice(&queue.to_ne_bytes());
    bytes[2..4].copy_from_slice(&tag.to_ne_bytes());
    bytes[4..8].copy_from_slice(&result.to_ne_bytes());
    bytes
}

/// The direction of a command's data.
#[derive(Clone, Copy)]
enum DataDirection {
    Out,
    Both,
}

/// The number of a command in `ioctl`'s encoding: direction, length, the driver's letter, its own number.
fn numbered(way: DataDirection, own: u32, length: usize) -> u32 {
    let way = match way {
        DataDirection::Out => 2,
        DataDirection::Both => 3,
    };
    way << 30 | (length as u32) << 16 | u32::from(b'u') << 8 | own
}

/// Where the data of a tag's request is in the character device \[bytes\].
pub fn data_at(queue: u16, tag: u16, at: u64) -> u64 {
    DATA + (u64::from(queue) << QUEUE_SHIFT) + (u64::from(tag) << TAG_SHIFT) + at
}

/// The place and length of a queue's descriptions in the character device \[bytes\], with pages of this size.
pub fn descriptions(queue: u16, depth: u16, page: usize) -> (u64, usize) {
    let longest = (usize::from(MOST_DEPTH) * DESCRIPTION).next_multiple_of(page);
    (u64::from(queue) * longest as u64, (usize::from(depth) * DESCRIPTION).next_multiple_of(page))
}

/// A device, as the driver knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// The number of its queues.
    pub queues: u16,
    /// The depth of each.
    pub depth: u16,
    /// Whether there is a block device.
    pub state: DeviceState,
    /// Its number.
    pub id: u32,
    /// The server's process; `None` if it has not begun.
    pub process: Option<i32>,
    /// Its features (UBLK_F_…), those asked for and more.
    pub features: u64,
}

/// Whether there is a block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceState {
    /// No: the device has not begun, or its server is gone.
    Dead,
    /// Yes.
    Live,
    /// Yes, and it waits for another server.
    Quiesced,
    /// Others of later kernels.
    Other(u16),
}

impl Info {
    /// In the driver's format.
    pub fn bytes(&self) -> [u8; INFO] {
        let mut bytes = [0; INFO];
        bytes[0..2].copy_from_slice(&self.queues.to_ne_bytes());
        bytes[2..4].copy_from_slice(&self.depth.to_ne_bytes());
        bytes[8..12].copy_from_slice(&LARGEST.to_ne_bytes());
        bytes[12..16].copy_from_slice(&self.id.to_ne_bytes());
        bytes[16..20].copy_from_slice(&self.process.unwrap_or(-1).to_ne_bytes());
        bytes[24..32].copy_from_slice(&self.features.to_ne_bytes());
        bytes
    }

    /// From the driver's format.
    pub fn read(bytes: &[u8; INFO]) -> Info {
        let state = match u16_at(bytes, 4) {
            0 => DeviceState::Dead,
            1 => DeviceState::Live,
            2 => DeviceState::Quiesced,
            other => DeviceState::Other(other),
        };
        let process = u32_at(bytes, 16).cast_signed();
        Info {
            queues: u16_at(bytes, 0),
            depth: u16_at(bytes, 2),
            state,
            id: u32_at(bytes, 12),
            process: (process > 0).then_some(process),
            features: u64_at(bytes, 24),
        }
    }
}

/// The properties of the block device: `struct ublk_params` with the parts `basic` and, if it can be written,
/// `discard`.
pub fn parameters(export: &Export) -> Vec<u8> {
    const BASIC: u32 = 1;
    const DISCARD: u32 = 2;
    let features = export.features;
    let (logical, physical) = blocks(export);
    let types = BASIC | if features.read_only { 0 } else { DISCARD };
    let attributes = [features.read_only, features.rotational, features.flush, features.flush && features.fua];
    let bits = attributes.iter().enumerate().fold(0u32, |bits, (nth, &set)| bits | u32::from(set) << nth);
    let (shift, physical) = (logical.ilog2() as u8, physical.ilog2() as u8);
    let mut bytes = Vec::with_capacity(64);
    let word = |bytes: &mut Vec<u8>, word: u32| bytes.extend_from_slice(&word.to_ne_bytes());
    // The length comes at the end.
    [0, types, bits].iter().for_each(|&one| word(&mut bytes, one));
    // Logical and physical block, the best and the smallest request, as powers of two.
    bytes.extend_from_slice(&[shift, physical, physical, physical]);
    // The longest request and no boundary that requests must not cross, in sectors; size; no boundary of memory.
    [(u64::from(LARGEST) / SECTOR) as u32, 0].iter().for_each(|&one| word(&mut bytes, one));
    let sectors = export.size / u64::from(logical) * (u64::from(logical) / SECTOR);
    [sectors, 0].iter().for_each(|long: &u64| bytes.extend_from_slice(&long.to_ne_bytes()));
    // The alignment and granularity of discards; the longest discard and the longest zeroes; one range each.
    [0, logical, LONGEST, LONGEST].iter().for_each(|&one| word(&mut bytes, one));
    bytes.extend_from_slice(&[1u16.to_ne_bytes(), [0; 2]].concat());
    let length = bytes.len() as u32;
    bytes[..4].copy_from_slice(&length.to_ne_bytes());
    bytes
}

/// The block device's logical and physical blocks \[bytes\].
pub fn blocks(export: &Export) -> (u32, u32) {
    // Linux accepts logical blocks of up to a page.
    let logical = export.block_size.minimum.clamp(SECTOR as u32, 4096);
    (logical, export.block_size.preferred.clamp(logical, 4096))
}

/// One request of the block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UblkRequest {
    /// The command; `None` if it is not supported here.
    pub command: Option<Command>,
    /// The offset \[bytes\].
    pub offset: u64,
    /// The length \[bytes\].
    pub length: u64,
}

/// Read a description.
pub fn wanted(bytes: &[u8; DESCRIPTION]) -> UblkRequest {
    const FUA: u32 = 1 << 13;
    const NO_UNMAP: u32 = 1 << 15;
    let (operation, sectors, start) = (u32_at(bytes, 0), u32_at(bytes, 4), u64_at(bytes, 8));
    let (offset, length) = (start.saturating_mul(SECTOR), u64::from(sectors) * SECTOR);
    let persist = if operation & FUA == 0 { Persist::Lazily } else { Persist::First };
    let holes = if operation & NO_UNMAP == 0 { Holes::Allowed } else { Holes::Refused };
    let command = match operation & 0xff {
        0 => Some(Command::Read),
        1 => Some(Command::Write(persist)),
        2 => return UblkRequest { command: Some(Command::Flush), offset: 0, length: 0 },
        3 => Some(Command::Trim(Persist::Lazily)),
        5 => Some(Command::WriteZeroes { persist, holes, speed: Speed::Any }),
        _ => None,
    };
    UblkRequest { command, offset, length }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(std::array::from_fn(|nth| bytes[at + nth]))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(std::array::from_fn(|nth| bytes[at + nth]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `ioctl`'s encoding, computed by hand: 3 << 30 | 32 << 16 | 'u' << 8 | 4.
    #[test]
    fn commands_have_the_numbers_of_ioctl() {
        assert_eq!(Control::Add.number(), 0xc020_7504);
        assert_eq!(Control::Features.number(), 0x8020_7513);
        assert_eq!((Tell::Fetch.number(), Tell::Done.number()), (0xc010_7520, 0xc010_7521));
    }

    #[test]
    fn a_device_reads_back_as_it_was_written() {
        let info = Info { queues: 3, depth: 64, state: DeviceState::Dead, id: 7, process: Some(12), features: WISHES };
        assert_eq!(Info::read(&info.bytes()), info);
        assert_eq!(Info::read(&Info { process: None, ..info }.bytes()).process, None);
    }

    #[test]
    fn each_tag_has_its_own_place_and_each_queue_its_own_page() {
        assert_eq!(data_at(0, 0, 0), 0x8000_0000);
        assert_eq!(data_at(0, 63, 512), 0x8000_0000 + 63 * (32 << 20) + 512);
        assert_eq!(data_at(2, 1, 0) - data_at(0, 0, 0), (2 << 41) + (1 << 25));
        assert_eq!(descriptions(0, 64, 4096), (0, 4096));
        assert_eq!(descriptions(2, 200, 4096), (2 * 98304, 8192));
    }

    #[test]
    fn an_export_becomes_parameters_and_a_read_only_one_is_not_discarded() {
        let mut export = Export::of("a", (10 << 20) + 700);
        export.block_size.minimum = 1;
        let bytes = parameters(&export);
        assert_eq!(bytes.len(), 60);
        let words: Vec<u32> = (0..15).map(|nth| u32_at(&bytes, 4 * nth)).collect();
        assert_eq!(words[..3], [60, 3, 0b1100]);
        assert_eq!(bytes[12..16], [9, 12, 12, 12]);
        assert_eq!(u64_at(&bytes, 24), (10 << 11) + 1, "whole sectors");
        export.features.read_only = true;
        assert_eq!((u32_at(&parameters(&export), 4), u32_at(&parameters(&export), 8)), (1, 0b1101));
        export.block_size.minimum = 4096;
        assert_eq!((blocks(&export), u64_at(&parameters(&export), 24)), ((4096, 4096), 10 << 11));
    }

    #[test]
    fn descriptions_become_commands() {
        let described = |operation: u32, sectors: u32, start: u64| {
            let bytes = [&operation.to_ne_bytes()[..], &sectors.to_ne_bytes(), &start.to_ne_bytes(), &[0; 8]].concat();
            wanted(&bytes.try_into().unwrap())
        };
        let of = |command, offset, length| UblkRequest { command: Some(command), offset, length };
        assert_eq!(described(0, 8, 16), of(Command::Read, 8192, 4096));
        assert_eq!(described(1 | 1 << 13, 1, 0), of(Command::Write(Persist::First), 0, 512));
        assert_eq!(described(2, 8, 16), of(Command::Flush, 0, 0));
        assert_eq!(described(3, 1 << 21, 0), of(Command::Trim(Persist::Lazily), 0, 1 << 30));
        let zeroes = |holes| Command::WriteZeroes { persist: Persist::Lazily, holes, speed: Speed::Any };
        assert_eq!(described(5, 2, 2), of(zeroes(Holes::Allowed), 1024, 1024));
        assert_eq!(described(5 | 1 << 15, 2, 2), of(zeroes(Holes::Refused), 1024, 1024));
        assert_eq!(described(17, 2, 2).command, None);
    }
}
