import { createHmac, hash, timingSafeEqual } from "node:crypto";
import { columnNamed } from "../model/column-names.js";
import type { Endpoint } from "../model/endpoint.js";
import { MAX_CURSOR_LENGTH } from "../model/limits.js";
import type { KeyValues, Keyset, Position, Selection } from "../model/query.js";
import type { ResultColumns } from "../warehouse/warehouse.js";

const MAC_BYTES = 16;

/** The sort key of a row fits into no cursor. */
export class SortKeyTooLong extends Error {
  constructor() {
    super("The sort key of a row is too long for a cursor.");
  }
}

/** Makes and reads cursors, signed with a key that all servers of an installation share (`CURSOR_KEY`). */
export class Cursors {
  readonly #key: Buffer;

  constructor(key: Buffer) {
    this.#key = key;
  }

  /** The cursor after the last row of a page. */
  write({ scope, types }: Keyset, values: KeyValues): string {
    const payload = JSON.stringify([values, types]);
    const mac = this.#macIn(scope, payload);
    const cursor = Buffer.concat([mac, Buffer.from(payload)]).toString("base64url");
    if (cursor.length <= MAX_CURSOR_LENGTH) return cursor;
    throw new SortKeyTooLong();
  }

  /** Null for a text that `write` has not made in this scope. */
  read(text: string, scope: string): Position | null {
    if (text.length > MAX_CURSOR_LENGTH) return null;
    const bytes = Buffer.from(text, "base64url");
    // Decoding skips invalid characters.
    if (bytes.length <= MAC_BYTES || bytes.toString("base64url") !== text) return null;
    const payload = bytes.toString("utf8", MAC_BYTES);
    if (!timingSafeEqual(bytes.subarray(0, MAC_BYTES), this.#macIn(scope, payload))) return null;
    const [values, types] = JSON.parse(payload) as [KeyValues, string];
    return { values, types };
  }

  #macIn(scope: string, payload: string): Buffer {
    return this.#mac(`${this.#mac(scope).toString("base64url")}\0${payload}`);
  }

  #mac(text: string): Buffer {
    return createHmac("sha256", this.#key).update(text).digest().subarray(0, MAC_BYTES);
  }
}

/**
 * The scope of cursors: the endpoint, the filters with the caller's own rows, the groups, and the sort. A cursor is valid in
 * its own only.
 */
export function cursorScope(
  { path }: Pick<Endpoint, "path">,
  { conditions, sort, grouping }: Selection,
): string {
  const { groups, options } = grouping ?? {};
  const asked = [groups, options].filter((each) => each !== undefined);
  return JSON.stringify([path, conditions, sort, ...asked]);
}

/** Digest of the sort columns' types. */
export function typesOf({ sort }: Selection, columns: ResultColumns): string {
  const types = sort.map(([name]) => columnNamed(columns, name)?.type ?? "");
  return hash("sha1", types.join("\0"), "base64url").slice(0, 8);
}
