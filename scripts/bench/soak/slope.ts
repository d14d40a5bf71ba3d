/** A figure at a time, in seconds. */
export interface Sample {
  readonly at: number;
  readonly value: number;
}

/** How fast a figure grows, in units a second: the straight line that lies closest to the samples. */
export function slopeOf(samples: readonly Sample[]): number {
  const mean = (of: (sample: Sample) => number): number =>
    samples.reduce((sum, sample) => sum + of(sample), 0) / samples.length;
  const at = mean((sample) => sample.at);
  const value = mean((sample) => sample.value);
  const above = samples.reduce((sum, sample) => sum + (sample.at - at) * (sample.value - value), 0);
  const below = samples.reduce((sum, sample) => sum + (sample.at - at) ** 2, 0);
  return above / below;
}
