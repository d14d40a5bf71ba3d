import ipaddr from "ipaddr.js";
import { lookup as resolve } from "node:dns";
import type { LookupFunction } from "node:net";
import { isIP } from "node:net";

/** Whether an IP address is one of the public internet; loopback, private, link-local and other special ones are not. */
export function isPublicAddress(address: string): boolean {
  return ipaddr.process(address).range() === "unicast";
}

/** Whether a URL's host is an IP address that is not public; names are checked when they are resolved. */
export function namesPrivateAddress(url: URL): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  return isIP(host) !== 0 && !isPublicAddress(host);
}

/**
 * Resolves names to public addresses only. The connection goes to the address that was checked: a name that changes in
 * between gains nothing.
 */
export const publicLookup: LookupFunction = (hostname, options, callback) => {
  resolve(hostname, { ...options, all: true }, (error, addresses) => {
    if (error) return callback(error, "", 0);
    const open = addresses.filter(({ address }) => isPublicAddress(address));
    const [first] = open;
    if (first === undefined || open.length < addresses.length)
      return callback(Object.assign(new Error("private address"), { code: "EPRIVATE" }), "", 0);
    if (options.all) callback(null, open);
    else callback(null, first.address, first.family);
  });
};
