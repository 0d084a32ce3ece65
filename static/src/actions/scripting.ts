// Has the texts of the open story made as its scripts have them. Loaded when a story has scripts for that.
import { effect, untracked } from "../../vendor/preact.js";
import { Apart } from "../lib/apart.ts";
import { PLACEMENT, stepsOf } from "../lib/scripts.ts";
import * as model from "../model/scripted.ts";
import { nodeOf } from "../model/story.ts";
import { known } from "../model/world.ts";
import { depthOf } from "../tree/depths.ts";
import type { Made } from "../lib/apart.ts";
import type { Place } from "../lib/scripts.ts";
import type { ChatNode, Id, ScriptsShown, ShownScript } from "../lib/wire.d.ts";
import type { Left, Part, Wish } from "../model/scripted.ts";

/** Macros whose words are another story's tomorrow. */
const VARIABLES = /var|\{\{\s*[.$]/i;
/** So many versions of a message are gone back to see where the first one came from. */
const MOST_VERSIONS = 16;

/** What took too long, by story, for as long as the page lives: one that is changed is another one. */
const slow: Map<Id, Set<string>> = new Map();

let now: { apart: Apart; dispose: () => void } | null = null;
let version = 0;

/** What a list knows a script by that says nothing of its flags. */
export const nameOfSlow = ({
  scope,
  name,
  find,
  replace,
}: {
  scope: string;
  name: string;
  find: string;
  replace: string;
}) => JSON.stringify([scope, name, find.slice(0, 2_000), replace.slice(0, 2_000)]);

/**
 * Ends it: nothing is made any more.
 * @param isElsewhere another story is open
 */
export function stopScripts(isElsewhere: boolean) {
  now?.dispose();
  now?.apart.end();
  now = null;
  model.putScripting(null);
  model.forgetShown(isElsewhere);
}

/** Shows the texts of a story by these scripts from now on. */
export function useScripts(sid: Id, scripts: ScriptsShown) {
  now?.dispose();
  now?.apart.end();
  const lost = slow.get(sid) ?? new Set();
  slow.set(sid, lost);
  const { items } = scripts;
  const texts = items.map((item) => JSON.stringify(item));
  const tellSlow = () => model.putSlow(new Set(items.filter((_, i) => lost.has(texts[i] ?? "")).map(nameOfSlow)));
  const lose = (step: number) => {
    lost.add(texts[step] ?? "");
    tellSlow();
  };
  const apart = new Apart({ lose });
  const readsVariables = items.some(({ find, replace, trim }) =>
    [find, replace, ...trim].some((text) => VARIABLES.test(text)),
  );
  const begin = () => {
    version += 1;
    apart.setUp(
      { ...scripts, local: known.peek()?.at.world.vars ?? {} },
      items.flatMap((_, i) => (lost.has(texts[i] ?? "") ? [i] : [])),
    );
    model.forgetShown(false);
    tellSlow();
    model.putScripting(scriptingBy(apart, scripts));
  };
  const dispose = effect(() => {
    if (readsVariables) void known.value;
    untracked(begin);
  });
  now = { apart, dispose };
}

function scriptingBy(apart: Apart, { items, casts }: ScriptsShown): model.Scripting {
  const mine = version;
  /** What is under way, by its place. */
  const asked: Map<string, string> = new Map();
  /** What one drawing asks for: what was said last is what is looked at, so it comes first. */
  let drawn: Wish[] = [];
  const askAll = () => {
    const wishes = drawn.reverse();
    drawn = [];
    for (const wish of wishes) {
      apart.want(wish.slot, wish.text, wish.place, (made) => {
        if (asked.get(wish.slot) === wish.key) asked.delete(wish.slot);
        if (mine === version) model.putShown(wish, { text: made.text, left: leftOf(items, made) });
      });
    }
  };
  return {
    wish(node, part, text) {
      const place = placeOf(node, part, casts);
      const steps = text === "" ? [] : stepsOf(items, place);
      if (steps.length === 0) return null;
      const { character, speaker } = place;
      return { slot: `${node.id} ${part}`, key: `${mine} ${steps} ${character} ${speaker} ${text}`, text, place };
    },
    ask(wish) {
      if (mine !== version || model.isMade(wish.key) || asked.get(wish.slot) === wish.key) return;
      asked.set(wish.slot, wish.key);
      if (drawn.push(wish) === 1) queueMicrotask(askAll);
    },
  };
}

function leftOf(items: ShownScript[], { slow: steps, large }: Made): Left[] {
  const of = (some: number[], why: Left["why"]) =>
    some.flatMap((step) => {
      const item = items[step];
      return item ? [{ name: item.name, scope: item.scope, why }] : [];
    });
  return [...of(steps, "slow"), ...of(large, "large")];
}

/** Which text of a story a message is, to scripts. */
function placeOf(node: ChatNode, part: Part, casts: ScriptsShown["casts"]): Place {
  const said = { user: PLACEMENT.user, assistant: PLACEMENT.reply, system: PLACEMENT.narrator }[node.role];
  const cast = casts.find(({ characterId }) => characterId === node.characterId) ?? casts[0];
  const isOther = node.role === "assistant" && node.name !== null && node.name !== cast?.values.char;
  return {
    placement: part === "thoughts" ? PLACEMENT.thoughts : said,
    came: cameOf(node),
    depth: depthOf(node.id),
    character: cast?.characterId ?? null,
    speaker: isOther ? node.name : null,
  };
}

/** Whether a message came in a file of another program. */
const isForeign = (node: ChatNode | null) => Boolean(node?.metadata?.provenance?.file);

/**
 * How a message came to be as it is kept, as the server says for what is sent (`crates/engine/src/turn/scripted.rs`).
 */
function cameOf(node: ChatNode): Place["came"] {
  if (node.kind === "summary" || isForeign(node)) return "done";
  let before = nodeOf(node.metadata?.editedFrom ?? null);
  for (let n = 0; before && n < MOST_VERSIONS; n += 1) {
    if (isForeign(before)) return "edited";
    before = nodeOf(before.metadata?.editedFrom ?? null);
  }
  return "written";
}
