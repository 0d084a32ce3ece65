// 故事用量的中文。

export default {
  "spent.replies": "回复",
  "spent.summaries": "总结",
  "spent.prompt": "提示词 Token",
  "spent.cached": "缓存命中",
  "spent.completion": "回复 Token",
  "spent.time": "用时",
  "spent.seconds": "{n} 秒",
  "spent.cost": "费用",
  "spent.saved": "缓存省下的费用",
  "spent.noPrice": "没有价格",
  "spent.without": "不含 {n} 条没有价格的回复",
  "spent.beyond": "不含 {n} 条价格过大的回复",
  "spent.text": "这个故事的所有回复，包括暂存区里的和已撤销的。",
} satisfies Record<keyof typeof import("./en-usage.ts").default, string>;
