import { randomBytes } from "node:crypto";

/** Values of the counter within one millisecond (12 bits). */
const COUNTER_VALUES = 0x1000;

let lastMs = 0;
let counter = 0;

/**
 * A new uuid of version 7 with a counter (RFC 9562 §5.7, §6.2 method 1): ids made later by a process sort later, so that an
 * index grows at its end and events keep their order.
 */
export function newId(): string {
  const now = Date.now();
  if (now > lastMs) [lastMs, counter] = [now, 0];
  else if (++counter === COUNTER_VALUES) [lastMs, counter] = [lastMs + 1, 0];
  const bytes = randomBytes(16);
  bytes.writeUIntBE(lastMs, 0, 6);
  bytes.writeUInt16BE(0x7000 | counter, 6);
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
