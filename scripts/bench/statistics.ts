/** The middle of some figures, and how far they lie apart. */
export interface Middle {
  readonly median: number;
  readonly lowest: number;
  readonly highest: number;
}

export function middleOf(values: readonly number[]): Middle {
  const sorted = [...values].sort((a, b) => a - b);
  return { median: quantile(sorted, 0.5), lowest: sorted[0] ?? NaN, highest: sorted.at(-1) ?? NaN };
}

export function median(values: readonly number[]): number {
  return middleOf(values).median;
}

/**
 * The ratio of two subjects round by round. What slows a whole round down, another program on the machine say, is in
 * both figures and cancels.
 */
export function ratioOf(above: readonly number[], below: readonly number[]): Middle {
  return middleOf(above.map((value, round) => value / (below[round] ?? NaN)));
}

/** The value below which the share `part` (0 to 1) of sorted values lies; between two of them it is interpolated. */
export function quantile(sorted: ArrayLike<number>, part: number): number {
  if (sorted.length === 0) return NaN;
  const at = part * (sorted.length - 1);
  const low = sorted[Math.floor(at)] ?? NaN;
  return low + (at - Math.floor(at)) * ((sorted[Math.ceil(at)] ?? NaN) - low);
}
