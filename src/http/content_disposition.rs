//! The names of downloads.

use std::fmt::Write as _;

/// Returns the `Content-Disposition` of a download with the name twice: in ASCII for old clients, and in full (RFC 6266).
/// Titles are names too, so what means something in a path becomes `_`.
pub fn attachment(name: &str) -> String {
    let name = file_name(name);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let ascii: String = name.chars().map(|c| if is_plain(c) || c == ' ' { c } else { '_' }).collect();
    let mut whole = String::new();
    for byte in name.bytes() {
        if is_plain(char::from(byte)) {
            whole.push(char::from(byte));
        } else {
            let _ = write!(whole, "%{byte:02X}");
        }
    }
    format!("attachment; filename=\"{ascii}\"; filename*=UTF-8''{whole}")
}

/// Replaces what no file name may have on some system: separators, reserved and control characters, and dots at the
/// start.
fn file_name(name: &str) -> String {
    let is_reserved = |c: char| c.is_control() || matches!(c, '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|');
    let dots = name.len() - name.trim_start_matches('.').len();
    let rest = name.get(dots..).unwrap_or_default().chars();
    let rest: String = rest.map(|c| if is_reserved(c) { '_' } else { c }).collect();
    "_".repeat(dots) + &rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn download_disposition_has_safe_ascii_and_utf8_names() {
        for (name, expected) in [
            ("a-1.txt", "attachment; filename=\"a-1.txt\"; filename*=UTF-8''a-1.txt"),
            (
                "狐 \"Kit\"\r\n.clotho",
                "attachment; filename=\"_ _Kit___.clotho\"; filename*=UTF-8''%E7%8B%90%20_Kit___.clotho",
            ),
            ("../..\\x.clotho", "attachment; filename=\"___.._x.clotho\"; filename*=UTF-8''___.._x.clotho"),
            (".profile", "attachment; filename=\"_profile\"; filename*=UTF-8''_profile"),
        ] {
            assert_eq!(attachment(name), expected, "{name}");
        }
    }
}
