//! The limits of one script call (`docs/modders.md`). Rhai's own limits bound neither time nor memory, so all are
//! listed here. [`LimitMonitor`] checks the three that change while a script runs: operations, time and memory.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::heap;

/// The limits of one call. The defaults are the server's; a manifest may lower the first three.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptLimits {
    /// Steps of the interpreter.
    pub operations: u64,
    /// CPU time of the script's thread; waiting in the queue does not count.
    pub deadline: Duration,
    /// Bytes of memory that a call may hold at once.
    pub heap: u64,
    /// Bytes of one text, and of all texts in one container.
    pub string: usize,
    /// Elements of one list, including nested ones.
    pub array: usize,
    /// Entries of one map, including nested ones.
    pub map: usize,
    /// Depth of nested function calls.
    pub call_levels: usize,
    /// Nesting of expressions at the top level of a file.
    pub expr_depth: usize,
    /// Nesting of expressions inside a function.
    pub function_expr_depth: usize,
    /// Variables in scope at once.
    pub variables: usize,
    /// Functions of one file.
    pub functions: usize,
    /// Modules imported by one call.
    pub modules: usize,
    /// Bytes of one script file.
    pub file: usize,
    /// Bytes of all script files of one plugin.
    pub sources: usize,
    /// Bytes of one compiled regular expression.
    pub regex: usize,
    /// Bytes of text that a regular expression or a parser may search.
    pub text: usize,
    /// Matches of one `find_all`, commands of one `mvu_commands`.
    pub matches: usize,
    /// Compiled regular expressions kept for one plugin.
    pub regex_cache: usize,
    /// Regular expressions that one call may compile in addition to the script's literals.
    pub regex_fresh: usize,
    /// Nesting depth of a value that a script hands out.
    pub depth: usize,
    /// Operations that one call may propose.
    pub proposals: usize,
    /// Bytes of JSON that a script may hand out in one call.
    pub result: usize,
    /// Dice rolls of one call.
    pub rolls: usize,
    /// Model calls that one hook call may request.
    pub asks: usize,
    /// Notes of one call.
    pub notes: usize,
    /// Warnings of one call.
    pub warnings: usize,
    /// Bytes of `print` and `debug` output of one call.
    pub log: usize,
}

/// Factor on the deadline in debug builds: the host's own code is not optimised there, but the deadline is meant for
/// scripts.
const DEBUG_FACTOR: u32 = if cfg!(debug_assertions) { 10 } else { 1 };

impl Default for ScriptLimits {
    fn default() -> Self {
        Self {
            operations: 200_000,
            deadline: Duration::from_millis(50) * DEBUG_FACTOR,
            heap: 16 << 20,
            string: 64 << 10,
            array: 2_000,
            map: 2_000,
            call_levels: 32,
            expr_depth: 64,
            function_expr_depth: 32,
            variables: 128,
            functions: 256,
            modules: 16,
            file: 128 << 10,
            sources: 512 << 10,
            regex: 256 << 10,
            text: 256 << 10,
            matches: 500,
            regex_cache: 64,
            regex_fresh: 16,
            depth: 32,
            proposals: 256,
            result: 64 << 10,
            rolls: 256,
            asks: 2,
            notes: 20,
            warnings: 50,
            log: 8 << 10,
        }
    }
}

impl ScriptLimits {
    /// Returns the limits of `clotho plugin test`, with a longer deadline for slow machines.
    pub fn relaxed() -> Self {
        Self { deadline: Duration::from_millis(500) * DEBUG_FACTOR, ..Self::default() }
    }
}

/// The limit that ended a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptLimit {
    /// [`ScriptLimits::operations`].
    Operations,
    /// [`ScriptLimits::deadline`].
    Deadline,
    /// [`ScriptLimits::heap`].
    Heap,
    /// A text, list or map is too large.
    Size,
    /// [`ScriptLimits::call_levels`].
    CallLevels,
    /// [`ScriptLimits::variables`].
    Variables,
    /// [`ScriptLimits::modules`].
    Modules,
    /// A regular expression is too large, or there are too many.
    Regex,
    /// What the script hands out is too deep or too large, or there are too many operations.
    Result,
    /// Too many notes, warnings, rolls or log lines.
    Chatter,
}

/// Why the host stopped a script. The script cannot catch it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScriptStop {
    Limit(ScriptLimit),
    /// `ctx.fail`: the script ended itself.
    Refused,
}

/// Monitors operations, time and memory of one running script.
#[derive(Debug)]
pub(super) struct LimitMonitor {
    max_operations: u64,
    deadline: Duration,
    max_heap: i64,
    started: Instant,
    cpu_at_start: Option<Duration>,
    heap_at_start: i64,
    operations: AtomicU64,
    /// Nanoseconds of work done for the plugin as a whole and not for this call.
    uncounted_nanos: AtomicU64,
    exceeded: OnceLock<ScriptLimit>,
}

/// Operations between two checks of the clock (a power of two).
const CHECK_INTERVAL: u64 = 16;

impl LimitMonitor {
    /// Starts monitoring on the current thread.
    pub(super) fn start(limits: &ScriptLimits) -> Self {
        heap::reset_peak();
        Self {
            max_operations: limits.operations,
            deadline: limits.deadline,
            max_heap: i64::try_from(limits.heap).unwrap_or(i64::MAX),
            started: Instant::now(),
            cpu_at_start: thread_cpu_time(),
            heap_at_start: heap::live_bytes(),
            operations: AtomicU64::new(0),
            uncounted_nanos: AtomicU64::new(0),
            exceeded: OnceLock::new(),
        }
    }

    /// Checks the limits. Rhai calls this at each operation with the number of operations so far.
    pub(super) fn progress(&self, operations: u64) -> Option<ScriptStop> {
        self.operations.store(operations, Ordering::Relaxed);
        let used = heap::live_bytes().wrapping_sub(self.heap_at_start);
        let limit = if operations > self.max_operations {
            ScriptLimit::Operations
        } else if used > self.max_heap {
            ScriptLimit::Heap
        } else if operations.is_multiple_of(CHECK_INTERVAL) && self.is_past_deadline() {
            ScriptLimit::Deadline
        } else {
            return None;
        };
        Some(ScriptStop::Limit(*self.exceeded.get_or_init(|| limit)))
    }

    /// Returns the limit that was reached, even if a native library function (sorting, for example) swallowed the
    /// error.
    pub(super) fn exceeded_limit(&self) -> Option<ScriptLimit> {
        self.exceeded.get().copied()
    }

    /// Returns whether the deadline has passed. Wall time is checked first because it is cheap. Only when it has run
    /// out does the thread's CPU time decide, so that a busy machine does not end correct scripts.
    pub(super) fn is_past_deadline(&self) -> bool {
        let allowed = self.deadline + Duration::from_nanos(self.uncounted_nanos.load(Ordering::Relaxed));
        self.started.elapsed() > allowed && self.elapsed() > allowed
    }

    /// Runs work whose time and memory do not count for the call.
    pub(super) fn uncounted<R>(&self, work: impl FnOnce() -> R) -> R {
        let before = self.elapsed();
        let done = heap::uncounted(work);
        let spent = self.elapsed().saturating_sub(before);
        self.uncounted_nanos.fetch_add(u64::try_from(spent.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
        done
    }

    /// Returns the CPU time since the start, or wall time if CPU time is not available.
    fn elapsed(&self) -> Duration {
        match (self.cpu_at_start, thread_cpu_time()) {
            (Some(start), Some(now)) => now.saturating_sub(start),
            _ => self.started.elapsed(),
        }
    }

    pub(super) fn operations(&self) -> u64 {
        self.operations.load(Ordering::Relaxed)
    }

    /// Returns the counted CPU time in microseconds since the start.
    pub(super) fn micros(&self) -> u64 {
        let aside = Duration::from_nanos(self.uncounted_nanos.load(Ordering::Relaxed));
        u64::try_from(self.elapsed().saturating_sub(aside).as_micros()).unwrap_or(u64::MAX)
    }

    /// Returns the peak memory in bytes since the start.
    pub(super) fn heap_peak(&self) -> u64 {
        u64::try_from(heap::peak_bytes().wrapping_sub(self.heap_at_start)).unwrap_or(0)
    }
}

/// Returns the CPU time of the calling thread, if the system provides it.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "macos"))]
fn thread_cpu_time() -> Option<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Some(Duration::new(u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?))
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "macos")))]
fn thread_cpu_time() -> Option<Duration> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_monitor_operations_time_and_memory_are_detected() {
        let watch = |limits: ScriptLimits| LimitMonitor::start(&limits);
        let calm = watch(ScriptLimits::default());
        assert_eq!(calm.progress(16), None);
        assert_eq!(calm.progress(200_001), Some(ScriptStop::Limit(ScriptLimit::Operations)));
        let small = watch(ScriptLimits { heap: 1 << 10, ..ScriptLimits::default() });
        let used = vec![0_u8; 1 << 16];
        assert_eq!(small.progress(1), Some(ScriptStop::Limit(ScriptLimit::Heap)));
        assert!(small.heap_peak() >= 1 << 16);
        drop(used);
        let hurried = watch(ScriptLimits { deadline: Duration::ZERO, ..ScriptLimits::default() });
        let mut spun = 0_u64;
        while hurried.progress(16).is_none() {
            spun += 1;
        }
        assert!(spun < u64::MAX);
    }

    #[test]
    fn limit_monitor_uncounted_work_is_free() {
        let watch = LimitMonitor::start(&ScriptLimits {
            deadline: Duration::from_millis(5),
            heap: 1 << 10,
            ..ScriptLimits::default()
        });
        let end = Instant::now() + Duration::from_millis(50);
        let kept = watch.uncounted(|| {
            while Instant::now() < end {
                std::hint::spin_loop();
            }
            vec![0_u8; 1 << 20]
        });
        assert_eq!(watch.progress(16), None, "{} bytes aside", kept.len());
        assert!(watch.micros() < 50_000);
        while watch.progress(16).is_none() {}
        assert_eq!(watch.exceeded_limit(), Some(ScriptLimit::Deadline));
    }

    #[test]
    fn limit_monitor_waiting_does_not_count_as_cpu_time() {
        let watch =
            LimitMonitor::start(&ScriptLimits { deadline: Duration::from_millis(5), ..ScriptLimits::default() });
        std::thread::sleep(Duration::from_millis(30));
        if thread_cpu_time().is_some() {
            assert_eq!(watch.progress(16), None, "a thread that had no CPU has used none");
        }
    }
}
