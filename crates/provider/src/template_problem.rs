//! Why a chat template cannot be used. To add a problem, add a variant with its code and arguments, and texts for the code
//! in both languages of the page. A test compares them.

use serde_json::{Map, Value};

/// Why a chat template cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateProblem {
    /// No template is built in under this name.
    #[error("there is no template of this name")]
    UnknownName {
        /// The name.
        name: String,
    },
    /// The template of the server is invalid.
    #[error("the server's template: {error}")]
    InvalidServerTemplate {
        /// What is wrong.
        error: String,
    },
    /// A template file cannot be read or is invalid.
    #[error("{file:?} cannot be used as a template: {error}")]
    UnusableFile {
        /// The path.
        file: String,
        /// What is wrong.
        error: String,
    },
    /// A template fails on these messages.
    #[error("{name}: {error}")]
    Failed {
        /// The name of the template.
        name: String,
        /// What is wrong.
        error: String,
    },
}

impl TemplateProblem {
    /// Every code, with the names of its arguments.
    pub const CODES: &'static [(&'static str, &'static [&'static str])] = &[
        ("template_unknown", &["name"]),
        ("template_of_server", &["error"]),
        ("template_file", &["file", "error"]),
        ("template_failed", &["name", "error"]),
    ];

    /// Returns the stable code.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::UnknownName { .. } => "template_unknown",
            Self::InvalidServerTemplate { .. } => "template_of_server",
            Self::UnusableFile { .. } => "template_file",
            Self::Failed { .. } => "template_failed",
        }
    }

    /// Returns the arguments of the code by name.
    pub fn args(&self) -> Map<String, Value> {
        let pairs = match self {
            Self::UnknownName { name } => vec![("name", name)],
            Self::InvalidServerTemplate { error } => vec![("error", error)],
            Self::UnusableFile { file, error } => vec![("file", file), ("error", error)],
            Self::Failed { name, error } => vec![("name", name), ("error", error)],
        };
        pairs.into_iter().map(|(key, text)| (key.to_owned(), text.as_str().into())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn template_problem_codes_have_their_arguments() {
        let text = || "x".to_owned();
        let all = [
            TemplateProblem::UnknownName { name: text() },
            TemplateProblem::InvalidServerTemplate { error: text() },
            TemplateProblem::UnusableFile { file: text(), error: text() },
            TemplateProblem::Failed { name: text(), error: text() },
        ];
        for (problem, (code, names)) in all.iter().zip(TemplateProblem::CODES) {
            assert_eq!(problem.code(), *code);
            assert_eq!(problem.args().keys().collect::<Vec<_>>(), *names);
        }
        assert_eq!(all.len(), TemplateProblem::CODES.len());
    }
}
