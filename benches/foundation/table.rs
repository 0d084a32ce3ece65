//! Rows of a table, and the resources of this process as the operating system reports them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

pub fn print_header(title: &str, columns: &[&str]) {
    println!("\n## {title}\n\n| {} |\n|{}", columns.join(" | "), " --- |".repeat(columns.len()));
}

pub fn print_row(cells: &[String]) {
    println!("| {} |", cells.join(" | "));
}

pub fn format_micros(time: Duration) -> String {
    format!("{:.0} us", time.as_secs_f64() * 1e6)
}

pub fn median(times: &mut [Duration]) -> Duration {
    quantile(times, 50)
}

pub fn quantile(times: &mut [Duration], percent: usize) -> Duration {
    times.sort_unstable();
    times[(times.len() - 1) * percent / 100]
}

pub fn format_ratio(a: Duration, b: Duration) -> String {
    format!("{:.2}", a.as_secs_f64() / b.as_secs_f64())
}

pub fn measure_time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// Returns the bytes that this process has written to the disk, and its CPU time.
pub fn process_usage() -> (u64, Duration) {
    let io = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let written = io.lines().find_map(|line| line.strip_prefix("write_bytes: ")).and_then(|n| n.parse().ok());
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let ticks: u64 = [11, 12].iter().filter_map(|i| fields.get(*i)?.parse::<u64>().ok()).sum();
    (written.unwrap_or(0), Duration::from_millis(ticks * 10))
}

/// Returns the CPU time of this process without its players: unnamed threads have the name of the process.
pub fn server_cpu() -> Duration {
    let own = std::fs::read_to_string("/proc/self/comm").unwrap_or_default();
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let nanos = tasks.filter_map(|task| {
        let read = |file: &str| std::fs::read_to_string(task.path().join(file)).ok();
        if read("comm")? == own {
            return None;
        }
        read("schedstat")?.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanos.sum())
}

pub fn format_kilobytes(total: u64, count: usize) -> String {
    format!("{:.1} kB", total as f64 / 1_000.0 / count as f64)
}

/// The peak of the program's private memory, sampled. Pages of mapped files, which the system can reclaim, do not
/// count.
pub struct MemoryPeak {
    /// In kilobytes.
    start_kb: u64,
    peak_kb: AtomicU64,
}

impl MemoryPeak {
    pub fn start() -> Self {
        Self { start_kb: anonymous_memory_kb(), peak_kb: AtomicU64::new(0) }
    }

    pub fn sample(&self) {
        self.peak_kb.fetch_max(anonymous_memory_kb(), Ordering::Relaxed);
    }

    pub fn format_growth(&self) -> String {
        self.sample();
        format!("{} MB", self.peak_kb.load(Ordering::Relaxed).saturating_sub(self.start_kb) / 1_000)
    }
}

/// Returns the private memory in kilobytes.
fn anonymous_memory_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let own = status.lines().find_map(|line| line.strip_prefix("RssAnon:")?.trim().strip_suffix(" kB")?.parse().ok());
    own.unwrap_or(0)
}
