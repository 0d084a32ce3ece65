//! Protection from data loss, on real files.
//!
//! - `backups`: making and restoring backups of the database
//! - `disk`, `external_faults`, `network_loss`: full and read-only disks, faults of other programs and clients, lost
//!   networks
//! - `doctor`: databases that were damaged in each way that the doctor checks
//! - `garbage_collection`, `wipes`: removing unused data, and wiping purged data from the disk
//! - `kill_recovery`: the program is ended again and again
//! - `open_sessions`, `resource_leaks`: many open sessions, and resources held after failures
//!
//! Output and exit codes of commands are tested in `cli.rs`, the trash over HTTP in `http/trash.rs`.

mod backups;
mod disk;
mod doctor;
mod external_faults;
mod garbage_collection;
pub mod kill_recovery;
mod network_loss;
mod open_sessions;
mod resource_leaks;
mod secure_erase;
