// Starts the real program on a free port with its own data directory, and a small model server whose replies a test
// controls.
import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

const READY = /Clotho listens on (http:\/\/127\.0\.0\.1:\d+)/;
const START_LIMIT = 60_000;
/** A server that does not stop within this time is killed. */
const STOP_LIMIT = 10_000;

/**
 * @typedef {object} Clotho
 * @property {string} base
 * @property {string} folder
 * @property {Api} api
 * @property {() => number} pid the id of its process
 * @property {(signal?: NodeJS.Signals) => Promise<void>} stop
 * @property {() => Promise<void>} start
 * @property {() => Promise<void>} close
 * @property {(text: string) => Promise<boolean>} hasOnDisk whether a file of the data directory holds this text
 */
/** @typedef {(method: string, path: string, body?: unknown) => Promise<any>} Api */

/** Every running server. All of them end with the test process. @type {Map<import("node:child_process").ChildProcess, string>} */
const running = new Map();
process.on("exit", () => {
  for (const [child, folder] of running) {
    child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  }
});

/** @param {string} [config] more lines for config.toml @returns {Promise<Clotho>} */
export async function startClotho(config = "") {
  const program = process.env.CLOTHO_BIN;
  if (!program) throw new Error("CLOTHO_BIN must name the clotho program");
  const folder = await mkdtemp(join(tmpdir(), "clotho-ui-"));
  await writeFile(join(folder, "config.toml"), config);
  const api = /** @type {Api} */ (async () => {});
  const clotho = { base: "", folder, api, pid: () => child.pid, stop, start, close, hasOnDisk };
  let child = null;
  let listen = "127.0.0.1:0";

  async function start() {
    const env = {
      ...process.env,
      CLOTHO_CONFIG: join(folder, "config.toml"),
      CLOTHO_STORAGE__DATA_DIR: join(folder, "data"),
      CLOTHO_SERVER__LISTEN: listen,
    };
    const server = spawn(program, [], { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
    child = server;
    running.set(server, folder);
    server.once("exit", () => running.delete(server));
    clotho.base = await waitUntilReady(child);
    listen = new URL(clotho.base).host;
    clotho.api = apiCaller(clotho.base);
  }

  /** @param {NodeJS.Signals} [signal] */
  async function stop(signal = "SIGTERM") {
    const server = child;
    if (server.exitCode !== null || server.signalCode !== null) return;
    const gone = new Promise((resolve) => server.once("exit", resolve));
    server.kill(signal);
    const timer = setTimeout(() => server.kill("SIGKILL"), STOP_LIMIT);
    await gone;
    clearTimeout(timer);
  }

  async function close() {
    await stop();
    await rm(folder, { recursive: true, force: true });
  }

  async function hasOnDisk(text) {
    const data = join(folder, "data");
    const files = (await readdir(data, { withFileTypes: true })).filter((entry) => entry.isFile());
    const found = await Promise.all(files.map(async ({ name }) => (await readFile(join(data, name))).includes(text)));
    return found.includes(true);
  }

  await start();
  return clotho;
}

/** Waits for the log line with the server's address. @param {import("node:child_process").ChildProcess} child */
function waitUntilReady(child) {
  return new Promise((resolve, reject) => {
    let said = "";
    const timer = setTimeout(() => reject(new Error(`the server did not say where it listens:\n${said}`)), START_LIMIT);
    const hear = (data) => {
      said += data;
      const found = READY.exec(said);
      if (!found) return;
      clearTimeout(timer);
      resolve(found[1]);
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.once("exit", (code) => reject(new Error(`the server ended with ${code}:\n${said}`)));
  });
}

/** @param {string} base @returns {Api} */
function apiCaller(base) {
  return async (method, path, body) => {
    const headers = { Origin: base, ...(body === undefined ? {} : { "Content-Type": "application/json" }) };
    const me = method === "GET" ? null : await (await fetch(`${base}/api/auth/me`)).json();
    if (me?.csrf) headers["X-CSRF-Token"] = me.csrf;
    const response = await fetch(base + path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === "" ? null : JSON.parse(text);
  };
}

/** Starts a model server. The test releases the pieces of each reply: `next(n)` releases n pieces, `open()` all of them. */
export async function startModel() {
  const waiting = [];
  /** @type {{status: number, message: string} | null} */
  let fault = null;
  const all = [];
  const requests = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (data) => (body += data));
    request.on("end", () => {
      if (request.method === "GET")
        return response.writeHead(200, { "Content-Type": "application/json" }).end('{"data":[{"id":"m"}]}');
      if (request.url?.includes("/locked/"))
        return response.writeHead(401, { "Content-Type": "application/json" }).end('{"error":{"message":"bad key"}}');
      requests.push(JSON.parse(body));
      if (fault)
        return response
          .writeHead(fault.status, { "Content-Type": "application/json" })
          .end(JSON.stringify({ error: { message: fault.message } }));
      void sendReply(response, waiting.shift() ?? queuedReply(["Yes."]).open());
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  const url = `http://127.0.0.1:${server.address().port}/v1`;
  return {
    url,
    requests,
    /** @param {(string | {reasoning: string})[]} pieces of the next reply, which is held until it is let go */
    queueHeldReply(pieces) {
      const held = queuedReply(pieces);
      waiting.push(held);
      all.push(held);
      return held;
    },
    /** @param {(string | {reasoning: string} | {call: {name: string, arguments: object}} | {finish: string} | null)[]} pieces of the next reply, sent at once; null: the connection breaks; finish: why it ends */
    queueReply(pieces) {
      waiting.push(queuedReply(pieces).open());
    },
    /** Refuses every request until `recover` is called. @param {number} status @param {string} message */
    refuse(status, message) {
      fault = { status, message };
    },
    recover: () => void (fault = null),
    /** Releases held replies and drops unused ones, so that no test gets the replies of another one. */
    reset() {
      all.forEach((held) => held.open());
      waiting.length = requests.length = all.length = 0;
      fault = null;
    },
    close: () => new Promise((resolve) => (server.closeAllConnections(), server.close(resolve))),
  };
}

/** @param {(string | {reasoning: string} | null)[]} pieces */
function queuedReply(pieces) {
  let allowed = 0;
  let wake = () => {};
  const held = {
    pieces,
    next: (n = 1) => ((allowed += n), wake()),
    open: () => ((allowed = Infinity), wake(), held),
    /** @param {number} index */
    async allows(index) {
      while (index >= allowed) await new Promise((resolve) => (wake = () => resolve(undefined)));
    },
  };
  return held;
}

/** @param {{name: string, arguments: object}} call of a tool @param {number} index */
const toolCall = (call, index) => ({
  tool_calls: [{ index, id: `c${index}`, function: { name: call.name, arguments: JSON.stringify(call.arguments) } }],
});

/** @param {import("node:http").ServerResponse} response @param {ReturnType<typeof queuedReply>} held */
async function sendReply(response, held) {
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  const send = (choice) =>
    response.write(`data: ${JSON.stringify({ model: "m", choices: [{ index: 0, ...choice }] })}\n\n`);
  for (const [index, piece] of held.pieces.entries()) {
    await held.allows(index);
    if (response.destroyed) return;
    if (piece?.finish) continue;
    if (piece === null) return void response.write(": what was said has gone out\n\n", () => response.destroy());
    send({
      delta:
        typeof piece === "string"
          ? { content: piece }
          : piece.call
            ? toolCall(piece.call, index)
            : { reasoning_content: piece.reasoning },
    });
  }
  await held.allows(held.pieces.length);
  const finish = held.pieces.find((piece) => piece?.finish)?.finish;
  send({ delta: {}, finish_reason: finish ?? (held.pieces.some((piece) => piece?.call) ? "tool_calls" : "stop") });
  response.end("data: [DONE]\n\n");
}
