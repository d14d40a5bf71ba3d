import { Agent, get } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

/** Calls that go out at a fixed rate, whether or not earlier ones have been answered. */
export interface SteadyJob {
  readonly port: number;
  /** Asked for in turn, each with what it must answer. */
  readonly calls: readonly {
    readonly path: string;
    readonly isRight: (status: number, body: string) => boolean;
  }[];
  readonly keys: readonly string[];
  readonly perSecond: number;
}

export interface SteadyResult {
  /** Milliseconds from when a call was due until its answer was complete, in the order of the answers. */
  readonly latencies: readonly number[];
  readonly wrong: readonly string[];
}

/** Calls are sent this often, some at a time. */
const TICK_MS = 5;

/** Keeps the rate up until `until` resolves, then waits for the last answers. */
export async function steady(job: SteadyJob, until: Promise<unknown>): Promise<SteadyResult> {
  const agent = new Agent({ keepAlive: true, maxSockets: 100 });
  const latencies: number[] = [];
  const wrong: string[] = [];
  const pending = new Set<Promise<void>>();
  const end = new AbortController();
  void until.finally(() => end.abort());
  const started = performance.now();
  for (let sent = 0; !end.signal.aborted; await sleep(TICK_MS)) {
    const due = ((performance.now() - started) / 1000) * job.perSecond;
    for (; sent < due; sent++) {
      const dueAt = started + (sent / job.perSecond) * 1000;
      const call = ask(job, sent, agent, wrong).then(() => void latencies.push(performance.now() - dueAt));
      pending.add(call);
      void call.finally(() => pending.delete(call));
    }
  }
  await Promise.all(pending);
  agent.destroy();
  return { latencies, wrong };
}

function ask({ port, calls, keys }: SteadyJob, n: number, agent: Agent, wrong: string[]): Promise<void> {
  const call = calls[n % calls.length];
  const key = keys[n % keys.length] ?? "";
  return new Promise((resolve) => {
    const fail = (why: string): void => {
      wrong.push(`${call?.path ?? ""}: ${why}`);
      resolve();
    };
    get(
      { host: "127.0.0.1", port, path: call?.path ?? "/", agent, headers: { "X-API-Key": key } },
      (response) => {
        let body = "";
        response.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
        response.on("end", () =>
          call?.isRight(response.statusCode ?? 0, body)
            ? resolve()
            : fail(`${String(response.statusCode)} ${body}`),
        );
      },
    ).on("error", (error) => fail(error.message));
  });
}
