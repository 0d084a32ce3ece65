// A fault of a script, manifest or schema, with links to its lines.
import { Fragment, h } from "../../vendor/preact.js";
import { t } from "../lib/i18n.ts";
import { scriptErrorText } from "../lib/script-error-text.ts";
import { icon } from "./common.tsx";
import type { ScriptError } from "../lib/wire.d.ts";

interface FaultProps {
  fault: ScriptError;
  isBad?: boolean;
  jump: (fault: ScriptError) => void;
}

/**
 * A fault with its place and call stack.
 * @param props `isBad`: whether the fault stops the file from running; `jump`: opens the place of a fault
 */
export function Fault({ fault, isBad = true, jump }: FaultProps) {
  const { file, line, column, stack = [], opsDropped = 0 } = fault;
  const place = file ? [file, line, column].filter(Boolean).join(":") : "";
  return (
    <li class={isBad ? "fault bad" : "fault"}>
      {icon("warning")}
      <div>
        <p>{scriptErrorText(fault)}</p>
        <p class="aside">
          {place && <JumpButton place={place} jump={() => jump(fault)} />}
          {stack.length > 0 && (
            <>
              {" "}
              {t("workshop.calledFrom")}{" "}
              {stack.map((one, i) => (
                <>
                  {i > 0 ? " ← " : ""}
                  <JumpButton
                    key={i}
                    place={[one.function, one.line].filter(Boolean).join(":")}
                    jump={() => jump({ ...fault, ...one })}
                  />
                </>
              ))}
            </>
          )}
          {opsDropped > 0 && <> {t("workshop.dropped", { n: opsDropped })}</>}
        </p>
      </div>
    </li>
  );
}

const JumpButton = ({ place, jump }: { place: string; jump: () => void }) => (
  <button type="button" class="link place" onClick={jump}>
    <code>{place}</code>
  </button>
);
