//! Which mount points a superblock has, by device number.
