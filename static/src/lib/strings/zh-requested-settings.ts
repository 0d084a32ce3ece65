// 导入的会话所请求的设置的中文。

export default {
  "requested.title": "这个文件带有设置",
  "requested.text": "这些设置可能产生费用、给插件权限或改动文字。只勾选你想要的。无论怎样选，故事本身都已导入。",
  "requested.model": "模型：{name}",
  "requested.valuesModel": "更新变量的模型：{name}",
  "requested.missing": "这台服务器没有这个模型。",
  "requested.params": "模型参数",
  "requested.preset": "预设",
  "requested.scripts": "正则脚本",
  "requested.scriptsOf": "“{name}”的正则脚本",
  "requested.scriptsHint": "它们会改动显示的文字和发给模型的文字。",
  "requested.recall": "召回消息和文档",
  "requested.recallHint": "每次发送提示词时都会用嵌入模型搜索。",
  "requested.summaries": "自动总结",
  "requested.summariesHint": "游玩时由模型撰写。",
  "requested.summariesBy": "游玩时由 {name} 撰写。",
  "requested.grants": "插件“{name}”的权限",
  "requested.noPlugin": "这台服务器没有这个插件。",
  "requested.none": "没有需要决定的设置。",
  "requested.accept": "使用勾选的设置",
  "requested.decline": "都不使用",
} satisfies Record<keyof typeof import("./en-requested-settings.ts").default, string>;
