/**
 * A simulation of many servers behind one address while a release is deployed, in virtual time and from a seed. Each server
 * polls the manifest and dbt's run results by itself; each client asks for one address every minute, many with the entity tag
 * of their last response, and any server answers.
 */

export interface Fleet {
  readonly servers: number;
  /** Seconds between two polls of a server: `DBT_MANIFEST_REFRESH_INTERVAL_SECONDS`. */
  readonly interval: number;
  /** Seconds from a changed manifest to the new release, or from a new container to its first response. */
  readonly refresh: number;
  /** A rolling update replaces so many servers at a time; without it each server follows the manifest. */
  readonly rolling?: number;
  /** Size of the manifest in MB. */
  readonly manifest: number;
  readonly clients: number;
  /** Share of the clients that send the entity tag of their last response. */
  readonly revalidating: number;
  readonly seed: number;
}

/**
 * Seconds after the deploy until half of the servers, and all, serve the new release, and until all know of dbt's build. Of all
 * responses until the last of these, the percentage from the old release, and the percentage that are 304 for rows that dbt has replaced.
 * Percentage of the clients that got the old release after the new one. Queries a second before the deploy, and in the busiest 10 seconds after it. Requests to the
 * manifest's host in its busiest second, and MB that the deploy costs it.
 */
type Deploy = Readonly<
  Record<
    | "half after s"
    | "all after s"
    | "builds after s"
    | "old release %"
    | "stale 304 %"
    | "clients back %"
    | "queries/s"
    | "most queries/s"
    | "most polls/s"
    | "manifest MB",
    number
  >
>;

/** Seconds between two requests of a client. */
const CLIENT_INTERVAL = 60;

/** The share of an interval that is random (generator/watch/poll.ts). */
const JITTER = 0.1;

const BUCKET_SECONDS = 10;

/** Mulberry32: the same numbers for the same seed. */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

type Random = () => number;

/** When each server has the new release, and when it knows that dbt has replaced the rows. */
interface Notices {
  readonly deployedAt: number;
  readonly released: readonly number[];
  readonly built: readonly number[];
  /** Requests to the manifest's host. */
  readonly polls: readonly number[];
}

export function simulateDeploy(fleet: Fleet): Deploy {
  const random = randomOf(fleet.seed);
  const notices = noticesOf(fleet, random);
  const { deployedAt, released, built, polls } = notices;
  const polling = fleet.rolling === undefined;
  return {
    "half after s": (released.toSorted((a, b) => a - b)[Math.floor(released.length / 2)] ?? 0) - deployedAt,
    "all after s": Math.max(...released) - deployedAt,
    "builds after s": Math.max(...built) - deployedAt,
    ...answersOf(fleet, notices, random),
    "most polls/s": Math.max(...countPer(1, polls)),
    "manifest MB": polling ? fleet.servers * fleet.manifest : 0,
  };
}

function noticesOf({ servers, interval, refresh, rolling }: Fleet, random: Random): Notices {
  const deployedAt = 2 * interval;
  const polls: number[] = [];
  /** The time of a server's first poll after the deploy. */
  const noticed = (): number => {
    let time = random() * interval;
    for (; time < deployedAt; time += interval * (1 + JITTER * (random() - 0.5))) polls.push(time);
    polls.push(time);
    return time;
  };
  const rolled = (i: number, atOnce: number): number => deployedAt + (Math.floor(i / atOnce) + 1) * refresh;
  const released = Array.from({ length: servers }, (_, i) =>
    rolling === undefined ? noticed() + refresh : rolled(i, rolling),
  );
  return { deployedAt, released, built: Array.from({ length: servers }, noticed), polls };
}

/** Every request of every client, in the order of time. */
function answersOf({ clients, revalidating }: Fleet, notices: Notices, random: Random) {
  const { deployedAt, released, built } = notices;
  const all = Math.max(...released, ...built) - deployedAt;
  const phases = Float64Array.from({ length: clients }, () => random() * CLIENT_INTERVAL).sort();
  const tags = new Int8Array(clients);
  const hasNew = new Uint8Array(clients);
  const wentBack = new Uint8Array(clients);
  const queries: number[] = [];
  let [responses, old, stale304] = [0, 0, 0];
  for (let start = 0; start < deployedAt + all + CLIENT_INTERVAL; start += CLIENT_INTERVAL)
    for (const [client, phase] of phases.entries()) {
      const now = start + phase;
      const server = Math.floor(random() * released.length);
      const isNew = now >= (released[server] ?? 0);
      const tag = now >= (built[server] ?? 0) ? 2 : 1;
      const isUnchanged = client % 100 < 100 * revalidating && tags[client] === tag;
      if (!isUnchanged) queries.push(now);
      tags[client] = tag;
      if (isNew) hasNew[client] = 1;
      if (now < deployedAt || now >= deployedAt + all) continue;
      responses++;
      if (!isNew) old++;
      if (!isNew && hasNew[client] === 1) wentBack[client] = 1;
      if (isUnchanged && tag === 1) stale304++;
    }
  const perBucket = countPer(BUCKET_SECONDS, queries);
  const before = perBucket.slice(CLIENT_INTERVAL / BUCKET_SECONDS, deployedAt / BUCKET_SECONDS);
  return {
    "old release %": (100 * old) / responses,
    "stale 304 %": (100 * stale304) / responses,
    "clients back %": (100 * sumOf(wentBack)) / clients,
    "queries/s": sumOf(before) / before.length / BUCKET_SECONDS,
    "most queries/s": Math.max(...perBucket.slice(deployedAt / BUCKET_SECONDS)) / BUCKET_SECONDS,
  };
}

/** How many of these times lie in each bucket of so many seconds. */
function countPer(seconds: number, times: readonly number[]): number[] {
  const counts: number[] = [];
  for (const time of times) {
    const bucket = Math.floor(time / seconds);
    counts[bucket] = (counts[bucket] ?? 0) + 1;
  }
  return Array.from(counts, (count: number | undefined) => count ?? 0);
}

const sumOf = (values: Iterable<number>): number => [...values].reduce((sum, each) => sum + each, 0);
