// English texts for the history of a value.

export default {
  "history.title": "History of “{name}”",
  "history.computed": "It is computed from other variables.",
  "history.none": "Nothing on this branch has changed it.",
  "history.noneYet": "The newest messages have not changed it.",
  "history.more": "Load older messages",
  "history.unknown": "The cause is not recorded. The story’s plugins changed, or the value came from a file.",
  "history.gone": "A deleted message",
  "history.root": "Start of the story",
  "history.beside": "Between two messages",
  "history.nothing": "none",
  "history.you": "You, manually",
};
