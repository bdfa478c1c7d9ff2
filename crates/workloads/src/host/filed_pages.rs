//! Which pages are which file's, asked by page and by inode.

use std::collections::BTreeMap;

use super::fs::InodeId;
use super::page::Pages;

#[derive(Clone, Copy, Debug)]
struct Filed {
    end: u64,
    inode: InodeId,
}

/// Files and their pages; no two have the same.
#[derive(Clone, Debug, Default)]
pub(super) struct FiledPages {
    /// By first page.
    files: BTreeMap<u64, Filed>,
    /// The first page of each inode's.
    starts: BTreeMap<InodeId, u64>,
}

impl FiledPages {
    /// These pages are this inode's from now on.
    pub fn insert(&mut self, pages: Pages, inode: InodeId) {
        let start = pages.start;
        if let Some(before) = self.files.insert(start, Filed { end: pages.end, inode })
            && self.starts.get(&before.inode) == Some(&start)
        {
            self.starts.remove(&before.inode);
        }
        self.starts.insert(inode, start);
    }

    /// The file that has this page: its pages, and its inode.
    pub fn find(&self, page: u64) -> Option<(Pages, InodeId)> {
        let (start, filed) = self.files.range(..=page).next_back()?;
        (page < filed.end).then_some((*start..filed.end, filed.inode))
    }

    /// An inode's pages.
    pub fn of(&self, inode: InodeId) -> Option<Pages> {
        let start = *self.starts.get(&inode)?;
        self.files.get(&start).map(|filed| start..filed.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_belong_to_the_inode_that_came_last() {
        let mut files = FiledPages::default();
        files.insert(10..20, InodeId(12));
        files.insert(30..40, InodeId(13));
        assert_eq!(files.find(19), Some((10..20, InodeId(12))));
        assert_eq!((files.find(20), files.find(9)), (None, None));
        files.insert(10..15, InodeId(14));
        assert_eq!((files.of(InodeId(12)), files.of(InodeId(14))), (None, Some(10..15)));
        files.insert(10..16, InodeId(14));
        assert_eq!(files.of(InodeId(14)), Some(10..16), "the same file is longer");
    }
}
