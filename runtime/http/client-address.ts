import type { IncomingMessage } from "node:http";
import proxyaddr from "proxy-addr";

/** What tells where a request comes from. */
export type Origin = Pick<IncomingMessage, "headers" | "socket">;

/** Tells a caller's IP address. */
export interface ClientAddress {
  (request: Origin): string;
  /** Whether a proxy stands in front, so that a loopback connection need not come from this machine. */
  readonly isBehindProxy?: boolean;
}

/**
 * Reads `TRUST_PROXY` as Express does: empty or `false` trusts nobody, a number is how many proxies stand in front,
 * a list names their addresses or networks. Throws a message for anything else.
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

/** An IPv4 caller of a dual-stack socket is the same caller as on an IPv4 one. */
function plain(address: string): string {
  return address.startsWith("::ffff:") ? address.slice(7) : address;
}

/** Headers of proxies and content delivery networks. */
const FORWARDING =
  /^(forwarded|via|x-forwarded(-.*)?|x-real-ip|x-client-ip|x-original-.*|cf-connecting-ip|true-client-ip)$/;

/**
 * Whether a request comes from this machine itself: over the loopback, without any header of a proxy, and with no proxy
 * configured in `TRUST_PROXY`.
 */
export function isLocalCaller(addressOf: ClientAddress, request: Origin): boolean {
  const address = socketAddress(request);
  if (addressOf.isBehindProxy || !(address === "::1" || address.startsWith("127."))) return false;
  return !Object.keys(request.headers).some((name) => FORWARDING.test(name));
}
