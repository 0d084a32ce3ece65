// The filters and the sort order of a search: chips below the search field.
import { h } from "../../vendor/preact.js";
import { t } from "../lib/i18n.ts";
import { ownUtcOffset } from "../lib/time-zone.ts";
import { session } from "../model/session-store.ts";
import { icon } from "./common.tsx";
import type { SearchQuery } from "../lib/wire.d.ts";
import type { Signal } from "../../vendor/preact.js";

/** The filters of a search. A missing field means no filter. */
export interface SearchFilter {
  session?: string;
  where?: NonNullable<SearchQuery["where"]>;
  role?: NonNullable<SearchQuery["role"]>;
  days?: number;
  rating?: number;
  sort?: NonNullable<SearchQuery["sort"]>;
}

const PLACES = ["trunk", "off-trunk", "stash"] as const;
const ROLES = ["user", "assistant"] as const;
const DAYS = [1, 7, 30];
const SORTS = ["newest", "oldest"] as const;
const STARS = [1, 2, 3, 4, 5];
const DAY = 86_400_000;

/** Returns the request fields of a filter. */
export function requestFieldsOf({ days, ...rest }: SearchFilter): Omit<SearchQuery, "q"> {
  return {
    ...rest,
    ...(days && { after: new Date(Date.now() - days * DAY).toISOString() }),
    zone: ownUtcOffset(),
  };
}

/** Returns whether a filter excludes anything; the sort order does not. */
export const isNarrowing = ({ sort: _, ...rest }: SearchFilter) => Object.keys(rest).length > 0;

/** Renders the chips. At most one is on among the places, roles, times, ratings and sort orders. */
export function SearchFilters({ filter }: { filter: Signal<SearchFilter> }) {
  const { session: only, where, role, days = 0, rating = 0, sort = "relevance" } = filter.value;
  const here = session.value?.id;
  /** Changes the filter, and removes fields that are no longer set. */
  const turn = (change: SearchFilter) => {
    const next = Object.entries({ ...filter.value, ...change }).filter(
      ([, value]) => value !== "" && value !== 0 && value !== "relevance",
    );
    filter.value = Object.fromEntries(next) as SearchFilter;
  };
  const chip = (on: boolean, label: string, act: () => unknown) => (
    <button type="button" class={`chip ${on ? "on" : ""}`} aria-pressed={on} onClick={act}>
      {label}
    </button>
  );
  return (
    <div class="filters" role="group" aria-label={t("search.filters")}>
      {here && chip(Boolean(only), t("search.thisStory"), () => turn({ session: only ? "" : here }))}
      {PLACES.map((place) =>
        chip(where === place, t(`search.in.${place}`), () => turn({ where: where === place ? "" : place })),
      )}
      {ROLES.map((one) => chip(role === one, t(`search.role.${one}`), () => turn({ role: role === one ? "" : one })))}
      {DAYS.map((n) => chip(days === n, t("search.days", { n }), () => turn({ days: days === n ? 0 : n })))}
      <span class="stars" role="group" aria-label={t("rating.label")}>
        {STARS.map((n) => {
          const name = t(n === rating ? "rating.takeBack" : "search.stars", { n });
          return (
            <button
              key={n}
              type="button"
              class={n <= rating ? "given" : ""}
              aria-pressed={n === rating}
              aria-label={name}
              title={name}
              onClick={() => turn({ rating: n === rating ? 0 : n })}
            >
              {icon("star")}
            </button>
          );
        })}
      </span>
      {SORTS.map((one) =>
        chip(sort === one, t(`search.sort.${one}`), () => turn({ sort: sort === one ? "relevance" : one })),
      )}
    </div>
  );
}
