/** How long to measure. */
export interface Effort {
  readonly rounds: number;
  /** Of one subject in one round of load. */
  readonly roundMs: number;
  /** Load on each subject before the first round, for the compiler and the caches. */
  readonly warmUpMs: number;
}

/**
 * Measures subjects in turn, A B C A B C …, and returns each one's samples by round. The order is turned around in
 * every other round, so that a machine that slows down steadily favours nobody.
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
