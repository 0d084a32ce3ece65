//! Resources of a process as the operating system reports them.

use std::fs;
use std::time::Duration;

/// The resources used so far.
#[derive(Clone, Copy)]
pub struct Usage {
    pub cpu_time: Duration,
    /// The part of `cpu_time` that the system took for the process.
    pub system_time: Duration,
    /// Bytes written to the disk.
    pub written_bytes: u64,
}

impl Usage {
    pub const NONE: Self = Self { cpu_time: Duration::ZERO, system_time: Duration::ZERO, written_bytes: 0 };

    pub fn plus(self, more: Self) -> Self {
        Self {
            cpu_time: self.cpu_time + more.cpu_time,
            system_time: self.system_time + more.system_time,
            written_bytes: self.written_bytes + more.written_bytes,
        }
    }

    pub fn since(self, before: Self) -> Self {
        Self {
            cpu_time: self.cpu_time.saturating_sub(before.cpu_time),
            system_time: self.system_time.saturating_sub(before.system_time),
            written_bytes: self.written_bytes.saturating_sub(before.written_bytes),
        }
    }
}

/// Memory in kilobytes.
#[derive(Clone, Copy)]
pub struct Memory {
    /// All resident memory, with pages of mapped files.
    pub resident_kb: u64,
    /// The peak of `resident_kb` since the last [`reset_peak`].
    pub peak_kb: u64,
    /// Private memory without mapped files.
    pub private_kb: u64,
}

pub fn read_usage(pid: u32) -> Usage {
    let stat = read_proc_file(pid, "stat");
    // The program's name may contain spaces: the counted fields come after its closing bracket.
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let ticks = |at: usize| fields.get(at).and_then(|ticks| ticks.parse::<u64>().ok()).unwrap_or(0);
    let (user, system) = (ticks(11), ticks(12));
    let io = read_proc_file(pid, "io");
    let written = io.lines().find_map(|line| line.strip_prefix("write_bytes: ")?.parse().ok());
    Usage {
        cpu_time: Duration::from_millis((user + system) * 10),
        system_time: Duration::from_millis(system * 10),
        written_bytes: written.unwrap_or(0),
    }
}

pub fn read_memory(pid: u32) -> Memory {
    let status = read_proc_file(pid, "status");
    let field = |name: &str| {
        let rest = status.lines().find_map(|line| line.strip_prefix(name))?;
        rest.trim().strip_suffix(" kB")?.parse().ok()
    };
    let known = |name: &str| field(name).unwrap_or_else(|| panic!("process {pid} has no {name}: it has ended"));
    Memory { resident_kb: known("VmRSS:"), peak_kb: known("VmHWM:"), private_kb: known("RssAnon:") }
}

/// Resets the peak of memory.
pub fn reset_peak(pid: u32) {
    fs::write(format!("/proc/{pid}/clear_refs"), "5").unwrap();
}

fn read_proc_file(pid: u32, file: &str) -> String {
    fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_else(|error| panic!("process {pid}: {error}"))
}

pub fn format_megabytes(kilobytes: u64) -> String {
    format!("{:.0} MB", kilobytes as f64 * 1.024 / 1_000.0)
}
