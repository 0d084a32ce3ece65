// 变量变化记录的中文。

export default {
  "history.title": "“{name}”的变化记录",
  "history.computed": "它由别的变量计算而来。",
  "history.none": "这条分支上没有改动过它。",
  "history.noneYet": "最近的消息没有改动过它。",
  "history.more": "加载更早的消息",
  "history.unknown": "原因没有记录：故事的插件变了，或数值来自文件。",
  "history.gone": "一条已删除的消息",
  "history.root": "故事的开头",
  "history.beside": "两条消息之间",
  "history.nothing": "无",
  "history.you": "你，手动",
} satisfies Record<keyof typeof import("./en-history.ts").default, string>;
