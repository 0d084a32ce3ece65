// 其他服务器上的图片的中文。

export default {
  "outside.failed": "无法加载来自 {host} 的图片。",
  "outside.failedNamed": "无法加载来自 {host} 的图片：{alt}",
  "outside.ask": "要显示“{name}”中来自其他服务器的图片吗？",
  "outside.learns":
    "由 Clotho 下载图片。对方服务器（{hosts}）会看到你的服务器的地址和时间。图片地址里可能夹带这个故事里的文字。",
  "outside.show": "显示图片",
  "outside.never": "这个角色永不显示",
  "outside.setting": "来自其他服务器的图片",
  "outside.setting.ask": "询问",
  "outside.setting.yes": "显示",
  "outside.setting.no": "永不显示",
  "outside.settingHint": "由 Clotho 下载图片。对方会看到它的地址和图片地址。选择“永不显示”会删除已下载的图片。",
} satisfies Record<keyof typeof import("./en-remote-images.ts").default, string>;
