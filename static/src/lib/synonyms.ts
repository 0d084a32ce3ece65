// Names of the page's commands in other programs (SillyTavern, LibreChat, Foundry, Git), in English and Chinese. The
// command list also finds commands by these names. It does so in every language, so each command has its own names in
// both languages here too.

/** The names of a command, by its id, separated by commas. */
export const SYNONYMS: Readonly<Record<string, string>> = {
  // A reply
  "message.reroll":
    "regenerate, reroll, retry, swipe, new swipe, roll again, try again, another reply, 重新生成, 重试, 重roll, 重骰, " +
    "刷新回复, 再来一次, 备选回复, 滑动, regenerate message",
  "message.answer": "generate a reply, respond, response, retry, 生成回复, 回应, 重试",
  "message.goOn": "continue, go on, write on, 继续, 续写, 接着写, continue message, continue generation",
  "message.otherModel": "reply from another model, regenerate with, switch model, 用其他模型回复, 换模型, 切换模型",
  "message.previous": "previous swipe, swipe left, version, alternative, 上一条备选回复, 滑动, 左滑, 上一个版本",
  "message.next": "next swipe, swipe right, version, alternative, 下一条备选回复, 滑动, 右滑, 下一个版本",
  "message.versions": "show all swipes, versions, alternatives, 显示所有备选回复, 滑动, 所有版本",
  "versions.close": "close the swipes, versions, 收起备选回复",
  "turn.stop": "stop generating, abort, cancel, 停止生成, 中止, 终止",
  "turn.draft": "impersonate, impersonation, write for me, ai 帮答, ai帮答, 代我发言, 扮演用户, 替我写, 代入",
  "turn.stopDraft": "stop impersonating, impersonation, abort, 停止 ai 帮答, 停止帮答, 停止代我发言",

  // A message
  "message.edit": "edit, change, modify, commit --amend, 编辑, 修改, 修订, edit message, 编辑消息",
  "message.copy": "copy, clipboard, 复制, 剪贴板",
  "message.link": "copy link, share, permalink, url, 复制链接, 分享, 链接",
  "message.why":
    "prompt inspector, prompt itemization, itemized prompt, raw prompt, system prompt, context, token count, " +
    "token counter, activated world info, dice, rolls, debug, why, blame, 提示词查看器, 提示词明细, 原始提示词, 系统提示词, 上下文, token " +
    "计数, 词符, 骰子, 调试, 追溯",
  "message.label":
    "bookmark, checkpoint, save point, label, tag, name, branch, 书签, 检查点, 存档点, 标签, 标记, 命名, 分支, create checkpoint, 创建检查点",
  "message.prune":
    "delete, with everything after it, delete message, remove, stash, 删除这条及其后的消息, 删除消息, 移除, 贮藏, 暂存",
  "message.purge": "delete permanently, purge, erase, destroy, 永久删除, 彻底删除, 清除",
  "message.leaveOut": "exclude from prompt, hide message, ghost, /hide, 从提示词中排除, 隐藏消息, 屏蔽",
  "message.putBack": "include in prompt, unhide, show message, /unhide, 加入提示词, 取消隐藏, 显示消息",
  "message.mute": "ignore its state changes, ignore variables, 忽略它的状态变化, 忽略变量",
  "message.unmute": "apply its state changes, apply variables, 应用它的状态变化, 应用变量",
  "message.choose": "select messages, multiple, bulk, 选择消息, 多选, 批量",
  "message.keepLore": "save as lorebook entry, lore, world info, journal entry, remember, 存入世界书, 知识书, 条目",
  "message.summarise":
    "summarise up to here, summarize, summary, condense, merge --squash, rebase -i, 总结到这里为止, 摘要, 概括, 压缩",
  "message.exportAs":
    "export up to here, export chat, export conversation, save as, download, jsonl, markdown, 导出到这里为止, 导出聊天, " +
    "导出对话, 另存为, 下载",
  "message.move": "move, with everything after it, cut, cherry-pick, rebase, 移动这条及其后的消息, 剪切, 拣选, 变基",
  "message.copyTo":
    "copy, with everything after it, duplicate, cherry-pick, rebase, fork, 复制这条及其后的消息, 拣选, 变基, 分叉",
  "message.placeHere": "place below this message, paste, 放到这条消息下面, 粘贴",
  "moving.elsewhere": "in another story, other chat, 放到另一个故事, 其他聊天",
  "moving.stash": "move to stash, 移到暂存区, 贮藏",
  "moving.cancel": "cancel move, 取消移动",
  "moving.cancelCopy": "cancel copy, 取消复制",

  // Branches
  "message.goBack":
    "rewind to here, go back, roll back, reset, checkout, switch, restore, load, 回退到这里, 回到这里, 回滚, 重置, 检出, 恢复, 读档",
  "message.follow": "go to the end of this branch, follow this branch, 跳到这条分支的末尾, 跟随这条分支",
  "message.setCurrent": "make this the current branch, checkout, switch, head, 设为当前分支, 检出, 切换分支",
  "message.makeCurrent":
    "switch to this branch, make this the current branch, checkout, head, 切换到这条分支, 设为当前分支, 检出, 切换分支",
  "message.branchHere": "branch from here, create branch, fork, checkout -b, 从这里新建分支, 创建分支, 分叉",
  "message.compare": "compare, diff, difference, 比较, 对比, 差异, diff branches",
  "message.compareHere": "compare with current branch, diff, difference, 和当前分支比较, 对比, 差异",
  "message.merge": "merge, bring over, 合并",
  "message.mergeHere": "merge, bring over, 合并",
  "session.branches":
    "branches, branch, fork, checkout, switch, diff, merge, log, timelines, conversations, 分支, 分叉, 检出, 切换分支, 对比, " +
    "差异, 合并, 日志, 时间线",
  "session.linear": "show one branch only, hide branches, linear, 只显示一条分支, 隐藏分支, 线性",
  "session.tree": "show all branches, 显示所有分支",
  "session.stash": "stash, stash pop, deleted messages, restore, 暂存区, 暂存, 贮藏, 已删除的消息, 恢复, 找回",
  "session.undo": "undo, revert, reflog, take back, 撤销, 撤消, 还原, 反悔",
  "session.redo": "redo, revert, reflog, 重做, 恢复",
  "page.tree": "story tree, branches, graph, timelines, log, map, 故事树, 分支图, 时间线, 日志",
  "page.way": "show or hide the turn bar, history, timeline, 显示或隐藏回合栏, 历史, 时间线",
  "peek.back": "back to the story, return, 回到故事, 返回",
  "peek.settle": "switch to this branch, checkout, 切换到这条分支, 检出",
  "page.git":
    "git terms, commit, branch, checkout, switch, reset, amend, revert, reflog, stash, cherry-pick, rebase, " +
    "merge, squash, diff, tag, log, blame, bundle, clone, git 术语, 提交, 分支, 检出, 切换, 重置, 修订, 还原, 贮藏, 暂存, 拣选, 变基, 合并, " +
    "压缩, 差异, 标签, 日志, 追溯, 克隆",

  // Several messages
  "chosen.between": "select all in between, 中间的也选上",
  "chosen.leaveOut": "exclude from prompt, hide messages, ghost, /hide, 从提示词中排除, 隐藏消息, 屏蔽",
  "chosen.putBack": "include in prompt, unhide, show messages, /unhide, 加入提示词, 取消隐藏, 显示消息",
  "chosen.mute": "ignore their state changes, ignore variables, 忽略它们的状态变化, 忽略变量",
  "chosen.unmute": "apply their state changes, apply variables, 应用它们的状态变化, 应用变量",
  "chosen.summarise": "summarise, summarize, summary, condense, merge --squash, rebase -i, 总结, 摘要, 概括, 压缩",
  "chosen.keepLore": "save as lorebook entry, lore, world info, journal entry, remember, 存入世界书, 知识书, 条目",
  "chosen.copy": "copy text, clipboard, 复制文字, 剪贴板",
  "chosen.none": "cancel, deselect, 取消, 取消选择",
  "tree.leaveOut": "exclude from prompt, hide messages, ghost, /hide, 从提示词中排除, 隐藏消息, 屏蔽",
  "tree.putBack": "include in prompt, unhide, show messages, /unhide, 加入提示词, 取消隐藏, 显示消息",
  "tree.prune":
    "delete, with everything after it, delete messages, remove, stash, 删除这条及其后的消息, 删除消息, 移除, 贮藏, 暂存",
  "tree.copy": "copy text, clipboard, 复制文字, 剪贴板",
  "tree.compare": "compare, diff, difference, 比较, 对比, 差异",
  "tree.none": "cancel, deselect, 取消, 取消选择",

  // Prompts and models
  "page.presets":
    "presets, samplers, sampling, temperature, top p, top k, min p, repetition penalty, max tokens, response " +
    "length, context size, system prompt, main prompt, jailbreak, post-history instructions, prompt manager, " +
    "prompt template, chat completion, regex, regular expressions, macros, 预设, 采样器, 温度, 重复惩罚, 最大 token, 回复长度, " +
    "上下文长度, 系统提示词, 主提示词, 越狱, 破限, 破甲, 历史后置指令, 后历史指令, 提示词管理器, 提示词模板, 对话补全, 聊天补全, 正则, 正则表达式, 宏, chat completion preset, generation settings, regex scripts, quick reply sets, 聊天补全预设, 正则脚本, 生成设置",
  "page.personas":
    "personas, persona management, user description, player character, actor, 用户设定, 用户设定管理, 用户角色, 用户角色管理, 人设, 玩家角色",
  "page.lore":
    "lorebooks, lore, world info, wi, compendium, journal, codex, knowledge, keywords, 世界书, 世界信息, 知识书, 设定集, 合集包, " +
    "日志, 关键词, 关键字, scan depth, insertion depth, recursion, 扫描深度, 插入深度, 递归",
  "session.generation":
    "ai response configuration, samplers, sampler settings, temperature, top p, top k, min p, repetition penalty, " +
    "response length, max tokens, seed, stop strings, parameters, 采样器, 温度, 重复惩罚, 回复长度, 最大 token, 种子, 停止字符串, 参数",
  "session.note": "author's note, authors note, /note, 作者注释, 作者备注, 作者笔记",
  "session.recall":
    "memory, memories, vector storage, data bank, rag, summary, summaries, summarize, 记忆, 长期记忆, 向量存储, 数据库, 总结, 摘要, 概括",
  "session.model": "change model, llm, connection profile, 更换模型, 切换模型, 换模型, 连接配置",
  "session.profile":
    "connection profile, switch profile, save profile, api profile, connection manager, /profile, change model, llm, preset, " +
    "连接配置, 切换配置, 保存配置, 连接管理, 更换模型, 换模型, 预设",
  "session.rules":
    "plugins of this story, extensions, rules, game system, modules, macros, scripts, tools, function calling, " +
    "这个故事的插件, 扩展, 规则, 游戏系统, 模组, 模块, 宏, 脚本, 工具, 函数调用, quick replies, quick reply, suggestions, 快捷回复, 快速回复, 建议",
  "page.connect":
    "connect a model, api connections, api key, connection profile, provider, endpoint, base url, backend, " +
    "openai, claude, gemini, ollama, koboldcpp, openrouter, 连接模型, api 连接, api连接, api 密钥, api密钥, 密钥, 连接配置, 服务商, " +
    "接口, 后端",

  // Values
  "page.world":
    "show or hide the state, world, variables, mvu, stats, status bar, tracker, inventory, scene, 显示或隐藏状态, 世界, " +
    "变量, 状态栏, 属性, 物品栏, 场景",
  "page.creator":
    "show hidden state, gm view, game master, spoilers, debug, 显示隐藏的状态, 隐藏变量, 主持人, 剧透, 调试",
  "session.plot": "variable chart, graph, plot, statistics, stats, 变量图表, 曲线, 统计",
  "page.workshop":
    "plugin editor, script editor, macro editor, module, extension, code, rhai, 插件编辑器, 脚本, 宏, 模组, 扩展, 代码",

  // Stories
  "page.library":
    "stories, library, home, chats, chat history, manage chat files, conversations, new chat, new conversation, " +
    "new story, characters, actors, scenes, worlds, campaign, 故事集, 首页, 聊天, 聊天记录, 管理聊天文件, 对话, 会话, 新聊天, 新对话, 新故事, " +
    "角色, 场景, start new chat, edit character, character editor, alternate greetings, greetings, first message, export card, export character, tags, favourites, favorites, 编辑角色, 其他开场白, 备选开场白, 开场白, 首条消息, 导出角色卡, 标签, 收藏",
  "page.search":
    "search all stories, find, search chats, search conversations, grep, 搜索所有故事, 查找, 搜索聊天, 搜索对话",
  "page.trash": "trash, deleted stories, recycle bin, restore, 回收站, 已删除, 恢复",
  "session.rename": "rename story, rename chat, rename conversation, title, 重命名故事, 重命名聊天, 改名, 标题",
  "session.delete": "delete story, delete chat, delete conversation, remove, 删除故事, 删除聊天, 删除对话",
  "session.spent":
    "usage, tokens, token usage, cost, price, stats, statistics, 用量, token 用量, 词符, 费用, 花费, 统计",

  // Import and export
  "page.import": "import story, import backup, restore, bundle, clone, 导入故事, 导入备份, 恢复, 克隆",
  "page.importCard": "import character card, tavern card, actor, png, charx, json, 导入角色卡, 导入角色, 酒馆卡",
  "page.importForeign":
    "import chats and archives, import conversations, import lorebook, import world info, import preset, import " +
    "persona, jsonl, zip, 导入聊天和压缩包, 导入对话, 导入世界书, 导入预设, 导入用户设定, 导入用户角色",
  "page.importFolder": "import sillytavern folder, migrate, tavern data, 导入 sillytavern 文件夹, 导入酒馆数据, 迁移",
  "session.export":
    "export story, export chat, export conversation, save, backup, download, bundle, clone, 导出故事, 导出聊天, 导出对话, 保存, " +
    "备份, 下载, 克隆",
  "session.exportAs":
    "export branch as, export chat, export conversation, save as, download, jsonl, markdown, html, sillytavern, " +
    "分支另存为, 导出分支, 导出聊天, 导出对话, 下载, 纯文本",
  "session.file":
    "export this branch, export chat, export conversation, download, 导出这条分支, 导出聊天, 导出对话, 下载",
  "page.exportAll": "export everything, sillytavern, backup, download, 全部导出, 导出酒馆数据, 备份, 下载",

  // The page
  "page.palette":
    "commands and shortcuts, slash commands, keyboard, hotkeys, help, 命令与快捷键, 快捷命令, 斜杠命令, 键盘, 帮助",
  "page.settings":
    "settings, user settings, options, preferences, api key, connection profile, appearance, theme, font, " +
    "language, devices, 设置, 用户设置, 选项, 偏好, api 密钥, api密钥, 连接配置, 外观, 主题, 字体, 语言, 设备",
  "page.theme":
    "switch light and dark, dark mode, light mode, night mode, theme, ui theme, appearance, 切换浅色与深色, 深色模式, 浅色模式, " +
    "夜间模式, 暗色, 主题, 外观",
  "page.speech": "colour dialogue, color dialogue, quote color, quotes, speech, 为对话上色, 引号颜色, 对话颜色, 台词",
  "page.language": "switch to english, switch to chinese, ui language, locale, 切换到中文, 切换到英文, 界面语言, 语言",
  "page.dismiss": "close the notice, notification, toast, 关闭通知",
};

const plain = (text: string) => text.toLowerCase().replaceAll("’", "'");

/** Whether a text contains this at a position that is not inside a Latin word. */
function hasBegin(text: string, begin: string) {
  for (let at = text.indexOf(begin); at >= 0; at = text.indexOf(begin, at + 1))
    if (!/[a-z0-9]/.test(text[at - 1] ?? "")) return true;
  return false;
}

/** Whether a typed word begins a word of the text. A plural also matches the singular. */
const hasWord = (text: string, word: string) =>
  hasBegin(text, word) || (/[a-z]{3}s$/.test(word) && hasBegin(text, word.slice(0, -1)));

/** Whether each typed word begins a word of the text. */
export const fits = (text: string, typed: string) =>
  plain(typed)
    .split(/\s+/)
    .every((word) => hasWord(plain(text), word));

/**
 * Returns the other names of a command that match the typed text. Names that match all words come first; if there are
 * none, names that match some. It is empty if the command does not match.
 */
export function otherNames(id: string, typed: string): string[] {
  const all = SYNONYMS[id] ?? "";
  if (!fits(all, typed)) return [];
  const whole = all.split(", ").filter((one) => fits(one, typed));
  return whole.length > 0
    ? whole
    : all.split(", ").filter((one) =>
        plain(typed)
          .split(/\s+/)
          .some((word) => hasWord(one, word)),
      );
}
