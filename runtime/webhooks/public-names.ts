import type { LookupAddress } from "node:dns";
import { Resolver } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";
import { answerLookup, failure } from "../core/http/name-lookup.js";
import { Turns } from "../core/http/turns.js";

/** For a look-up whole, with its wait for others of the tenant. */
const LOOKUP_MS = 3_000;
/** Before the second try of a name server, and the number of tries. */
const TRY_MS = 1_000;
const TRIES = 2;
/** Look-ups of one tenant that are under way at a time: a slow name delays others of the same tenant alone. */
const PER_TENANT = 10;

/** The look-ups of a tenant; it is forgotten with the last. */
interface TenantLookups {
  readonly turns: Turns;
  readonly underWay: Map<string, Promise<readonly LookupAddress[]>>;
}

/**
 * Names that tenants chose: their name servers can be slow, and their addresses change. They are looked up by c-ares, which holds no thread,
 * knows no hosts file and no search domains, and are used only where all addresses are public. The connection goes to an address that
 * was checked, whatever the name leads to later.
 */
export class PublicNames {
  readonly #resolver = new Resolver({ timeout: TRY_MS, tries: TRIES });
  /** Bounded by the requests and deliveries under way. */
  readonly #tenants = new Map<string, TenantLookups>();

  /** @param servers name servers; none: the system's */
  constructor(servers: readonly string[] = []) {
    if (servers.length > 0) this.#resolver.setServers(servers);
  }

  /** Looks names up for a tenant's connections. */
  lookupFor(tenant: string): LookupFunction {
    return (name, options, callback) =>
      answerLookup(this.#publicAddressesOf(name, tenant), options, callback);
  }

  /** Whether a URL's host is a private address, or a name with one among its addresses; null: it is not known, such as of a name that does not resolve. */
  async leadsToPrivate(url: URL, tenant: string): Promise<boolean | null> {
    const host = hostOf(url);
    if (isIP(host) !== 0) return !isPublicAddress(host);
    return this.#publicAddressesOf(host, tenant).then(
      () => false,
      (error: unknown) => ((error as NodeJS.ErrnoException).code === PRIVATE ? true : null),
    );
  }

  async #publicAddressesOf(name: string, tenant: string): Promise<readonly LookupAddress[]> {
    if (LOCAL_NAME.test(name)) throw failure(PRIVATE);
    const addresses = await this.#addressesOf(name, tenant);
    if (!addresses.every(({ address }) => isPublicAddress(address))) throw failure(PRIVATE);
    return addresses;
  }

  #addressesOf(name: string, tenant: string): Promise<readonly LookupAddress[]> {
    const none = (): TenantLookups => ({ turns: new Turns(PER_TENANT), underWay: new Map() });
    const lookups = this.#tenants.get(tenant) ?? none();
    this.#tenants.set(tenant, lookups);
    const { turns, underWay } = lookups;
    const found = underWay.get(name);
    if (found) return found;
    const forget = (): void => {
      if (underWay.size === 0 && turns.isIdle) this.#tenants.delete(tenant);
    };
    const started = withinLimit((isOver) => {
      // Its turn ends with the queries, which c-ares can go on with after the limit.
      const turn = turns.take(() => (isOver() ? Promise.reject(failure(TIMEOUT)) : this.#resolve(name)));
      void turn.then(forget, forget);
      return turn;
    }).finally(() => {
      underWay.delete(name);
      forget();
    });
    underWay.set(name, started);
    return started;
  }

  async #resolve(name: string): Promise<readonly LookupAddress[]> {
    const [four, six] = await Promise.allSettled([
      this.#resolver.resolve4(name),
      this.#resolver.resolve6(name),
    ]);
    const addresses = [
      ...(four.status === "fulfilled" ? four.value.map((address) => ({ address, family: 4 })) : []),
      ...(six.status === "fulfilled" ? six.value.map((address) => ({ address, family: 6 })) : []),
    ];
    if (addresses.length > 0) return addresses;
    const codes = [four, six].map((result) =>
      result.status === "rejected" ? (result.reason as NodeJS.ErrnoException).code : undefined,
    );
    throw failure(codes.includes("ETIMEOUT") ? TIMEOUT : "ENOTFOUND");
  }
}

/** Why a name cannot be used: one of its addresses is private, or there was no answer in time. */
export const PRIVATE = "EPRIVATE";
const TIMEOUT = "EDNSTIMEOUT";

/** Fails once the time is over, which the work can ask for. */
async function withinLimit<T>(work: (isOver: () => boolean) => Promise<T>): Promise<T> {
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      isOver = true;
      reject(failure(TIMEOUT));
    }, LOOKUP_MS);
  });
  try {
    return await Promise.race([work(() => isOver), limit]);
  } finally {
    clearTimeout(timer);
  }
}

const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, "");

/** Names of this machine, whether they resolve or not (RFC 6761 §6.3). */
const LOCAL_NAME = /(^|\.)localhost\.?$/i;

/** Whether an IP address is one of the public internet; loopback, private, link-local and other special ones are not. */
export function isPublicAddress(address: string): boolean {
  const ip = ipaddr.process(address);
  return ip.range() === "unicast" && (ip.kind() === "ipv4" || ip.match(PUBLIC_IPV6, 3));
}

/** What IANA gives out, `2000::/3`: addresses beside it can lead to IPv4 ones, such as `::127.0.0.1`. */
const PUBLIC_IPV6 = ipaddr.parse("2000::");

/** Whether a URL's host is an IP address that is not public: such a one is not looked up. */
export function namesPrivateAddress(url: URL): boolean {
  const host = hostOf(url);
  return isIP(host) !== 0 && !isPublicAddress(host);
}
