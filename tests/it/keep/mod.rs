//! What protects from loss, on real files: `copies` makes and puts back the whole database, `sweep` takes away what may go,
//! `disk` lets the disk be full and read-only, `doctor` is shown files that were damaged in each way that it looks for, `kills`
//! ends the program again and again, `leaks` lets everything fail and counts what is held afterwards, `open` opens many sessions
//! at once, `outside` is trouble that others make, `swallowed` a network that loses everything, `wipes` takes off the disk what was
//! destroyed. What a command says and how it ends is in `cli.rs`, the trash as clients see it in `http/trash.rs`.

mod copies;
mod disk;
mod doctor;
pub mod kills;
mod leaks;
mod open;
mod outside;
mod swallowed;
mod sweep;
mod wipes;
