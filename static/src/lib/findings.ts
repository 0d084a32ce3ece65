// Counts, filters and groups the findings of an import report. Pure.
import type { ImportFate, Finding, ReportItem } from "./wire.d.ts";

export const FATES = ["works", "translated", "kept", "skipped"] as const;

/** A filter. An empty text or kind, or no fate, matches everything. */
export interface FindingFilter {
  fate: ImportFate | null;
  kind: string;
  text: string;
}

/** Counts the items for each fate. An item counts once for each fate that it or one of its findings has. */
export function countFates(items: ReportItem[]) {
  const counts = { works: 0, translated: 0, kept: 0, skipped: 0 };
  for (const item of items) for (const fate of fatesOf(item)) counts[fate] += 1;
  return counts;
}

const fatesOf = (item: ReportItem) => new Set([item.fate, ...item.findings.map(({ fate }) => fate)]);

/** Returns the kinds in the order of their first item. */
export const kindsOf = (items: ReportItem[]) => [...new Set(items.map(({ kind }) => kind))];

/** Returns the items that match a filter. Each keeps only its matching findings. */
export function filterItems(
  items: ReportItem[],
  { fate, kind, text }: FindingFilter,
  wordsOf: (finding: Finding) => string,
) {
  const words = text.trim().toLowerCase();
  const has = (where: string | null | undefined) => (where ?? "").toLowerCase().includes(words);
  return items.flatMap((item) => {
    if (kind && item.kind !== kind) return [];
    const isNamed = words === "" || has(item.name) || has(item.file);
    const findings = item.findings.filter(
      (finding) => (!fate || finding.fate === fate) && (isNamed || has(wordsOf(finding))),
    );
    const isWhole = isNamed && (!fate || item.fate === fate);
    return isWhole || findings.length > 0 ? [{ ...item, findings }] : [];
  });
}

/** What a finding says, apart from its count and its line. Findings of old reports have only a message. */
function contentOf({ args = {}, message }: Finding) {
  const others = Object.entries(args).filter(([name]) => name !== "count");
  return Object.keys(args).length > 0 ? JSON.stringify(others) : message;
}

/** Whether findings with one code say the same. */
export const isSameContent = (one: Finding, other: Finding) => contentOf(one) === contentOf(other);

/** Whether a finding has numbers apart from its count. They belong to one file, so they cannot stand for several. */
export const hasOwnNumbers = ({ args = {} }: Finding) =>
  Object.entries(args).some(([name, value]) => name !== "count" && typeof value === "number");

/** Maximum number of line numbers listed for a repeated finding. */
const MAX_LINES = 3;

/** A finding that one file repeats. `lines`: its first line numbers, in order. */
export type RepeatedFinding = Finding & { lines: number[]; times: number };

export function foldRepeated(findings: Finding[]): RepeatedFinding[] {
  const all: Map<string, RepeatedFinding> = new Map();
  for (const finding of findings) {
    const { fate, code, count, line } = finding;
    // The position is not part of the finding. Findings without a line are never combined.
    const key = line === null || line === undefined ? `${all.size} alone` : `${fate} ${code} ${contentOf(finding)}`;
    const one = all.get(key);
    if (!one) all.set(key, { ...finding, lines: line ? [line] : [], times: 1 });
    else {
      one.count += count;
      one.times += 1;
      if (line && one.lines.length < MAX_LINES) one.lines.push(line);
    }
  }
  return [...all.values()];
}

/** One finding with all its items. */
export interface FindingGroup {
  code: string;
  fate: ImportFate;
  count: number;
  at: { item: ReportItem; finding: Finding }[];
}

/** Combines equal findings of many items. The fate `works` comes last; otherwise the most frequent comes first. */
export function groupFindings(items: ReportItem[]): FindingGroup[] {
  const groups: Map<string, FindingGroup> = new Map();
  for (const item of items) {
    for (const finding of item.findings) {
      const key = `${finding.fate} ${finding.code}`;
      const group = groups.get(key) ?? { code: finding.code, fate: finding.fate, count: 0, at: [] };
      group.count += finding.count;
      group.at.push({ item, finding });
      groups.set(key, group);
    }
  }
  const works = ({ fate }: FindingGroup) => Number(fate === "works");
  return [...groups.values()].sort((one, other) => works(one) - works(other) || other.at.length - one.at.length);
}
