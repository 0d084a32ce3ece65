// The calls about whole stories as files, and about what other programs keep.
import { ApiError, call, me, query } from "./api.ts";
import type * as Wire from "../lib/wire.d.ts";

/** the whole story as this program takes it in again; else one line of it */
export type StoryForm = "session" | "sillytavern" | "markdown" | "html";

/** Where a story can be had as a file. */
export const storyFile = (sid: Wire.Id, how: { format?: StoryForm; leaf?: Wire.Id } = {}) =>
  `/api/sessions/${sid}/export${query(how)}`;

/** Has a copy made of a story, with its whole tree; the answer names the job that does it. */
export const copyStory = (sid: Wire.Id, title: string): Promise<{ jobId: Wire.Id }> =>
  call("POST", `/api/sessions/${sid}/copies`, { title });

/** Where everything can be had as a folder of SillyTavern, packed. */
export const everythingFile = "/api/export?format=sillytavern";

export const job = (jid: Wire.Id): Promise<Wire.Job> => call("GET", `/api/jobs/${jid}`);

export const cancelJob = (jid: Wire.Id) => call("DELETE", `/api/jobs/${jid}`);

/** `sent` hears how much of it has gone out, which `fetch` does not tell */
interface Sending {
  sent: (bytes: number) => void;
  signal?: AbortSignal;
}

export const sendStory = (file: File, sending: Sending) =>
  sendFile("/api/sessions/import", "application/zstd", file, sending);

/** What another program keeps: an archive, or a single file. */
export const sendForeign = (
  file: Blob,
  { name, dryRun, utcOffset }: { name: string; dryRun: boolean; utcOffset: number },
  sending: Sending,
) =>
  sendFile(
    `/api/import${query({ name, dryRun: dryRun ? "true" : undefined, utcOffset: utcOffset || undefined })}`,
    "application/zip",
    file,
    sending,
  );

/** Sends a file; the answer names the job that takes it in. */
async function sendFile(
  path: string,
  type: string,
  file: Blob,
  { sent, signal }: Sending,
): Promise<{ jobId: Wire.Id }> {
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
