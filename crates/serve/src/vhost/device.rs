//! A guest's view of its disk: features, configuration space, queues; and a lane to the shard for each used queue.

use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use blksched_nbd::Persist;
use vhost::vhost_user::message::{VhostUserProtocolFeatures, VhostUserVirtioFeatures};
use vhost_user_backend::{ShutdownHandle, VhostUserBackend, VringMutex};
use virtio_bindings::virtio_blk::{
    VIRTIO_BLK_F_BLK_SIZE, VIRTIO_BLK_F_DISCARD, VIRTIO_BLK_F_FLUSH, VIRTIO_BLK_F_MQ, VIRTIO_BLK_F_RO,
    VIRTIO_BLK_F_SEG_MAX, VIRTIO_BLK_F_TOPOLOGY, VIRTIO_BLK_F_WRITE_ZEROES,
};
use virtio_bindings::virtio_config::VIRTIO_F_VERSION_1;
use virtio_bindings::virtio_ring::{VIRTIO_RING_F_EVENT_IDX, VIRTIO_RING_F_INDIRECT_DESC};
use vm_memory::{GuestAddressSpace, GuestMemoryAtomic, GuestMemoryMmap};
use vmm_sys_util::epoll::EventSet;
use vmm_sys_util::event::{EventConsumer, EventFlag, EventNotifier, new_event_consumer_and_notifier};

use super::ask::{Guest, parse};
use super::guarded::Tables;
use super::lane::QueueLane;
use super::{GuestTarget, Numbers, ShownTarget, lock};
use crate::backend::SECTOR;
use crate::connection::{Transport, Who};

/// The most queues.
pub const QUEUES: usize = 8;
/// The most entries of a queue.
const PLACES: usize = 1024;
/// The most segments of data in one request.
const SEGMENTS: u32 = 126;
/// The longest range to discard or to zero in one request \[sectors\]: 1 GiB.
const LONGEST: u32 = 1 << 21;

type Memory = GuestMemoryAtomic<GuestMemoryMmap<()>>;

/// One guest's disk.
pub struct VhostDevice {
    shown: ShownTarget,
    numbers: Numbers,
    path: Arc<str>,
    /// The features that the guest's driver has accepted.
    agreed: AtomicU64,
    /// The memory that was checked: requests use no other.
    memory: Mutex<Option<Guest>>,
    tables: Arc<Tables>,
    lanes: [Mutex<Option<Arc<QueueLane>>>; QUEUES],
    /// Ends the connection with the monitor.
    end: Mutex<Option<ShutdownHandle>>,
    /// The events that end the queues' threads, which the crate leaves open.
    exits: Mutex<Vec<RawFd>>,
}

impl Drop for VhostDevice {
    fn drop(&mut self) {
        // The threads have ended, since each of them holds this device.
        for exit in lock(&self.exits).drain(..) {
            let _ = nix::unistd::close(exit);
        }
    }
}

impl VhostDevice {
    /// A disk that no guest uses yet.
    pub fn new(shown: ShownTarget, numbers: Numbers, path: Arc<str>) -> VhostDevice {
        let lanes = std::array::from_fn(|_| Mutex::new(None));
        VhostDevice {
            shown,
            numbers,
            path,
            agreed: AtomicU64::new(0),
            memory: Mutex::new(None),
            tables: Arc::new(Tables::default()),
            lanes,
            end: Mutex::new(None),
            exits: Mutex::new(Vec::new()),
        }
    }

    /// A monitor has connected.
    pub fn begin(&self, end: Option<ShutdownHandle>) {
        *lock(&self.end) = end;
        // Its first requests may have been served already.
        self.cut_off_if_it_must_be();
    }

    /// Whether the monitor has taken back memory that it had shared.
    pub fn lost_its_memory(&self) -> bool {
        self.tables.were_taken_back()
    }

    fn cut_off_if_it_must_be(&self) {
        if self.lost_its_memory()
            && let Some(end) = &*lock(&self.end)
        {
            end.shutdown();
        }
    }

    /// No guest uses it any more.
    pub fn close(&self) {
        self.lanes.iter().filter_map(|lane| lock(lane).clone()).for_each(|lane| lane.close());
    }

    /// A queue's lane; if its shard no longer answers, it is replaced, since the export may have been added again.
    fn lane(&self, queue: usize, ring: &VringMutex) -> Option<Arc<QueueLane>> {
        let mut place = lock(&self.lanes[queue]);
        if let Some(lane) = place.as_ref().filter(|lane| !lane.is_over()) {
            return Some(lane.clone());
        }
        // The old lane of an export that is gone answers every request with an error.
        let Some(target) = lock(&self.shown).clone() else { return place.clone() };
        let number = self.numbers.fetch_add(1, Ordering::Relaxed) + 1;
        let who =
            Who { number, peer: format!("vhost-user:{},queue={queue}", self.path).into(), way: Transport::Within };
        let opened = QueueLane::open(&target, who, ring.clone(), self.tables.clone());
        *place = opened.inspect_err(|error| tracing::warn!(path = %self.path, %error, "vhost-user: no lane")).ok();
        place.clone()
    }

    /// Without FLUSH a guest assumes that what is answered is stable.
    fn persist(&self) -> Persist {
        match self.agreed.load(Ordering::Relaxed) & (1 << VIRTIO_BLK_F_FLUSH) {
            0 => Persist::First,
            _ => Persist::Lazily,
        }
    }

    /// `struct virtio_blk_config`, as far as the offered features need it.
    fn configuration(&self) -> Vec<u8> {
        let Some(GuestTarget { export, .. }) = lock(&self.shown).clone() else { return vec![0; 60] };
        let block = export.block_size.minimum.max(SECTOR as u32);
        let alignment = block / SECTOR as u32;
        let mut space = Vec::with_capacity(60);
        space.extend_from_slice(&(export.size / SECTOR).to_le_bytes());
        // size_max, which is not offered, and seg_max; a geometry, which is not offered.
        [0, SEGMENTS, 0].iter().for_each(|word: &u32| space.extend_from_slice(&word.to_le_bytes()));
        space.extend_from_slice(&block.to_le_bytes());
        // The physical block as a power of two of logical ones; its alignment; smallest and best request, in blocks.
        let physical = (export.block_size.preferred / block).max(1).ilog2() as u8;
        space.extend_from_slice(&[physical, 0, 1, 0]);
        space.extend_from_slice(&0u32.to_le_bytes());
        // writeback and a gap, num_queues.
        space.extend_from_slice(&[1, 0, QUEUES as u8, 0]);
        [LONGEST, 1, alignment, LONGEST, 1].iter().for_each(|word| space.extend_from_slice(&word.to_le_bytes()));
        // write_zeroes_may_unmap.
        space.extend_from_slice(&[1, 0, 0, 0]);
        space
    }
}

impl VhostUserBackend for VhostDevice {
    type Bitmap = ();
    type Vring = VringMutex;

    fn num_queues(&self) -> usize {
        QUEUES
    }

    fn max_queue_size(&self) -> usize {
        PLACES
    }

    fn features(&self) -> u64 {
        let of_export = lock(&self.shown).as_ref().map(|target| target.export.features);
        let read_only = of_export.is_some_and(|features| features.read_only);
        let own = [
            Some(VIRTIO_F_VERSION_1),
            Some(VIRTIO_RING_F_EVENT_IDX),
            Some(VIRTIO_RING_F_INDIRECT_DESC),
            Some(VIRTIO_BLK_F_SEG_MAX),
            Some(VIRTIO_BLK_F_BLK_SIZE),
            Some(VIRTIO_BLK_F_TOPOLOGY),
            Some(VIRTIO_BLK_F_FLUSH),
            Some(VIRTIO_BLK_F_MQ),
            read_only.then_some(VIRTIO_BLK_F_RO),
            (!read_only).then_some(VIRTIO_BLK_F_DISCARD),
            (!read_only).then_some(VIRTIO_BLK_F_WRITE_ZEROES),
        ];
        let own = own.into_iter().flatten().fold(0, |bits, bit| bits | 1 << bit);
        own | VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits()
    }

    fn acked_features(&self, features: u64) {
        self.agreed.store(features, Ordering::Relaxed);
    }

    fn protocol_features(&self) -> VhostUserProtocolFeatures {
        VhostUserProtocolFeatures::CONFIG | VhostUserProtocolFeatures::MQ | VhostUserProtocolFeatures::REPLY_ACK
    }

    /// Each ring knows it itself.
    fn set_event_idx(&self, _enabled: bool) {}

    fn get_config(&self, offset: u32, size: u32) -> Vec<u8> {
        let space = self.configuration();
        let from = (offset as usize).min(space.len());
        let to = (from + size as usize).min(space.len());
        space[from..to].to_vec()
    }

    fn update_memory(&self, memory: Memory) -> std::io::Result<()> {
        let memory = memory.memory();
        // Until it is checked, requests use what was shared before.
        self.tables.add(memory.clone().into_inner())?;
        *lock(&self.memory) = Some(memory);
        Ok(())
    }

    /// A thread for each queue: one that waits for memory of its export delays no other.
    fn queues_per_thread(&self) -> Vec<u64> {
        (0..QUEUES).map(|queue| 1 << queue).collect()
    }

    fn exit_event(&self, _thread: usize) -> Option<(EventConsumer, EventNotifier)> {
        let exit = new_event_consumer_and_notifier(EventFlag::NONBLOCK | EventFlag::CLOEXEC).ok();
        lock(&self.exits).extend(exit.iter().map(|(consumer, _)| consumer.as_raw_fd()));
        exit
    }

    fn stop_vring(&self, queue: u32) -> std::io::Result<()> {
        let lane = self.lanes.get(queue as usize).and_then(|lane| lock(lane).clone());
        lane.into_iter().for_each(|lane| lane.drain());
        Ok(())
    }

    /// A guest has submitted something. Nothing that it does ends this thread.
    fn handle_event(&self, _: u16, events: EventSet, rings: &[VringMutex], queue: usize) -> std::io::Result<()> {
        let memory = lock(&self.memory).clone();
        if let (Some(memory), Some(ring), EventSet::IN) = (memory, rings.first(), events)
            && let Some(lane) = self.lane(queue, ring)
        {
            let persist = self.persist();
            lane.take_in(ring, &memory, |chain| parse(chain, &memory, persist));
        }
        self.cut_off_if_it_must_be();
        Ok(())
    }
}
