// English for pictures of other servers.

export default {
  "outside.failed": "The picture from {host} did not come.",
  "outside.failedNamed": "The picture from {host} did not come: {alt}",
  "outside.ask": "Show the pictures that {name} brings from other servers?",
  "outside.learns":
    "Clotho fetches and keeps them. Others ({hosts}) learn the address of your Clotho server and when it asks. The address of a picture comes from the card or the model, and can carry words of this story.",
  "outside.show": "Show them",
  "outside.never": "Never for this character",
  "outside.setting": "Pictures from other servers",
  "outside.setting.ask": "Ask when there is one",
  "outside.setting.yes": "Show them",
  "outside.setting.no": "Never show them",
  "outside.settingHint": "Clotho fetches them; the other servers learn its address, and what is written into the picture’s address. Without your yes nothing is asked for, and what was fetched is thrown away with a no.",
};
