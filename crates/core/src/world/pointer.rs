//! JSON Pointers (RFC 6901) into a world.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// The maximum number of keys in a pointer; a world is never deeper.
pub const MAX_DEPTH: usize = 32;

/// The error for a text that is not a JSON Pointer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MalformedPointer {
    /// A non-empty pointer must begin with a slash.
    #[error("a path begins with \"/\"")]
    NoSlash,
    /// `~` must be followed by `0` or `1`.
    #[error("\"~\" in a path is written \"~0\", \"/\" inside a key \"~1\"")]
    BadEscape,
    /// It has more than [`MAX_DEPTH`] keys.
    #[error("a path has at most {MAX_DEPTH} parts")]
    TooDeep,
}

/// A place in a JSON document: the keys or list positions that lead to it. Empty: the whole document.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pointer(Vec<String>);

impl Pointer {
    /// Creates a pointer from unescaped keys.
    pub fn from_keys<K: Into<String>>(keys: impl IntoIterator<Item = K>) -> Self {
        Self(keys.into_iter().map(Into::into).collect())
    }

    /// Returns the unescaped keys.
    pub fn keys(&self) -> &[String] {
        &self.0
    }

    /// Returns whether it names the whole document.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the place of `key` inside this one.
    pub fn child(&self, key: impl Into<String>) -> Self {
        let mut keys = self.0.clone();
        keys.push(key.into());
        Self(keys)
    }

    /// Returns the containing place and the last key; `None` at the root.
    pub fn split_last(&self) -> Option<(Self, &str)> {
        self.0.split_last().map(|(last, rest)| (Self(rest.to_vec()), last.as_str()))
    }

    /// Returns the keys that lead from `ancestor` to this place; `None` if it is not at or below `ancestor`.
    pub fn below<'a>(&'a self, ancestor: &Self) -> Option<&'a [String]> {
        self.0.strip_prefix(ancestor.0.as_slice())
    }

    /// Returns whether one place equals or contains the other.
    pub fn touches(&self, other: &Self) -> bool {
        self.below(other).is_some() || other.below(self).is_some()
    }

    /// Returns the value at the place; `None` if there is none, and for the root pointer.
    pub fn find<'a>(&self, document: &'a Map<String, Value>) -> Option<&'a Value> {
        let (first, rest) = self.0.split_first()?;
        rest.iter().try_fold(document.get(first)?, |value, key| step(value, key))
    }
}

/// Goes one step down, by an object key or list position.
pub fn step<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    match value {
        Value::Object(map) => map.get(key),
        Value::Array(list) => list.get(index(key)?),
        _ => None,
    }
}

/// As [`step`], for mutation.
pub fn step_mut<'a>(value: &'a mut Value, key: &str) -> Option<&'a mut Value> {
    match value {
        Value::Object(map) => map.get_mut(key),
        Value::Array(list) => list.get_mut(index(key)?),
        _ => None,
    }
}

/// Parses a list position: digits without a leading zero.
pub fn index(key: &str) -> Option<usize> {
    let canonical = key == "0" || (!key.starts_with('0') && !key.is_empty());
    (canonical && key.bytes().all(|b| b.is_ascii_digit())).then(|| key.parse().ok()).flatten()
}

/// Pointers compare and sort like their keys, so that maps keyed by pointers can be searched by a slice of keys.
impl Borrow<[String]> for Pointer {
    fn borrow(&self) -> &[String] {
        &self.0
    }
}

impl Serialize for Pointer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|key| write!(f, "/{}", key.replace('~', "~0").replace('/', "~1")))
    }
}

impl FromStr for Pointer {
    type Err = MalformedPointer;

    fn from_str(text: &str) -> Result<Self, MalformedPointer> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let rest = text.strip_prefix('/').ok_or(MalformedPointer::NoSlash)?;
        let keys: Vec<String> = rest.split('/').map(unescape).collect::<Result<_, _>>()?;
        if keys.len() > MAX_DEPTH { Err(MalformedPointer::TooDeep) } else { Ok(Self(keys)) }
    }
}

fn unescape(token: &str) -> Result<String, MalformedPointer> {
    let mut out = String::with_capacity(token.len());
    let mut chars = token.chars();
    while let Some(c) = chars.next() {
        match (c, if c == '~' { chars.next() } else { None }) {
            ('~', Some('0')) => out.push('~'),
            ('~', Some('1')) => out.push('/'),
            ('~', _) => return Err(MalformedPointer::BadEscape),
            (other, _) => out.push(other),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn pointer_parse_and_display_round_trip() {
        for text in ["", "/", "/hp", "/a/b", "/rusty key", "/a~1b/c~0d", "/包/0"] {
            assert_eq!(text.parse::<Pointer>().unwrap().to_string(), text);
        }
        assert_eq!("hp".parse::<Pointer>(), Err(MalformedPointer::NoSlash));
        assert_eq!("/a~2".parse::<Pointer>(), Err(MalformedPointer::BadEscape));
        assert_eq!("/a~".parse::<Pointer>(), Err(MalformedPointer::BadEscape));
        assert_eq!("/a".repeat(MAX_DEPTH + 1).parse::<Pointer>(), Err(MalformedPointer::TooDeep));
    }

    #[test]
    fn pointer_find_traverses_objects_and_lists() {
        let document = json!({"a": {"b": [1, {"c": null}]}}).as_object().cloned().unwrap();
        let find = |text: &str| text.parse::<Pointer>().unwrap().find(&document).cloned();
        assert_eq!(find("/a/b/0"), Some(json!(1)));
        assert_eq!(find("/a/b/1/c"), Some(Value::Null));
        for missing in ["/a/b/01", "/a/b/2", "/a/b/-", "/x", "/a/b/0/c", ""] {
            assert_eq!(find(missing), None, "{missing}");
        }
    }

    #[test]
    fn pointer_touches_detects_overlap() {
        let p = |text: &str| text.parse::<Pointer>().unwrap();
        assert!(p("/a").touches(&p("/a/b")) && p("/a/b").touches(&p("/a")) && p("").touches(&p("/x")));
        assert!(!p("/a/b").touches(&p("/a/c")) && !p("/ab").touches(&p("/a")));
    }
}
