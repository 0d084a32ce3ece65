// A text that a model drafts and that is no message, from its first word to its end.
import { tell } from "../model/page.js";
import { ApiError } from "../net/api.js";
import * as api from "../net/arrange.js";
import { attempt, wordsFor } from "./failure.js";
import { hear, sid } from "./follow.js";

/** @import { Draft, DraftPiece, Id } from "../lib/wire.d.ts" */
/** @typedef {{text: string, status: Draft["status"], place: number}} Growing `place`: in the line, while it waits */

/**
 * Begins a draft of the open story and follows it.
 * @param {() => Promise<{draftId: Id}>} ask
 * @param {(now: Growing) => void} grown hears of all of the text each time there is more of it, and of its end
 * @returns {() => void} stops it; what has come stays
 */
export function follow(ask, grown) {
  const at = sid();
  let id = /** @type {Id | null} */ (null);
  let text = "";
  let isOver = false;
  const deaf = hear((frame) => {
    if (frame.type === "hello") void catchUp();
    if (frame.type === "draft.updated" && frame.id === id) heard(frame);
  });
  const end = () => {
    isOver = true;
    deaf();
  };

  /** @param {Pick<Draft, "status" | "queuePosition" | "error">} draft @param {string} whole */
  function grow({ status, queuePosition, error }, whole) {
    if (isOver) return;
    text = whole;
    if (status === "done" || status === "error") end();
    grown({ text, status, place: queuePosition ?? 1 });
    if (error) tell({ tone: "error", ...wordsFor(new ApiError(502, error)) });
  }

  /** @param {DraftPiece} piece */
  function heard(piece) {
    if (piece.offset > text.length) return void catchUp();
    grow(piece, text + piece.contentChunk.slice(text.length - piece.offset));
  }

  /** Reads it as far as it is. */
  async function catchUp() {
    const whole = id && (await api.draft(at, id).catch(() => null));
    if (whole && whole.content.length >= text.length) grow(whole, whole.content);
  }

  void attempt(ask).then((begun) => {
    if (!begun) return grow({ status: "error" }, "");
    id = begun.draftId;
    // It may have been stopped, or have ended, before it had a name here.
    if (isOver) void api.stopDraft(at, id).catch(() => null);
    else void catchUp();
  });

  return () => {
    if (isOver) return;
    end();
    if (id) void api.stopDraft(at, id).catch(() => null);
  };
}
