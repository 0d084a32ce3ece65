// The WebSocket of one session. After a loss it reconnects with growing pauses, and continues where it was.
import type { Frame, Id } from "../lib/wire.d.ts";

const FIRST_PAUSE = 400;
const LONGEST_PAUSE = 10_000;
const PING_EVERY = 25_000;
const PONG_TIMEOUT = 10_000;
/** Time limit in milliseconds after the user comes back to the page, so that a dead connection is noticed at once. */
const WAKE_TIMEOUT = 1000;
const HELLO_TIMEOUT = 10_000;

/** Events when the machine wakes up or its network changes. */
const WAKE_EVENTS = [
  [document, "visibilitychange"],
  [window, "pageshow"],
  [window, "online"],
  [window, "offline"],
] as const;

interface Listener {
  /** Returns the number of the newest operation that the page has seen. */
  since: () => number;
  frame: (frame: Frame) => void;
  state: (online: boolean) => void;
  /** Called when the connection was found dead. Other requests on it may get no answer either. */
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
    for (const [target, event] of WAKE_EVENTS) target.addEventListener(event, this.#wake);
    this.#open();
  }

  /**
   * Sends a message, if the connection is open.
   * @param message what a viewer may send: resume, ping
   */
  send(message: object) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  close() {
    this.#closed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#pulse);
    for (const [target, event] of WAKE_EVENTS) target.removeEventListener(event, this.#wake);
    this.#socket?.close();
  }

  /**
   * Checks the connection or reconnects. A sleeping page does not notice a lost connection, and its next attempt may be
   * far off.
   */
  #wake = () => {
    if (document.visibilityState === "hidden") return;
    if (this.#socket?.readyState === WebSocket.OPEN) return this.#ask(WAKE_TIMEOUT);
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
    this.#await(HELLO_TIMEOUT);
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

  /** Restarts the timer after which a silent connection gets a ping. Without an answer, it is dropped. */
  #beat() {
    clearTimeout(this.#pulse);
    this.#pulse = setTimeout(() => this.#ask(PONG_TIMEOUT), PING_EVERY);
  }

  /**
   * Sends a ping and waits for an answer.
   * @param within milliseconds
   */
  #ask(within: number) {
    this.send({ type: "ping" });
    this.#await(within);
  }

  /**
   * Drops the connection if nothing arrives in time. A dead connection may take minutes to report that it is closed.
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
