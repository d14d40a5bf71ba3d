import type { AxisPlan, ChartPlan } from "./chart-choice.js";
import type { ChartColumn } from "./chart-columns.js";
import { pivot, type Pivoted } from "./chart-data.js";
import { draw } from "./chart-draw.js";
import { colourOf, coloursOf, type Drawing, withNotes } from "./chart-svg.js";
import { labelOf, namedChart } from "./chart-text.js";
import { unitOf } from "../units.js";
import { scaleOf, written } from "./chart-units.js";
import { el } from "./dom.js";
import { drawFigures, figuresLabel, type Style } from "./figures-svg.js";

/** Width of a saved picture, and of one that is not laid out yet. */
const SAVED_WIDTH = 960;

/** Height of lines and upright bars. */
const PLOT_HEIGHT = 300;

/** A chart that fits the width it is given. */
export interface Plot {
  readonly element: HTMLElement;
  /** Short name, such as `line: value by day`. */
  readonly name: string;
  /** The picture alone, in the colours of the theme. */
  readonly picture: () => { readonly element: Element; readonly width: number; readonly height: number };
}

/** The chart of a plan. A pointer, a finger and the arrow keys show the values of a point. */
export function plotOf(
  plan: ChartPlan,
  columns: readonly ChartColumn[],
  notes: readonly string[],
  plotHeight = PLOT_HEIGHT,
): Plot {
  const style = styleOf(plan, columns);
  const said = notes.map((note) => ` ${note}`).join("");
  if (plan.kind === "figures") {
    const make = (width: number) => {
      const colours = coloursOf(document.documentElement);
      return withNotes(drawFigures(plan, width, colours, style), notes, { width, colours });
    };
    return plotWith(plan, `${figuresLabel(plan, style)}${said}`, make, () => null);
  }
  const data = pivot(plan);
  const { unit } = style(plan.measures[0] ?? "");
  const make = (width: number): Drawing => {
    const colours = coloursOf(document.documentElement);
    return withNotes(draw(plan, data, { width, unit, colours, plotHeight }), notes, { width, colours });
  };
  const label = `${labelOf(plan, data)}${said} The table has the rows.`;
  const reading = (): PointReading => new PointReading(plan, data, style);
  return plotWith(plan, label, make, reading);
}

function styleOf(plan: ChartPlan, columns: readonly ChartColumn[]): Style {
  const cohort = plan.kind === "figures" ? null : (plan.only?.value ?? null);
  // An average has more digits than its values.
  const isAverage = plan.kind !== "figures" && plan.isAggregated && plan.aggregate === "average";
  return (name) => {
    const column = columns.find((each) => each.name === name);
    const { type = null, description = "" } = column ?? {};
    return {
      unit: unitOf({ name, description }, cohort),
      scale: isAverage ? null : scaleOf(type),
      description,
    };
  };
}

type Picture = { readonly element: Element; readonly height: number } | Drawing;

function plotWith(
  plan: ChartPlan,
  label: string,
  make: (width: number) => Picture,
  reading: () => PointReading | null,
): Plot {
  const image = el("div.image", { role: "img", "aria-label": label });
  const values = reading();
  const element = el(
    "figure.plot",
    el("div.drawing", image, values?.slider ?? null),
    values?.readout ?? null,
  );
  let drawn = 0;
  const show = (width: number): void => {
    drawn = width;
    const picture = make(width);
    image.replaceChildren(picture.element);
    if ("points" in picture) values?.place(picture);
  };
  show(SAVED_WIDTH);
  new ResizeObserver(([entry]) => {
    const width = Math.floor(entry?.contentRect.width ?? 0);
    // In the next frame: a resize during a `ResizeObserver` callback is an error.
    if (width > 0 && width !== drawn) requestAnimationFrame(() => show(width));
  }).observe(image);
  const picture = () => ({ ...make(SAVED_WIDTH), width: SAVED_WIDTH });
  return { element, name: namedChart(plan), picture };
}

/** The values of one point: a slider above the picture chooses it, a line below says them. */
class PointReading {
  readonly slider: HTMLElement;
  readonly readout = el("div.readout");
  readonly #plan: AxisPlan;
  readonly #data: Pivoted;
  readonly #style: Style;
  readonly #mark = el("div.mark", { "aria-hidden": "true" });
  #drawing: Drawing | null = null;
  #at: number;

  constructor(plan: AxisPlan, data: Pivoted, style: Style) {
    [this.#plan, this.#data, this.#style] = [plan, data, style];
    // The latest of a time, the largest of a category.
    this.#at = plan.xKind === "time" ? data.labels.length - 1 : 0;
    this.slider = el(
      "div.slider",
      {
        ...{ role: "slider", tabindex: 0, "aria-label": "Values of a point" },
        ...{ "aria-valuemin": 0, "aria-valuemax": Math.max(0, data.labels.length - 1) },
        keydown: (event: KeyboardEvent) => this.#move(event),
        pointermove: (event: PointerEvent) => this.#point(event),
        pointerdown: (event: PointerEvent) => this.#point(event),
      },
      this.#mark,
    );
    this.#show(this.#at);
  }

  /** After the picture was drawn anew. */
  place(drawing: Drawing): void {
    this.#drawing = drawing;
    const { left, top, width, height } = drawing.area;
    Object.assign(this.slider.style, { left: px(left), top: px(top), width: px(width), height: px(height) });
    this.slider.setAttribute("aria-orientation", drawing.axis === "x" ? "horizontal" : "vertical");
    this.#placeMark();
  }

  #point(event: PointerEvent): void {
    const drawing = this.#drawing;
    if (drawing === null) return;
    const box = this.slider.getBoundingClientRect();
    const { area, axis, points } = drawing;
    const at = axis === "x" ? event.clientX - box.left + area.left : event.clientY - box.top + area.top;
    const distances = points.map((point) => Math.abs(point - at));
    this.#show(distances.indexOf(Math.min(...distances)));
  }

  #move(event: KeyboardEvent): void {
    const last = this.#data.labels.length - 1;
    const to = {
      ...{
        ArrowLeft: this.#at - 1,
        ArrowUp: this.#at - 1,
        ArrowRight: this.#at + 1,
        ArrowDown: this.#at + 1,
      },
      ...{ PageUp: this.#at - 10, PageDown: this.#at + 10, Home: 0, End: last },
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.#show(Math.max(0, Math.min(last, to)));
  }

  #show(at: number): void {
    this.#at = at;
    const { labels, series } = this.#data;
    const colours = coloursOf(document.documentElement);
    const many = this.#plan.series === null;
    const shown = series.flatMap(({ name, values }, i) => {
      const value = values[at] ?? null;
      const { unit, scale } = this.#style(many ? name : (this.#plan.measures[0] ?? ""));
      return value === null
        ? []
        : [{ name, text: written(value, unit, scale), fill: colourOf(this.#data, i, colours) }];
    });
    const label = labels[at] ?? "";
    this.slider.setAttribute("aria-valuenow", String(at));
    this.slider.setAttribute(
      "aria-valuetext",
      [label, ...shown.map(({ name, text }) => `${name} ${text}`)].join(", "),
    );
    this.readout.replaceChildren(
      el("strong", label),
      ...shown.map(({ name, text, fill }) => {
        const swatch = el("span.swatch");
        swatch.style.background = fill;
        return el("span.value-of", swatch, `${name} `, el("b", text));
      }),
    );
    this.#placeMark();
  }

  #placeMark(): void {
    if (this.#drawing === null) return;
    const { axis, area, points } = this.#drawing;
    const at = (points[this.#at] ?? 0) - (axis === "x" ? area.left : area.top);
    this.#mark.className = `mark ${axis}`;
    this.#mark.style.translate = axis === "x" ? `${px(at)} 0` : `0 ${px(at)}`;
  }
}

const px = (number: number): string => `${String(Math.round(number))}px`;
