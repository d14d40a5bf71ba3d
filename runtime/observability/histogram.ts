/** Upper bounds of the buckets, in milliseconds: from an answer out of memory to a statement that times out. */
const BOUNDS = [1, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 10_000];

/** How the line of each bucket goes on, with the bound in seconds; what is longer than the last one is counted as well. */
const LE = [...BOUNDS.map((bound) => `${bound / 1000}"} `), '+Inf"} '];

/** Times of one kind: how many fell into each bucket, and their sum. A request must not pay for more. */
export interface Durations {
  readonly counts: number[];
  milliseconds: number;
}

export function noDurations(): Durations {
  return { counts: LE.map(() => 0), milliseconds: 0 };
}

export function addDuration(durations: Durations, milliseconds: number): void {
  let bucket = 0;
  while (milliseconds > (BOUNDS[bucket] ?? Infinity)) bucket++;
  durations.counts[bucket] = (durations.counts[bucket] ?? 0) + 1;
  durations.milliseconds += milliseconds;
}

/** The lines of a Prometheus histogram; `labels` are written out, such as `tier="tier0"`. */
export function histogramText(name: string, labels: string, { counts, milliseconds }: Durations): string {
  const bucketOf = `${name}_bucket{${labels},le="`;
  let text = "";
  let count = 0;
  for (let bucket = 0; bucket < LE.length; bucket++) {
    count += counts[bucket] ?? 0;
    text += bucketOf + String(LE[bucket]) + String(count) + "\n";
  }
  return `${text}${name}_sum{${labels}} ${milliseconds / 1000}\n${name}_count{${labels}} ${count}\n`;
}
