import type { CatalogueEndpoint } from "../catalogue-body.js";
import { ExactNumber, type Row, SHOWN, textOf } from "./api.js";
import { isIdentifier } from "./chart-data.js";
import { button, count, el } from "./dom.js";

/** Longer texts are shortened, and open on demand. */
const MAX_TEXT = 80;

/** How the numbers of a column are written. */
interface NumberFormat {
  /** Ids and years have no separators. */
  readonly isGrouped: boolean;
  /** Most digits after the point, for alignment. */
  readonly decimals: number;
}

interface Sort {
  readonly name: string;
  readonly isDescending: boolean;
}

/** The rows as a table. A header sorts the rows of the page. */
export function tableOf(
  endpoint: CatalogueEndpoint,
  rows: readonly Row[],
  sort: Sort | null = null,
): HTMLElement {
  if (rows.length === 0) return el("p", { class: "note" }, "No row matches.");
  const names = Object.keys(rows[0] ?? {});
  const formats = new Map(names.map((name) => [name, formatOf(name, rows)]));
  const shown = sort === null ? rows : sorted(rows, sort);
  const choose = (name: string): void => {
    const next = tableOf(endpoint, rows, { name, isDescending: sort?.name === name && !sort.isDescending });
    element.replaceWith(next);
    next.querySelector<HTMLElement>(`th[aria-sort]:not([aria-sort="none"]) button`)?.focus();
  };
  const types = new Map(endpoint.columns.map(({ name, type }) => [name, type ?? ""]));
  const headers = names.map((name) => {
    const order = sort?.name !== name ? "none" : sort.isDescending ? "descending" : "ascending";
    const mark = { none: "", ascending: " ↑", descending: " ↓" }[order];
    const attributes = { scope: "col", title: types.get(name) ?? "", "aria-sort": order };
    const number = formats.get(name) === null ? null : "number";
    return el(
      "th",
      { ...attributes, class: number },
      button(name + mark, () => choose(name)),
    );
  });
  const lines = shown
    .slice(0, SHOWN)
    .map((row) => el("tr", {}, ...names.map((name) => cell(row[name], formats.get(name) ?? null))));
  const element: HTMLElement = el(
    "div",
    {},
    el(
      "div",
      { class: "wide rowsview", tabindex: 0, role: "region", "aria-label": "Rows" },
      el("table", {}, el("thead", {}, el("tr", {}, ...headers)), el("tbody", {}, ...lines)),
    ),
    sort !== null &&
      el("p", { class: "note" }, "Sorted in this table only: other pages may hold other rows."),
    rows.length > SHOWN &&
      el("p", { class: "note" }, `The first ${String(SHOWN)} of ${count(rows.length, "row")}.`),
  );
  return element;
}

/** Null for a column without numbers. */
function formatOf(name: string, rows: readonly Row[]): NumberFormat | null {
  const texts = rows
    .map((row) => row[name])
    .filter(isNumber)
    .map(textOf);
  if (texts.length === 0) return null;
  const decimals = Math.max(...texts.map((text) => /\.(\d+)$/.exec(text)?.[1]?.length ?? 0));
  return { isGrouped: !isIdentifier(name, rows), decimals };
}

function cell(value: unknown, format: NumberFormat | null): HTMLTableCellElement {
  if (value === null || value === undefined) return el("td", { class: "null" }, "null");
  const text = textOf(value);
  if (isNumber(value) && format !== null) {
    const [whole = "", fraction = ""] = text.split(".");
    const isPlain = /^-?\d+$/.test(whole) && /^\d*$/.test(fraction);
    const shown = format.isGrouped && isPlain ? text.replace(whole, grouped(whole)) : text;
    // Invisible digits put the points of a column below each other.
    const missing = format.decimals - fraction.length;
    const padding = `${fraction === "" ? "." : ""}${"0".repeat(Math.max(0, missing))}`;
    const isPadded = isPlain && missing > 0;
    return el("td", { class: "number" }, shown, isPadded && el("span", { class: "padding" }, padding));
  }
  if (text.length <= MAX_TEXT) return el("td", {}, text);
  const summary = el("summary", {}, `${text.slice(0, MAX_TEXT - 1)}…`);
  return el("td", {}, el("details", {}, summary, el("p", {}, text)));
}

/** Thousands apart, without a change of digits. */
function grouped(whole: string): string {
  return whole.replace(/\B(?=(\d{3})+$)/g, ",");
}

function sorted(rows: readonly Row[], { name, isDescending }: Sort): readonly Row[] {
  const isEmpty = (row: Row): boolean => row[name] === null || row[name] === undefined;
  const compare = (a: Row, b: Row): number => {
    if (isEmpty(a) || isEmpty(b)) return Number(isEmpty(a)) - Number(isEmpty(b));
    const [one, other] = [a[name], b[name]];
    const order =
      isNumber(one) && isNumber(other)
        ? Number(one) - Number(other)
        : textOf(one).localeCompare(textOf(other), "en");
    return isDescending ? -order : order;
  };
  return [...rows].sort(compare);
}

function isNumber(value: unknown): boolean {
  return typeof value === "number" || value instanceof ExactNumber;
}
