import type { IncomingMessage } from "node:http";
import proxyaddr from "proxy-addr";
import ipaddr from "ipaddr.js";

/** The parts of a request that identify its client. */
export type Origin = Pick<IncomingMessage, "headers" | "socket">;

/** Returns a caller's IP address. */
export interface ClientAddress {
  (request: Origin): string;
  /** Whether a proxy is configured: a loopback connection may then come from another machine. */
  readonly isBehindProxy?: boolean;
}

/**
 * Reads `TRUST_PROXY` as Express does: empty or `false` trusts no proxy, a number is the hop count, a list holds addresses
 * or networks. Throws for anything else.
 */
export function clientAddress(trustProxy: string): ClientAddress {
  if (trustProxy === "" || trustProxy === "false" || trustProxy === "0") return socketAddress;
  const trust = trustOf(trustProxy);
  const address = (request: Origin): string => plain(proxyaddr(request as IncomingMessage, trust));
  return Object.assign(address, { isBehindProxy: true });
}

function trustOf(trustProxy: string): (address: string, hop: number) => boolean {
  if (trustProxy === "true") return () => true;
  if (/^\d+$/.test(trustProxy)) return (_, hop) => hop < Number(trustProxy);
  return proxyaddr.compile(trustProxy.split(",").map((network) => network.trim()));
}

function socketAddress(request: Origin): string {
  return plain(request.socket.remoteAddress ?? "");
}

/** A dual-stack socket reports an IPv4 caller as an IPv4-mapped address. */
function plain(address: string): string {
  return address.startsWith("::ffff:") ? address.slice(7) : address;
}

/** Headers that proxies and content delivery networks add. */
const FORWARDING =
  /^(forwarded|via|x-forwarded(-.*)?|x-real-ip|x-client-ip|x-original-.*|cf-connecting-ip|true-client-ip)$/;

/**
 * Whether a request comes from this machine: over the loopback interface, without headers of a proxy, and without a proxy
 * in `TRUST_PROXY` (runtime/README.md, System endpoints).
 */
export function isLocalCaller(addressOf: ClientAddress, request: Origin): boolean {
  const address = socketAddress(request);
  if (addressOf.isBehindProxy || !(address === "::1" || address.startsWith("127."))) return false;
  return !Object.keys(request.headers).some((name) => FORWARDING.test(name));
}

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
