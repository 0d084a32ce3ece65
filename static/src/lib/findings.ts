// What an import says, counted, sifted and put together: plain readings of a report.
import type { Fate, Finding, ReportItem } from "./wire.d.ts";

export const FATES = ["works", "translated", "kept", "skipped"] as const;

/** an empty text or kind, and no fate, mean everything */
export interface Wanted {
  fate: Fate | null;
  kind: string;
  text: string;
}

/** Of how many cards and files something is said in each of the four ways. */
export function tally(items: ReportItem[]) {
  const counts = { works: 0, translated: 0, kept: 0, skipped: 0 };
  for (const item of items) for (const fate of fatesOf(item)) counts[fate] += 1;
  return counts;
}

const fatesOf = (item: ReportItem) => new Set([item.fate, ...item.findings.map(({ fate }) => fate)]);

/** The kinds that there are, in the order in which they come. */
export const kindsOf = (items: ReportItem[]) => [...new Set(items.map(({ kind }) => kind))];

/** What is wanted of a report: of an item only what was sifted for. */
export function sifted(items: ReportItem[], { fate, kind, text }: Wanted, wordsOf: (finding: Finding) => string) {
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

/**
 * What the page's words for a code say as fully as the server's sentence does, once the count and the names are in
 * them: no reason, no name, no number is in it besides.
 */
const WHOLE = new Set(
  (
    "regex_scripts regex_display own_script own_display own_variables scripts scripts_jquery scripts_load " +
    "depth_prompt group_greetings assets lore ejs html_scripts mvu extensions_beside persona_position " +
    "persona_lorebook persona_bound persona_default favourite bad_lines bad_stories below_taken_out " +
    "changed_meanwhile circle hidden no_text no_name parent_missing same_id who_wrote variables empty attachments " +
    "deleted_here in_trash halves joined"
  ).split(" "),
);

/**
 * What the server's own sentence says besides the page's words for it. What only the page knows has its code for a
 * sentence.
 */
export const besides = ({ code, message }: Finding) => (WHOLE.has(code) || message === code ? "" : message);

/** So many lines of one thing that is said again and again are named. */
const MOST_LINES = 3;

/** What one file says again and again stands once, with its first lines. `lines`: those, in their order. */
export type Folded = Finding & { lines: number[]; times: number };

export function folded(findings: Finding[]): Folded[] {
  const all: Map<string, Folded> = new Map();
  for (const finding of findings) {
    const { fate, code, count, line, message } = finding;
    // Where something stands is no part of what is said; without a line two things are two.
    const key =
      line === null || line === undefined ? `${all.size} alone` : `${fate} ${code} ${message.replace(/\d+/g, "#")}`;
    const one = all.get(key);
    if (!one) all.set(key, { ...finding, lines: line ? [line] : [], times: 1 });
    else {
      one.count += count;
      one.times += 1;
      if (line && one.lines.length < MOST_LINES) one.lines.push(line);
    }
  }
  return [...all.values()];
}

/** One thing that is said, and of what. */
export interface Group {
  code: string;
  fate: Fate;
  count: number;
  at: { item: ReportItem; finding: Finding }[];
}

/** The same thing said of many files stands once: what came over comes last, else what is said most often first. */
export function grouped(items: ReportItem[]): Group[] {
  const groups: Map<string, Group> = new Map();
  for (const item of items) {
    for (const finding of item.findings) {
      const key = `${finding.fate} ${finding.code}`;
      const group = groups.get(key) ?? { code: finding.code, fate: finding.fate, count: 0, at: [] };
      group.count += finding.count;
      group.at.push({ item, finding });
      groups.set(key, group);
    }
  }
  const works = ({ fate }: Group) => Number(fate === "works");
  return [...groups.values()].sort((one, other) => works(one) - works(other) || other.at.length - one.at.length);
}
