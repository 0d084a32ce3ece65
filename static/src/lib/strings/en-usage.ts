// English texts for the usage of a story, loaded with that dialog.
export default {
  "spent.replies": "Replies",
  "spent.summaries": "Summaries",
  "spent.prompt": "Prompt tokens",
  "spent.cached": "Cached",
  "spent.completion": "Completion tokens",
  "spent.time": "Time",
  "spent.seconds": "{n} s",
  "spent.cost": "Cost",
  "spent.saved": "Saved by caching",
  "spent.noPrice": "no price is known",
  "spent.without": "without {n} reply with no price|without {n} replies with no price",
  "spent.beyond": "without {n} reply with too large a price|without {n} replies with too large a price",
  "spent.text": "All replies of this story, including stashed and undone ones.",
};
