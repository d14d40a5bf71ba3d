import { Agent, get } from "node:http";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { atEnd } from "../../../support/at-end.js";
import { KEYS } from "../../../support/service.js";

/** A caller who gets no answer for this long gives up. */
const PATIENCE_MS = 8000;
/** Between two requests of one caller. */
const PAUSE_MS = 4;
/** A worker that stops closes connections without traffic for 500 ms: those of callers who stood still for so long, too. */
const STANDSTILL_MS = 400;

export interface Outcomes {
  readonly answered: number;
  /** The different answers, status and body. */
  readonly answers: ReadonlySet<string>;
  /** How requests failed that got no answer, by code; no resets if the callers' own process stood still. */
  readonly failed: Readonly<Record<string, number>>;
}

/** Callers who ask again and again. */
export interface Load {
  /** Requests answered so far. */
  answered(): number;
  /** Lets the requests under way end. */
  stop(): Promise<Outcomes>;
}

export interface LoadOptions {
  readonly url: string;
  /** Callers who make a connection for each request. */
  readonly fresh: number;
  /** Callers that keep their connection; none retries, as a client might whose connection was just closed. */
  readonly kept: number;
}

/** Starts callers, each of whom asks one after the other. */
export function load({ url, fresh, kept }: LoadOptions): Load {
  let stopped = false;
  const delay = monitorEventLoopDelay();
  delay.enable();
  const counts = { answered: 0, answers: new Set<string>(), failed: {} as Record<string, number> };
  const call = async (agent: Agent | false): Promise<void> => {
    while (!stopped) {
      await ask(url, agent).then(
        (answer) => {
          counts.answered++;
          counts.answers.add(answer);
        },
        (error: unknown) => {
          const { code = "unknown" } = error as NodeJS.ErrnoException;
          if (code === "ECONNRESET" && delay.max > STANDSTILL_MS * 1e6) return;
          counts.failed[code] = (counts.failed[code] ?? 0) + 1;
        },
      );
      await sleep(Math.random() * PAUSE_MS);
    }
    if (agent) agent.destroy();
  };
  const agents = Array.from({ length: kept }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
  const callers = [...Array.from({ length: fresh }, () => call(false)), ...agents.map(call)];
  const stop = async (): Promise<Outcomes> => {
    stopped = true;
    await Promise.all(callers);
    delay.disable();
    return counts;
  };
  atEnd(() => void (stopped = true));
  return { answered: () => counts.answered, stop };
}

function ask(url: string, agent: Agent | false): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent, headers: { "x-api-key": KEYS.tier3 } }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => resolve(`${String(response.statusCode)} ${Buffer.concat(chunks).toString()}`));
    });
    request.on("error", reject);
    request.setTimeout(PATIENCE_MS, () =>
      request.destroy(Object.assign(new Error("no answer"), { code: "NO_ANSWER" })),
    );
  });
}
