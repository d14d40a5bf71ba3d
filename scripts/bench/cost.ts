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
/** Share of the requests that a CDN answers. */
const CDN_HITS = 0.9;

const HOURS = 730;

/**
 * Dollars a month, list prices of one region (US East) without free amounts or discounts, looked up on 2026-11-30. Those of Fargate and
 * EC2 are from pages of others that quote them (vantage.sh, egresscost.com), that of CloudFront from a stored copy of its own page.
 */
const PRICES = {
  /** AWS Fargate, Linux on x86: a vCPU hour and a GB hour. An assumption for the cores of PostgreSQL. */
  core: 0.04048 * HOURS,
  gib: 0.004445 * HOURS,
  /** Amazon EC2, to the internet: dollars a GB up to so many GB. */
  egress: [
    [10_000, 0.09],
    [50_000, 0.085],
    [150_000, 0.07],
    [Infinity, 0.05],
  ],
  /** Amazon CloudFront, United States and Europe. What the server sends to the CDN is free there. */
  cdn: [
    [10_000, 0.085],
    [50_000, 0.08],
    [150_000, 0.06],
    [500_000, 0.04],
    [Infinity, 0.03],
  ],
  /** An assumption: the page of prices was not found with it. A million HTTPS requests at the CDN. */
  cdnMillion: 1,
} as const;

type Steps = readonly (readonly [upTo: number, price: number])[];

/** What so many GB cost, each at the price of its step. */
function stepped(gigabytes: number, steps: Steps): number {
  let [dollars, from] = [0, 0];
  for (const [upTo, price] of steps) {
    dollars += Math.max(0, Math.min(gigabytes, upTo) - from) * price;
    from = upTo;
  }
  return dollars;
}

/** Processor time by request in µs, memory of a process in MiB, and bytes of a response with its head. */
export interface Measured {
  readonly server: number;
  readonly database: number;
  readonly kept: number;
  readonly memory: number;
  readonly bytes: number;
}

/** Rows: all requests read the database, results are kept until the next build, and a CDN in front of both. */
export function costOfCallers({ server, database, kept, memory, bytes }: Measured): PageTable {
  const row = (name: string, micros: number, databaseMicros: number, share: number): readonly string[] => {
    const monthly = CALLERS * REQUESTS_A_DAY * DAYS;
    const perSecond = (monthly / DAYS / 86_400) * PEAK * share;
    const coresOf = (each: number): number => Math.ceil((perSecond * each) / 1e6 / BUSY);
    const databaseCores = coresOf(databaseMicros);
    // Two at least, so that one may end.
    const processes = Math.max(2, coresOf(micros));
    const gib = (processes * memory) / 1024;
    const gigabytes = (monthly * bytes) / 1e9;
    const machines = (processes + databaseCores) * PRICES.core + gib * PRICES.gib;
    const network =
      share < 1
        ? stepped(gigabytes, PRICES.cdn) + (monthly / 1e6) * PRICES.cdnMillion
        : stepped(gigabytes, PRICES.egress);
    const dollars = (value: number): string => `$${figureText(Math.round(value))}`;
    return [
      name,
      figureText(Math.round(perSecond)),
      figureText(processes),
      figureText(databaseCores),
      figureText(gib, "GiB"),
      figureText(gigabytes * share, "GB"),
      dollars(machines),
      dollars(network),
    ];
  };
  return {
    title: `## What a million callers cost a month (${figureText(bytes)} bytes a response)`,
    head: [
      ...["", "requests a second at the peak", "processes, a core each", "cores of PostgreSQL"],
      ...["memory of the processes", "egress of the server", "cores and memory", "network"],
    ],
    rows: [
      row("each request reads the database", server, database, 1),
      row("results are kept until the next build", kept, 0, 1),
      row("the first, behind a CDN", server, database, 1 - CDN_HITS),
      row("the second, behind a CDN", kept, 0, 1 - CDN_HITS),
    ],
  };
}
