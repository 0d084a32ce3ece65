// Parts that several dialogs for stored things share: a form for a name, and a drop area for files.
import { h, useSignal } from "../../vendor/preact.js";
import { t } from "../lib/i18n.ts";
import { icon } from "./common.tsx";
import { takeFocus } from "./confirmation.tsx";
import type { Key } from "../lib/i18n.ts";
import type { ComponentChildren } from "../../vendor/preact.js";

interface NameFormProps {
  name: string;
  onSave: (name: string) => unknown;
  onClose: () => void;
}

export function NameForm({ name, onSave, onClose }: NameFormProps) {
  const submit = (event: Event) => {
    event.preventDefault();
    const next = String(new FormData(event.target as HTMLFormElement).get("name") ?? "").trim();
    if (next) void onSave(next);
  };
  return (
    <form onSubmit={submit}>
      <label>
        {t("lore.fieldName")}
        <input name="name" required maxlength={200} ref={takeFocus} defaultValue={name} />
      </label>
      <div class="actions">
        <button type="button" onClick={onClose}>
          {t("cancel")}
        </button>
        <button type="submit" class="primary">
          {t("save")}
        </button>
      </div>
    </form>
  );
}

interface FileDropAreaProps {
  text: Key;
  onFiles: (files: File[]) => unknown;
  children?: ComponentChildren;
}

/** Imports dropped files as the kind that its dialog shows. The page behind it would guess the kind. */
export function FileDropArea({ text, onFiles, children }: FileDropAreaProps) {
  const isOver = useSignal(false);
  const handleDrag = (event: DragEvent) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    event.stopPropagation();
    isOver.value = event.type === "dragover";
    if (event.type === "drop") void onFiles([...event.dataTransfer.files]);
  };
  return (
    <div class="stash" onDragOver={handleDrag} onDragLeave={handleDrag} onDrop={handleDrag}>
      {isOver.value && (
        <p class="drop" role="status">
          {icon("upload")}
          {t(text)}
        </p>
      )}
      {children}
    </div>
  );
}
