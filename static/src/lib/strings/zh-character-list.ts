// 查找与排序角色的中文。

export default {
  "shelf.search": "查找角色",
  "shelf.order": "排序",
  "shelf.by.newest": "新的在前",
  "shelf.by.played": "最近玩过的在前",
  "shelf.by.name": "按名字",
  "shelf.tags": "标签",
  "shelf.favourites": "收藏",
  "shelf.count": "{n} 个角色",
  "shelf.none": "没有符合的角色。",
  "shelf.noneHint": "请减少词或标签。",
  "shelf.clear": "全部显示",
} satisfies Record<keyof typeof import("./en-character-list.ts").default, string>;
