// The page of a device that is not paired, or no longer. It contains nothing of the sessions.
import { h, useEffect, useRef, useSignal } from "../../vendor/preact.js";
import { submitPairingCode, recheckAccess } from "../actions/pairing.ts";
import { setLanguage } from "../actions/page.ts";
import { LOCALES, addEnglish, locale, t } from "../lib/i18n.ts";
import words from "../lib/strings/en-devices.ts";
import { icon } from "./common.tsx";
import type { Locale } from "../lib/i18n.ts";
import type { PairingRefusal } from "../actions/pairing.ts";

addEnglish(words);

/** @param props `isNew`: not paired before; `code`: the pairing code in the address of the page, or empty */
export function PairingPage({ isNew, code }: { isNew: boolean; code: string }) {
  const refused = useSignal<PairingRefusal | null>(null);
  const isAsking = useSignal(false);
  const field = useRef<HTMLInputElement | null>(null);
  const show = async (typed: string) => {
    if (isAsking.peek()) return;
    isAsking.value = true;
    refused.value = null;
    refused.value = await submitPairingCode(typed);
    isAsking.value = false;
    if (refused.peek()) field.current?.select();
  };
  useEffect(() => void (code && show(code)), [code]);
  useEffect(() => {
    const look = () => document.visibilityState === "visible" && void recheckAccess();
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, []);
  const submit = (event: Event) => {
    event.preventDefault();
    void show(field.current?.value ?? "");
  };
  const why = refused.value;
  return (
    <main class="door">
      <div class="door-inner">
        <p class="brand">
          <span class="thread" aria-hidden="true" />
          <span>Clotho</span>
        </p>
        <h1>{t(isNew ? "door.title" : "door.removed")}</h1>
        <p class="lead">{t(isNew ? "door.text" : "door.removedText")}</p>
        <ol class="steps">
          <li>{t("door.step1")}</li>
          <li>{t("door.step2")}</li>
          <li>{t("door.step3")}</li>
        </ol>
        <form onSubmit={submit}>
          <label for="door-code">{t("door.code")}</label>
          <div class="row">
            <input
              id="door-code"
              ref={field}
              required
              maxlength={300}
              autocomplete="off"
              autocapitalize="characters"
              autocorrect="off"
              spellcheck={false}
              enterkeyhint="go"
              placeholder="XXXX-XXXX"
              aria-invalid={why === "code" ? "true" : undefined}
              aria-describedby={why ? "door-said" : undefined}
            />
            <button type="submit" class="primary" aria-disabled={isAsking.value ? "true" : undefined}>
              {t("door.knock")}
            </button>
          </div>
          <div id="door-said" role="status">
            {isAsking.value ? (
              <p class="aside">{t("door.knocking")}</p>
            ) : (
              why && (
                <div class="problem">
                  {icon("warning")}
                  <div>
                    <p>
                      <strong>{t(`door.refused.${why}`)}</strong>
                    </p>
                    <p>{t(`door.hint.${why}`)}</p>
                  </div>
                </div>
              )
            )}
          </div>
        </form>
        <p class="tongues">
          {(Object.keys(LOCALES) as Locale[]).map((one) => (
            <button
              key={one}
              type="button"
              class="link"
              lang={one}
              aria-pressed={locale.value === one}
              onClick={() => setLanguage(one)}
            >
              {LOCALES[one]}
            </button>
          ))}
        </p>
      </div>
    </main>
  );
}
