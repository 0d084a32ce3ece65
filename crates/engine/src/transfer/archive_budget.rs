//! What the archives of one import may unpack to in all, however deep they lie inside each other. A small archive can
//! hold others that each unpack to much, so a bound for each of them is not enough.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The most entries of all archives of an import, whose directories are read.
const MAX_ENTRIES_IN_ALL: u64 = 400_000;

/// Why an import stops: its archives are too large together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ArchiveBudgetError {
    /// The files unpack to more bytes. The limit is in megabytes.
    #[error("its archives unpack to more than {0} MB in all, which is the limit (`limits.import_mb`)")]
    Bytes(u64),
    /// The directories list more entries.
    #[error("its archives have more than {0} entries in all, which is the limit")]
    Entries(u64),
}

/// The budget of one import. All of its archives share it.
#[derive(Debug, Clone)]
pub struct ArchiveBudget(Arc<ArchiveUsage>);

#[derive(Debug)]
struct ArchiveUsage {
    max_bytes: u64,
    max_entries: u64,
    bytes: AtomicU64,
    entries: AtomicU64,
}

impl ArchiveBudget {
    /// Creates a budget of so many unpacked bytes, and the usual number of entries.
    pub fn new(max_bytes: u64) -> Self {
        Self::with_entries(max_bytes, MAX_ENTRIES_IN_ALL)
    }

    fn with_entries(max_bytes: u64, max_entries: u64) -> Self {
        let (bytes, entries) = Default::default();
        Self(Arc::new(ArchiveUsage { max_bytes, max_entries, bytes, entries }))
    }

    /// Counts the entries of an archive whose directory is about to be read.
    ///
    /// # Errors
    /// Returns an error if the budget is exceeded.
    pub fn add_entries(&self, count: u64) -> Result<(), ArchiveBudgetError> {
        add(&self.0.entries, count);
        self.check()
    }

    fn add_bytes(&self, count: u64) -> Result<(), ArchiveBudgetError> {
        add(&self.0.bytes, count);
        self.check()
    }

    /// Checks that nothing exceeded the budget so far.
    ///
    /// # Errors
    /// Returns an error if something did.
    pub fn check(&self) -> Result<(), ArchiveBudgetError> {
        let ArchiveUsage { max_bytes, max_entries, bytes, entries } = &*self.0;
        if bytes.load(Ordering::Relaxed) > *max_bytes {
            return Err(ArchiveBudgetError::Bytes(max_bytes >> 20));
        }
        if entries.load(Ordering::Relaxed) > *max_entries {
            return Err(ArchiveBudgetError::Entries(*max_entries));
        }
        Ok(())
    }
}

/// Adds to a counter that stops at its greatest value. An archive can state any size.
fn add(counter: &AtomicU64, count: u64) {
    let add = |sum: u64| Some(sum.saturating_add(count));
    let _ = counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
}

/// The charge for one entry of an archive. It is paid once, however often the entry is read.
#[derive(Debug)]
pub struct EntryCharge {
    budget: ArchiveBudget,
    is_paid: AtomicBool,
}

impl EntryCharge {
    /// Creates the charge of an entry that is not read yet.
    pub fn new(budget: &ArchiveBudget) -> Self {
        Self { budget: budget.clone(), is_paid: AtomicBool::new(false) }
    }

    /// Pays for the unpacked bytes of the entry, which is about to be read.
    ///
    /// # Errors
    /// Returns an error if the budget is exceeded.
    pub fn pay(&self, bytes: u64) -> Result<(), ArchiveBudgetError> {
        if self.is_paid.swap(true, Ordering::Relaxed) { self.budget.check() } else { self.budget.add_bytes(bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archive_budget_entry_is_paid_once() {
        let budget = ArchiveBudget::with_entries(2 << 20, 10);
        let [one, other] = [(); 2].map(|()| EntryCharge::new(&budget));
        assert_eq!((one.pay(1 << 20), one.pay(1 << 20), other.pay(1 << 20)), (Ok(()), Ok(()), Ok(())));
        let last = EntryCharge::new(&budget).pay(1);
        assert_eq!(last, Err(ArchiveBudgetError::Bytes(2)));
        assert_eq!(one.pay(1), last, "it stays exceeded");
    }

    #[test]
    fn archive_budget_entries_of_all_archives_count() {
        let budget = ArchiveBudget::with_entries(1, 10);
        assert_eq!((budget.add_entries(6), budget.add_entries(4), budget.check()), (Ok(()), Ok(()), Ok(())));
        assert_eq!(budget.clone().add_entries(1), Err(ArchiveBudgetError::Entries(10)));
        assert_eq!(budget.add_entries(u64::MAX), Err(ArchiveBudgetError::Entries(10)), "the count stops at its end");
        assert_eq!(budget.check(), Err(ArchiveBudgetError::Entries(10)));
    }
}
