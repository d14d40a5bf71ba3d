import type { AxisPlan } from "./chart-choice.js";
import type { Pivoted } from "./chart-data.js";
import type { Unit } from "../units.js";
import { svg } from "./dom.js";
import { shortened } from "./values.js";

/** Colours of the theme, as attributes: a saved file has no style sheet. */
export interface Colours {
  readonly text: string;
  readonly soft: string;
  readonly line: string;
  readonly ground: string;
  readonly series: readonly string[];
}

export function coloursOf(root: Element): Colours {
  const style = getComputedStyle(root);
  const of = (name: string): string => style.getPropertyValue(name).trim();
  const series = Array.from({ length: 8 }, (_, i) => of(`--series-${String(i + 1)}`));
  return { text: of("--text"), soft: of("--soft"), line: of("--line"), ground: of("--panel"), series };
}

export interface PlotFrame {
  readonly width: number;
  readonly colours: Colours;
  readonly unit: Unit;
  /** Of the lines or upright bars. */
  readonly plotHeight: number;
}

/** A picture, and where its points are for a pointer. */
export interface Drawing {
  readonly element: Element;
  readonly height: number;
  /** The middle of each point along `axis`. */
  readonly points: readonly number[];
  readonly axis: "x" | "y";
  readonly area: Box;
}

export interface Box {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
const SIZE = 12;

/** About how wide a text is. */
export const widthOf = (text: string, size = SIZE): number => text.length * size * 0.56;

export function picture(width: number, height: number, ...parts: readonly (Element | string)[]): Element {
  const size = { width, height, viewBox: `0 0 ${String(width)} ${String(height)}` };
  return svg(
    "svg",
    { xmlns: "http://www.w3.org/2000/svg", "font-family": FONT, "font-size": SIZE, ...size },
    ...parts,
  );
}

const NOTE_SIZE = 11;
const NOTE_LINE = 16;

/** A picture with notes below it, which a saved or embedded one keeps. */
export function withNotes<Drawn extends { readonly element: Element; readonly height: number }>(
  drawn: Drawn,
  notes: readonly string[],
  { width, colours }: Pick<PlotFrame, "width" | "colours">,
): Drawn {
  if (notes.length === 0) return drawn;
  const lines = notes.flatMap((note) => wrapped(note, width - 8));
  const height = drawn.height + 8 + lines.length * NOTE_LINE;
  const { element } = drawn;
  element.setAttribute("height", String(height));
  element.setAttribute("viewBox", `0 0 ${String(width)} ${String(height)}`);
  for (const [i, line] of lines.entries()) {
    const y = drawn.height + 8 + (i + 0.6) * NOTE_LINE;
    element.append(words(2, y, line, colours.soft, { "font-size": NOTE_SIZE, class: "note" }));
  }
  return { ...drawn, height };
}

/** A text in lines that are about so wide. */
function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && widthOf(`${last} ${word}`, NOTE_SIZE) <= width)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

export function words(
  x: number,
  y: number,
  text: string,
  fill: string,
  more: Readonly<Record<string, string | number>> = {},
): Element {
  return svg("text", { x: round(x), y: round(y), fill, ...more }, text);
}

/** The colour of a series: that of its place, and grey for the rest. */
export function colourOf({ series }: Pivoted, i: number, { series: colours, soft }: Colours): string {
  return series[i]?.isOther ? soft : (colours[i % colours.length] ?? soft);
}

export interface Legend {
  readonly parts: readonly Element[];
  readonly height: number;
}

/** What is drawn, and the name of each series beside its colour, unless the series are named where they end. */
export function legendOf(
  { measures, series, aggregate, isAggregated }: AxisPlan,
  data: Pivoted,
  { width, colours, unit }: PlotFrame,
  isNamed: boolean,
): Legend {
  const what =
    data.series.length > 1 && series === null
      ? ""
      : `${isAggregated ? `${aggregate} of ` : ""}${measures.join(", ")}`;
  const inUnit = [unit.before, unit.behind].join("").trim();
  const title = `${what}${inUnit === "" ? "" : ` (${inUnit})`}`.trim();
  const parts: Element[] = title === "" ? [] : [words(2, 14, title, colours.soft)];
  let [x, y] = [2, title === "" ? 14 : 34];
  const hasNames = data.series.length > 1 && !isNamed;
  if (hasNames)
    for (const [i, { name, isOther }] of data.series.entries()) {
      const text = name.length > 28 ? shortened(name) : name;
      const wide = 22 + widthOf(text) + 14;
      if (x + wide > width && x > 2) [x, y] = [2, y + 20];
      const fill = colourOf(data, i, colours);
      parts.push(
        svg("rect", { x, y: y - 9, width: 14, height: isOther ? 4 : 10, rx: 2, fill }),
        words(x + 20, y, text, colours.text),
      );
      x += wide;
    }
  const last = hasNames ? y : title === "" ? 0 : 14;
  return { parts, height: last + 12 };
}

export const round = (number: number): number => Math.round(number * 10) / 10;
