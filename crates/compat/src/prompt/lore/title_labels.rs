//! Labels in entry titles, as MVU cards use them.
//!
//! `[initvar]` entries hold initial values and are never sent. `[mvu_update]` entries are for the call that writes
//! values, `[mvu_plot]` entries for the call that writes the story. A call that does both gets both.

/// What a model call writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LoreAudience {
    /// The story, with commands that change values.
    #[default]
    StoryAndValues,
    /// Only the story; another call writes the values.
    Story,
    /// Only the values.
    Values,
}

const INITVAR_LABEL: &str = "[initvar]";
const UPDATE_LABEL: &str = "[mvu_update]";
const PLOT_LABEL: &str = "[mvu_plot]";

fn has_label(title: &str, label: &str) -> bool {
    title.as_bytes().windows(label.len()).any(|part| part.eq_ignore_ascii_case(label.as_bytes()))
}

/// The labels of a title.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TitleLabels {
    initial_values: bool,
    update: bool,
    plot: bool,
}

impl TitleLabels {
    /// Reads the labels of a title.
    pub fn read(title: &str) -> Self {
        Self {
            initial_values: has_label(title, INITVAR_LABEL),
            update: has_label(title, UPDATE_LABEL),
            plot: has_label(title, PLOT_LABEL),
        }
    }

    /// Returns whether the entry holds initial values.
    pub const fn is_initial_values(self) -> bool {
        self.initial_values
    }

    /// Returns whether the entry is sent with a call.
    pub fn is_for(self, call: LoreAudience) -> bool {
        let is_for_one = self.update != self.plot;
        let is_wanted = match call {
            LoreAudience::StoryAndValues => true,
            LoreAudience::Story => self.plot,
            LoreAudience::Values => self.update,
        };
        !self.initial_values && (is_wanted || !is_for_one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plugins 3.1: two prompts, one lorebook.
    #[test]
    fn lore_title_labels_select_model_call() {
        let calls = |title: &str| {
            [LoreAudience::StoryAndValues, LoreAudience::Story, LoreAudience::Values]
                .map(|call| TitleLabels::read(title).is_for(call))
        };
        assert_eq!(calls("The harbour"), [true, true, true]);
        assert_eq!(calls("[mvu_update] rules"), [true, false, true]);
        assert_eq!(calls("The harbour [MVU_Plot]"), [true, true, false]);
        assert_eq!(calls("[mvu_update][mvu_plot] both"), [true, true, true]);
        assert_eq!(calls("变量 [InitVar] [mvu_update]"), [false, false, false]);
        assert_eq!(calls(""), [true, true, true]);
    }
}
