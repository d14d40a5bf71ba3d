import type { CatalogueEndpoint } from "../catalogue-body.js";
import { SHOWN } from "./api.js";
import { isIdentifier } from "./chart-data.js";
import { count, el } from "./dom.js";
import { ExactNumber, type ShownRow, textOf } from "./values.js";

/** Longer words, such as hashes and addresses, are cut in the middle; other texts by the style sheet. */
const MAX_WORD = 24;

/** How the numbers of a column are written. */
interface NumberFormat {
  /** Ids and years have no separators. */
  readonly isGrouped: boolean;
  /** Most digits after the point, for alignment. */
  readonly decimals: number;
}

/** The rows as a table. A click on a row shows its whole content. */
export function tableOf(endpoint: CatalogueEndpoint, rows: readonly ShownRow[]): HTMLElement {
  if (rows.length === 0) return el("p.note", "No row matches.");
  const names = Object.keys(rows[0] ?? {});
  const formats = new Map(names.map((name) => [name, formatOf(name, rows)]));
  const types = new Map(endpoint.columns.map(({ name, type }) => [name, type ?? ""]));
  const headers = names.map((name) => {
    const number = formats.get(name) === null ? null : "number";
    return el("th", { scope: "col", title: types.get(name) ?? "", class: number }, name);
  });
  const lines = rows.slice(0, SHOWN).map((row) => line(row, names, formats));
  return el(
    "div",
    el(
      "div.wide.rowsview",
      { tabindex: 0, role: "region", "aria-label": "Rows" },
      el("table", el("thead", el("tr", ...headers)), el("tbody", { keydown: moveByArrow }, ...lines)),
    ),
    names.length > 1 && el("p.note", `${count(names.length, "column")}. Choose a row to see all of it.`),
    rows.length > SHOWN && el("p.note", `The first ${String(SHOWN)} of ${count(rows.length, "row")}.`),
  );
}

/** Null for a column without numbers. */
function formatOf(name: string, rows: readonly ShownRow[]): NumberFormat | null {
  const texts = rows
    .map((row) => row[name])
    .filter(isNumber)
    .map(textOf);
  if (texts.length === 0) return null;
  const decimals = Math.max(...texts.map((text) => /\.(\d+)$/.exec(text)?.[1]?.length ?? 0));
  return { isGrouped: !isIdentifier(name, rows), decimals };
}

/** A row whose first cell is a button that opens it. */
function line(
  row: ShownRow,
  names: readonly string[],
  formats: ReadonlyMap<string, NumberFormat | null>,
): HTMLTableRowElement {
  const cells = names.map((name) => cell(row[name], formats.get(name) ?? null));
  const opener = el("button.opener", { type: "button", "aria-expanded": "false" });
  opener.append(...(cells[0]?.childNodes ?? []));
  cells[0]?.append(opener);
  let whole: HTMLTableRowElement | null = null;
  const toggle = (): void => {
    // The end of a selection is no click.
    if (getSelection()?.isCollapsed === false) return;
    if (whole === null) made.after((whole = wholeRow(row, names)));
    else {
      whole.remove();
      whole = null;
    }
    opener.setAttribute("aria-expanded", String(whole !== null));
  };
  const made = el("tr", { click: toggle }, ...cells);
  return made;
}

function wholeRow(row: ShownRow, names: readonly string[]): HTMLTableRowElement {
  const values = names.map((name) => el("div", el("dt", name), el("dd", textOf(row[name] ?? null))));
  return el("tr.whole", el("td", { colspan: names.length }, el("dl", ...values)));
}

/** Arrow keys go from row to row. */
function moveByArrow(event: KeyboardEvent): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined || !(event.target instanceof HTMLButtonElement)) return;
  event.preventDefault();
  const openers = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>(".opener")];
  openers[openers.indexOf(event.target) + step]?.focus();
}

function cell(value: unknown, format: NumberFormat | null): HTMLTableCellElement {
  if (value === null || value === undefined) return el("td.null", "null");
  const text = textOf(value);
  if (isNumber(value) && format !== null) {
    const [whole = "", fraction = ""] = text.split(".");
    const isPlain = /^-?\d+$/.test(whole) && /^\d*$/.test(fraction);
    const shown = format.isGrouped && isPlain ? text.replace(whole, grouped(whole)) : text;
    // Invisible digits put the points of a column below each other.
    const missing = format.decimals - fraction.length;
    const padding = `${fraction === "" ? "." : ""}${"0".repeat(Math.max(0, missing))}`;
    const isPadded = isPlain && missing > 0;
    return el("td.number", shown, isPadded && el("span.padding", padding));
  }
  // Addresses and hashes differ at both ends.
  const isWord = text.length > MAX_WORD && !/\s/.test(text);
  return el("td", isWord ? `${text.slice(0, 10)}…${text.slice(-8)}` : text);
}

/** Thousands apart, without a change of digits. */
function grouped(whole: string): string {
  return whole.replace(/\B(?=(\d{3})+$)/g, ",");
}

function isNumber(value: unknown): boolean {
  return typeof value === "number" || value instanceof ExactNumber;
}
