//! Scripts that mean harm.
