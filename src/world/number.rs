//! Numbers of a world: exact on integers of any size, twelve significant digits otherwise (`domain.md` 3.11).
