import type { IncomingMessage } from "node:http";
import proxyaddr from "proxy-addr";

/** What tells where a request comes from. */
export type Origin = Pick<IncomingMessage, "headers" | "socket">;

/** Tells a caller's IP address. */
export type ClientAddress = (request: Origin) => string;

/**
 * Reads `TRUST_PROXY` as Express does: empty or `false` trusts nobody, a number is how many proxies stand in front,
 * a list names their addresses or networks. Throws a message for anything else.
 */
export function clientAddress(trustProxy: string): ClientAddress {
  if (trustProxy === "" || trustProxy === "false" || trustProxy === "0") return socketAddress;
  const trust = trustOf(trustProxy);
  return (request) => plain(proxyaddr(request as IncomingMessage, trust));
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

/** Whether a connection comes from this machine itself. */
export function isLoopback(address: string): boolean {
  return address === "::1" || address.startsWith("127.");
}
