//! Writing the `io` files of tenants and of the disk while the shard runs.

use blksched::{Group, GroupId};

use super::Shard;
use crate::config::Shares;
use crate::policies::{DISK, OF_DISK, OF_TENANT, WrittenFiles, switches_on};
use crate::tenant::Tenant;

impl Shard {
    /// Writes files at the start: the disk's own first, since io.cost must be on before a tenant's `io.weight` means
    /// anything.
    pub(crate) fn write_files(&mut self, of_disk: &WrittenFiles) -> Result<(), String> {
        for (file, text) in of_disk.written() {
            self.write_disk_file(file, text)?;
        }
        for at in 0..self.tenants.len() {
            let files = self.tenants[at].files.clone();
            for (file, text) in files.written() {
                self.write_tenant_file(at, file, text)?;
            }
        }
        Ok(())
    }

    /// Writes to a file of a tenant.
    pub(super) fn write_tenant_file(&mut self, at: usize, file: &str, text: &str) -> Result<(), String> {
        self.setting.allows(file)?;
        let group = self.tenants[at].group;
        self.queue.write_group_file(self.now, group, file, text).map_err(|error| error.to_string())?;
        self.tenants[at].files.write(file, text);
        self.tell_weight(at);
        Ok(())
    }

    /// Writes to a file of the disk.
    pub(super) fn write_disk_file(&mut self, file: &str, text: &str) -> Result<(), String> {
        let on = switches_on(file, text);
        if file == "io.cost.model" || on != Some(false) {
            self.setting.allows(file)?;
        }
        self.queue.write_group_file(self.now, DISK, file, text).map_err(|error| error.to_string())?;
        self.setting.cost = on.unwrap_or(self.setting.cost);
        self.files.write(file, text);
        Ok(())
    }

    /// A file's content; `None` if a tenant has no such file.
    pub(super) fn tenant_file(&self, at: usize, file: &str) -> Option<String> {
        OF_TENANT.contains(&file).then(|| self.tenants[at].files.read(file))
    }

    /// The content of a file of the disk.
    pub(super) fn disk_file(&self, file: &str) -> Option<String> {
        OF_DISK.contains(&file).then(|| self.files.read(file))
    }

    /// Checks whether the server may keep the shares from now on; not where a file holds requests back in the queue.
    pub(super) fn may_keep(&self, shares: Shares) -> Result<(), String> {
        if shares == Shares::ByScheduler {
            return Ok(());
        }
        let mut written =
            self.tenants.iter().map(|tenant| &tenant.files).chain([&self.files]).flat_map(WrittenFiles::written);
        match written.find(|(file, _)| *file != "io.prio.class") {
            Some((file, _)) => Err(format!("{file} is written: it needs the scheduler's shares")),
            None => Ok(()),
        }
    }

    /// Tells the scheduler a tenant's weight, and the turns its priority too.
    pub(super) fn tell_weight(&mut self, at: usize) {
        let Tenant { group, share, .. } = &self.tenants[at];
        let told = Group { parent: GroupId::ROOT, weight: share.weight, leaf_weight: share.weight };
        self.turns.set_share(at, share.weight, self.tenants[at].priority());
        let result = self.queue.set_group(self.now, *group, told);
        debug_assert!(result.is_ok(), "{result:?}");
    }
}
