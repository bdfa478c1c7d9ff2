//! The memory that a guest's monitor shares: checked before anything touches it, and guarded while something may.
//!
//! **Rule** A region must be within its file, a regular one. A monitor can make the file shorter afterwards (unless it
//! is sealed against that, F_SEAL_SHRINK, as QEMU's `memory-backend-memfd` is), and a thread that touches the part that
//! is gone gets a SIGBUS. So regions in use are listed here, and a SIGBUS in one of them replaces the whole region by
//! zeroes of this process and marks it: its guest is then cut off, and nobody else notices. A SIGBUS anywhere else ends
//! the process as it always did. Wayland's compositors guard their clients' buffers in the same way
//! (`wl_shm_buffer_begin_access`).
//!
//! Why it is sound: the list is made of nodes that are never freed, and is read with atomic loads alone. The handler
//! calls only `mmap` and `signal`, which a handler may. A node names a mapping only while its [`Table`] has that
//! mapping, since a table forgets its nodes before it drops its memory; so what the handler replaces is always guest
//! memory, on whose content nobody relies: every access to it is a volatile copy by rust-vmm.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::AsFd;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Once};

use rustix::fs::{FileType, SealFlags, fcntl_get_seals, fstat};
use vm_memory::{GuestMemoryBackend, GuestMemoryMmap, GuestMemoryRegion};

use super::lock;

/// A region in use.
struct Node {
    used: AtomicBool,
    start: AtomicUsize,
    /// The address behind it; 0 if it is none.
    end: AtomicUsize,
    taken_back: AtomicBool,
    next: AtomicPtr<Node>,
}

/// The list of all nodes.
static NODES: AtomicPtr<Node> = AtomicPtr::new(ptr::null_mut());
static HANDLER: Once = Once::new();

/// A node's user; it is free again afterwards.
struct Guarded(&'static Node);

impl Drop for Guarded {
    fn drop(&mut self) {
        self.0.end.store(0, Ordering::SeqCst);
        self.0.used.store(false, Ordering::SeqCst);
    }
}

fn nodes() -> impl Iterator<Item = &'static Node> {
    let at = |node: &AtomicPtr<Node>| {
        // SAFETY: nodes are leaked, so a pointer to one is valid for ever.
        unsafe { node.load(Ordering::SeqCst).as_ref() }
    };
    std::iter::successors(at(&NODES), move |node| at(&node.next))
}

fn guard(start: usize, length: usize) -> Guarded {
    let free = |node: &&Node| !node.used.swap(true, Ordering::SeqCst);
    let node = nodes().find(free).unwrap_or_else(add_node);
    node.taken_back.store(false, Ordering::SeqCst);
    node.start.store(start, Ordering::SeqCst);
    node.end.store(start + length, Ordering::SeqCst);
    Guarded(node)
}

fn add_node() -> &'static Node {
    let node: &'static Node = Box::leak(Box::new(Node {
        used: AtomicBool::new(true),
        start: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
        taken_back: AtomicBool::new(false),
        next: AtomicPtr::new(ptr::null_mut()),
    }));
    let mut first = NODES.load(Ordering::SeqCst);
    loop {
        node.next.store(first, Ordering::SeqCst);
        let own = ptr::from_ref(node).cast_mut();
        match NODES.compare_exchange(first, own, Ordering::SeqCst, Ordering::SeqCst) {
            Ok(_) => return node,
            Err(other) => first = other,
        }
    }
}

extern "C" fn on_sigbus(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid one.
    let address = unsafe { (*info).si_addr() } as usize;
    let hit = nodes().find(|node| {
        let (start, end) = (node.start.load(Ordering::SeqCst), node.end.load(Ordering::SeqCst));
        (start..end).contains(&address)
    });
    let replaced = hit.is_some_and(|node| {
        let (start, end) = (node.start.load(Ordering::SeqCst), node.end.load(Ordering::SeqCst));
        let (read_write, flags) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_FIXED | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
        );
        // SAFETY: the range is a mapping of guest memory (see above).
        let mapped = unsafe { libc::mmap(start as *mut libc::c_void, end - start, read_write, flags, -1, 0) };
        node.taken_back.store(mapped != libc::MAP_FAILED, Ordering::SeqCst);
        mapped != libc::MAP_FAILED
    });
    if !replaced {
        // SAFETY: restores the default. The access is repeated and ends the process.
        unsafe { libc::signal(libc::SIGBUS, libc::SIG_DFL) };
    }
}

fn install() -> io::Result<()> {
    let mut result = Ok(());
    HANDLER.call_once(|| {
        let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = on_sigbus;
        // SAFETY: all-zero is a valid `sigaction`; the handler does only what a handler may (see above).
        let installed = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
            libc::sigaction(libc::SIGBUS, &action, ptr::null_mut())
        };
        if installed != 0 {
            result = Err(io::Error::last_os_error());
        }
    });
    result
}

/// A guest's memory, as it was shared at one time.
struct Table {
    // Dropped first.
    regions: Vec<Guarded>,
    memory: Arc<GuestMemoryMmap<()>>,
}

/// All the memory that a guest's requests may still use.
#[derive(Default)]
pub struct Tables(Mutex<Vec<Table>>);

impl Tables {
    /// Guards and checks memory that the monitor has shared. What it had shared before stays guarded while it is used.
    ///
    /// # Errors
    /// Which region is not within its file.
    pub fn add(&self, memory: Arc<GuestMemoryMmap<()>>) -> io::Result<()> {
        install()?;
        let regions = memory.iter().map(|region| guard(region.as_ptr() as usize, region.len() as usize)).collect();
        let table = Table { regions, memory };
        // Guarded first: what is checked now may be taken back at once.
        let checked = check(&table.memory);
        let mut tables = lock(&self.0);
        tables.retain(|old| Arc::strong_count(&old.memory) > 1);
        tables.push(table);
        checked
    }

    /// Whether the monitor has taken back memory that was still in use.
    pub fn were_taken_back(&self) -> bool {
        let tables = lock(&self.0);
        tables.iter().flat_map(|table| &table.regions).any(|region| region.0.taken_back.load(Ordering::SeqCst))
    }
}

fn check(memory: &GuestMemoryMmap<()>) -> io::Result<()> {
    for region in memory.iter() {
        let Some(file) = region.file_offset() else { return Err(io::Error::other("a region without a file")) };
        let stat = fstat(file.file().as_fd())?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(io::Error::other("a region of something that is no regular file"));
        }
        let (size, end) = (stat.st_size as u64, file.start().checked_add(region.len()));
        if end.is_none_or(|end| end > size) {
            let (start, length) = (file.start(), region.len());
            return Err(io::Error::other(format!(
                "a region of {length} bytes from {start} on is not within its file of {size}"
            )));
        }
        if !fcntl_get_seals(file.file().as_fd()).is_ok_and(|seals| seals.contains(SealFlags::SHRINK)) {
            tracing::debug!("vhost-user: this monitor could take its memory back (no F_SEAL_SHRINK)");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
    use vm_memory::{Bytes, FileOffset, GuestAddress};

    use super::*;

    const PAGE: u64 = 4096;

    /// A file of this length, of which `pages` from `from` on are shared.
    fn shared(length: u64, from: u64, pages: u64) -> (File, Arc<GuestMemoryMmap<()>>) {
        let file = File::from(memfd_create("guest", MemfdFlags::CLOEXEC).unwrap());
        ftruncate(&file, length).unwrap();
        let part = FileOffset::new(file.try_clone().unwrap(), from);
        let ranges = [(GuestAddress(0), (pages * PAGE) as usize, Some(part))];
        (file, Arc::new(GuestMemoryMmap::from_ranges_with_files(ranges).unwrap()))
    }

    #[test]
    fn a_region_is_within_its_file_or_refused_before_anything_touches_it() {
        for (length, from, pages, good) in [
            (4 * PAGE, 0, 4, true),
            (4 * PAGE, PAGE, 3, true),
            (4 * PAGE - 1, 0, 4, false),
            (4 * PAGE, PAGE, 4, false),
            (4 * PAGE, 64 * PAGE, 1, false),
            (0, 0, 1, false),
        ] {
            let (_file, memory) = shared(length, from, pages);
            let added = Tables::default().add(memory);
            assert_eq!(added.is_ok(), good, "{length} bytes, {pages} pages from {from} on: {added:?}");
        }
    }

    #[test]
    fn memory_that_is_taken_back_reads_as_zeroes_and_marks_its_guest_alone() {
        let (file, memory) = shared(4 * PAGE, 0, 4);
        let (_other_file, other) = shared(4 * PAGE, 0, 4);
        let (tables, neighbours) = (Tables::default(), Tables::default());
        tables.add(memory.clone()).unwrap();
        neighbours.add(other.clone()).unwrap();
        memory.write_obj(7u8, GuestAddress(3 * PAGE)).unwrap();
        other.write_obj(9u8, GuestAddress(3 * PAGE)).unwrap();
        assert!(!tables.were_taken_back());
        ftruncate(&file, PAGE).unwrap();
        assert_eq!(memory.read_obj::<u8>(GuestAddress(3 * PAGE)).unwrap(), 0);
        memory.write_obj(8u8, GuestAddress(2 * PAGE)).unwrap();
        assert!(tables.were_taken_back() && !neighbours.were_taken_back());
        assert_eq!(other.read_obj::<u8>(GuestAddress(3 * PAGE)).unwrap(), 9);
        // A new table forgets the old one once nothing uses it.
        drop(memory);
        tables.add(shared(PAGE, 0, 1).1).unwrap();
        assert!(!tables.were_taken_back());
    }
}
