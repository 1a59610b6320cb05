//! The constants of the kernel at hand, from the facts.

use super::{Globals, PlanError};
use crate::kernel::facts::Facts;
use crate::sites::analysis::global;

/// Fills in everything that does not depend on the sites.
///
/// # Errors
/// If something is missing without which no superblock can be told from another.
pub(super) fn globals(facts: &Facts) -> Result<Globals, PlanError> {
    let needed = |path: &str| {
        facts.offset(path).map_err(|why| PlanError::Layout {
            member: path.to_owned(),
            why,
        })
    };
    // Sites that need these say so themselves; the programs of other sites do not read them.
    let wanted = |path: &str| facts.offset(path).unwrap_or_default();
    Ok(Globals {
        inode_i_sb: needed("inode.i_sb")?,
        inode_i_lock: wanted("inode.i_lock"),
        inode_i_hash_pprev: wanted("inode.i_hash.pprev"),
        inode_i_lru: wanted("inode.i_lru"),
        inode_i_io_list: wanted("inode.i_io_list"),
        inode_i_state: wanted("inode.i_state"),
        i_new: facts.i_new,
        sb_s_dev: needed("super_block.s_dev")?,
        sb_s_type: needed("super_block.s_type")?,
        sb_s_magic: needed("super_block.s_magic")?,
        sb_s_id: needed("super_block.s_id")?,
        sb_s_fs_info: needed("super_block.s_fs_info")?,
        sb_s_inode_list_lock: wanted("super_block.s_inode_list_lock"),
        sb_s_inode_lru: wanted("super_block.s_inode_lru"),
        fstype_name: needed("file_system_type.name")?,
        ext4_s_orphan_lock: facts.offset("ext4_sb_info.s_orphan_lock").ok(),
        inode_hash_lock: global(facts, "inode_hash_lock").unwrap_or_default(),
        evict_guards_hash: false,
        evict_guards_wb: false,
    })
}
