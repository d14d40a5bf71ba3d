import { quantile } from "../statistics.js";
import type { JobResult } from "./job.js";

/** Does a thing over and over, so many at a time, until the time is up; what begins in it is counted. */
export async function keepUp(
  { connections, milliseconds }: { readonly connections: number; readonly milliseconds: number },
  act: (connection: number) => Promise<void>,
): Promise<JobResult> {
  const latencies: number[] = [];
  let failure: string | null = null;
  const before = process.cpuUsage();
  const startedAt = performance.now();
  const isOver = (): boolean => failure !== null || performance.now() - startedAt >= milliseconds;
  const run = async (connection: number): Promise<void> => {
    while (!isOver()) {
      const begunAt = performance.now();
      await act(connection);
      latencies.push(performance.now() - begunAt);
    }
  };
  await Promise.all(
    Array.from({ length: connections }, (_, i) =>
      run(i).catch((error: unknown) => void (failure ??= String(error))),
    ),
  );
  const seconds = (performance.now() - startedAt) / 1000;
  const { user, system } = process.cpuUsage(before);
  const sorted = Float64Array.from(latencies).sort();
  return {
    intentsPerSecond: sorted.length / seconds,
    p50: quantile(sorted, 0.5),
    p99: quantile(sorted, 0.99),
    failure,
    load: (user + system) / 1e6 / seconds,
  };
}
