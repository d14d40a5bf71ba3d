import ipaddr from "ipaddr.js";

/** An IPv6 address whose first four groups are not abbreviated: no parsing is needed. */
const UNABBREVIATED = /^([1-9a-f][0-9a-f]{0,3}):((0|[1-9a-f][0-9a-f]{0,3}):){3}/;

/** Longest IPv4 address. */
const IPV4_LENGTH = "255.255.255.255".length;

/** Callers with an invalid address share one window: forged text cannot open new ones. */
const INVALID_ADDRESS = "no-address";

/**
 * The network that counts as one caller: the IPv4 address, or the /64 of an IPv6 address. A /64 is the smallest block a
 * customer gets (RFC 6177): with a window per address each customer would have 2^64 windows.
 */
export function networkOf(address: string): string {
  if (!address.includes(":")) return address.length <= IPV4_LENGTH ? address : INVALID_ADDRESS;
  const first = UNABBREVIATED.exec(address)?.[0];
  return first === undefined ? parsed(withoutPort(address)) : `${first}:/64`;
}

/** Some proxies append the caller's port to the address. */
function withoutPort(address: string): string {
  return address.replace(/^\[(.*)\](:\d+)?$/, "$1").replace(/^([\d.]+):\d+$/, "$1");
}

function parsed(text: string): string {
  if (!ipaddr.isValid(text)) return INVALID_ADDRESS;
  // IPv4-mapped addresses are all in one /64: count each as its IPv4 address.
  const address = ipaddr.process(text);
  if (address instanceof ipaddr.IPv4) return address.toString();
  const groups = address.parts.slice(0, 4).map((group) => group.toString(16));
  return `${groups.join(":")}::/64`;
}
