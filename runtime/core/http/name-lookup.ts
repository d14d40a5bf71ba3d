import dns, { type LookupAddress } from "node:dns";
import type { LookupFunction } from "node:net";
import { promisify } from "node:util";
import { Turns } from "./turns.js";

/**
 * Names that the operator or, in the private network, a tenant chose are looked up as the system does: with its hosts file and its search
 * domains. Node looks up two names at a time; all others wait, until a name server answers or is given up after 10 s, also where the
 * connection has ended long before. So one look-up of a name is under way at a time, and names whose server gave no answer the last time are
 * looked up one at a time.
 */
class NameLookups {
  readonly #turns: Turns;
  readonly #waitMs: number;
  readonly #turnsOfMute = new Turns(1);
  /** Names whose last look-up got no answer. */
  readonly #mute = new RecentNames<true>();
  /** Bounded by the requests of `#waitMs`, or by names that the operator chose. */
  readonly #underWay = new Map<string, Promise<readonly LookupAddress[]>>();

  /** @param waitMs longer ones in the queue are given up */
  constructor(atOnce: number, waitMs: number) {
    this.#turns = new Turns(atOnce);
    this.#waitMs = waitMs;
  }

  find(name: string, hints: number): Promise<readonly LookupAddress[]> {
    const key = keyOf(name, hints);
    const found = this.#underWay.get(key);
    if (found) return found;
    const asked = performance.now();
    const isLate = (): boolean => performance.now() - asked > this.#waitMs;
    const look = () =>
      this.#turns.take(() => (isLate() ? Promise.reject(failure(NO_ANSWER)) : this.#ask(name, hints)));
    const isMute = this.#mute.get(name) !== undefined;
    const started = (isMute ? this.#turnsOfMute.take(look) : look()).finally(() =>
      this.#underWay.delete(key),
    );
    this.#underWay.set(key, started);
    return started;
  }

  async #ask(name: string, hints: number): Promise<readonly LookupAddress[]> {
    try {
      // Read as it is now: operators put another in its place.
      const addresses = await promisify(dns.lookup)(name, { all: true, hints });
      this.#mute.delete(name);
      return addresses;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === NO_ANSWER) this.#mute.set(name, true);
      else this.#mute.delete(name);
      throw error;
    }
  }
}

/** The addresses of a name are used for this long while they are looked up again: a name that becomes slow delays no name that was known. */
const KNOWN_MS = 60_000;
/** Addresses younger than this are not looked up again. */
const FRESH_MS = 5_000;

interface Recent<T> {
  readonly value: T;
  readonly at: number;
}

/** What was found for names in the last `KNOWN_MS`. */
class RecentNames<T> {
  /** The oldest first. Bounded by the look-ups of this time. */
  readonly #entries = new Map<string, Recent<T>>();

  get(key: string): Recent<T> | undefined {
    const entry = this.#entries.get(key);
    return entry && isRecent(entry) ? entry : undefined;
  }

  set(key: string, value: T): void {
    this.#entries.delete(key);
    this.#entries.set(key, { value, at: performance.now() });
    for (const [oldest, entry] of this.#entries) {
      if (isRecent(entry)) return;
      this.#entries.delete(oldest);
    }
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }
}

const isRecent = ({ at }: Recent<unknown>): boolean => performance.now() - at <= KNOWN_MS;

/** Names of databases, few, may take both of Node's places: two that get no answer take one. All others leave one free. */
const databases = new NameLookups(2, Infinity);
/** No request waits longer than these. */
const others = new NameLookups(1, 10_000);
const known = new RecentNames<readonly LookupAddress[]>();

async function otherAddresses(name: string, hints: number): Promise<readonly LookupAddress[]> {
  const last = known.get(keyOf(name, hints));
  if (last === undefined) return lookUpOther(name, hints);
  // Whoever connects next gets what it finds; where it fails, it is looked up once more.
  if (performance.now() - last.at > FRESH_MS) lookUpOther(name, hints).catch(() => undefined);
  return last.value;
}

async function lookUpOther(name: string, hints: number): Promise<readonly LookupAddress[]> {
  const addresses = await others.find(name, hints);
  known.set(keyOf(name, hints), addresses);
  return addresses;
}

/** Other hints, other addresses: Node asks for those of IPv6 only where this machine has it, unless a connection is to use it. */
const keyOf = (name: string, hints: number): string => `${String(hints)} ${name}`;

/** For requests to providers, issuers, nodes and receivers. */
export const systemLookup: LookupFunction = (name, options, callback) =>
  answerLookup(otherAddresses(name, options.hints ?? 0), options, callback);

/** For connections to databases: a name may lead to another server from one moment to the next, and the former one has old rows. */
export const databaseLookup: LookupFunction = (name, options, callback) =>
  answerLookup(databases.find(name, options.hints ?? 0), options, callback);

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
    // A copy: all who waited for one look-up get its error, and may add to it.
    (error: unknown) => callback(copyOf(error as NodeJS.ErrnoException), "", 0),
  );
}

const copyOf = (error: NodeJS.ErrnoException): NodeJS.ErrnoException =>
  Object.assign(new Error(error.message), error);

/** What Node says where a name server does not answer. */
const NO_ANSWER = "EAI_AGAIN";

/** Why a name has no usable address. */
export function failure(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(code), { code });
}
