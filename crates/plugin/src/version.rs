//! Versions of plugins and of this program, and version requirements of plugins.

use std::fmt;
use std::str::FromStr;

/// A version `major.minor.patch`. Anything after a `-` or `+` is kept for display and not compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    numbers: [u32; 3],
    text: String,
}

/// Error: the text is not a version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a version: expected three numbers like \"1.2.0\"")]
pub struct MalformedVersion(String);

impl FromStr for Version {
    type Err = MalformedVersion;

    fn from_str(text: &str) -> Result<Self, MalformedVersion> {
        let malformed = || MalformedVersion(text.to_owned());
        let core = text.split(['-', '+']).next().unwrap_or_default();
        match numbers(core).as_deref() {
            Some(&[major, minor, patch]) => Ok(Self { numbers: [major, minor, patch], text: text.to_owned() }),
            _ => Err(malformed()),
        }
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.numbers.cmp(&other.numbers))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A requirement: `^1`, `^1.2`, `>=1.2`, `=1.2.3` or `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    text: String,
    from: [u32; 3],
    below: [u32; 3],
}

/// Error: the text is not a requirement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a version requirement: expected \"^1\", \">=1.2\", \"=1.2.3\" or \"*\"")]
pub struct MalformedRequirement(String);

impl Requirement {
    /// Returns whether a version meets the requirement.
    pub fn allows(&self, version: &Version) -> bool {
        self.from <= version.numbers && version.numbers < self.below
    }
}

impl FromStr for Requirement {
    type Err = MalformedRequirement;

    fn from_str(text: &str) -> Result<Self, MalformedRequirement> {
        let malformed = || MalformedRequirement(text.to_owned());
        let pad = |rest: &str| {
            let mut given = numbers(rest.trim()).ok_or_else(malformed)?;
            if given.len() > 3 {
                return Err(malformed());
            }
            given.resize(3, 0);
            <[u32; 3]>::try_from(given).map_err(|_| malformed())
        };
        let tidy = text.trim();
        let (from, below) = if tidy == "*" {
            ([0; 3], [u32::MAX; 3])
        } else if let Some(rest) = tidy.strip_prefix(">=") {
            (pad(rest)?, [u32::MAX; 3])
        } else if let Some(rest) = tidy.strip_prefix('=') {
            let [major, minor, patch] = pad(rest)?;
            ([major, minor, patch], [major, minor, patch.saturating_add(1)])
        } else if let Some(rest) = tidy.strip_prefix('^') {
            let [major, minor, patch] = pad(rest)?;
            // Before 1.0, a minor version may break compatibility.
            let below = if major == 0 { [0, minor.saturating_add(1), 0] } else { [major.saturating_add(1), 0, 0] };
            ([major, minor, patch], below)
        } else {
            return Err(malformed());
        };
        Ok(Self { text: tidy.to_owned(), from, below })
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn numbers(text: &str) -> Option<Vec<u32>> {
    text.split('.').map(|part| part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse().ok()).flatten()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_requirement_allows_matching_versions() {
        let check = |requirement: &str, version: &str, allowed: bool| {
            let requirement: Requirement = requirement.parse().unwrap();
            assert_eq!(requirement.allows(&version.parse().unwrap()), allowed, "{requirement} {version}");
        };
        check("^1", "1.9.0", true);
        check("^1", "2.0.0", false);
        check("^1.2", "1.1.9", false);
        check("^0.3", "0.3.5", true);
        check("^0.3", "0.4.0", false);
        check(">=1.2", "3.0.0", true);
        check("=1.2.3", "1.2.4", false);
        check("*", "0.0.1", true);
        for bad in ["", "1", "^", "^a", "^1.2.3.4", "~1"] {
            assert!(bad.parse::<Requirement>().is_err(), "{bad}");
        }
        for bad in ["", "1", "1.2", "1.2.x", "1.2.3.4", "1..2"] {
            assert!(bad.parse::<Version>().is_err(), "{bad}");
        }
        assert_eq!("1.2.3-beta".parse::<Version>().unwrap().to_string(), "1.2.3-beta");
    }
}
