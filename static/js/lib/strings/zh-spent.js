// 故事花了多少的中文。

/** @type {Record<keyof typeof import("./en-spent.js").default, string>} */
export default {
  "spent.replies": "回复",
  "spent.summaries": "总结",
  "spent.prompt": "读入的词元",
  "spent.cached": "其中先前读过的",
  "spent.completion": "写出的词元",
  "spent.time": "用时",
  "spent.seconds": "{n} 秒",
  "spent.cost": "费用",
  "spent.saved": "因先前读过而省下",
  "spent.noPrice": "没有一条回复标了价",
  "spent.without": "不含 {n} 条没有标价的回复",
  "spent.beyond": "不含 {n} 条价格大到无法相加的回复",
  "spent.text": "这个故事的所有回复，也包括暂存区里的和撤销的。",
};
