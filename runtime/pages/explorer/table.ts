import { SHOWN } from "./api.js";
import { type ApiRequest, type Parameters, valuesOf } from "./api-request.js";
import { columnMenu, type SortOrder } from "./column-menu.js";
import { button, copyButton, count, el } from "./dom.js";
import { filterBy, withoutSort } from "./filters.js";
import { sortsOf } from "./asked-groups.js";
import {
  byNumber,
  ExactNumber,
  isIdentifier,
  isNumberType,
  type ShownRow,
  textOf,
  withoutMiddle,
  withSeparators,
} from "./values.js";

/** Longer words, such as hashes and addresses, are cut in the middle; other texts by the style sheet. */
const MAX_WORD = 24;

/** How the numbers of a column are written. */
interface NumberFormat {
  /** Ids and years have no separators. */
  readonly isGrouped: boolean;
  /** Most digits after the point, for alignment. */
  readonly decimals: number;
}

/** What the table may do with the request. */
export interface TableActions {
  /** Shows the rows of other parameters. */
  readonly go: (parameters: Parameters) => void;
  /** Whether the rows are the whole result, so that they can be sorted here. */
  readonly isWhole: boolean;
}

type Sort = readonly [column: string, direction: SortOrder];

/** The rows as a table: a header sorts, a click on a value filters by it, a button at its start shows the whole row. */
export function tableOf(request: ApiRequest, rows: readonly ShownRow[], actions: TableActions): HTMLElement {
  if (rows.length === 0) return el("p.note", "No row matches.");
  const names = Object.keys(rows[0] ?? {});
  const formats = new Map(names.map((name) => [name, formatOf(name, rows)]));
  const body = el("tbody", { keydown: moveByArrow });
  const head = el("tr");
  const show = (local: Sort | null): void => {
    const sorted = local === null ? rows : sortedBy(request, rows, ...local);
    const lines = sorted
      .slice(0, SHOWN)
      .map((row, i) => line(request, row, i, { names, formats, go: actions.go }));
    const headers = names.map((name) => {
      const header = headerOf(request, name, { ...actions, local, show });
      if (formats.get(name) !== null) header.classList.add("number");
      return header;
    });
    // The sorted header keeps the focus: headers are made anew.
    const focused = head.contains(document.activeElement) ? document.activeElement?.textContent : undefined;
    head.replaceChildren(...headers);
    body.replaceChildren(...lines);
    [...head.querySelectorAll<HTMLElement>(".sort")].find((each) => each.textContent === focused)?.focus();
  };
  show(null);
  return el(
    "div",
    el(
      "div.wide.rowsview",
      { tabindex: 0, role: "region", "aria-label": "Rows" },
      el("table", el("thead", head), body),
    ),
    rows.length > SHOWN && el("p.note", `The first ${String(SHOWN)} of ${count(rows.length, "row")}.`),
  );
}

interface HeaderActions extends TableActions {
  /** The order of rows that are sorted here. */
  readonly local: Sort | null;
  readonly show: (local: Sort | null) => void;
}

/** The name of a column, which sorts where that is possible, and its menu. */
function headerOf(
  request: ApiRequest,
  name: string,
  { go, isWhole, local, show }: HeaderActions,
): HTMLElement {
  const inDatabase = sortsOf(request).includes(name);
  const [asked] = valuesOf(request.parameters, "sort_by");
  const askedDirection =
    valuesOf(request.parameters, "sort_direction")[0]?.toUpperCase() === "DESC" ? "DESC" : "ASC";
  const current = local ?? (asked === undefined ? null : ([asked, askedDirection] as const));
  const direction = current?.[0] === name ? current[1] : null;
  const sort = (next: SortOrder | null): void => {
    if (!inDatabase) return show(next === null ? null : [name, next]);
    const others = withoutSort(request.parameters);
    go(next === null ? others : { ...others, sort_by: [name], sort_direction: [next] });
  };
  const canSort = inDatabase || isWhole;
  const next = direction === null ? "ASC" : direction === "ASC" ? "DESC" : null;
  return el(
    "th",
    {
      scope: "col",
      "aria-sort": direction === null ? null : direction === "ASC" ? "ascending" : "descending",
    },
    el(
      "div.head",
      canSort ? button(name, () => sort(next), { class: "sort", title: "Sort" }) : el("span", name),
      columnMenu(request, name, { filter: go, sort: canSort ? sort : null }),
    ),
  );
}

/** Nulls last; numbers by value, also where JSON has them as texts, other values as texts. */
function sortedBy(
  { endpoint }: ApiRequest,
  rows: readonly ShownRow[],
  name: string,
  direction: SortOrder,
): readonly ShownRow[] {
  const sign = direction === "ASC" ? 1 : -1;
  const { type = null } = endpoint.columns.find((column) => column.name === name) ?? {};
  const areNumbers = isNumberType(type);
  const compared = (a: unknown, b: unknown): number => {
    const [one, other] = [textOf(a), textOf(b)];
    if (areNumbers || (isNumber(a) && isNumber(b))) return byNumber(one, other);
    return one < other ? -1 : one > other ? 1 : 0;
  };
  const isNull = (value: unknown): boolean => value === null || value === undefined;
  return [...rows].sort(({ [name]: a }, { [name]: b }) =>
    isNull(a) || isNull(b) ? Number(isNull(a)) - Number(isNull(b)) : sign * compared(a, b),
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

interface LineParts {
  readonly names: readonly string[];
  readonly formats: ReadonlyMap<string, NumberFormat | null>;
  readonly go: (parameters: Parameters) => void;
}

/** A row. A button in its first cell shows all of its values; values that the endpoint filters by are buttons too. */
function line(
  request: ApiRequest,
  row: ShownRow,
  index: number,
  { names, formats, go }: LineParts,
): HTMLTableRowElement {
  const cells = names.map((name) => {
    const made = cell(row[name], formats.get(name) ?? null);
    const parameters = filterBy(request, name, row[name]);
    if (parameters === null) return made;
    const text = row[name] === null ? "null" : textOf(row[name]);
    const value = el("button.value", {
      type: "button",
      tabindex: -1,
      title: `Only rows with ${name} ${text}`,
      click: (event: MouseEvent) => {
        event.stopPropagation();
        if (getSelection()?.isCollapsed !== false) go(parameters);
      },
    });
    value.append(...made.childNodes);
    made.append(value);
    return made;
  });
  const label = `Row ${String(index + 1)}: all values`;
  const opener = el("button.opener", {
    type: "button",
    "aria-expanded": "false",
    "aria-label": label,
    title: label,
  });
  cells[0]?.prepend(opener);
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
  const values = names.map((name) => {
    const text = textOf(row[name] ?? null);
    return el("div", el("dt", name, " ", copyButton(text, `Copy ${name}`)), el("dd", text));
  });
  return el("tr.whole", el("td", { colspan: names.length }, el("dl", ...values)));
}

/** Arrow keys go from row to row, and from value to value. */
function moveByArrow(event: KeyboardEvent): void {
  const { target } = event;
  if (!(target instanceof HTMLButtonElement)) return;
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const aside = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  const all = (within: Element | null, buttons: string) => [
    ...(within?.querySelectorAll<HTMLElement>(buttons) ?? []),
  ];
  const own = all(target.closest("tr"), "button");
  const at = own.indexOf(target);
  if (aside !== undefined) own[at + aside]?.focus();
  else if (step !== undefined) {
    const rows = all(event.currentTarget as HTMLElement, "tr:not(.whole)");
    const row = rows[rows.indexOf(target.closest("tr") as HTMLElement) + step] ?? null;
    const there = all(row, "button");
    (there[at] ?? there[0])?.focus();
  } else return;
  event.preventDefault();
}

function cell(value: unknown, format: NumberFormat | null): HTMLTableCellElement {
  if (value === null || value === undefined) return el("td.null", "null");
  const text = textOf(value);
  if (isNumber(value) && format !== null) {
    const [whole = "", fraction = ""] = text.split(".");
    const isPlain = /^-?\d+$/.test(whole) && /^\d*$/.test(fraction);
    const shown = format.isGrouped ? withSeparators(text) : text;
    // Invisible digits put the points of a column below each other.
    const missing = format.decimals - fraction.length;
    const padding = `${fraction === "" ? "." : ""}${"0".repeat(Math.max(0, missing))}`;
    const isPadded = isPlain && missing > 0;
    return el("td.number", shown, isPadded && el("span.padding", padding));
  }
  // Addresses and hashes differ at both ends.
  const isWord = text.length > MAX_WORD && !/\s/.test(text);
  return el("td", isWord ? withoutMiddle(text, 10, 8) : text);
}

function isNumber(value: unknown): boolean {
  return typeof value === "number" || value instanceof ExactNumber;
}
