// 其他服务器上的图片的中文。

/** @type {Record<keyof typeof import("./en-outside.js").default, string>} */
export default {
  "outside.failed": "来自 {host} 的图片没有取到。",
  "outside.failedNamed": "来自 {host} 的图片没有取到：{alt}",
  "outside.ask": "要显示“{name}”从其他服务器引用的图片吗？",
  "outside.learns": "由 Clotho 代为取来并保存。对方（{hosts}）会知道你的 Clotho 服务器的地址和取图的时间。图片地址由角色卡或模型写成，其中可能夹带这个故事里的文字。",
  "outside.show": "显示",
  "outside.never": "这个角色永不显示",
  "outside.setting": "来自其他服务器的图片",
  "outside.setting.ask": "遇到时询问",
  "outside.setting.yes": "显示",
  "outside.setting.no": "永不显示",
  "outside.settingHint": "图片由 Clotho 取来；对方会知道它的地址，以及写在图片地址里的内容。没有你的同意不会请求任何东西；选择不显示时，已取来的图片会被丢弃。",
};
