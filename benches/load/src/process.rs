//! Resources of a process as the operating system reports them.

use std::fs;
use std::time::Duration;

/// The resources used so far.
#[derive(Clone, Copy)]
pub struct Usage {
    pub cpu: Duration,
    /// Bytes written to the disk.
    pub written: u64,
}

impl Usage {
    pub const NONE: Self = Self { cpu: Duration::ZERO, written: 0 };

    pub fn plus(self, more: Self) -> Self {
        Self { cpu: self.cpu + more.cpu, written: self.written + more.written }
    }

    pub fn since(self, before: Self) -> Self {
        Self { cpu: self.cpu.saturating_sub(before.cpu), written: self.written.saturating_sub(before.written) }
    }
}

/// Memory in kilobytes.
#[derive(Clone, Copy)]
pub struct Memory {
    /// All resident memory, with pages of mapped files.
    pub resident: u64,
    /// The peak of `resident` since the last [`forget_peak`].
    pub peak: u64,
    /// Private memory without mapped files.
    pub own: u64,
}

pub fn usage(pid: u32) -> Usage {
    let stat = read(pid, "stat");
    // The program's name may contain spaces: the counted fields come after its closing bracket.
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let ticks: u64 = [11, 12].iter().filter_map(|at| fields.get(*at)?.parse::<u64>().ok()).sum();
    let io = read(pid, "io");
    let written = io.lines().find_map(|line| line.strip_prefix("write_bytes: ")?.parse().ok());
    Usage { cpu: Duration::from_millis(ticks * 10), written: written.unwrap_or(0) }
}

pub fn memory(pid: u32) -> Memory {
    let status = read(pid, "status");
    let field = |name: &str| {
        let rest = status.lines().find_map(|line| line.strip_prefix(name))?;
        rest.trim().strip_suffix(" kB")?.parse().ok()
    };
    let known = |name: &str| field(name).unwrap_or_else(|| panic!("process {pid} has no {name}: it has ended"));
    Memory { resident: known("VmRSS:"), peak: known("VmHWM:"), own: known("RssAnon:") }
}

/// Resets the peak of memory.
pub fn forget_peak(pid: u32) {
    fs::write(format!("/proc/{pid}/clear_refs"), "5").unwrap();
}

fn read(pid: u32, file: &str) -> String {
    fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_else(|error| panic!("process {pid}: {error}"))
}

pub fn megabytes(kilobytes: u64) -> String {
    format!("{:.0} MB", kilobytes as f64 * 1.024 / 1_000.0)
}
