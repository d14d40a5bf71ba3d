import type { Pivoted } from "./chart-data.js";
import { type Box, type Colours, colourOf, type PlotFrame, round, widthOf, words } from "./chart-svg.js";
import { svg } from "./dom.js";
import { shortened } from "./values.js";

/** A narrower picture needs its width for the lines: names stand above them. */
const MIN_WIDTH = 640;
const LINE = 15;

const nameOf = (name: string): string => (name.length > 20 ? shortened(name) : name);

/** The room on the right for the names of lines, each at its line's end; 0 where names stand above the picture. */
export function roomForNames({ series }: Pivoted, { width }: Pick<PlotFrame, "width">): number {
  if (series.length < 2 || width < MIN_WIDTH) return 0;
  return 22 + Math.max(...series.map(({ name }) => widthOf(nameOf(name))));
}

/** Names of lines beside their last values, apart from each other. */
export function namesBeside(
  data: Pivoted,
  y: (value: number) => number,
  { left, top, height }: Box,
  colours: Colours,
): readonly Element[] {
  const ends = data.series
    .map(({ name, values }, i) => ({
      name,
      fill: colourOf(data, i, colours),
      at: y(values.findLast((value) => value !== null) ?? 0),
    }))
    .sort((a, b) => a.at - b.at);
  let last = top - LINE;
  const down = ends.map(({ at }) => (last = Math.max(at, last + LINE)));
  let next = top + height + LINE;
  const placed = down.toReversed().map((at) => (next = Math.min(at, next - LINE)));
  return ends.flatMap(({ name, fill }, i) => {
    const at = placed[placed.length - 1 - i] ?? 0;
    return [
      svg("rect", { x: round(left + 2), y: round(at - 2), width: 10, height: 4, rx: 2, fill }),
      words(left + 16, at + 4, nameOf(name), colours.text),
    ];
  });
}
