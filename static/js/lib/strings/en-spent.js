// The words of what a story took, loaded with it.
export default {
  "spent.replies": "Replies",
  "spent.summaries": "Summaries",
  "spent.prompt": "Tokens read",
  "spent.cached": "Of these read before",
  "spent.completion": "Tokens written",
  "spent.time": "Time",
  "spent.seconds": "{n} s",
  "spent.cost": "Cost",
  "spent.saved": "Saved by what was read before",
  "spent.noPrice": "no reply has a price",
  "spent.without": "without {n} reply that has no price|without {n} replies that have no price",
  "spent.beyond": "without {n} reply whose price is too big to be added|without {n} replies whose prices are too big to be added",
  "spent.text": "All replies of this story, also those in the stash and those taken back.",
};
