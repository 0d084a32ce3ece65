//! What protects from loss, on real files: `backups` makes and puts back the whole database, `garbage_collection` takes away what may go,
//! `disk` lets the disk be full and read-only, `doctor` is shown files that were damaged in each way that it looks for, `kill_recovery`
//! ends the program again and again, `resource_leaks` lets everything fail and counts what is held afterwards, `open_sessions` opens many sessions
//! at once, `external_faults` is trouble that others make, `network_loss` a network that loses everything, `wipes` takes off the disk what was
//! destroyed. What a command says and how it ends is in `cli.rs`, the trash as clients see it in `http/trash.rs`.

mod backups;
mod disk;
mod doctor;
mod external_faults;
mod garbage_collection;
pub mod kill_recovery;
mod network_loss;
mod open_sessions;
mod resource_leaks;
mod wipes;
