import ipaddr from "ipaddr.js";

/** What an IPv6 address looks like when its first four groups are written out, as systems write them. */
const WRITTEN_OUT = /^([1-9a-f][0-9a-f]{0,3}):((0|[1-9a-f][0-9a-f]{0,3}):){3}/;

/** Longest IPv4 address. */
const IPV4_LENGTH = "255.255.255.255".length;

/** Callers whose address is no address share one window, so that made-up text opens no more. */
const NO_ADDRESS = "no-address";

/**
 * The network that counts as one caller: an IPv4 address by itself, an IPv6 address by its /64. That is the least one
 * customer is given (RFC 6177), so a window for each address would be 2^64 windows for everybody.
 */
export function networkOf(address: string): string {
  if (!address.includes(":")) return address.length <= IPV4_LENGTH ? address : NO_ADDRESS;
  const first = WRITTEN_OUT.exec(address)?.[0];
  return first === undefined ? parsed(withoutPort(address)) : `${first}:/64`;
}

/** Some proxies forward the caller's port along with the address. */
function withoutPort(address: string): string {
  return address.replace(/^\[(.*)\](:\d+)?$/, "$1").replace(/^([\d.]+):\d+$/, "$1");
}

function parsed(text: string): string {
  if (!ipaddr.isValid(text)) return NO_ADDRESS;
  // An IPv4 address that is written as IPv6 is the same caller as without; all of them are in one /64.
  const address = ipaddr.process(text);
  if (address instanceof ipaddr.IPv4) return address.toString();
  const groups = address.parts.slice(0, 4).map((group) => group.toString(16));
  return `${groups.join(":")}::/64`;
}
