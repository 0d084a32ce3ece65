//! File names that are valid on every system and in SillyTavern.

use std::collections::{HashMap, HashSet};

use clotho_core::ids::SessionId;

/// The most characters of a new file name.
const LONGEST: usize = 80;
/// The most bytes of a new file name, because some systems count bytes.
const LONGEST_BYTES: usize = 200;
/// The most bytes of an imported file name; with an extension it stays below the usual limit of 255.
const LONGEST_KEPT: usize = 240;
/// Names reserved by Windows, with any extension.
const RESERVED: [&str; 6] = ["con", "prn", "aux", "nul", "com", "lpt"];

/// Turns a name into a valid file name without extension.
pub fn safe_file_name(name: &str) -> String {
    let is_fit = |c: &char| !c.is_control() && !r#"<>:"/\|?*"#.contains(*c);
    let mut fit: String = name.chars().filter(is_fit).take(LONGEST).collect();
    while fit.len() > LONGEST_BYTES {
        fit.pop();
    }
    let fit = fit.trim_matches(|c: char| c.is_whitespace() || c == '.');
    let first = fit.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let plain = first.trim_end_matches(|c: char| c.is_ascii_digit());
    match fit {
        "" => "untitled".to_owned(),
        _ if RESERVED.contains(&plain) => format!("_{fit}"),
        _ => fit.to_owned(),
    }
}

/// Whether an imported file name is valid on every system.
pub fn is_plain(name: &str) -> bool {
    let is_fit = |c: char| !c.is_control() && !r#"<>:"/\|?*"#.contains(c);
    (1..=LONGEST_KEPT).contains(&name.len()) && name.chars().all(is_fit) && !name.chars().all(|c| c == '.')
}

/// The names used in one folder, compared without case.
#[derive(Debug, Default)]
pub struct UniqueFileNames {
    used: HashSet<String>,
    /// Names that wait for one session.
    reserved: HashMap<String, SessionId>,
}

impl UniqueFileNames {
    /// Keeps a name for a session, unless another one was first.
    pub fn reserve(&mut self, name: &str, session: SessionId) {
        self.reserved.entry(name.to_lowercase()).or_insert(session);
    }

    /// Takes this name; returns `false` if it is used or reserved already.
    pub fn take(&mut self, name: &str) -> bool {
        let name = name.to_lowercase();
        !self.reserved.contains_key(&name) && self.used.insert(name)
    }

    /// Returns the name under which a file of a session was imported, with a number if another file has it.
    pub fn imported(&mut self, name: &str, session: SessionId) -> String {
        let key = name.to_lowercase();
        let is_own = self.reserved.get(&key).is_none_or(|of| *of == session);
        if is_own && self.used.insert(key) { name.to_owned() } else { self.unique(name) }
    }

    /// Returns the wanted name, with a number if it is used already.
    pub fn unique(&mut self, wanted: &str) -> String {
        let wanted = safe_file_name(wanted);
        if self.take(&wanted) {
            return wanted;
        }
        let mut numbered = (2_u64..).map(|n| format!("{wanted} {n}"));
        numbered.find(|name| self.take(name)).unwrap_or(wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_special_characters_are_replaced() {
        let check = |name: &str, expected: &str| assert_eq!(safe_file_name(name), expected, "{name}");
        check("Night #1 - 灯", "Night #1 - 灯");
        check("../a\\b:c*\n", "abc");
        check(" . ", "untitled");
        check("CON", "_CON");
        check("lpt1.x", "_lpt1.x");
        check("Conrad", "Conrad");
        assert_eq!(safe_file_name(&"灯".repeat(300)).chars().count(), 66);
        for (name, expected) in
            [("Night - Branch #1", true), ("..", false), ("a/b", false), ("", false), ("a\\b", false)]
        {
            assert_eq!(is_plain(name), expected, "{name}");
        }
        let mut names = UniqueFileNames::default();
        assert_eq!(["a", "A", "a", "b/", "b"].map(|name| names.unique(name)), ["a", "A 2", "a 3", "b", "b 2"]);
    }

    #[test]
    fn file_names_reserved_ones_are_given_to_their_session_only() {
        let [first, second] = [1, 2].map(|n| SessionId::new(uuid::Uuid::from_u128(n)));
        let mut names = UniqueFileNames::default();
        names.reserve("Night", first);
        names.reserve("night", second);
        assert_eq!(names.unique("NIGHT"), "NIGHT 2");
        assert_eq!(names.imported("night", second), "night 3");
        assert_eq!(names.imported("Night", first), "Night");
        assert_eq!(names.imported("Night", first), "Night 4", "two branches of one file");
        assert_eq!(names.imported("CON.x", first), "CON.x", "it keeps its name");
        assert!(!names.take("Night"));
    }
}
