import type { Page } from "playwright-core";

/** What a chart says in words, as its label and its notes have it. */
export interface SaidChart {
  readonly kind: "line" | "bar";
  /** `sum` or `average` of the rows of a point; null where each point is one row. */
  readonly aggregate: string | null;
  readonly measures: readonly string[];
  readonly x: string;
  readonly grain: string | null;
  readonly series: string | null;
  readonly only: { readonly column: string; readonly value: string } | null;
  /** Columns and those of their values whose rows are totals of others. */
  readonly totals: readonly (readonly [column: string, values: readonly string[]])[];
  readonly notes: string;
}

const AXES =
  /^(line|bar) chart of (?:(sum|average) of )?(.+?) by (?:(hour|day|week|month) of )?([^,]+?)(?:, split by ([^,]+?))?(?:, only (\S+) (.+?))?: [\d,]+ points?\b/;

/** The chart that a label names; null where it is of figures. */
export function saidChart(label: string): SaidChart | null {
  const found = AXES.exec(label);
  if (found === null) return null;
  const [, kind, aggregate = null, measures = "", grain = null, x = "", series = null, column, value] = found;
  const left = /Rows of (.+?) are left out: they hold the others/.exec(label)?.[1]?.split("; ") ?? [];
  const totals = left.map((text) => {
    const [of = "", ...values] = text.split(/(?<=^\S+) |, /);
    return [of, values] as const;
  });
  const only = column === undefined ? null : { column, value: value ?? "" };
  return {
    ...{ kind: kind === "line" ? "line" : "bar", aggregate, measures: measures.split(", "), x, grain },
    ...{ series, only, totals, notes: label },
  };
}

/** A point of a picture: its place on the axis, and the number of each series as it is written. */
export interface DrawnPoint {
  readonly label: string;
  readonly values: readonly (readonly [series: string, written: string])[];
}

/** What each point of the picture that is shown has, from the first one, moved to by keys. `read` is a script's expression. */
function ofPoints<T>(page: Page, read: string): Promise<readonly T[]> {
  return page.evaluate(`(() => {
    const slider = document.querySelector(".plot [role=slider]");
    const press = (key) => slider.dispatchEvent(new KeyboardEvent("keydown", { key }));
    press("Home");
    return Array.from({ length: Number(slider.getAttribute("aria-valuemax")) + 1 }, (_, i) => {
      if (i > 0) press("ArrowRight");
      return ${read};
    });
  })()`);
}

/** The points as they are said one by one. */
export const saidPoints = (page: Page): Promise<readonly string[]> =>
  ofPoints(page, 'slider.getAttribute("aria-valuetext")');

/** The points as they are read off. */
export const drawnPoints = (page: Page): Promise<readonly DrawnPoint[]> =>
  ofPoints(
    page,
    `({
      label: document.querySelector(".readout strong").textContent,
      values: [...document.querySelectorAll(".readout .value-of")].map((each) => {
        const written = each.querySelector("b").textContent;
        return [each.textContent.slice(0, -written.length).trim(), written];
      }),
    })`,
  );

/** Whether a written number is this one, to the digits that it has. */
export function isWritten(written: string, exact: number): boolean {
  const text = written.replaceAll(/[^\d.−-]/g, "").replace("−", "-");
  const digits = text.split(".")[1]?.length ?? 0;
  return Math.abs(Number(text) - exact) <= 0.500001 * 10 ** -digits + Math.abs(exact) * 1e-12;
}
