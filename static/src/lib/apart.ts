// Watches over the worker in which regex scripts run. One text may take LIMIT: then the worker is ended and the text
// begun anew in another one, which tells of each script before it runs it. A text that takes too long again is the work
// of the script that took longest: it has no more part in anything until the scripts are set up anew. So one that runs
// away costs twice LIMIT and not LIMIT for every message, and a machine that was busy for a moment costs nobody a
// script.
import { addressOf } from "./addresses.ts";
import type { Place, Setup } from "./scripts.ts";

/** So long the scripts of one text may take together, in milliseconds. */
export const LIMIT = 50;
/** So many texts lie in the worker at once, so that it never waits for a page that draws. */
const AT_ONCE = 8;
/** So often a text is begun before it is left as far as it has come. */
const MOST_TRIES = 8;

/** What a worker is given. */
export interface Job {
  id: number;
  text: string;
  place: Place;
  without: number[];
  isWatched: boolean;
}

/** What it says. */
type Said =
  | { id: number; says: "begun" }
  | { id: number; says: "step"; step: number; text: string; at: number }
  | { id: number; says: "done"; text: string; left: number[] };

/** How a text is shown. `slow` and `large`: the scripts that were left out for it, by their places. */
export interface Made {
  text: string;
  slow: number[];
  large: number[];
}

/** A text that is wanted. `begun`: when each script began, by its step. */
interface Wanted {
  slot: string;
  text: string;
  place: Place;
  tell: (made: Made) => void;
  id: number;
  isWatched: boolean;
  lost: number[];
  begun: [number, number][];
  before: string;
  tries: number;
}

const startWorker = () => new Worker(addressOf("scripts"), { type: "module" });

export class Apart {
  start: () => Worker;
  limit: number;
  lose: (step: number) => void;
  setup: Setup | null = null;
  /** Scripts that have no part any more. */
  lost = new Set<number>();
  worker: Worker | null = null;
  /** What waits, the newest of each place of the page, the first first. */
  waiting = new Map<string, Wanted>();
  /** What lies in the worker, in its order. */
  sent: Wanted[] = [];
  timer: ReturnType<typeof setTimeout> | undefined;
  isBroken = false;
  ids = 0;

  /** @param how `lose` hears which script took too long */
  constructor({
    start = startWorker,
    limit = LIMIT,
    lose = () => {},
  }: { start?: () => Worker; limit?: number; lose?: (step: number) => void } = {}) {
    this.start = start;
    this.limit = limit;
    this.lose = lose;
  }

  /**
   * Other scripts, or other things that they know. What was wanted before is not told of any more.
   * @param lost those that are known to take too long
   */
  setUp(setup: Setup, lost: number[]) {
    this.waiting.clear();
    // What is under way would be told of scripts that are none any more.
    if (this.sent.length > 0) this.#drop();
    this.sent = [];
    this.setup = setup;
    this.lost = new Set(lost);
    this.worker?.postMessage({ setup });
  }

  /** @param slot what it is for: of each place only the newest text is made */
  want(slot: string, text: string, place: Place, tell: (made: Made) => void) {
    if (this.isBroken) return tell({ text, slow: [], large: [] });
    this.waiting.set(slot, {
      slot,
      text,
      place,
      tell,
      id: 0,
      isWatched: false,
      lost: [],
      begun: [],
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
    while (this.sent.length < AT_ONCE && !this.isBroken) {
      const next = this.waiting.values().next().value;
      if (!next || !this.setup) return;
      this.waiting.delete(next.slot);
      this.sent.push(next);
      this.#post(next);
    }
  }

  #post(wanted: Wanted) {
    this.#worker()?.postMessage(this.#job(wanted));
  }

  #job(wanted: Wanted): Job {
    wanted.id = ++this.ids;
    wanted.begun = [];
    const { id, text, place, isWatched } = wanted;
    return { id, text, place, without: [...this.lost], isWatched };
  }

  /** The worker, a new one where the last was ended. */
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

  #heard(said: Said) {
    const [first] = this.sent;
    if (first?.id !== said.id) return;
    if (said.says === "step") {
      first.begun.push([said.step, said.at]);
      first.before = said.text;
    } else if (said.says === "begun") {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.#tooLong(first), this.limit);
    } else {
      clearTimeout(this.timer);
      this.sent.shift();
      this.#send();
      first.tell({ text: said.text, slow: first.lost, large: said.left });
    }
  }

  #tooLong(first: Wanted) {
    this.#drop();
    if (first.isWatched && first.begun.length > 0) {
      const step = longest(first.begun, performance.timeOrigin + performance.now());
      this.lost.add(step);
      first.lost = [...first.lost, step];
      this.lose(step);
    }
    first.isWatched = true;
    first.tries += 1;
    if (first.tries >= MOST_TRIES) {
      this.sent.shift();
      first.tell({ text: first.before, slow: first.lost, large: [] });
    }
    for (const wanted of [...this.sent]) this.#post(wanted);
    this.#send();
  }

  #drop() {
    clearTimeout(this.timer);
    this.worker?.terminate();
    this.worker = null;
  }

  /** No worker can be had: texts are shown as they stand. */
  #break() {
    this.isBroken = true;
    this.#drop();
    const all = [...this.sent, ...this.waiting.values()];
    this.sent = [];
    this.waiting.clear();
    for (const { text, tell } of all) tell({ text, slow: [], large: [] });
  }
}

/** Which script took longest until now. */
function longest(begun: [number, number][], now: number) {
  let [found, most] = [begun[0]?.[0] ?? 0, -1];
  begun.forEach(([step, at], i) => {
    const took = (begun[i + 1]?.[1] ?? now) - at;
    if (took > most) [found, most] = [step, took];
  });
  return found;
}
