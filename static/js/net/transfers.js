// The calls about whole stories as files, and about what other programs keep.
import { ApiError, call, me, query } from "./api.js";

/** @import * as Wire from "../lib/wire.d.ts" */

/** @typedef {"session" | "sillytavern" | "markdown" | "html"} StoryForm the whole story as this program takes it in again; else one line of it */

/** Where a story can be had as a file. @param {Wire.Id} sid @param {{format?: StoryForm, leaf?: Wire.Id}} [how] */
export const storyFile = (sid, how = {}) => `/api/sessions/${sid}/export${query(how)}`;

/** Has a copy made of a story, with its whole tree; the answer names the job that does it. @param {Wire.Id} sid @param {string} title @returns {Promise<{jobId: Wire.Id}>} */
export const copyStory = (sid, title) => call("POST", `/api/sessions/${sid}/copies`, { title });

/** Where everything can be had as a folder of SillyTavern, packed. */
export const everythingFile = "/api/export?format=sillytavern";

/** @param {Wire.Id} jid @returns {Promise<Wire.Job>} */
export const job = (jid) => call("GET", `/api/jobs/${jid}`);

/** @param {Wire.Id} jid */
export const cancelJob = (jid) => call("DELETE", `/api/jobs/${jid}`);

/** @typedef {{sent: (bytes: number) => void, signal?: AbortSignal}} Sending `sent` hears how much of it has gone out, which `fetch` does not tell */

/** @param {File} file @param {Sending} sending */
export const sendStory = (file, sending) => sendFile("/api/sessions/import", "application/zstd", file, sending);

/**
 * What another program keeps: an archive, or a single file.
 * @param {Blob} file @param {{name: string, dryRun: boolean, utcOffset: number}} how @param {Sending} sending
 */
export const sendForeign = (file, { name, dryRun, utcOffset }, sending) =>
  sendFile(`/api/import${query({ name, dryRun: dryRun ? "true" : undefined, utcOffset: utcOffset || undefined })}`, "application/zip", file, sending);

/**
 * Sends a file; the answer names the job that takes it in.
 * @param {string} path @param {string} type @param {Blob} file @param {Sending} sending
 * @returns {Promise<{jobId: Wire.Id}>}
 */
async function sendFile(path, type, file, { sent, signal }) {
  const { csrf } = await me();
  // Who cancelled while that was asked is heard too.
  signal?.throwIfAborted();
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", path);
    request.responseType = "json";
    request.setRequestHeader("Accept", "application/json");
    request.setRequestHeader("Content-Type", type);
    if (csrf) request.setRequestHeader("X-CSRF-Token", csrf);
    request.upload.addEventListener("progress", ({ loaded }) => sent(loaded));
    request.addEventListener("error", () => reject(new ApiError(0, {})));
    request.addEventListener("abort", () => reject(signal?.reason));
    request.addEventListener("load", () => {
      const isTaken = request.status >= 200 && request.status < 300;
      if (isTaken) resolve(request.response);
      else reject(new ApiError(request.status, request.response?.error ?? {}));
    });
    signal?.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}
