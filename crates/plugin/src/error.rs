//! Errors of scripts, manifests and schemas for plugin authors (`docs/modders.md`). They state the place, hook, node,
//! message, call stack and number of dropped proposals. `explain.rs` creates them from Rhai's errors.

use std::fmt;

use clotho_core::coded_message::{CodedMessage as _, MessageArgs};
use serde::{Deserialize, Serialize};

use super::limits::ScriptLimit;
use super::script_error_detail::ScriptErrorDetail;

/// The kind of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScriptErrorKind {
    /// A file could not be parsed: script, manifest or test.
    Parse,
    /// The script failed, threw, or returned a wrong type.
    Runtime,
    /// A limit ended the call; counts as a limit violation.
    Limit,
    /// The script lacks a permission.
    Permission,
    /// The plugin's schema is invalid.
    Schema,
    /// The host failed; never the fault of the plugin.
    Host,
}

impl ScriptErrorKind {
    /// Returns the kind's name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Parse => "parse",
            Self::Runtime => "runtime",
            Self::Limit => "limit",
            Self::Permission => "permission",
            Self::Schema => "schema",
            Self::Host => "host",
        }
    }
}

/// One frame of the call stack of an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptFrame {
    pub function: String,
    pub file: String,
    /// The line, counted from 1, of the next call or of the error.
    pub line: Option<u32>,
    /// The column, counted from 1.
    pub column: Option<u32>,
}

/// One line of source around an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExcerptLine {
    /// Line number, counted from 1.
    pub line: u32,
    /// The text, cut to 160 characters.
    pub text: String,
}

/// One error of a plugin. It serialises to the JSON form of `docs/modders.md`; its `Display` is the text form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptError {
    /// The plugin's id, or the folder's name if the manifest cannot be read.
    pub plugin: String,
    /// The plugin's version; empty if unknown.
    pub version: String,
    /// The file, relative to the plugin's folder.
    pub file: Option<String>,
    /// The line, counted from 1.
    pub line: Option<u32>,
    /// The column, counted from 1.
    pub column: Option<u32>,
    /// The hook that ran.
    pub hook: Option<String>,
    /// Id of the node at which it ran.
    pub node: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
    pub kind: ScriptErrorKind,
    /// The limit that was hit, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<ScriptLimit>,
    /// The stable code. Errors stored by version 0.1.0 have none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// The arguments of the code.
    #[serde(default, skip_serializing_if = "MessageArgs::is_empty")]
    pub args: MessageArgs,
    /// The fault and, if possible, how to fix it; without a final period.
    pub message: String,
    /// The call stack, innermost first.
    pub stack: Vec<ScriptFrame>,
    /// Number of operations that the call had proposed; they are not applied.
    #[serde(rename = "opsDropped")]
    pub ops_dropped: usize,
    /// The source around the error.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excerpt: Vec<ExcerptLine>,
}

impl ScriptError {
    /// Creates an error without a location.
    pub fn new(plugin: &str, version: &str, kind: ScriptErrorKind, detail: impl Into<ScriptErrorDetail>) -> Self {
        let detail = detail.into();
        Self {
            plugin: plugin.to_owned(),
            version: version.to_owned(),
            file: None,
            line: None,
            column: None,
            hook: None,
            node: None,
            turn: None,
            kind,
            limit: None,
            code: detail.code().to_owned(),
            args: detail.args(),
            message: detail.to_string(),
            stack: Vec::new(),
            ops_dropped: 0,
            excerpt: Vec::new(),
        }
    }

    /// Returns file, position and message as one line: `main.rhai:38:35: what is wrong`.
    pub fn one_line(&self) -> String {
        let Some(file) = &self.file else { return self.message.clone() };
        let places = [self.line, self.column].into_iter().flatten().map(|n| format!(":{n}"));
        format!("{file}{}: {}", places.collect::<String>(), self.message)
    }

    /// Sets the location and, if the source is given, the excerpt around it.
    #[must_use]
    pub fn with_location(mut self, file: &str, line: Option<u32>, column: Option<u32>, source: Option<&str>) -> Self {
        self.file = Some(file.to_owned());
        self.line = line;
        self.column = column;
        self.excerpt = match (source, line) {
            (Some(source), Some(line)) => excerpt(source, line),
            _ => Vec::new(),
        };
        self
    }
}

/// Returns the line and up to two lines before it.
fn excerpt(source: &str, line: u32) -> Vec<ExcerptLine> {
    let first = line.saturating_sub(2).max(1);
    let wanted = (1_u32..).zip(source.lines()).skip_while(|(n, _)| *n < first).take_while(|(n, _)| *n <= line);
    wanted.map(|(n, text)| ExcerptLine { line: n, text: text.trim_end().chars().take(160).collect() }).collect()
}

impl std::error::Error for ScriptError {}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.location_line(f)?;
        write!(f, "\n  {}", self.message)?;
        for line in &self.excerpt {
            let mark = if Some(line.line) == self.line { '>' } else { ' ' };
            write!(f, "\n  {mark} {:>3} | {}", line.line, line.text)?;
        }
        if !self.stack.is_empty() {
            let names: Vec<&str> = self.stack.iter().map(|frame| frame.function.as_str()).collect();
            write!(f, "\n  called from: {}", names.join(" < "))?;
        }
        match self.ops_dropped {
            0 => Ok(()),
            n => write!(f, "\n  ops so far: {n} (dropped)"),
        }
    }
}

impl ScriptError {
    /// Writes `combat/main.rhai:38:35  in on_reply, node 7f3a (turn 12), plugin combat 1.2.0`.
    fn location_line(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.plugin)?;
        if let Some(file) = &self.file {
            write!(f, "/{file}")?;
        }
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(column) = self.column {
            write!(f, ":{column}")?;
        }
        f.write_str("  ")?;
        if let Some(hook) = &self.hook {
            write!(f, "in {hook}, ")?;
        }
        if let Some(node) = &self.node {
            write!(f, "node {node}")?;
            self.turn.map_or(Ok(()), |turn| write!(f, " (turn {turn})"))?;
            f.write_str(", ")?;
        }
        write!(f, "plugin {} {}", self.plugin, self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_error_display_matches_documented_format() {
        let source = "// Combat\nfn on_reply(ctx) {\n    let h = 1;\n    ctx.get(\"hp\")\n}\n";
        let mut error = ScriptError::new("combat", "1.2.0", ScriptErrorKind::Runtime, "state has no \"hp\"".to_owned())
            .with_location("main.rhai", Some(4), Some(9), Some(source));
        error.hook = Some("on_reply".into());
        error.node = Some("7f3a".into());
        error.turn = Some(12);
        error.ops_dropped = 2;
        assert_eq!(
            error.to_string(),
            "combat/main.rhai:4:9  in on_reply, node 7f3a (turn 12), plugin combat 1.2.0\n  state has no \"hp\"\n\
             \x20     2 | fn on_reply(ctx) {\n      3 |     let h = 1;\n  >   4 |     ctx.get(\"hp\")\n  \
             ops so far: 2 (dropped)"
        );
        assert_eq!(error.one_line(), "main.rhai:4:9: state has no \"hp\"");
        let json = serde_json::to_value(&error).unwrap();
        assert_eq!(json["kind"], "runtime");
        assert_eq!(json["code"], "script_text");
        assert_eq!(json["args"]["text"], "state has no \"hp\"");
        assert_eq!(json["opsDropped"], 2);
        assert_eq!(serde_json::from_value::<ScriptError>(json).unwrap(), error);
    }
}
