//! How many connections the server accepts, so that files remain for everything else: the databases, the search index,
//! uploads and requests to model servers. A database without files fails, and a search index without files finds nothing.

use std::num::NonZero;
use std::thread;

/// The most connections of a worker.
const MOST: usize = 25_000;
/// Files that connections of clients never take.
const RESERVED: u64 = 256;

/// Raises the number of files that this process may open to what the system permits, and returns it; `None` if the
/// system has no such limit.
pub fn raise_file_limit() -> Option<u64> {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let limit = getrlimit(Resource::Nofile);
        let raised = Rlimit { current: limit.maximum, ..limit };
        let now = if setrlimit(Resource::Nofile, raised).is_ok() { limit.maximum } else { limit.current };
        now.or(limit.current)
    }
    #[cfg(not(unix))]
    None
}

/// Returns the most connections of one worker: each may cause a request to a model server, which takes a file too.
/// `workers` is the setting, 0 for one per core.
pub fn max_connections(file_limit: u64, workers: usize) -> usize {
    let clients = file_limit.saturating_sub(RESERVED.min(file_limit / 2)) / 2;
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let workers = if workers == 0 { cores } else { workers };
    usize::try_from(clients).unwrap_or(usize::MAX).div_euclid(workers).clamp(1, MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn max_connections_leaves_files_for_the_server() {
        assert_eq!(max_connections(1_024, 2), 192);
        assert_eq!(max_connections(200, 2), 25);
        assert_eq!(max_connections(0, 2), 1);
        for (limit, workers) in [(200, 1), (512, 3), (1_024, 16), (1_000_000, 64)] {
            let clients = u64::try_from(max_connections(limit, workers) * workers).unwrap();
            assert!(clients * 2 + RESERVED.min(limit / 2) <= limit);
        }
    }

    #[cfg(unix)]
    #[test]
    fn file_limit_is_known_on_unix() {
        assert!(raise_file_limit().is_some_and(|limit| limit > 0));
    }
}
