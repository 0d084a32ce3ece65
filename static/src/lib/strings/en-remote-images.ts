// English texts for pictures of other servers.

export default {
  "outside.failed": "The image from {host} could not be loaded.",
  "outside.failedNamed": "The image from {host} could not be loaded: {alt}",
  "outside.ask": "Show images from other servers for {name}?",
  "outside.learns":
    "Clotho downloads the images. The other servers ({hosts}) see the address of your server and the time. The " +
    "image address can contain words of this story.",
  "outside.show": "Show images",
  "outside.never": "Never for this character",
  "outside.setting": "Images from other servers",
  "outside.setting.ask": "Ask",
  "outside.setting.yes": "Show",
  "outside.setting.no": "Never show",
  "outside.settingHint":
    "Clotho downloads the images. The other servers see its address and the image address. “Never show” deletes " +
    "downloaded images.",
};
