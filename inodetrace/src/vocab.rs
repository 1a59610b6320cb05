//! The contract's vocabulary: lock classes and sites under the names that users type and files hold.

pub use inodetrace_common::Site;

/// What is contended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lock {
    /// `super_block.s_inode_list_lock`
    SbInodes,
    /// `inode_hash_lock`
    InodeHash,
    /// The list_lru lock of `super_block.s_inode_lru`
    SbLru,
    /// `bdi_writeback.list_lock`
    WbList,
    /// `ext4_sb_info.s_orphan_lock`
    Ext4Orphan,
}

impl Lock {
    /// All lock classes, in the contract's order.
    pub const ALL: [Self; 5] = [
        Self::SbInodes,
        Self::InodeHash,
        Self::SbLru,
        Self::WbList,
        Self::Ext4Orphan,
    ];

    /// The id used on the command line and in files.
    pub const fn id(self) -> &'static str {
        match self {
            Self::SbInodes => "sb-inodes",
            Self::InodeHash => "inode-hash",
            Self::SbLru => "sb-lru",
            Self::WbList => "wb-list",
            Self::Ext4Orphan => "ext4-orphan",
        }
    }

    /// The class with that id.
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|l| l.id() == id)
    }
}

/// Names and lock class of a [`Site`].
pub trait SiteExt: Sized {
    /// All sites, by their number.
    const ALL: [Site; inodetrace_common::SITES];
    /// The id used on the command line and in files.
    fn id(self) -> &'static str;
    /// The lock class it belongs to; `None` for `evict` and `alloc`, which take no list lock.
    fn lock(self) -> Option<Lock>;
    /// The site with that id.
    fn from_id(id: &str) -> Option<Self>;
}

impl SiteExt for Site {
    const ALL: [Site; inodetrace_common::SITES] = [
        Self::Evict,
        Self::Alloc,
        Self::SbListAdd,
        Self::SbListDel,
        Self::HashInsert,
        Self::HashRemove,
        Self::LruAdd,
        Self::LruDel,
        Self::WbListDel,
        Self::OrphanAdd,
        Self::OrphanDel,
        Self::SbListWalk,
    ];

    fn id(self) -> &'static str {
        match self {
            Self::Evict => "evict",
            Self::Alloc => "alloc",
            Self::SbListAdd => "sb_list_add",
            Self::SbListDel => "sb_list_del",
            Self::HashInsert => "hash_insert",
            Self::HashRemove => "hash_remove",
            Self::LruAdd => "lru_add",
            Self::LruDel => "lru_del",
            Self::WbListDel => "wb_list_del",
            Self::OrphanAdd => "orphan_add",
            Self::OrphanDel => "orphan_del",
            Self::SbListWalk => "sb_list_walk",
        }
    }

    fn lock(self) -> Option<Lock> {
        Some(match self {
            Self::Evict | Self::Alloc => return None,
            Self::SbListAdd | Self::SbListDel | Self::SbListWalk => Lock::SbInodes,
            Self::HashInsert | Self::HashRemove => Lock::InodeHash,
            Self::LruAdd | Self::LruDel => Lock::SbLru,
            Self::WbListDel => Lock::WbList,
            Self::OrphanAdd | Self::OrphanDel => Lock::Ext4Orphan,
        })
    }

    fn from_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.id() == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_found_again() {
        for (number, site) in Site::ALL.into_iter().enumerate() {
            assert_eq!(site as usize, number);
            assert_eq!(Site::from_id(site.id()), Some(site));
        }
        for lock in Lock::ALL {
            assert_eq!(Lock::from_id(lock.id()), Some(lock));
        }
        assert_eq!(Site::from_id("sb_list"), None);
    }
}
