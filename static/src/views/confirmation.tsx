// The confirmation before something is destroyed. It opens beside the button that was pressed, and takes the focus.
import { h } from "../../vendor/preact.js";
import { icon } from "./common.tsx";

interface ConfirmationProps {
  text: string;
  confirmLabel: string;
  cancelLabel: string;
  onConfirm: () => unknown;
  onCancel: () => unknown;
}

export const Confirmation = ({ text, confirmLabel, cancelLabel, onConfirm, onCancel }: ConfirmationProps) => (
  <div class="grave" role="group" aria-label={confirmLabel}>
    {icon("warning")}
    <p>{text}</p>
    <div class="actions">
      <button type="button" ref={takeFocus} onClick={onCancel}>
        {cancelLabel}
      </button>
      <button type="button" class="primary danger" onClick={onConfirm}>
        {confirmLabel}
      </button>
    </div>
  </div>
);

/** Focuses an element when it first appears. */
export function takeFocus(element: HTMLElement | null) {
  if (!element || element.dataset.met) return;
  element.dataset.met = "yes";
  element.focus();
}
