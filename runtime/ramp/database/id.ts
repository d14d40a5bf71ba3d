import { createHash, randomFillSync } from "node:crypto";

/** Values of the counter within one millisecond (12 bits). */
const COUNTER_VALUES = 0x1000;

let lastMs = 0;
let counter = 0;

/** Random bytes of the next ids: a call for each id took 12 µs, 2 % of the processor time of an intent in Node. */
const POOL = Buffer.alloc(4096);
let used = POOL.length;

function takeRandom(bytes: number): Buffer {
  if (used + bytes > POOL.length) {
    randomFillSync(POOL);
    used = 0;
  }
  used += bytes;
  return Buffer.from(POOL.subarray(used - bytes, used));
}

/**
 * A new uuid of version 7 with a counter (RFC 9562 §5.7, §6.2 method 1): ids made later by a process sort later, so that an
 * index grows at its end and events keep their order.
 */
export function newId(): string {
  const now = Date.now();
  if (now > lastMs) [lastMs, counter] = [now, 0];
  else if (++counter === COUNTER_VALUES) [lastMs, counter] = [lastMs + 1, 0];
  const bytes = takeRandom(16);
  bytes.writeUIntBE(lastMs, 0, 6);
  bytes.writeUInt16BE(0x7000 | counter, 6);
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return uuidOf(bytes);
}

/** 16 bytes as the text of a uuid. */
function uuidOf(bytes: Buffer): string {
  const hex = bytes.toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
}

/**
 * The id of a project's customer: the caller's own id where that is a UUID, in lower case, else the UUIDv5 of it under the
 * project's id (runtime/ramp/docs/customers.md).
 */
export function customerIdOf(projectId: string, externalId: string): string {
  return isUuid(externalId) ? externalId.toLowerCase() : uuidV5(projectId, externalId);
}

/**
 * The id of an intent's order: derived, so that a database restored to before the order sends the same one again, and the
 * provider carries it out once. An intent has one attempt, for life.
 */
export function orderIdOf(intentId: string): string {
  return uuidV5(intentId, "order 1");
}

/** The id of an intent's refund for this reason, derived like that of its order: one wish is one refund. */
export function refundIdOf(intentId: string, reason: string): string {
  return uuidV5(intentId, `refund ${reason}`);
}

/** The id of the intent of a payment to a deposit account, derived from the provider's id of the payment: one payment is one intent. */
export function depositIntentIdOf(depositAccountId: string, depositId: string): string {
  return uuidV5(depositAccountId, `deposit ${depositId}`);
}

/** The id of a refund that the provider made alone: its own where it is a uuid, such as that of an order that a restore lost. */
export function providerRefundIdOf(intentId: string, providerId: string): string {
  return isUuid(providerId)
    ? providerId.toLowerCase()
    : uuidV5(intentId, `refund of the provider ${providerId}`);
}

/** A uuid of version 5 (RFC 9562 §5.5): of a name under the uuid of its namespace. */
function uuidV5(namespace: string, name: string): string {
  const space = Buffer.from(namespace.replaceAll("-", ""), "hex");
  const bytes = createHash("sha1").update(space).update(name, "utf8").digest().subarray(0, 16);
  // Version 5 and the variant of RFC 9562.
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x50;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return uuidOf(bytes);
}

declare const brand: unique symbol;

/** A project's id, a uuid in lower case. */
export type ProjectId = string & { readonly [brand]: "project" };

/** Brands an id that was read from the database, or whose signature was verified. */
export function projectId(uuid: string): ProjectId {
  return uuid as ProjectId;
}
