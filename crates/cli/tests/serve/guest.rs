//! A guest with its monitor, written by hand: memory that is a file of which the server is given the middle, rings in
//! it, and descriptors that may say anything.

use std::fs::{File, OpenOptions};
use std::io::{IoSlice, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use vhost::vhost_user::message::{VhostUserConfigFlags, VhostUserProtocolFeatures};
use vhost::vhost_user::{Frontend, VhostUserFrontend};
use vhost::{VhostBackend, VhostUserMemoryRegionInfo, VringConfigData};
use vmm_sys_util::eventfd::EventFd;

use crate::kit::Folder;

/// The number of entries of a ring.
pub const PLACES: u16 = 64;
/// The most concurrent requests of a ring.
pub const SLOTS: u16 = 16;
/// The most data of a request.
pub const DATA: usize = 16 << 10;
/// The memory shared with the server, and the memory before and after it in the file.
pub const SHARED: u64 = 1 << 20;
pub const EDGE: u64 = 1 << 20;
/// Its address in the guest.
pub const BASE: u64 = 0x1_0000;
/// Its address in the monitor, which nothing uses.
const MONITORS: u64 = 0x7000_0000_0000;

pub const READ: u32 = 0;
pub const WRITE: u32 = 1;
pub const FLUSH: u32 = 4;
pub const NAME: u32 = 8;
pub const DISCARD: u32 = 11;
pub const ZEROES: u32 = 13;

/// The flags of descriptors.
pub const NEXT: u16 = 1;
pub const WRITABLE: u16 = 2;
pub const INDIRECT: u16 = 4;

/// Features: protocol features, event index, version 1, indirect descriptors.
const WANTED: u64 = 1 << 30 | 1 << 29 | 1 << 32 | 1 << 28;
pub const FLUSHES: u64 = 1 << 9;
pub const READ_ONLY: u64 = 1 << 5;

pub struct Guest {
    front: Frontend,
    pub offered: u64,
    pub memory: File,
    rings: Vec<Ring>,
    _folder: Folder,
}

struct Ring {
    next: u16,
    seen: u16,
    kick: EventFd,
    call: EventFd,
    /// All notifications so far, and how many of them were told.
    heard: u64,
    told: u64,
}

/// Where a ring's part of the memory begins.
fn ring_at(ring: usize) -> u64 {
    ring as u64 * 0x4000
}

/// Where a slot's head is; its status follows at 0x20, its data at 0x1000.
pub fn slot_at(ring: usize, slot: u16) -> u64 {
    0x4_0000 + (ring as u64 * u64::from(SLOTS) + u64::from(slot)) * 0x5000
}

impl Guest {
    pub fn connect(socket: &Path, rings: usize) -> Guest {
        let folder = Folder::new();
        let mut options = OpenOptions::new();
        let memory = options.read(true).write(true).create(true).truncate(true).open(folder.path("memory")).unwrap();
        memory.set_len(EDGE + SHARED + EDGE).unwrap();
        // A server opens its sockets one after the other.
        let soon = || Frontend::connect(socket, rings as u64).inspect_err(|_| sleep(Duration::from_millis(10))).ok();
        let mut front = (0..3000).find_map(|_| soon()).expect("the server opens its socket");
        front.set_owner().unwrap();
        let offered = front.get_features().unwrap();
        assert_eq!(offered & WANTED, WANTED);
        front.set_features(WANTED | offered & FLUSHES).unwrap();
        let protocol = front.get_protocol_features().unwrap();
        let wanted = VhostUserProtocolFeatures::CONFIG | VhostUserProtocolFeatures::MQ;
        assert!(protocol.contains(wanted), "{protocol:?}");
        front.set_protocol_features(wanted).unwrap();
        assert!(front.get_queue_num().unwrap() >= rings as u64);
        let region = VhostUserMemoryRegionInfo {
            guest_phys_addr: BASE,
            memory_size: SHARED,
            userspace_addr: MONITORS,
            mmap_offset: EDGE,
            mmap_handle: memory.as_raw_fd(),
        };
        front.set_mem_table(&[region]).unwrap();
        let mut guest = Guest { front, offered, memory, rings: Vec::new(), _folder: folder };
        (0..rings).for_each(|ring| guest.open_ring(ring));
        guest
    }

    /// Touches a ring without having written to it.
    pub fn kick(&self, ring: usize) {
        self.rings[ring].kick.write(1).unwrap();
    }

    /// Whether the server still talks to its monitor.
    pub fn is_served(&mut self) -> bool {
        self.front.get_features().is_ok()
    }

    fn open_ring(&mut self, ring: usize) {
        let (kick, call) = (EventFd::new(0).unwrap(), EventFd::new(libc::EFD_NONBLOCK).unwrap());
        let at = MONITORS + ring_at(ring);
        let config = VringConfigData {
            queue_max_size: PLACES,
            queue_size: PLACES,
            flags: 0,
            desc_table_addr: at,
            avail_ring_addr: at + 0x1000,
            used_ring_addr: at + 0x2000,
            log_addr: None,
        };
        self.front.set_vring_num(ring, PLACES).unwrap();
        self.front.set_vring_addr(ring, &config).unwrap();
        self.front.set_vring_base(ring, 0).unwrap();
        self.front.set_vring_call(ring, &call).unwrap();
        self.front.set_vring_kick(ring, &kick).unwrap();
        self.front.set_vring_enable(ring, true).unwrap();
        self.rings.push(Ring { next: 0, seen: 0, kick, call, heard: 0, told: 0 });
    }

    pub fn configuration(&mut self) -> Vec<u8> {
        self.front.get_config(0, 60, VhostUserConfigFlags::WRITABLE, &[0; 60]).unwrap().1
    }

    /// Stops a ring; what was taken from it is then answered.
    pub fn stop(&mut self, ring: usize) -> u32 {
        self.front.get_vring_base(ring).unwrap()
    }

    pub fn put(&self, at: u64, bytes: &[u8]) {
        self.memory.write_all_at(bytes, EDGE + at).unwrap();
    }

    pub fn get(&self, at: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.memory.read_exact_at(&mut bytes, EDGE + at).unwrap();
        bytes
    }

    fn word(&self, at: u64) -> u16 {
        u16::from_le_bytes(self.get(at, 2).try_into().unwrap())
    }

    /// A descriptor of a ring's table, or of any other table.
    pub fn describe(&self, table: u64, nth: u16, (address, length, flags, next): (u64, u32, u16, u16)) {
        let bytes = [&address.to_le_bytes()[..], &length.to_le_bytes(), &flags.to_le_bytes(), &next.to_le_bytes()];
        self.put(table + u64::from(nth) * 16, &bytes.concat());
    }

    /// Writes a chain of descriptors, as addresses, lengths and flags, whether they make sense or not.
    pub fn chain(&mut self, ring: usize, head: u16, chain: &[(u64, u32, u16)]) {
        for (nth, &(address, length, flags)) in chain.iter().enumerate() {
            let nth = head + nth as u16;
            let next = if nth + 1 < head + chain.len() as u16 { NEXT } else { 0 };
            self.describe(ring_at(ring), nth, (address, length, flags | next, nth + 1));
        }
        self.offer(ring, head);
    }

    /// Makes a chain available.
    pub fn offer(&mut self, ring: usize, head: u16) {
        let (at, next) = (ring_at(ring) + 0x1000, self.rings[ring].next);
        self.put(at + 4 + 2 * u64::from(next % PLACES), &head.to_le_bytes());
        self.rings[ring].next = next.wrapping_add(1);
        self.put(at + 2, &next.wrapping_add(1).to_le_bytes());
        self.rings[ring].kick.write(1).unwrap();
    }

    /// Begins a request; slot and ring give its place.
    pub fn begin(&mut self, ring: usize, slot: u16, kind: u32, sector: u64, out: &[u8], into: usize) {
        assert!(slot < SLOTS && out.len() <= DATA && into <= DATA);
        let at = slot_at(ring, slot);
        self.put(at, &[&kind.to_le_bytes()[..], &[0; 4], &sector.to_le_bytes()].concat());
        self.put(at + 0x20, &[0xff]);
        self.put(at + 0x1000, out);
        let mut chain = vec![(BASE + at, 16, 0)];
        if !out.is_empty() {
            chain.push((BASE + at + 0x1000, out.len() as u32, 0));
        }
        if into > 0 {
            chain.push((BASE + at + 0x1000, into as u32, WRITABLE));
        }
        chain.push((BASE + at + 0x20, 1, WRITABLE));
        self.chain(ring, 3 * slot, &chain);
    }

    /// The next chain that comes back: its head, and how much was written to it; `None` after ten seconds.
    pub fn ended(&mut self, ring: usize) -> Option<(u16, u32)> {
        let (used, by) = (ring_at(ring) + 0x2000, Instant::now() + Duration::from_secs(10));
        let seen = self.rings[ring].seen;
        // Asks to be notified of the next one.
        self.put(ring_at(ring) + 0x1000 + 4 + 2 * u64::from(PLACES), &seen.to_le_bytes());
        while self.word(used + 2) == seen {
            if Instant::now() > by {
                return None;
            }
            let before = self.rings[ring].heard;
            if self.heard(ring) == before {
                sleep(Duration::from_micros(200));
            }
        }
        self.rings[ring].seen = seen.wrapping_add(1);
        let element = self.get(used + 4 + 8 * u64::from(seen % PLACES), 8);
        let word = |at: usize| u32::from_le_bytes(element[at..at + 4].try_into().unwrap());
        Some((word(0) as u16, word(4)))
    }

    /// How many have come back that were not looked at.
    pub fn unseen(&self, ring: usize) -> u16 {
        self.word(ring_at(ring) + 0x2002).wrapping_sub(self.rings[ring].seen)
    }

    /// Asks to be notified only after this many more have come back; returns the number of notifications since the last
    /// time.
    pub fn quiet(&mut self, ring: usize, more: u16) -> u64 {
        let event = self.rings[ring].seen.wrapping_add(more - 1);
        self.put(ring_at(ring) + 0x1000 + 4 + 2 * u64::from(PLACES), &event.to_le_bytes());
        self.told(ring)
    }

    /// The number of notifications since the last time.
    pub fn told(&mut self, ring: usize) -> u64 {
        let all = self.heard(ring);
        all - core::mem::replace(&mut self.rings[ring].told, all)
    }

    /// The number of all notifications so far.
    pub fn heard(&mut self, ring: usize) -> u64 {
        let ring = &mut self.rings[ring];
        ring.heard += ring.call.read().unwrap_or(0);
        ring.heard
    }

    /// Sends a request and waits for it: its status, and what was read.
    pub fn ask(&mut self, ring: usize, kind: u32, sector: u64, out: &[u8], into: usize) -> (u8, Vec<u8>) {
        self.begin(ring, 0, kind, sector, out, into);
        let (head, written) = self.ended(ring).expect("it is answered");
        assert_eq!(head, 0);
        let status = self.get(slot_at(ring, 0) + 0x20, 1)[0];
        assert!(status != 0 || written as usize >= into, "{written} bytes written of {into}");
        (status, self.get(slot_at(ring, 0) + 0x1000, into))
    }
}

/// A range of DISCARD or ZEROES.
pub fn stretch(sector: u64, sectors: u32, bits: u32) -> Vec<u8> {
    [&sector.to_le_bytes()[..], &sectors.to_le_bytes(), &bits.to_le_bytes()].concat()
}

/// A monitor that shares `size` bytes from `offset` on of a file of `length`, and goes on as if that were right; is it
/// still served afterwards?
pub fn shares(socket: &Path, length: u64, offset: u64, size: u64) -> bool {
    let folder = Folder::new();
    let mut options = OpenOptions::new();
    let memory = options.read(true).write(true).create(true).truncate(true).open(folder.path("memory")).unwrap();
    memory.set_len(length).unwrap();
    let front = Frontend::connect(socket, 1).unwrap();
    front.set_owner().unwrap();
    front.set_features(WANTED & front.get_features().unwrap()).unwrap();
    let region = VhostUserMemoryRegionInfo {
        guest_phys_addr: BASE,
        memory_size: size,
        userspace_addr: MONITORS,
        mmap_offset: offset,
        mmap_handle: memory.as_raw_fd(),
    };
    let kick = EventFd::new(0).unwrap();
    let rings = [0, 0x1000, 0x2000].map(|at| MONITORS + size - 0x4000 + at);
    let config = VringConfigData {
        queue_max_size: PLACES,
        queue_size: PLACES,
        flags: 0,
        desc_table_addr: rings[0],
        avail_ring_addr: rings[1],
        used_ring_addr: rings[2],
        log_addr: None,
    };
    // Each may find that the server has hung up.
    let _ = front.set_mem_table(&[region]);
    let _ = front.set_vring_num(0, PLACES);
    let _ = front.set_vring_addr(0, &config);
    let _ = front.set_vring_base(0, 0);
    let _ = front.set_vring_kick(0, &kick);
    let _ = kick.write(1);
    front.get_features().is_ok()
}

/// What a monitor sends besides a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// An eventfd, as it should be.
    Event,
    /// The memory's file.
    Memory,
    /// A file without content.
    Empty,
    Folder,
    Null,
    /// The end of a pipe from which nobody reads, or to which nobody writes.
    Pipe,
    Nothing,
}

impl Sent {
    fn open(self, memory: &File, folder: &Folder) -> Vec<OwnedFd> {
        let file = match self {
            Sent::Nothing => return Vec::new(),
            Sent::Event => return vec![rustix::event::eventfd(0, rustix::event::EventfdFlags::empty()).unwrap()],
            Sent::Pipe => return vec![std::io::pipe().unwrap().1.into()],
            Sent::Memory => memory.try_clone(),
            Sent::Empty => File::create(folder.path("empty")),
            Sent::Folder => File::open(folder.path("")),
            Sent::Null => OpenOptions::new().read(true).write(true).open("/dev/null"),
        };
        vec![file.unwrap().into()]
    }
}

/// How a monitor sets up its first ring; by default rightly.
#[derive(Clone, Debug)]
pub struct RingSetup {
    /// Guest address, length, monitor's address and place in the file, of each region.
    pub regions: Vec<[u64; 4]>,
    pub ring: u32,
    pub places: u32,
    pub base: u32,
    /// The monitor's addresses of descriptors, used and available ring.
    pub at: [u64; 3],
    /// How far the available ring says that it is.
    pub ready: u16,
    pub shared: Sent,
    pub kick: Sent,
    pub call: Sent,
}

impl Default for RingSetup {
    fn default() -> RingSetup {
        RingSetup {
            regions: vec![[BASE, SHARED, MONITORS, EDGE]],
            ring: 0,
            places: u32::from(PLACES),
            base: 0,
            at: [MONITORS, MONITORS + 0x2000, MONITORS + 0x1000],
            ready: 1,
            shared: Sent::Memory,
            kick: Sent::Event,
            call: Sent::Event,
        }
    }
}

/// The end of the shared memory, as the monitor addresses it.
pub const END: u64 = MONITORS + SHARED;

impl RingSetup {
    /// Connects as a monitor that says all of this, offers one read of the first sector, and leaves once the server has
    /// answered its last question or hung up.
    pub fn say(&self, socket: &Path) {
        let folder = Folder::new();
        let mut options = OpenOptions::new();
        let memory = options.read(true).write(true).create(true).truncate(true).open(folder.path("memory")).unwrap();
        memory.set_len(EDGE + SHARED + EDGE).unwrap();
        self.write_a_read(&memory);
        let stream = UnixStream::connect(socket).unwrap();
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let longs = |longs: &[u64]| longs.iter().flat_map(|long| long.to_le_bytes()).collect::<Vec<u8>>();
        let (ring, number) = (self.ring, u64::from(self.ring));
        let open = |sent: Sent| sent.open(&memory, &folder);
        let without = |sent: Sent| if sent == Sent::Nothing { 1 << 8 } else { 0 };
        let regions = longs(&self.regions.concat());
        let files: Vec<OwnedFd> = self.regions.iter().flat_map(|_| open(self.shared)).collect();
        let [descriptors, used, available] = self.at;
        message(&stream, 3, &[], &[]);
        message(&stream, 2, &longs(&[1 << 30 | 1 << 32 | 1 << 28]), &[]);
        message(&stream, 16, &longs(&[1 | 1 << 3 | 1 << 9]), &[]);
        message(&stream, 5, &[words(&[self.regions.len() as u32, 0]), regions].concat(), &files);
        message(&stream, 8, &words(&[ring, self.places]), &[]);
        message(&stream, 9, &[words(&[ring, 0]), longs(&[descriptors, used, available, 0])].concat(), &[]);
        message(&stream, 10, &words(&[ring, self.base]), &[]);
        message(&stream, 13, &longs(&[number | without(self.call)]), &open(self.call));
        let kick = open(self.kick);
        message(&stream, 12, &longs(&[number | without(self.kick)]), &kick);
        message(&stream, 18, &words(&[ring, 1]), &[]);
        kick.iter().for_each(|kick| _ = rustix::io::write(kick, &1u64.to_le_bytes()));
        // A question, whose answer comes after all of these.
        message(&stream, 1, &[], &[]);
        let mut answer = [0; 20];
        let _ = (&stream).read(&mut answer);
    }

    /// A read of the first sector, in the first slot.
    fn write_a_read(&self, memory: &File) {
        let put = |at: u64, bytes: &[u8]| memory.write_all_at(bytes, EDGE + at).unwrap();
        let slot = slot_at(0, 0);
        for (nth, (address, length, flags)) in
            (0u16..).zip([(slot, 16u32, NEXT), (slot + 0x1000, 512, NEXT | WRITABLE), (slot + 0x20, 1, WRITABLE)])
        {
            let own = [(BASE + address).to_le_bytes().to_vec(), length.to_le_bytes().to_vec()];
            let own = [own.concat(), flags.to_le_bytes().to_vec(), (nth + 1).to_le_bytes().to_vec()].concat();
            put(u64::from(nth) * 16, &own);
        }
        put(0x1002, &self.ready.to_le_bytes());
    }
}

/// Sends a message of the protocol with these files; the server may have hung up.
fn message(stream: &UnixStream, request: u32, body: &[u8], files: &[OwnedFd]) {
    let head = [request, 1, body.len() as u32].map(u32::to_le_bytes).concat();
    let message = [&head[..], body].concat();
    let files: Vec<BorrowedFd<'_>> = files.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(16))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !files.is_empty() {
        assert!(control.push(SendAncillaryMessage::ScmRights(&files)));
    }
    let _ = sendmsg(stream, &[IoSlice::new(&message)], &mut control, SendFlags::NOSIGNAL);
}
