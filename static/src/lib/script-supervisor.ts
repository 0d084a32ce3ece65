// Supervises the worker that runs regex scripts. The scripts of one text may take LIMIT together. If they take longer,
// the worker is ended and the text starts again in a new one. The new worker reports each script before it runs it. If
// the text is too slow again, the script that took longest is turned off until the next setup. So an endless script
// costs LIMIT twice, not once per message. If the machine was only busy for a moment, no script is lost.
import { trustedUrl } from "./trusted-urls.ts";
import type { Place, ScriptSetup } from "./regex-scripts.ts";

/** Maximum time for all scripts of one text, in milliseconds. */
export const TIME_LIMIT = 50;
/** Maximum number of texts in the worker at once. With several, it never waits while the page draws. */
const MAX_PARALLEL = 8;
/** Maximum number of tries for a text. After that it is shown as far as it came. */
const MAX_TRIES = 8;

/** A text sent to the worker. */
export interface ScriptJob {
  id: number;
  text: string;
  place: Place;
  without: number[];
  isWatched: boolean;
}

/** A message from the worker. */
type WorkerMessage =
  | { id: number; says: "begun" }
  | { id: number; says: "step"; step: number; text: string; at: number }
  | { id: number; says: "done"; text: string; left: number[] };

/** The result for a text. `slow` and `large`: positions of the scripts that were left out for it. */
export interface ScriptResult {
  text: string;
  slow: number[];
  large: number[];
}

/** A requested text. `stepStarts`: the start time of each script, by its step. */
interface ScriptRequest {
  slot: string;
  text: string;
  place: Place;
  done: (result: ScriptResult) => void;
  id: number;
  isWatched: boolean;
  slow: number[];
  stepStarts: [number, number][];
  before: string;
  tries: number;
}

const startWorker = () => new Worker(trustedUrl("scripts"), { type: "module" });

export class ScriptSupervisor {
  start: () => Worker;
  limit: number;
  onSlow: (step: number) => void;
  setup: ScriptSetup | null = null;
  /** Scripts that are turned off, by position. */
  disabled = new Set<number>();
  worker: Worker | null = null;
  /** Texts that wait, oldest first; only the newest of each slot. */
  waiting = new Map<string, ScriptRequest>();
  /** Texts in the worker, in its order. */
  sent: ScriptRequest[] = [];
  timer: ReturnType<typeof setTimeout> | undefined;
  isBroken = false;
  ids = 0;

  /** @param how `onSlow` is called with the script that took too long */
  constructor({
    start = startWorker,
    limit = TIME_LIMIT,
    onSlow = () => {},
  }: { start?: () => Worker; limit?: number; onSlow?: (step: number) => void } = {}) {
    this.start = start;
    this.limit = limit;
    this.onSlow = onSlow;
  }

  /**
   * Sets other scripts or other values for them. Texts requested before get no answer.
   * @param lost scripts that are known to take too long
   */
  setUp(setup: ScriptSetup, lost: number[]) {
    this.waiting.clear();
    // The worker still runs scripts that no longer apply.
    if (this.sent.length > 0) this.#drop();
    this.sent = [];
    this.setup = setup;
    this.disabled = new Set(lost);
    this.worker?.postMessage({ setup });
  }

  /**
   * Requests the result for a text.
   * @param slot the place on the page; only its newest text is processed
   */
  request(slot: string, text: string, place: Place, tell: (result: ScriptResult) => void) {
    if (this.isBroken) return tell({ text, slow: [], large: [] });
    this.waiting.set(slot, {
      slot,
      text,
      place,
      done: tell,
      id: 0,
      isWatched: false,
      slow: [],
      stepStarts: [],
      before: text,
      tries: 0,
    });
    this.#send();
  }

  end() {
    this.#drop();
    this.waiting.clear();
    this.sent = [];
    this.setup = null;
  }

  #send() {
    while (this.sent.length < MAX_PARALLEL && !this.isBroken) {
      const next = this.waiting.values().next().value;
      if (!next || !this.setup) return;
      this.waiting.delete(next.slot);
      this.sent.push(next);
      this.#post(next);
    }
  }

  #post(wanted: ScriptRequest) {
    this.#worker()?.postMessage(this.#job(wanted));
  }

  #job(wanted: ScriptRequest): ScriptJob {
    wanted.id = ++this.ids;
    wanted.stepStarts = [];
    const { id, text, place, isWatched } = wanted;
    return { id, text, place, without: [...this.disabled], isWatched };
  }

  /** Returns the worker. Starts a new one if the last was ended. */
  #worker() {
    if (this.worker || this.isBroken) return this.worker;
    try {
      const worker = (this.worker = this.start());
      worker.onmessage = ({ data }) => this.worker === worker && this.#heard(data);
      worker.onerror = (event) => {
        event.preventDefault?.();
        if (this.worker === worker) this.#break();
      };
      worker.postMessage({ setup: this.setup });
    } catch {
      this.#break();
    }
    return this.worker;
  }

  #heard(message: WorkerMessage) {
    const [first] = this.sent;
    if (first?.id !== message.id) return;
    if (message.says === "step") {
      first.stepStarts.push([message.step, message.at]);
      first.before = message.text;
    } else if (message.says === "begun") {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.#tooLong(first), this.limit);
    } else {
      clearTimeout(this.timer);
      this.sent.shift();
      this.#send();
      first.done({ text: message.text, slow: first.slow, large: message.left });
    }
  }

  #tooLong(first: ScriptRequest) {
    this.#drop();
    if (first.isWatched && first.stepStarts.length > 0) {
      const step = longest(first.stepStarts, performance.timeOrigin + performance.now());
      this.disabled.add(step);
      first.slow = [...first.slow, step];
      this.onSlow(step);
    }
    first.isWatched = true;
    first.tries += 1;
    if (first.tries >= MAX_TRIES) {
      this.sent.shift();
      first.done({ text: first.before, slow: first.slow, large: [] });
    }
    for (const wanted of [...this.sent]) this.#post(wanted);
    this.#send();
  }

  #drop() {
    clearTimeout(this.timer);
    this.worker?.terminate();
    this.worker = null;
  }

  /** Gives up: no worker can be started, so texts are shown unchanged. */
  #break() {
    this.isBroken = true;
    this.#drop();
    const all = [...this.sent, ...this.waiting.values()];
    this.sent = [];
    this.waiting.clear();
    for (const { text, done } of all) done({ text, slow: [], large: [] });
  }
}

/** Returns the script that has taken longest so far. */
function longest(starts: [number, number][], now: number) {
  let [found, most] = [starts[0]?.[0] ?? 0, -1];
  starts.forEach(([step, at], i) => {
    const took = (starts[i + 1]?.[1] ?? now) - at;
    if (took > most) [found, most] = [step, took];
  });
  return found;
}
