/** What a million callers need in a month, by arithmetic from measured figures. */
import { figureText, type PageTable } from "./figures.js";

/** Assumptions, each stated in the page. */
const CALLERS = 1_000_000;
const REQUESTS_A_DAY = 100;
const DAYS = 30;
/** Of the busiest hour, in multiples of the average. */
const PEAK = 3;
/** Of a core, so that waiting stays short. */
const BUSY = 0.6;
/** Bytes of a response with its head. */
const BYTES = 2_000;
/** Share of the requests that a CDN answers. */
const CDN_HITS = 0.9;
const PRICES = { core: 25, gib: 4, egressGb: 0.09, cdnGb: 0.04, cdnMillion: 0.75 };

/** Processor time by request in µs, and memory of a process in MiB. */
export interface Measured {
  readonly server: number;
  readonly database: number;
  readonly kept: number;
  readonly memory: number;
}

/** Rows: all requests read the database, results are kept until the next build, and a CDN in front of both. */
export function costOfCallers({ server, database, kept, memory }: Measured): PageTable {
  const row = (name: string, micros: number, databaseMicros: number, share: number): readonly string[] => {
    const monthly = CALLERS * REQUESTS_A_DAY * DAYS;
    const perSecond = (monthly / DAYS / 86_400) * PEAK * share;
    const cores = Math.ceil((perSecond * micros) / 1e6 / BUSY);
    const databaseCores = Math.ceil((perSecond * databaseMicros) / 1e6 / BUSY);
    // Two at least, so that one may end.
    const processes = Math.max(2, cores);
    const gib = (processes * memory) / 1024;
    const gigabytes = (monthly * BYTES) / 1e9;
    const dollars =
      (processes + databaseCores) * PRICES.core +
      gib * PRICES.gib +
      (share < 1
        ? gigabytes * PRICES.cdnGb + (monthly / 1e6) * PRICES.cdnMillion
        : gigabytes * PRICES.egressGb);
    return [
      name,
      figureText(Math.round(perSecond)),
      figureText(processes),
      figureText(databaseCores),
      figureText(gib, "GiB"),
      figureText(gigabytes * share, "GB"),
      `$${figureText(Math.round(dollars))}`,
    ];
  };
  return {
    title: "## What a million callers cost a month",
    head: [
      ...["", "requests a second at the peak", "cores of the server", "cores of PostgreSQL"],
      ...["memory of the server", "egress of the server", "a month"],
    ],
    rows: [
      row("each request reads the database", server, database, 1),
      row("results are kept until the next build", kept, 0, 1),
      row("the first, behind a CDN", server, database, 1 - CDN_HITS),
      row("the second, behind a CDN", kept, 0, 1 - CDN_HITS),
    ],
  };
}
