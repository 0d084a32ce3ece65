// What a connection profile has of a story, and whether they differ.
import type { ConnectionProfile, Session } from "./wire.d.ts";

/** The settings of a profile. */
export type ConnectionSettings = Pick<
  ConnectionProfile,
  "model" | "params" | "presetId" | "summariesModel" | "valuesModel"
>;

/** Returns the settings that a story has now. */
export const settingsOf = (story: Session): ConnectionSettings => ({
  model: story.model ?? null,
  params: story.params ?? {},
  presetId: story.presetId ?? null,
  summariesModel: story.summaries?.model ?? null,
  valuesModel: story.valuesModel ?? null,
});

/** Returns JSON in which the order of keys does not matter. */
const sortedJson = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) =>
    part !== null && typeof part === "object" && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  );

/** Whether a story has other settings than a profile. */
export function isChanged(story: Session, profile: ConnectionProfile): boolean {
  const { model, params, presetId, summariesModel, valuesModel } = profile;
  return sortedJson(settingsOf(story)) !== sortedJson({ model, params, presetId, summariesModel, valuesModel });
}

/** Returns the profile that a typed name means: exactly, else without regard to case; null if there is none. */
export function profileNamed(all: ConnectionProfile[], typed: string): ConnectionProfile | null {
  const wanted = typed.trim();
  const folded = wanted.toLocaleLowerCase();
  return all.find(({ name }) => name === wanted) ?? all.find(({ name }) => name.toLocaleLowerCase() === folded) ?? null;
}
