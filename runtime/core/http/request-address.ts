import type { IncomingMessage } from "node:http";
import type { ClientAddress } from "./headers.js";
import type { PublicAddressOf } from "./public-address.js";

interface AddressReaders {
  readonly publicAddressOf: PublicAddressOf;
  readonly addressOf: ClientAddress;
}

/** Where the client of a request reaches this server, with the path below which a proxy serves it, without a `/` at its end. */
export function requestAddress(
  { publicAddressOf, addressOf }: AddressReaders,
  request: IncomingMessage,
): string {
  const { origin, prefix } = publicAddressOf(request);
  const isSecure =
    addressOf.isTrustedProxy?.(request) === true && request.headers["x-forwarded-proto"] === "https";
  return `${origin ?? `${isSecure ? "https" : "http"}://${hostHeaderOf(request)}`}${prefix}`;
}

/** A name or an address, perhaps with a port: nothing else leaves it for a header or a document. */
const HOST = /^(?:[\w.-]{1,255}|\[[\da-f:.]{2,45}\])(?::\d{1,5})?$/i;

const hostHeaderOf = ({ headers: { host = "" } }: IncomingMessage): string =>
  HOST.test(host) ? host : "localhost";
