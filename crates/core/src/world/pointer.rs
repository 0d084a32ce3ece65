//! JSON Pointers (RFC 6901) into a world.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// The most tokens a pointer may have: a world is never deeper.
pub const MAX_DEPTH: usize = 32;

/// The text is not a JSON Pointer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MalformedPointer {
    /// A pointer that is not empty begins with a slash.
    #[error("a path begins with \"/\"")]
    NoSlash,
    /// `~` is followed by `0` or `1` only.
    #[error("\"~\" in a path is written \"~0\", \"/\" inside a key \"~1\"")]
    BadEscape,
    /// Deeper than [`MAX_DEPTH`].
    #[error("a path has at most {MAX_DEPTH} parts")]
    TooDeep,
}

/// A place in a JSON document: the keys (or list positions) that lead to it. Empty = the whole document.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pointer(Vec<String>);

impl Pointer {
    /// From unescaped keys.
    pub fn from_keys<K: Into<String>>(keys: impl IntoIterator<Item = K>) -> Self {
        Self(keys.into_iter().map(Into::into).collect())
    }

    /// The unescaped keys.
    pub fn keys(&self) -> &[String] {
        &self.0
    }

    /// Whether it names the whole document.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The place of `key` inside this one.
    pub fn child(&self, key: impl Into<String>) -> Self {
        let mut keys = self.0.clone();
        keys.push(key.into());
        Self(keys)
    }

    /// The containing place and the last key; `None` at the root.
    pub fn split_last(&self) -> Option<(Self, &str)> {
        self.0.split_last().map(|(last, rest)| (Self(rest.to_vec()), last.as_str()))
    }

    /// This place seen from `ancestor`: the keys below it, or `None` if it does not lie at or below it.
    pub fn below<'a>(&'a self, ancestor: &Self) -> Option<&'a [String]> {
        self.0.strip_prefix(ancestor.0.as_slice())
    }

    /// Whether one of the two places is the other or lies inside it.
    pub fn touches(&self, other: &Self) -> bool {
        self.below(other).is_some() || other.below(self).is_some()
    }

    /// The value there; `None` where there is none. The root of an object has no value of its own here.
    pub fn find<'a>(&self, document: &'a Map<String, Value>) -> Option<&'a Value> {
        let (first, rest) = self.0.split_first()?;
        rest.iter().try_fold(document.get(first)?, |value, key| step(value, key))
    }
}

/// One step down: a key of an object or a position of a list.
pub fn step<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    match value {
        Value::Object(map) => map.get(key),
        Value::Array(list) => list.get(index(key)?),
        _ => None,
    }
}

/// One step down, to change.
pub fn step_mut<'a>(value: &'a mut Value, key: &str) -> Option<&'a mut Value> {
    match value {
        Value::Object(map) => map.get_mut(key),
        Value::Array(list) => list.get_mut(index(key)?),
        _ => None,
    }
}

/// A list position: digits without a leading zero.
pub fn index(key: &str) -> Option<usize> {
    let canonical = key == "0" || (!key.starts_with('0') && !key.is_empty());
    (canonical && key.bytes().all(|b| b.is_ascii_digit())).then(|| key.parse().ok()).flatten()
}

/// Pointers are ordered and compared as their keys are, so that what is kept by them can be looked up by a part of one.
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
