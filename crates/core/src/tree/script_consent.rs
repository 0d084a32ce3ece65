//! What an owner said about the regex scripts of an imported card or preset. Plain data.

/// Whether the scripts of an imported card or preset may run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ScriptConsent {
    /// Nobody has answered yet, so they do not run.
    Asked,
    /// They run. Scripts that nobody has to ask about are allowed too.
    #[default]
    Allowed,
    /// Their owner does not want them.
    Declined,
}

impl ScriptConsent {
    /// Returns the consent for an answer of the owner.
    pub const fn of_answer(is_allowed: bool) -> Self {
        if is_allowed { Self::Allowed } else { Self::Declined }
    }
}
