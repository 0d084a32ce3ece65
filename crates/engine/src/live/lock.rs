//! Locks that a panic elsewhere does not spoil: what they guard is whole after each statement.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes a lock.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
