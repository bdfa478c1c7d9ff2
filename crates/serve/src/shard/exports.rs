//! Adding, removing and resizing exports while the shard runs.
//!
//! **Rule** A tenant's number is never reused. A removed tenant loses its name, accepts no clients, and closes its back
//! end once its last request is over and its writes are stable.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use blksched::Instant;

use super::Shard;
use crate::backend::{Backend, Store};
use crate::config::Caching;
use crate::health::Health;
use crate::memory::Memory;
use crate::orders::{Change, Leave};
use crate::tenant::{Tenant, TenantLife};

/// Receives the result of what was asked; of a removal that was made, what was lost.
type ExportAnswer = Sender<Result<String, String>>;

impl Shard {
    /// Makes a change and answers it, now or as soon as possible.
    pub(super) fn change(&mut self, change: Change, answer: ExportAnswer) {
        let done = match change {
            Change::Add(tenant) => self.add_tenant(*tenant),
            Change::Resize { tenant, size } => self.resize_tenant(tenant, size),
            Change::Remove { tenant, how } => match self.begin_removal(tenant, how) {
                Ok(()) => return self.removals.push((tenant, answer)),
                Err(why) => Err(why),
            },
        };
        // The client that asked may have gone.
        let _ = answer.send(done);
    }

    fn add_tenant(&mut self, tenant: Tenant) -> Result<String, String> {
        let config = self.queue.header().queue;
        if !config.volatile_cache && !matches!(tenant.backend.store, Store::Memory(_)) {
            return Err("this disk is memory and has no flushes: a file needs another one (disk=NAME)".to_owned());
        }
        let files = tenant.files.clone();
        files.written().try_for_each(|(file, _)| self.setting.allows(file))?;
        let at = self.tenants.len();
        self.tenants.push(Tenant { health: Health::new(self.now), ..tenant });
        self.tell_weight(at);
        for (file, text) in files.written() {
            self.write_tenant_file(at, file, text)?;
        }
        Ok(String::new())
    }

    fn resize_tenant(&mut self, at: usize, size: u64) -> Result<String, String> {
        let tenant = &mut self.tenants[at];
        let block = u64::from(tenant.backend.block);
        let whole = size.is_multiple_of(block) || tenant.backend.caching == Caching::PageCache;
        if !whole && matches!(tenant.backend.store, Store::File(..)) {
            return Err(format!("its size must be a multiple of {block} here, not {size}"));
        }
        if size < tenant.backend.size && tenant.outstanding > 0 {
            return Err("it is in use and cannot shrink meanwhile: try again".to_owned());
        }
        if let Store::Memory(memory) = &mut tenant.backend.store {
            memory.resize(size);
        }
        let grows_in_place = tenant.backend.whole.max(size);
        (tenant.backend.size, tenant.backend.whole, tenant.export.size) = (size, grows_in_place, size);
        tenant.whole = (Instant::ZERO, true);
        for (_, connection) in self.connections.iter_mut().filter(|(_, one)| one.tenant == at) {
            connection.reader.resize(size);
        }
        Ok(String::new())
    }

    fn begin_removal(&mut self, at: usize, how: Leave) -> Result<(), String> {
        let clients = self.tenants[at].connections;
        if how == Leave::IfUnused && clients > 0 {
            return Err(format!("it has {clients} clients: they must go first (or `--hard` cuts them off)"));
        }
        self.tenants[at].life = TenantLife::Leaving;
        let its_own = |at: usize| move |(_, one): &(usize, &crate::connection::Connection)| one.tenant == at;
        let clients: Vec<usize> = self.connections.iter().filter(its_own(at)).map(|(number, _)| number).collect();
        for number in clients {
            self.lose(number, "its export is removed");
            self.cancel(number);
        }
        Ok(())
    }

    /// Lets exports that have been removed release what they had.
    pub(super) fn end_removals(&mut self) {
        for (at, answer) in core::mem::take(&mut self.removals) {
            let tenant = &mut self.tenants[at];
            if tenant.connections > 0 || tenant.outstanding > 0 {
                self.removals.push((at, answer));
                continue;
            }
            tenant.life = TenantLife::Gone;
            let group = tenant.group;
            let unsynced = tenant.stability.unsynced && !tenant.is_read_only();
            let place = tenant.backend.place();
            let empty = Store::Memory(Memory::new(0));
            let store = core::mem::replace(&mut tenant.backend, Backend { size: 0, ..Backend::nothing(empty) }).store;
            let _ = self.queue.remove_group(self.now, group);
            let (told, wakeup) = (self.losses.0.clone(), self.wakeup.clone());
            // On a thread, so that others need not wait.
            std::thread::spawn(move || {
                let synced = match &store {
                    Store::File(file, _) if unsynced => rustix::fs::fdatasync(Arc::clone(file)),
                    _ => Ok(()),
                };
                drop(store);
                if let Err(error) = synced {
                    // Other exports of that device have lost as much.
                    let _ = told.send((place, error.raw_os_error()));
                    let _ = rustix::io::write(&wakeup, &1u64.to_ne_bytes());
                }
                let lost = |error| format!("it is removed, but what it had written may be lost: {error}");
                let _ = answer.send(Ok(synced.err().map(lost).unwrap_or_default()));
            });
        }
    }
}
