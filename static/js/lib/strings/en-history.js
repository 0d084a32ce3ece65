// English for how a value came to be.

export default {
  "history.title": "Why is “{name}” so?",
  "history.computed": "Nobody writes it: it follows from other values.",
  "history.none": "Nothing on this timeline has changed it.",
  "history.noneYet": "None of the newest messages has changed it.",
  "history.more": "Look further back",
  "history.unknown": "What did it is not recorded: the rules of the story changed, or a value came with a file.",
  "history.gone": "A message that is gone",
  "history.root": "Where the story began",
  "history.beside": "Between two messages",
  "history.nothing": "nothing",
  "history.you": "You, by hand",
};
