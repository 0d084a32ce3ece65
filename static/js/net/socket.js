// The live line of one session. It opens itself again after a loss, with growing pauses, and says where it stood.

/** @import { Frame, Id } from "../lib/wire.d.ts" */

const FIRST_PAUSE = 400;
const LONGEST_PAUSE = 10_000;
const PING_EVERY = 25_000;
const PONG_WITHIN = 10_000;

/**
 * @typedef {object} Listener
 * @property {() => number} since the operation number the page has seen
 * @property {(frame: Frame) => void} frame
 * @property {(online: boolean) => void} state
 */

export class SessionSocket {
  /** @type {WebSocket | null} */
  #socket = null;
  #pause = FIRST_PAUSE;
  #closed = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #pulse;

  /** @param {Id} sid @param {Listener} listener */
  constructor(sid, listener) {
    this.sid = sid;
    this.listener = listener;
    addEventListener("online", this.#now);
    this.#open();
  }

  /** @param {object} message what a viewer may send: resume, ping */
  send(message) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  close() {
    this.#closed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#pulse);
    removeEventListener("online", this.#now);
    this.#socket?.close();
  }

  #now = () => {
    if (this.#socket) return;
    clearTimeout(this.#timer);
    this.#open();
  };

  #open() {
    const url = new URL(`/api/chat/${this.sid}/ws?since=${this.listener.since()}`, location.href);
    url.protocol = url.protocol.replace("http", "ws");
    const socket = new WebSocket(url);
    this.#socket = socket;
    socket.addEventListener("message", (event) => this.#heard(event));
    socket.addEventListener("close", () => this.#lost(socket));
  }

  /** @param {MessageEvent} event */
  #heard(event) {
    this.#beat();
    const frame = /** @type {Frame} */ (JSON.parse(event.data));
    if (frame.type === "hello") {
      this.#pause = FIRST_PAUSE;
      this.listener.state(true);
    }
    this.listener.frame(frame);
  }

  /** A line that is silent for long is asked for a sign of life, and dropped without one. */
  #beat() {
    clearTimeout(this.#pulse);
    this.#pulse = setTimeout(() => {
      this.send({ type: "ping" });
      this.#pulse = setTimeout(() => this.#socket?.close(), PONG_WITHIN);
    }, PING_EVERY);
  }

  /** @param {WebSocket} socket */
  #lost(socket) {
    if (this.#closed || socket !== this.#socket) return;
    clearTimeout(this.#pulse);
    this.#socket = null;
    this.listener.state(false);
    this.#timer = setTimeout(() => this.#open(), this.#pause * (0.75 + Math.random() / 2));
    this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE);
  }
}
