import type { BindValue } from "../core/warehouse/sql.js";

/** PostgreSQL's messages Bind, Execute and Sync in one buffer: the Bind of `pg` has one format for all fields. */
export function executeMessages(name: string, values: readonly BindValue[], formats: Buffer): Buffer {
  const texts = values.map(textOf);
  let bytes = 0;
  for (const text of texts) bytes += 4 + (text === null ? 0 : Buffer.byteLength(text));
  // Behind the type and the length: an empty portal, the name, no formats of values, and their number.
  const length = 5 + 1 + name.length + 1 + 4 + bytes + formats.length;
  const message = Buffer.allocUnsafe(length + EXECUTE_AND_SYNC.length);
  message[0] = BIND;
  message.writeInt32BE(length - 1, 1);
  message[5] = 0;
  let at = 6 + message.write(name, 6, "latin1");
  message[at] = 0;
  message.writeInt32BE(texts.length, at + 1);
  at += 5;
  for (const text of texts) {
    const written = text === null ? -1 : message.write(text, at + 4);
    at = message.writeInt32BE(written, at) + Math.max(0, written);
  }
  at += formats.copy(message, at);
  EXECUTE_AND_SYNC.copy(message, at);
  return message;
}

const BIND = 0x42;

/** Of the unnamed portal, without a limit of rows. */
const EXECUTE_AND_SYNC = Buffer.from("E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04", "latin1");

/** The text form of a bind value. A null in a list equals no row; with `array_nulls = off` it would be a text. */
function textOf(value: BindValue): string | null {
  if (value === null || typeof value === "string") return value;
  if (typeof value === "number") return String(value);
  return `{${value.flatMap((text) => (text === null ? [] : [elementOf(text)])).join(",")}}`;
}

/** An element of an array in PostgreSQL's text form. */
function elementOf(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}
