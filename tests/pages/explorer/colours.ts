import { readFileSync } from "node:fs";

/** Linear red, green and blue, from 0 to 1. */
type Colour = readonly [number, number, number];
type Matrix = readonly [Colour, Colour, Colour];

const CSS = readFileSync(new URL("../../../runtime/pages/frame.css", import.meta.url), "utf8");

/** The ground of charts and the colours of their series, in the light and in the dark theme. */
export function themes(): readonly (readonly [ground: Colour, series: readonly Colour[]])[] {
  return [":root {", ":root.dark-mode {"].map((selector) => {
    const rules = CSS.slice(CSS.indexOf(selector)).split("}")[0] ?? "";
    const of = (name: string): Colour =>
      linear(new RegExp(`--${name}: #([0-9a-f]{6})`).exec(rules)?.[1] ?? "");
    return [of("panel"), Array.from({ length: 8 }, (_, i) => of(`series-${String(i + 1)}`))] as const;
  });
}

function linear(hex: string): Colour {
  const channel = (at: number): number => {
    const value = parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return [channel(0), channel(2), channel(4)];
}

/** As WCAG 2 defines it. */
export function contrast(a: Colour, b: Colour): number {
  const [low = 0, high = 0] = [a, b]
    .map(([r, g, blue]) => 0.2126 * r + 0.7152 * g + 0.0722 * blue)
    .sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

/** What readers without red, green or blue cones see (Machado, Oliveira, Fernandes 2009). */
const SIGHTS: readonly Matrix[] = [
  [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
];

/** The smallest distance (Oklab) of two colours in any of these. */
export function nearest(colours: readonly Colour[]): number {
  const distances = SIGHTS.flatMap((sight) => {
    const seen = colours.map((colour) => oklab(times(sight, colour)));
    return seen.flatMap((a, i) =>
      seen.slice(i + 1).map((b) => Math.hypot(...a.map((value, at) => value - (b[at] ?? 0)))),
    );
  });
  return Math.min(...distances);
}

function oklab(colour: Colour): Colour {
  const [l, m, s] = times(
    [
      [0.4122214708, 0.5363325363, 0.0514459929],
      [0.2119034982, 0.6806995451, 0.1073969566],
      [0.0883024619, 0.2817188376, 0.6299787005],
    ],
    colour.map((value) => Math.min(1, Math.max(0, value))) as unknown as Colour,
  );
  return times(
    [
      [0.2104542553, 0.793617785, -0.0040720468],
      [1.9779984951, -2.428592205, 0.4505937099],
      [0.0259040371, 0.7827717662, -0.808675766],
    ],
    [Math.cbrt(l), Math.cbrt(m), Math.cbrt(s)],
  );
}

function times(matrix: Matrix, [a, b, c]: Colour): Colour {
  return matrix.map(([x, y, z]) => x * a + y * b + z * c) as unknown as Colour;
}
