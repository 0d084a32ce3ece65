// The confirmation before something is destroyed. It opens beside the button that was pressed, and takes the focus.
import { h } from "../../vendor/preact.js";
import { icon } from "./common.tsx";

interface ConfirmationProps {
  text: string;
  yes: string;
  no: string;
  act: () => unknown;
  keep: () => unknown;
}

export const Confirmation = ({ text, yes, no, act, keep }: ConfirmationProps) => (
  <div class="grave" role="group" aria-label={yes}>
    {icon("warning")}
    <p>{text}</p>
    <div class="actions">
      <button type="button" ref={takeFocus} onClick={keep}>
        {no}
      </button>
      <button type="button" class="primary danger" onClick={act}>
        {yes}
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
