//! Names of files that every system and the other program take.

use std::collections::HashSet;

/// So many characters of a name stand in that of a file.
const LONGEST: usize = 80;
/// So many bytes, which some systems count.
const LONGEST_BYTES: usize = 200;
/// So many bytes of a name that a file once had: with its ending no system takes more.
const LONGEST_KEPT: usize = 240;
/// Names that one system keeps for itself, whatever follows the first dot.
const RESERVED: [&str; 6] = ["con", "prn", "aux", "nul", "com", "lpt"];

/// What of a name can be that of a file, without ending.
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

/// Whether a name that a file once had can be that of one again, wherever it comes from.
pub fn is_plain(name: &str) -> bool {
    let is_fit = |c: char| !c.is_control() && !r#"<>:"/\|?*"#.contains(c);
    (1..=LONGEST_KEPT).contains(&name.len()) && name.chars().all(is_fit) && !name.chars().all(|c| c == '.')
}

/// Names of one folder, each given once, also where the system does not tell large letters from small ones.
#[derive(Debug, Default)]
pub struct UniqueFileNames(HashSet<String>);

impl UniqueFileNames {
    /// Takes a name as it is, if nobody has it.
    pub fn take(&mut self, name: &str) -> bool {
        self.0.insert(name.to_lowercase())
    }

    /// A name that nobody has: the one that is wanted, or that with a number.
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
}
