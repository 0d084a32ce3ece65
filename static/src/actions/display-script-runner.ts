// Runs the regex scripts of the open session on its texts. Loaded when a session has display scripts.
import { effect, untracked } from "../../vendor/preact.js";
import { ScriptSupervisor } from "../lib/script-supervisor.ts";
import { PLACEMENT, stepsOf } from "../lib/regex-scripts.ts";
import * as model from "../model/display-scripts.ts";
import { nodeOf } from "../model/session-store.ts";
import { loadedWorld } from "../model/world.ts";
import { depthOf } from "../tree/depths.ts";
import type { ScriptResult } from "../lib/script-supervisor.ts";
import type { Place } from "../lib/regex-scripts.ts";
import type { ChatNode, Id, DisplayScripts, DisplayScript } from "../lib/wire.d.ts";
import type { LeftOutScript, TextPart, DisplayRequest } from "../model/display-scripts.ts";

/** Macros whose values can change during a session. */
const VARIABLES = /var|\{\{\s*[.$]/i;
/** Maximum number of earlier versions to follow, to find where a message came from. */
const MAX_VERSIONS = 16;

/** Scripts that took too long, by session, until the page is reloaded. A changed script counts as new. */
const slowBySession: Map<Id, Set<string>> = new Map();

let running: { supervisor: ScriptSupervisor; dispose: () => void } | null = null;
let version = 0;

/** Returns a key for a script, for lists that do not contain its flags. */
export const slowScriptKey = ({
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
 * Stops all scripts.
 * @param isElsewhere another session is open
 */
export function stopScripts(isElsewhere: boolean) {
  running?.dispose();
  running?.supervisor.end();
  running = null;
  model.setDisplayScripts(null);
  model.clearResults(isElsewhere);
}

/** Displays the texts of a session through these scripts from now on. */
export function startScripts(sid: Id, scripts: DisplayScripts) {
  running?.dispose();
  running?.supervisor.end();
  const lost = slowBySession.get(sid) ?? new Set();
  slowBySession.set(sid, lost);
  const { items } = scripts;
  const texts = items.map((item) => JSON.stringify(item));
  const tellSlow = () =>
    model.setSlowScripts(new Set(items.filter((_, i) => lost.has(texts[i] ?? "")).map(slowScriptKey)));
  const onSlow = (step: number) => {
    lost.add(texts[step] ?? "");
    tellSlow();
  };
  const supervisor = new ScriptSupervisor({ onSlow });
  const readsVariables = items.some(({ find, replace, trim }) =>
    [find, replace, ...trim].some((text) => VARIABLES.test(text)),
  );
  const begin = () => {
    version += 1;
    supervisor.setUp(
      { ...scripts, local: loadedWorld.peek()?.at.world.vars ?? {} },
      items.flatMap((_, i) => (lost.has(texts[i] ?? "") ? [i] : [])),
    );
    model.clearResults(false);
    tellSlow();
    model.setDisplayScripts(displayScriptsOf(supervisor, scripts));
  };
  const dispose = effect(() => {
    if (readsVariables) void loadedWorld.value;
    untracked(begin);
  });
  running = { supervisor, dispose };
}

function displayScriptsOf(supervisor: ScriptSupervisor, { items, casts }: DisplayScripts): model.DisplayScripts {
  const mine = version;
  /** Keys of the running requests, by slot. */
  const asked: Map<string, string> = new Map();
  /** Requests of one rendering. The newest messages are the ones in view, so they come first. */
  let drawn: DisplayRequest[] = [];
  const askAll = () => {
    const requests = drawn.reverse();
    drawn = [];
    for (const request of requests) {
      supervisor.request(request.slot, request.text, request.place, (result) => {
        if (asked.get(request.slot) === request.key) asked.delete(request.slot);
        if (mine === version) model.storeResult(request, { text: result.text, left: leftOutScripts(items, result) });
      });
    }
  };
  return {
    requestFor(node, part, text) {
      const place = placeOf(node, part, casts);
      const steps = text === "" ? [] : stepsOf(items, place);
      if (steps.length === 0) return null;
      const { character, speaker } = place;
      return { slot: `${node.id} ${part}`, key: `${mine} ${steps} ${character} ${speaker} ${text}`, text, place };
    },
    process(request) {
      if (mine !== version || model.hasResult(request.key) || asked.get(request.slot) === request.key) return;
      asked.set(request.slot, request.key);
      if (drawn.push(request) === 1) queueMicrotask(askAll);
    },
  };
}

function leftOutScripts(items: DisplayScript[], { slow: steps, large }: ScriptResult): LeftOutScript[] {
  const of = (some: number[], why: LeftOutScript["why"]) =>
    some.flatMap((step) => {
      const item = items[step];
      return item ? [{ name: item.name, scope: item.scope, why }] : [];
    });
  return [...of(steps, "slow"), ...of(large, "large")];
}

/** Returns what scripts need to know about a text: its kind, origin, depth and speaker. */
function placeOf(node: ChatNode, part: TextPart, casts: DisplayScripts["casts"]): Place {
  const placement = { user: PLACEMENT.user, assistant: PLACEMENT.reply, system: PLACEMENT.narrator }[node.role];
  const cast = casts.find(({ characterId }) => characterId === node.characterId) ?? casts[0];
  const isOther = node.role === "assistant" && node.name !== null && node.name !== cast?.values.char;
  return {
    placement: part === "thoughts" ? PLACEMENT.thoughts : placement,
    origin: originOf(node),
    depth: depthOf(node.id),
    character: cast?.characterId ?? null,
    speaker: isOther ? node.name : null,
  };
}

/** Returns whether a message was imported from another program. */
const isForeign = (node: ChatNode | null) => Boolean(node?.metadata?.provenance?.file);

/**
 * Returns how a message came to be. The server decides in the same way (`crates/engine/src/turn/ask/regex_scripts.rs`).
 */
function originOf(node: ChatNode): Place["origin"] {
  if (node.kind === "summary" || isForeign(node)) return "done";
  let before = nodeOf(node.metadata?.editedFrom ?? null);
  for (let n = 0; before && n < MAX_VERSIONS; n += 1) {
    if (isForeign(before)) return "edited";
    before = nodeOf(before.metadata?.editedFrom ?? null);
  }
  return "written";
}
