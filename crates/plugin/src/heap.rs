//! Counts the memory that a script allocates. Rhai has no memory limit of its own, so the allocator counts.
//!
//! A script runs on one thread from beginning to end, so a counter per thread is exact and costs one addition.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::ffi::{c_int, c_long};
use std::time::Duration;
use std::{io, thread};

use mimalloc::MiMalloc;

/// The number of mimalloc's option `purge_delay`, which its Rust crate does not name.
const PURGE_DELAY: c_int = 15;
/// How long mimalloc keeps freed memory before it returns it to the system. Its default is a second.
const PURGE_DELAY_MS: c_long = 100;

/// How often freed memory is returned while the program allocates nothing.
const PURGE_INTERVAL: Duration = Duration::from_millis(500);

thread_local! {
    static LIVE: Cell<i64> = const { Cell::new(0) };
    static PEAK: Cell<i64> = const { Cell::new(0) };
}

/// Returns the bytes that this thread has allocated and not freed. Only differences are meaningful, because another
/// thread may free them.
pub fn live_bytes() -> i64 {
    LIVE.try_with(Cell::get).unwrap_or(0)
}

/// Returns the maximum of [`live_bytes`] on this thread since [`reset_peak`], including short peaks inside one native
/// call.
pub fn peak_bytes() -> i64 {
    PEAK.try_with(Cell::get).unwrap_or(0)
}

/// Resets the peak to the current live bytes.
pub fn reset_peak() {
    let _ = PEAK.try_with(|peak| peak.set(live_bytes()));
}

/// Runs a closure without counting the memory that it allocates and keeps.
pub fn uncounted<R>(work: impl FnOnce() -> R) -> R {
    let (live, peak) = (live_bytes(), peak_bytes());
    let done = work();
    let _ = LIVE.try_with(|cell| cell.set(live));
    let _ = PEAK.try_with(|cell| cell.set(peak));
    done
}

fn add_live(change: i64) {
    // While a thread ends, its counters may be gone already; nobody reads them then.
    let _ = LIVE.try_with(|live| {
        let now = live.get().wrapping_add(change);
        live.set(now);
        PEAK.try_with(|peak| peak.set(peak.get().max(now)))
    });
}

fn signed_size(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

/// Makes the allocator return freed memory to the system soon. A server that was busy would otherwise look large long
/// after. Programs call this once when they start.
#[expect(unsafe_code, reason = "an option of a C library; there is no safe function for it")]
pub fn return_freed_memory_soon() {
    // SAFETY: the function stores a number for an option that exists. Any thread may call it at any time.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, PURGE_DELAY_MS) }
}

/// Starts a thread that returns freed memory while nothing allocates: mimalloc itself does it only when the program
/// allocates or frees again. A server that waits for a model would keep what its last reply needed. Servers call this
/// once when they start.
///
/// # Errors
/// Returns an error if the system starts no thread.
pub fn spawn_memory_purger() -> io::Result<()> {
    let purge = || loop {
        thread::sleep(PURGE_INTERVAL);
        purge_freed_memory();
    };
    thread::Builder::new().name("memory".to_owned()).spawn(purge).map(drop)
}

#[expect(unsafe_code, reason = "a function of a C library; there is no safe one for it")]
fn purge_freed_memory() {
    // SAFETY: any thread may call it at any time; it only returns pages that no allocation uses.
    unsafe { libmimalloc_sys::mi_collect(false) }
}

/// mimalloc with a count per thread. Every program that links this crate uses it. On Unix, SQLite uses mimalloc
/// without the count. glibc's allocator gives each thread an arena of its own and keeps freed memory there. That took
/// six times the memory after 1600 failed replies, and a tenth more CPU per turn.
pub struct CountingAllocator;

#[expect(unsafe_code, reason = "an allocator is an unsafe trait; every call goes unchanged to the allocator behind it")]
// SAFETY: each method passes its arguments on unchanged, under the same contract. Counting does not allocate: the
// counter is a constant-initialised thread local without a destructor.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add_live(signed_size(layout.size()));
        // SAFETY: the caller upholds the contract of `GlobalAlloc::alloc`.
        unsafe { MiMalloc.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add_live(signed_size(layout.size()));
        // SAFETY: as above.
        unsafe { MiMalloc.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        add_live(-signed_size(layout.size()));
        // SAFETY: the caller upholds the contract of `GlobalAlloc::dealloc`.
        unsafe { MiMalloc.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        add_live(signed_size(new_size) - signed_size(layout.size()));
        // SAFETY: the caller upholds the contract of `GlobalAlloc::realloc`.
        unsafe { MiMalloc.realloc(pointer, layout, new_size) }
    }
}

/// Counts every allocation per thread, because scripts have a memory budget and Rhai has no limit for it.
#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heap_counts_allocations_of_this_thread() {
        let before = live_bytes();
        let buffer = vec![7_u8; 1 << 20];
        assert!(live_bytes() - before >= 1 << 20);
        drop(buffer);
        assert!(live_bytes() - before < 1 << 10);
        assert!(peak_bytes() - before >= 1 << 20);
        reset_peak();
        assert!(peak_bytes() - before < 1 << 10);
        std::thread::spawn(|| std::mem::forget(vec![7_u8; 1 << 20])).join().unwrap();
        assert!(live_bytes() - before < 1 << 16, "another thread's memory is not ours");
        let kept = uncounted(|| vec![7_u8; 1 << 20]);
        assert!(peak_bytes() - before < 1 << 16, "{} bytes aside count for nobody", kept.len());
    }

    /// Memory is returned although nothing allocates any more. Without the thread it stays.
    #[cfg(target_os = "linux")]
    #[test]
    fn heap_freed_memory_is_returned_while_idle() {
        fn own_memory_kb() -> u64 {
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
            line.trim().trim_end_matches(" kB").parse().unwrap()
        }
        #[expect(unsafe_code, reason = "an option of a C library")]
        // SAFETY: the function reads a number.
        let default = unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) };
        assert_eq!(default, 1_000, "the number still is that of the delay");
        return_freed_memory_soon();
        // A thread that waits keeps what it freed.
        let (freed, is_freed) = std::sync::mpsc::channel();
        let (_end, wait) = std::sync::mpsc::channel::<()>();
        thread::spawn(move || {
            drop((0..64).map(|_| vec![7_u8; 512 << 10]).collect::<Vec<_>>());
            freed.send(own_memory_kb()).unwrap();
            wait.recv().unwrap_err();
        });
        let before = is_freed.recv().unwrap();
        assert!(before > 30 << 10, "{before} kB are kept at first");
        spawn_memory_purger().unwrap();
        let began = std::time::Instant::now();
        while own_memory_kb() > before / 2 {
            assert!(began.elapsed() < Duration::from_secs(20), "{} of {before} kB are kept", own_memory_kb());
            thread::sleep(Duration::from_millis(20));
        }
    }
}
