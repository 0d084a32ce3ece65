// Texts that a model drafts and that become no message, from the request to the end.
import { notify } from "../model/page.ts";
import { ApiError } from "../net/api.ts";
import * as api from "../net/arrange.ts";
import { attempt, errorText } from "./error-text.ts";
import { onFrame, sid } from "./session-sync.ts";
import type { Draft, DraftPiece, Id } from "../lib/wire.d.ts";

/** The progress of a draft. `place`: position in the queue while it waits. */
export interface DraftProgress {
  text: string;
  status: Draft["status"];
  place: number;
}

/** What the draft and its pieces say about its state. */
type DraftState = Pick<Draft, "status"> & Partial<Pick<Draft, "queuePosition" | "error">>;

/**
 * Starts a draft in the open session and follows it.
 * @param grown gets the whole text each time it grows, and at the end
 * @returns a function that stops the draft; the text so far stays
 */
export function startDraft(ask: () => Promise<{ draftId: Id }>, grown: (now: DraftProgress) => void): () => void {
  const at = sid();
  let id = null as Id | null;
  let text = "";
  let isOver = false;
  const stopListening = onFrame((frame) => {
    if (frame.type === "hello") void catchUp();
    if (frame.type === "draft.updated" && frame.id === id) applyPiece(frame);
  });
  const end = () => {
    isOver = true;
    stopListening();
  };

  function grow({ status, queuePosition, error }: DraftState, whole: string) {
    if (isOver) return;
    text = whole;
    if (status === "done" || status === "error") end();
    grown({ text, status, place: queuePosition ?? 1 });
    if (error) notify({ tone: "error", ...errorText(new ApiError(502, error)) });
  }

  function applyPiece(piece: DraftPiece) {
    if (piece.isWhole) return grow(piece, piece.contentChunk);
    if (piece.offset > text.length) return void catchUp();
    grow(piece, text + piece.contentChunk.slice(text.length - piece.offset));
  }

  /** Reads the draft so far. */
  async function catchUp() {
    const whole = id && (await api.draft(at, id).catch(() => null));
    if (whole && whole.content.length >= text.length) grow(whole, whole.content);
  }

  void attempt(ask).then((started) => {
    if (!started) return grow({ status: "error" }, "");
    id = started.draftId;
    // The draft may have been stopped or have ended before its id was known.
    if (isOver) void api.stopDraft(at, id).catch(() => null);
    else void catchUp();
  });

  return () => {
    if (isOver) return;
    end();
    if (id) void api.stopDraft(at, id).catch(() => null);
  };
}
