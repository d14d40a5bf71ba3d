import { type Agent, get, type IncomingMessage } from "node:http";
import { KEYS } from "../contestants.js";
import { syntheticEndpoints } from "../synthetic-manifest.js";

/** What clients of all kinds ask for. */
export type Kind =
  "row" | "rows" | "csv" | "revalidated" | "bad" | "refused" | "unknown" | "download" | "aborted";

/** Of a hundred requests, how many are of each kind. */
const SHARES: Readonly<Record<Kind, number>> = {
  row: 55,
  rows: 15,
  csv: 5,
  revalidated: 10,
  bad: 5,
  refused: 4,
  unknown: 4,
  download: 1,
  aborted: 1,
};

/** Each kind as often as its share, spread over the hundred. */
export const CYCLE: readonly Kind[] = Object.entries(SHARES)
  .flatMap(([kind, share]) =>
    Array.from({ length: share }, (_, i) => ({ kind: kind as Kind, at: (i + 0.5) / share })),
  )
  .sort((a, b) => a.at - b.at)
  .map(({ kind }) => kind);

/** How each kind must be answered; an aborted one is not answered at all. */
const EXPECTED: Readonly<Record<Kind, readonly number[]>> = {
  row: [200],
  rows: [200],
  csv: [200],
  revalidated: [304, 200],
  bad: [400],
  refused: [403],
  unknown: [404],
  download: [200],
  aborted: [],
};

/** Path of the table that is too long for one piece. */
export const LONG_PATH = "/v1/soak/long";

/** Endpoints that are there all the time, whatever a refresh does to the others. */
const LASTING = 400;

const paths = (rows: number): string[] =>
  syntheticEndpoints(LASTING).flatMap((endpoint) => (endpoint.rows === rows ? [endpoint.path] : []));
const ONE = paths(1);
const HUNDRED = paths(100);

export interface Asked {
  readonly kind: Kind;
  /** What was wrong with the answer; null: nothing. */
  readonly fault: string | null;
  readonly milliseconds: number;
}

/** Sends the request number `n` and looks at what comes of it. Never rejects. */
export function ask(port: number, n: number, agent: Agent): Promise<Asked> {
  const kind = CYCLE[n % CYCLE.length] ?? "row";
  const started = performance.now();
  return new Promise((resolve) => {
    const done = (fault: string | null) =>
      resolve({ kind, fault, milliseconds: performance.now() - started });
    const { path, headers } = requestOf(kind, n);
    const request = get({ host: "127.0.0.1", port, path, headers, agent }, (response) =>
      look(kind, response, done),
    );
    request.on("error", (error) => done(kind === "aborted" ? null : error.message));
    if (kind === "aborted") setTimeout(() => request.destroy(), 5 + (n % 40));
  });
}

function requestOf(kind: Kind, n: number): { path: string; headers: Record<string, string> } {
  const key = { "X-API-Key": KEYS[n % KEYS.length] ?? "" };
  const one = ONE[n % ONE.length] ?? "";
  switch (kind) {
    case "row":
      return { path: one, headers: key };
    case "rows":
      return { path: HUNDRED[n % HUNDRED.length] ?? "", headers: { ...key, "Accept-Encoding": "gzip" } };
    case "csv":
      return { path: one, headers: { ...key, Accept: "text/csv" } };
    case "revalidated":
      return { path: one, headers: { ...key, "If-None-Match": "*" } };
    case "bad":
      return { path: `${one}?${n % 2 ? "nonsense=1" : "start_date=2026-02-30"}`, headers: key };
    case "refused":
      return { path: one, headers: n % 2 ? {} : { "X-API-Key": `sk_live_nobody_${String(n)}` } };
    case "unknown":
      return { path: `/v1/none/${String(n)}`, headers: key };
    case "download":
    case "aborted":
      return { path: LONG_PATH, headers: key };
  }
}

function look(kind: Kind, response: IncomingMessage, done: (fault: string | null) => void): void {
  let bytes = 0;
  response.on("data", (chunk: Buffer) => (bytes += chunk.length));
  response.on("error", (error) => done(kind === "aborted" ? null : error.message));
  response.on("end", () => {
    const status = response.statusCode ?? 0;
    // Unknown keys and callers without one share the window of this machine's address.
    const isLimited = kind === "refused" && status === 429;
    if (kind === "aborted" || isLimited || EXPECTED[kind].includes(status)) return done(null);
    done(`${kind}: status ${String(status)} with ${String(bytes)} bytes`);
  });
}
