import { setTimeout as sleep } from "node:timers/promises";
import { atEnd } from "../support/at-end.js";
import { seeded } from "../metrics/random-requests.js";
import { ROWS, rowsFrom, someKey } from "./world.js";

/** Clients that ask all the time, and how long each rests after an answer: a load that two cores bear well. */
const CLIENTS = 8;
const REST_MS = 5;

/** Every so many requests one asks for everything, which comes piece by piece. */
const WHOLE_EVERY = 20;

/** `LOAD_SEED` gives other requests. */
const random = seeded(Number(process.env["LOAD_SEED"] ?? 1));

/** What came of the requests so far. */
export interface Tally {
  answers: number;
  /** Refusals that a failing database may cause, by status and detail. */
  readonly refusals: Record<string, number>;
  /** Answers of many pieces that broke off: known to the client as incomplete. */
  broken: number;
  /** Everything else. None of it may ever be. */
  readonly wrong: string[];
  slowestMs: number;
  /** Answers since the last refusal. */
  streak: number;
}

export interface Load {
  readonly tally: Tally;
  /** How many requests were refused. */
  refused(): number;
  /** Resolves once so many requests in a row were answered. */
  settled(streak?: number): Promise<void>;
  stop(): Promise<Tally>;
}

/** Puts a service under load until stopped, checking each answer. */
export function startLoad(base: string): Load {
  const tally: Tally = { answers: 0, refusals: {}, broken: 0, wrong: [], slowestMs: 0, streak: 0 };
  let isOver = false;
  const client = async (): Promise<void> => {
    for (let i = 1 + Math.floor(random() * WHOLE_EVERY); !isOver; i++) {
      await (i % WHOLE_EVERY === 0 ? askForAll(base, tally) : askForPage(base, tally));
      await sleep(REST_MS);
    }
  };
  const clients = Promise.all(Array.from({ length: CLIENTS }, client));
  const stop = async (): Promise<Tally> => {
    isOver = true;
    await clients;
    return tally;
  };
  atEnd(async () => {
    await stop();
  });
  const refused = (): number => Object.values(tally.refusals).reduce((sum, count) => sum + count, 0);
  const settled = async (streak = 100): Promise<void> => {
    tally.streak = 0;
    for (let tries = 0; tally.streak < streak; tries++) {
      if (tries === 1800) throw new Error(`It does not recover: ${JSON.stringify(tally)}`);
      await sleep(50);
    }
  };
  return { tally, refused, settled, stop };
}

function askForPage(base: string, tally: Tally): Promise<void> {
  const limit = 1 + Math.floor(random() * 100);
  const offset = Math.floor(random() * ROWS);
  const path = `/v1/faults/pages?limit=${String(limit)}&offset=${String(offset)}`;
  return ask(base, path, rowsFrom(offset + 1, limit), tally);
}

const ALL = rowsFrom(1, ROWS);

function askForAll(base: string, tally: Tally): Promise<void> {
  return ask(base, "/v1/faults/whole", ALL, tally);
}

async function ask(base: string, path: string, expected: string, tally: Tally): Promise<void> {
  const started = performance.now();
  try {
    const response = await fetch(`${base}${path}`, { headers: { "x-api-key": someKey() } });
    judge(response, await response.text(), expected, tally);
  } catch (error) {
    // Nothing at all may have come through when the connection is cut after the first piece.
    if (expected === ALL) tally.broken++;
    else tally.wrong.push(`${path}: ${String(error)}, ${String((error as Error).cause)}`);
  }
  tally.slowestMs = Math.max(tally.slowestMs, Math.round(performance.now() - started));
}

/** The refusals that the closed list has for a database that fails, and what goes with them. */
const ALLOWED: ReadonlyMap<string, boolean> = new Map([
  ['500 {"detail":"Database query failed."}', false],
  ['503 {"detail":"The database cannot be reached. Try again in 1 seconds."}', true],
  ['503 {"detail":"The service is overloaded. Try again in 1 seconds."}', true],
]);

function judge(response: Response, text: string, expected: string, tally: Tally): void {
  if (response.status === 200 && text === expected) {
    tally.answers++;
    tally.streak++;
    return;
  }
  tally.streak = 0;
  const said = `${String(response.status)} ${text}`;
  if (ALLOWED.get(said) === response.headers.has("retry-after"))
    tally.refusals[said] = (tally.refusals[said] ?? 0) + 1;
  else tally.wrong.push(said.slice(0, 200));
}
