//! How the results of macros are kept until the whole text is finished.

/// Marker for removing the line breaks around it at the end.
pub const TRIM: &str = "{{trim}}";

/// Prepares a text for a variable: applies `{{trim}}` now instead of at the end.
pub fn to_stored_text(text: &str) -> String {
    let mut parts = text.split(TRIM);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        while out.ends_with('\n') {
            out.pop();
            if out.ends_with('\r') {
                out.pop();
            }
        }
        let mut rest = part;
        while let Some(behind) = rest.strip_prefix('\n').or_else(|| rest.strip_prefix("\r\n")) {
            rest = behind;
        }
        out.push_str(rest);
    }
    out
}
