//! Permissions, as in a manifest's `[permissions] request` and in a session's grants. There are none for network,
//! files, environment or clock, because scripts never get those.

use std::fmt;
use std::str::FromStr;

use super::localized_text::LocalizedText;
use super::plan::depth_of;
use super::suggest::did_you_mean;
use clotho_core::world::Pointer;

/// One thing that a plugin may do beyond reading and writing below its own root.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Permission {
    /// `state.write:<root>`: writes at or below another place of `vars`.
    StateWrite(Pointer),
    /// `state.read:*`: reads all of `vars`.
    StateRead,
    /// `tree.summarise`: proposes summaries of earlier messages.
    TreeSummarise,
    /// `prompt.inject:<slot>`: `plan` may put texts into that slot.
    PromptInject(String),
    /// `lore.select`: `plan` may activate or exclude lorebook entries.
    LoreSelect,
    /// `input.rewrite`: `on_input` may change the user's text.
    InputRewrite,
    /// `input.stop`: `on_input` may answer itself or stop.
    InputStop,
    /// `display.rewrite`: `on_display` may change how replies are shown.
    DisplayRewrite,
    /// `tools`: offers tools to the model.
    Tools,
    /// `model.call`: requests model calls.
    ModelCall,
    /// `notes`: shows lines under a node.
    Notes,
    /// `events`: records events of the story.
    Events,
}

/// Error: the text is not a permission.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{0}\" is not a permission{hint}; there are state.write:<root>, state.read:*, tree.summarise, \
     prompt.inject:status, prompt.inject:system, prompt.inject:note, lore.select, input.rewrite, input.stop, \
     display.rewrite, tools, model.call, notes and events",
    hint = suggestion(.0)
)]
pub struct UnknownPermission(String);

/// Suggests the permission that was probably meant.
fn suggestion(word: &str) -> String {
    const KNOWN: [&str; 14] = [
        "state.write:<root>",
        "state.read:*",
        "tree.summarise",
        "prompt.inject:status",
        "prompt.inject:system",
        "prompt.inject:note",
        "lore.select",
        "input.rewrite",
        "input.stop",
        "display.rewrite",
        "model.call",
        "tools",
        "notes",
        "events",
    ];
    did_you_mean(word, KNOWN)
}

impl FromStr for Permission {
    type Err = UnknownPermission;

    fn from_str(text: &str) -> Result<Self, UnknownPermission> {
        let unknown = || UnknownPermission(text.to_owned());
        Ok(match text.split_once(':') {
            None => match text {
                "tree.summarise" => Self::TreeSummarise,
                "lore.select" => Self::LoreSelect,
                "input.rewrite" => Self::InputRewrite,
                "input.stop" => Self::InputStop,
                "display.rewrite" => Self::DisplayRewrite,
                "tools" => Self::Tools,
                "model.call" => Self::ModelCall,
                "notes" => Self::Notes,
                "events" => Self::Events,
                _ => return Err(unknown()),
            },
            Some(("state.read", "*")) => Self::StateRead,
            Some(("state.write", root)) => Self::StateWrite(root_pointer(root).ok_or_else(unknown)?),
            Some(("prompt.inject", slot)) if depth_of(slot).is_some() => Self::PromptInject(slot.to_owned()),
            Some(_) => return Err(unknown()),
        })
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::StateWrite(root) => return write!(f, "state.write:{}", root.to_string().trim_start_matches('/')),
            Self::StateRead => "state.read:*",
            Self::TreeSummarise => "tree.summarise",
            Self::PromptInject(slot) => return write!(f, "prompt.inject:{slot}"),
            Self::LoreSelect => "lore.select",
            Self::InputRewrite => "input.rewrite",
            Self::InputStop => "input.stop",
            Self::DisplayRewrite => "display.rewrite",
            Self::Tools => "tools",
            Self::ModelCall => "model.call",
            Self::Notes => "notes",
            Self::Events => "events",
        })
    }
}

impl Permission {
    /// Describes the permission for users, who see it before they enable a plugin.
    pub fn describe(&self) -> LocalizedText {
        let about = |en: &str, zh: &str, what: &str| [("en", format!("{en}{what}")), ("zh", format!("{zh}{what}"))];
        LocalizedText::in_languages(match self {
            Self::StateWrite(root) => {
                about("change values of other plugins: ", "更改其他部分的数值：", &root.to_string())
            }
            Self::PromptInject(slot) => Self::describe_slot(slot),
            Self::StateRead => about("read the values of all plugins", "读取所有插件的数值", ""),
            Self::TreeSummarise => about("propose summaries of earlier messages", "为较早的消息提出摘要", ""),
            Self::LoreSelect => about("include and exclude lorebook entries", "开启或关闭设定条目", ""),
            Self::InputRewrite => about("change your message before it is sent", "在发送前改写你写的内容", ""),
            Self::InputStop => about("answer instead of the model, or stop a message", "代替模型回答，或拦下消息", ""),
            Self::DisplayRewrite => about("change how messages are shown", "改变消息的显示方式", ""),
            Self::Tools => about("offer tools to the model", "向模型提供工具", ""),
            Self::ModelCall => about("call models for more texts", "让模型另外生成文字", ""),
            Self::Notes => about("show lines under a message", "在消息下方显示说明", ""),
            Self::Events => about("record events of the story", "记录故事中的事件", ""),
        })
    }

    /// Describes for users what a text in a slot does.
    fn describe_slot(slot: &str) -> [(&'static str, String); 2] {
        let (en, zh) = match slot {
            "system" => ("give the model instructions, at the end of the prompt", "在回复之前向模型下达指示"),
            "note" => (
                "remind the model of something, a few messages before the end of the prompt",
                "在最近几条消息之前提醒模型",
            ),
            _ => {
                ("tell the model the current state, before each of your messages", "在你的每条消息之前告诉模型当前状况")
            }
        };
        [("en", en.to_owned()), ("zh", zh.to_owned())]
    }
}

/// Parses a root of `vars`: `combat`, `a/b` or `/a/b`.
pub(super) fn root_pointer(text: &str) -> Option<Pointer> {
    let slashed = if text.starts_with('/') { text.to_owned() } else { format!("/{text}") };
    let pointer: Pointer = slashed.parse().ok()?;
    let named = pointer.keys().iter().all(|key| !key.is_empty());
    (named && !pointer.is_root()).then_some(pointer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permission_roundtrip_parses_every_name() {
        for word in [
            "state.write:quests",
            "state.write:a/b",
            "state.read:*",
            "tree.summarise",
            "prompt.inject:status",
            "lore.select",
            "input.rewrite",
            "input.stop",
            "display.rewrite",
            "tools",
            "model.call",
            "notes",
            "events",
        ] {
            let permission: Permission = word.parse().unwrap();
            assert_eq!(permission.to_string(), word);
            let words = permission.describe();
            assert!(words.get("en").is_ascii() && !words.get("zh-CN").is_ascii(), "{words:?}");
        }
        for bad in [
            "",
            "network",
            "state.write:",
            "state.write:/",
            "state.read:hp",
            "prompt.inject:",
            "prompt.inject:top",
            "notes:x",
        ] {
            assert!(bad.parse::<Permission>().is_err(), "{bad}");
        }
    }
}
