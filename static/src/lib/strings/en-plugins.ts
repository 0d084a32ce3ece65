// English texts for the plugins of a story.

export default {
  "command.rules": "Plugins of this story",
  "storyRules.choice.always": "always",
  "storyRules.choice.never": "never",
  "storyRules.choice.placeholder": "at its placeholder",
  "storyRules.text":
    "Plugins count values, roll dice and remember facts. Changes apply from the next message on. Older messages " +
    "keep their plugins.",
  "storyRules.none": "No plugins are installed.",
  "storyRules.noneHint": "Plugins are installed on the server.",
  "storyRules.asks": "Permissions",
  "storyRules.notAllowed": "not granted yet",
  "storyRules.without": "Without a permission, only that feature is off. The rest still works.",
  "storyRules.settings": "Settings",
  "storyRules.defaults": "Reset to defaults",
  "storyRules.range": "{min} to {max}.",
  "storyRules.list": "One per line.",
  "storyRules.missing":
    "It cannot run on this server now. Turn it off and save to remove it from the story. Its values stay.",
  "storyRules.teller": "It writes this story.",
  "storyRules.valuesBy": "Model that updates the state",
  "storyRules.valuesByTeller": "same model as the story",
  "storyRules.valuesByHint":
    "Another model reads each reply and updates the state. This costs extra tokens. If it fails, the reply stays. " +
    "It applies immediately.",
  "storyRules.kept": "Saved. The plugins apply from the next message on.",
  "storyRules.changed": "The plugins of this story were changed elsewhere.",
  "storyRules.again": "Reload",
  "storyRules.wantsMore": "Plugins need more permissions in this story: {names}.",
  "storyRules.look": "Review",
};
