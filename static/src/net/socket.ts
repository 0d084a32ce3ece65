// The live line of one session. It opens itself again after a loss, with growing pauses, and says where it stood.
import type { Frame, Id } from "../lib/wire.d.ts";

const FIRST_PAUSE = 400;
const LONGEST_PAUSE = 10_000;
const PING_EVERY = 25_000;
const PONG_WITHIN = 10_000;
/** Who comes back to the page sees at once whether the line is alive. */
const WOKEN_WITHIN = 1000;
const HELLO_WITHIN = 10_000;

/** What a machine tells a page when it wakes, or when its network changes. */
const WAKING = [
  [document, "visibilitychange"],
  [window, "pageshow"],
  [window, "online"],
  [window, "offline"],
] as const;

interface Listener {
  /** the operation number the page has seen */
  since: () => number;
  frame: (frame: Frame) => void;
  state: (online: boolean) => void;
  /** the line had died unheard: what else was asked on it may have no answer either */
  dead: () => void;
}

export class SessionSocket {
  sid: Id;
  listener: Listener;

  #socket: WebSocket | null = null;
  #pause = FIRST_PAUSE;
  #closed = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #pulse: ReturnType<typeof setTimeout> | undefined;

  constructor(sid: Id, listener: Listener) {
    this.sid = sid;
    this.listener = listener;
    for (const [target, event] of WAKING) target.addEventListener(event, this.#wake);
    this.#open();
  }

  /** @param message what a viewer may send: resume, ping */
  send(message: object) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  close() {
    this.#closed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#pulse);
    for (const [target, event] of WAKING) target.removeEventListener(event, this.#wake);
    this.#socket?.close();
  }

  /** A page that slept has not heard that its line is gone, and its next try may be far off. */
  #wake = () => {
    if (document.visibilityState === "hidden") return;
    if (this.#socket?.readyState === WebSocket.OPEN) return this.#ask(WOKEN_WITHIN);
    if (this.#socket) return;
    clearTimeout(this.#timer);
    this.#pause = FIRST_PAUSE;
    this.#open();
  };

  #open() {
    const url = new URL(`/api/chat/${this.sid}/ws?since=${this.listener.since()}`, location.href);
    url.protocol = url.protocol.replace("http", "ws");
    const socket = new WebSocket(url);
    this.#socket = socket;
    socket.addEventListener("message", (event) => socket === this.#socket && this.#heard(event));
    socket.addEventListener("close", () => this.#lost(socket));
    this.#await(HELLO_WITHIN);
  }

  #heard(event: MessageEvent) {
    this.#beat();
    const frame = JSON.parse(event.data) as Frame;
    if (frame.type === "hello") {
      this.#pause = FIRST_PAUSE;
      this.listener.state(true);
    }
    this.listener.frame(frame);
  }

  /** A line that is silent for long is asked for a sign of life, and dropped without one. */
  #beat() {
    clearTimeout(this.#pulse);
    this.#pulse = setTimeout(() => this.#ask(PONG_WITHIN), PING_EVERY);
  }

  /** @param within milliseconds */
  #ask(within: number) {
    this.send({ type: "ping" });
    this.#await(within);
  }

  /**
   * A dead line may take minutes to say that it is closed: nobody waits for that.
   * @param within milliseconds
   */
  #await(within: number) {
    clearTimeout(this.#pulse);
    const socket = this.#socket;
    this.#pulse = setTimeout(() => {
      if (this.#closed || !socket || socket !== this.#socket) return;
      this.listener.dead();
      this.#lost(socket);
      socket.close();
    }, within);
  }

  #lost(socket: WebSocket) {
    if (this.#closed || socket !== this.#socket) return;
    clearTimeout(this.#pulse);
    this.#socket = null;
    this.listener.state(false);
    this.#timer = setTimeout(() => this.#open(), this.#pause * (0.75 + Math.random() / 2));
    this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE);
  }
}
