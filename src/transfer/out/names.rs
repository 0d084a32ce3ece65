//! Names of files that every system and the other program take.

/// So many characters of a name stand in that of a file.
const LONGEST: usize = 80;
/// So many bytes, which some systems count.
const LONGEST_BYTES: usize = 200;
/// Names that one system keeps for itself, whatever follows the first dot.
const RESERVED: [&str; 6] = ["con", "prn", "aux", "nul", "com", "lpt"];

/// What of a name can be that of a file, without ending.
pub fn safe(name: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_everywhere() {
        let check = |name: &str, expected: &str| assert_eq!(safe(name), expected, "{name}");
        check("Night #1 - 灯", "Night #1 - 灯");
        check("../a\\b:c*\n", "abc");
        check(" . ", "untitled");
        check("CON", "_CON");
        check("lpt1.x", "_lpt1.x");
        check("Conrad", "Conrad");
        assert_eq!(safe(&"灯".repeat(300)).chars().count(), 66);
    }
}
