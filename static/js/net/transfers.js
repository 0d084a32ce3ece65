// The calls about whole stories as files.
import { ApiError, call, me } from "./api.js";

/** @import * as Wire from "../lib/wire.d.ts" */

/** Where a whole story can be had as a file. @param {Wire.Id} sid */
export const storyFile = (sid) => `/api/sessions/${sid}/export`;

/** @param {Wire.Id} jid @returns {Promise<Wire.Job>} */
export const job = (jid) => call("GET", `/api/jobs/${jid}`);

/**
 * Sends a file; the answer names the job that takes it in.
 * @param {File} file
 * @param {(bytes: number) => void} sent hears how much of it has gone out, which `fetch` does not tell
 * @returns {Promise<{jobId: Wire.Id}>}
 */
export async function sendStory(file, sent) {
  const { csrf } = await me();
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", "/api/sessions/import");
    request.responseType = "json";
    request.setRequestHeader("Accept", "application/json");
    request.setRequestHeader("Content-Type", "application/zstd");
    if (csrf) request.setRequestHeader("X-CSRF-Token", csrf);
    request.upload.addEventListener("progress", ({ loaded }) => sent(loaded));
    request.addEventListener("error", () => reject(new ApiError(0, {})));
    request.addEventListener("load", () => {
      const isTaken = request.status >= 200 && request.status < 300;
      if (isTaken) resolve(request.response);
      else reject(new ApiError(request.status, request.response?.error ?? {}));
    });
    request.send(file);
  });
}
