// The calls for whole sessions as files, and for data of other programs.
import { ApiError, call, me, query } from "./api.ts";
import type * as Wire from "../lib/wire.d.ts";

/** "session" is the whole session for a later import; the others contain one branch. */
export type ExportFormat = "session" | "sillytavern" | "markdown" | "html";

/** Returns the address of a session as a file. */
export const sessionFile = (sid: Wire.Id, how: { format?: ExportFormat; leaf?: Wire.Id } = {}) =>
  `/api/sessions/${sid}/export${query(how)}`;

/** Starts a job that copies a session with its whole tree. The response names the job. */
export const copySession = (sid: Wire.Id, title: string): Promise<{ jobId: Wire.Id }> =>
  call("POST", `/api/sessions/${sid}/copies`, { title });

/** Address of everything as a zipped SillyTavern folder. */
export const everythingFile = "/api/export?format=sillytavern";

export const job = (jid: Wire.Id): Promise<Wire.Job> => call("GET", `/api/jobs/${jid}`);

export const cancelJob = (jid: Wire.Id) => call("DELETE", `/api/jobs/${jid}`);

/** Options of an upload. `sent` gets the number of bytes sent so far, which `fetch` does not report. */
interface UploadOptions {
  sent: (bytes: number) => void;
  signal?: AbortSignal;
}

export const sendSession = (file: File, sending: UploadOptions) =>
  sendFile("/api/sessions/import", "application/zstd", file, sending);

/** Imports data of another program: an archive or a single file. */
export const sendForeign = (
  file: Blob,
  { name, dryRun, utcOffset, language }: { name: string; dryRun: boolean; utcOffset: number; language: string },
  sending: UploadOptions,
) =>
  sendFile(
    `/api/import${query({
      name,
      dryRun: dryRun ? "true" : undefined,
      utcOffset: utcOffset || undefined,
      language: language === "zh" ? language : undefined,
    })}`,
    "application/zip",
    file,
    sending,
  );

/** Uploads a file. The response names the job that imports it. */
async function sendFile(
  path: string,
  type: string,
  file: Blob,
  { sent, signal }: UploadOptions,
): Promise<{ jobId: Wire.Id }> {
  const { csrf } = await me();
  // The user may have cancelled during this request.
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
