/** The median of some values, and their range. */
export interface Spread {
  readonly median: number;
  readonly lowest: number;
  readonly highest: number;
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  return { median: quantile(sorted, 0.5), lowest: sorted[0] ?? NaN, highest: sorted.at(-1) ?? NaN };
}

export function median(values: readonly number[]): number {
  return spreadOf(values).median;
}

/** The ratio of two subjects round by round: what slows a whole round down is in both figures and cancels. */
export function ratioOf(numerators: readonly number[], denominators: readonly number[]): Spread {
  return spreadOf(numerators.map((value, round) => value / (denominators[round] ?? NaN)));
}

/** The value below which the share `part` (0 to 1) of sorted values lies, interpolated between two of them. */
export function quantile(sorted: ArrayLike<number>, part: number): number {
  if (sorted.length === 0) return NaN;
  const at = part * (sorted.length - 1);
  const low = sorted[Math.floor(at)] ?? NaN;
  return low + (at - Math.floor(at)) * ((sorted[Math.ceil(at)] ?? NaN) - low);
}

/**
 * Measures subjects in turn and returns the samples of each by round. Every other round runs in reverse order, so that a
 * machine that slows down steadily favours no subject.
 */
export async function interleave<Name extends string, Sample>(
  subjects: Readonly<Record<Name, () => Promise<Sample>>>,
  rounds: number,
): Promise<Record<Name, Sample[]>> {
  const names = Object.keys(subjects) as Name[];
  const samples = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, Sample[]>;
  for (let round = 0; round < rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed())
      samples[name].push(await subjects[name]());
  }
  return samples;
}
