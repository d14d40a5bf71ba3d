/**
 * Costs as ratios of processor time. Other work on the machine stretches processor time too (it shares the processor's
 * caches), so that a cost stands beside a reference that is measured in the same process just before and after it.
 */

/** A list of 1 MiB. */
const LIST = `[${Array.from({ length: 131_072 }, (_, i) => `"${String(i).padStart(5, "0")}"`).join(",")}]`;

/** Processor time that this process has used, in milliseconds. */
export function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Processor time of parsing 1 MiB of JSON in this process, in milliseconds. */
export function parsingMs(): number {
  const before = processorMs();
  JSON.parse(LIST);
  return processorMs() - before;
}

/** Processor time that something takes in this process, in multiples of parsing 1 MiB of JSON just before and after it. */
export async function processorCost(work: () => unknown): Promise<number> {
  const before = parsingMs();
  const start = processorMs();
  await work();
  const cost = processorMs() - start;
  return cost / ((before + parsingMs()) / 2);
}

/** The least of several measurements, to which other work can only add. Further ones would not change that it is below `limit`. */
export async function leastUntilBelow(limit: number, measure: () => Promise<number>): Promise<number> {
  let least = Infinity;
  for (let i = 0; i < 10 && least >= limit; i++) least = Math.min(least, await measure());
  return least;
}
