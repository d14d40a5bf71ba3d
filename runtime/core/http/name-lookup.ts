import dns, { type LookupAddress } from "node:dns";
import type { LookupFunction } from "node:net";
import { promisify } from "node:util";
import { Turns } from "./turns.js";

/**
 * Names that the operator chose (databases, providers, issuers, nodes, receivers in the private network) are looked up as the system does:
 * with its hosts file and its search domains. Node looks up two names at a time; all others wait, until the name server answers or is given
 * up after 10 s, also where the connection has ended long before: a Redis at a slow one, which is tried every 2 s, kept the database from
 * being found for good. So one look-up of a name is under way at a time, and one of all names that were slow.
 */
const turns = new Turns(2);
const turnsOfSlow = new Turns(1);
/** The last look-up of these took longer than `SLOW_MS`. Bounded: names that the operator chose alone. */
const slow = new Set<string>();
const SLOW_MS = 1_000;

/** The addresses of a name are used for this long while they are looked up again: two names that become slow delay no name that was known. */
const KNOWN_MS = 60_000;
/** Addresses younger than this are not looked up again. */
const FRESH_MS = 5_000;

interface KnownAddresses {
  readonly addresses: readonly LookupAddress[];
  readonly at: number;
}

/** Bounded by the same names. */
const known = new Map<string, KnownAddresses>();
/** Bounded by the same names. */
const underWay = new Map<string, Promise<readonly LookupAddress[]>>();

function lookUp(name: string): Promise<readonly LookupAddress[]> {
  const found = underWay.get(name);
  if (found) return found;
  const look = () => turns.take(() => timedLookup(name));
  const started = (slow.has(name) ? turnsOfSlow.take(look) : look()).finally(() => underWay.delete(name));
  underWay.set(name, started);
  return started;
}

async function timedLookup(name: string): Promise<readonly LookupAddress[]> {
  const begun = performance.now();
  try {
    // Read as it is now: operators put another in its place.
    const addresses = await promisify(dns.lookup)(name, { all: true });
    known.set(name, { addresses, at: performance.now() });
    return addresses;
  } finally {
    if (performance.now() - begun > SLOW_MS) slow.add(name);
    else slow.delete(name);
  }
}

async function addressesOf(name: string): Promise<readonly LookupAddress[]> {
  const last = known.get(name);
  const age = last ? performance.now() - last.at : Infinity;
  if (last === undefined || age > KNOWN_MS) return lookUp(name);
  // Whoever connects next gets what it finds; where it fails, it is looked up once more.
  if (age > FRESH_MS) lookUp(name).catch(() => undefined);
  return last.addresses;
}

/** For requests to names that the operator chose. */
export const systemLookup: LookupFunction = (name, options, callback) =>
  answerLookup(addressesOf(name), options, callback);

/** For connections to databases: a name may lead to another server from one moment to the next, and the former one has old rows. */
export const databaseLookup: LookupFunction = (name, options, callback) =>
  answerLookup(lookUp(name), options, callback);

/** Gives addresses, or why there are none, to what connects. */
export function answerLookup(
  found: Promise<readonly LookupAddress[]>,
  { all, family }: Parameters<LookupFunction>[1],
  callback: Parameters<LookupFunction>[2],
): void {
  const isWanted = (address: LookupAddress): boolean =>
    family === 4 || family === 6 ? address.family === family : true;
  found.then(
    (addresses) => {
      const wanted = addresses.filter(isWanted);
      const [first] = wanted;
      if (first === undefined) callback(failure("ENOTFOUND"), "", 0);
      else if (all === true) callback(null, wanted);
      else callback(null, first.address, first.family);
    },
    (error: unknown) => callback(error as NodeJS.ErrnoException, "", 0),
  );
}

/** Why a name has no usable address. */
export function failure(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(code), { code });
}
