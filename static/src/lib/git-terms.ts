// Git terms and the commands that do the same here, for the help page. The command list has these terms too
// (synonyms.ts).

export const GIT_TERMS: readonly {
  word:
    | "commit"
    | "branch"
    | "checkout"
    | "reset"
    | "amend"
    | "revert"
    | "stash"
    | "cherryPick"
    | "merge"
    | "squash"
    | "diff"
    | "tag"
    | "log"
    | "blame"
    | "bundle";
  git: string;
  commands: string[];
}[] = [
  { word: "commit", git: "commit", commands: [] },
  { word: "branch", git: "branch", commands: ["message.label", "session.branches"] },
  { word: "checkout", git: "checkout, switch", commands: ["message.goBack", "message.setCurrent", "session.branches"] },
  { word: "reset", git: "reset", commands: ["message.goBack"] },
  { word: "amend", git: "commit --amend", commands: ["message.edit"] },
  { word: "revert", git: "revert, reflog", commands: ["session.undo", "session.redo"] },
  { word: "stash", git: "stash, stash pop", commands: ["message.prune", "session.stash"] },
  { word: "cherryPick", git: "cherry-pick, rebase", commands: ["message.copyTo", "message.move"] },
  { word: "merge", git: "merge", commands: ["session.branches", "message.merge"] },
  { word: "squash", git: "merge --squash, rebase -i", commands: ["message.summarise", "chosen.summarise"] },
  { word: "diff", git: "diff", commands: ["session.branches", "message.compare"] },
  { word: "tag", git: "tag", commands: ["message.label"] },
  { word: "log", git: "log", commands: ["session.branches"] },
  { word: "blame", git: "blame", commands: ["message.why"] },
  { word: "bundle", git: "bundle, clone", commands: ["session.export", "page.import"] },
];
