import type { Caller } from "../../runtime/core/model/caller.js";
import type { BufferedRows, QueryContext, Rows, RowStream } from "../../runtime/core/warehouse/warehouse.js";

/** A caller of the highest tier. */
export function callerNamed(id: string): Caller {
  return { id, tier: "tier3", org: null, allowed: null, key: null };
}

/** The context of a query of a caller of the highest tier. */
export function queryContext(context: Partial<QueryContext> = {}): QueryContext {
  return {
    id: "test",
    caller: callerNamed("key:test"),
    version: null,
    isStillNeeded: () => true,
    ...context,
  };
}

/** A result whose rows are text. */
export function asText(rows: Rows): TextRows {
  return rows.kind === "stream" ? rows : { ...rows, text: Buffer.concat(rows.parts).toString() };
}

export type TextRows = RowStream | (BufferedRows & { readonly text: string });

/** All bytes of a result. */
export async function bytesOf(rows: Rows): Promise<Buffer> {
  if (rows.kind === "buffered") return Buffer.concat(rows.parts);
  const parts: Buffer[] = [];
  try {
    for (let part = await rows.chunks.next(); !part.done; part = await rows.chunks.next())
      parts.push(Buffer.from(part.value));
  } finally {
    await rows.chunks.return();
  }
  return Buffer.concat(parts);
}
