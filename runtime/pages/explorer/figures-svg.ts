import type { Figure, FiguresPlan } from "./chart-figures.js";
import { type Colours, picture, widthOf, words } from "./chart-svg.js";
import type { Unit } from "../units.js";
import { written } from "./chart-units.js";
import { shortened } from "./values.js";

const TILE_WIDTH = 230;
const TILE_HEIGHT = 112;

/** How the numbers of a column are written. */
export type Style = (column: string) => {
  readonly unit: Unit;
  readonly scale: number | null;
  readonly description: string;
};

/** The numbers of one row, large, each with what it changed by. */
export function drawFigures(
  { figures, captions }: FiguresPlan,
  width: number,
  colours: Colours,
  style: Style,
) {
  const columns = Math.max(1, Math.min(figures.length, Math.floor(width / TILE_WIDTH)));
  const wide = width / columns;
  const parts = figures.flatMap((figure, i) => {
    const [x, y] = [14 + (i % columns) * wide, Math.floor(i / columns) * TILE_HEIGHT];
    const { unit, scale, description } = style(figure.column);
    const text = written(figure.value, unit, scale);
    // A single `value` says nothing by its name.
    const name =
      figures.length === 1 && widthOf(description, 13) < wide - 28
        ? description || figure.column
        : figure.column;
    const size = Math.min(figures.length === 1 ? 52 : 34, (wide - 28) / Math.max(1, text.length * 0.58));
    const change = changeOf(figure, style);
    return [
      words(x, y + 22, name, colours.soft, { "font-size": 13 }),
      words(x, y + 30 + Math.max(size, 20), text, colours.text, {
        "font-size": Math.round(size),
        "font-weight": 600,
      }),
      ...(change === null
        ? []
        : [words(x, y + 58 + Math.max(size, 20), change, colours.text, { "font-size": 14 })]),
    ];
  });
  const top = Math.ceil(figures.length / columns) * TILE_HEIGHT + (figures.length === 1 ? 20 : 0);
  const said = captions
    .map(({ column, text }) => `${column} ${text.length > 24 ? shortened(text) : text}`)
    .join(" · ");
  const height = top + (said === "" ? 4 : 26);
  const caption = said === "" ? [] : [words(14, top + 12, said, colours.soft)];
  return { element: picture(width, height, ...parts, ...caption), height };
}

/** `▲ 2.4%`, of a value before also the value. */
function changeOf({ value, compared }: Figure, style: Style): string | null {
  if (compared === null) return null;
  const before = compared.is === "before" ? compared.value : null;
  const percent = before === null ? compared.value : (100 * (Number(value) - before)) / Math.abs(before);
  if (!Number.isFinite(percent)) return null;
  const arrow = percent > 0 ? "▲" : percent < 0 ? "▼" : "＝";
  const size = written(Math.abs(percent), { before: "", behind: isPercent(compared) ? "%" : "" }, null);
  const { unit, scale } = style(compared.column);
  return `${arrow} ${size}${before === null ? "" : ` from ${written(before, unit, scale)}`}`;
}

/** A change is in percent unless its name says another unit. */
function isPercent({ column, is }: NonNullable<Figure["compared"]>): boolean {
  return is === "before" || !/usd|eur|abs|delta|diff/i.test(column);
}

/** The same in words. */
export function figuresLabel({ figures, captions }: FiguresPlan, style: Style): string {
  const numbers = figures.map((figure) => {
    const { unit, scale } = style(figure.column);
    const change = changeOf(figure, style);
    return `${figure.column} ${written(figure.value, unit, scale)}${change === null ? "" : `, changed by ${change.replace("▲ ", "+").replace("▼ ", "−")}`}`;
  });
  return [...numbers, ...captions.map(({ column, text }) => `${column} ${text}`)].join("; ");
}
