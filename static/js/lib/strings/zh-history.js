// 数值来历的中文。

/** @type {Record<keyof typeof import("./en-history.js").default, string>} */
export default {
  "history.title": "为什么“{name}”是这样？",
  "history.computed": "没有谁直接写它：它由别的数值推算而来。",
  "history.none": "这条时间线上没有什么改动过它。",
  "history.noneYet": "最近的消息都没有改动过它。",
  "history.more": "再往前看",
  "history.unknown": "没有记下是谁做的：可能是故事的规则变了，或数值是随文件来的。",
  "history.gone": "一条已不在的消息",
  "history.root": "故事开始的地方",
  "history.beside": "两条消息之间",
  "history.nothing": "无",
  "history.you": "你，手动",
};
