/** The median of some values, and their range. */
export interface Spread {
  readonly median: number;
  readonly lowest: number;
  readonly highest: number;
}

function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (place: number): number => sorted[place] ?? NaN;
  const last = sorted.length - 1;
  return {
    median: (at(Math.floor(last / 2)) + at(Math.ceil(last / 2))) / 2,
    lowest: at(0),
    highest: at(last),
  };
}

export function median(values: readonly number[]): number {
  return spreadOf(values).median;
}

/** The median of each figure. */
export function medians<Name extends string>(
  samples: readonly Readonly<Record<Name, number>>[],
): Record<Name, number> {
  const names = Object.keys(samples[0] ?? {}) as Name[];
  const entries = names.map((name) => [name, median(samples.map((sample) => sample[name]))]);
  return Object.fromEntries(entries) as Record<Name, number>;
}

/** The ratio of two subjects round by round: what slows a whole round down is in both figures and cancels. */
export function ratioOf(numerators: readonly number[], denominators: readonly number[]): Spread {
  return spreadOf(numerators.map((value, round) => value / (denominators[round] ?? NaN)));
}

/** Many short rounds rather than few long ones: a disturbance of the machine then falls on all subjects alike. */
const ROUNDS = 9;

/**
 * Measures subjects in turn and returns the samples of each by round. Every other round runs in reverse order, so that a
 * machine that slows down steadily favours no subject.
 */
export async function interleave<Name extends string, Sample>(
  subjects: Readonly<Record<Name, () => Promise<Sample>>>,
): Promise<Record<Name, Sample[]>> {
  const names = Object.keys(subjects) as Name[];
  const samples = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, Sample[]>;
  for (let round = 0; round < ROUNDS; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed())
      samples[name].push(await subjects[name]());
  }
  return samples;
}
