import type { LookupAddress } from "node:dns";
import { lookup } from "node:dns/promises";
import type { LookupFunction } from "node:net";
import { Turns } from "./turns.js";

/**
 * Names that the operator chose (providers, issuers, nodes, receivers in the private network) are looked up as the system does: with its
 * hosts file and its search domains. Each look-up holds one of Node's four threads, which files and cryptography need too, until the name
 * server answers: eight receivers at a slow one stopped all requests of a process for 10 s. So one look-up of a name is under way at a
 * time, and two of all names.
 */
const AT_ONCE = 2;

/** The addresses of a name are used for this long while they are looked up again: two slow names delay no name that was known. */
const KNOWN_MS = 60_000;
/** Addresses younger than this are not looked up again. */
const FRESH_MS = 5_000;

interface KnownAddresses {
  readonly addresses: readonly LookupAddress[];
  readonly at: number;
}

const turns = new Turns(AT_ONCE);
/** Bounded: names that the operator chose alone. */
const known = new Map<string, KnownAddresses>();
/** Bounded by the same names. */
const underWay = new Map<string, Promise<readonly LookupAddress[]>>();

function lookUp(name: string): Promise<readonly LookupAddress[]> {
  const found = underWay.get(name);
  if (found) return found;
  const started = turns
    .take(() => lookup(name, { all: true }))
    .then((addresses) => {
      known.set(name, { addresses, at: performance.now() });
      return addresses;
    })
    .finally(() => underWay.delete(name));
  underWay.set(name, started);
  return started;
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
