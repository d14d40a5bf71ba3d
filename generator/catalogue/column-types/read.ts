import { type ColumnType, UNKNOWN } from "./kinds.js";
import { BOTH } from "./names/both.js";
import { CLICKHOUSE, CLICKHOUSE_EXACT_CASE } from "./names/clickhouse.js";
import type { Meaning } from "./names/meaning.js";
import { POSTGRES } from "./names/postgres.js";
import { signatureOf } from "./signature.js";
import type { Expression } from "./syntax.js";

const MEANINGS: ReadonlyMap<string, Meaning> = new Map([...BOTH, ...CLICKHOUSE, ...POSTGRES]);
const EXACT_CASE: ReadonlyMap<string, Meaning> = new Map(CLICKHOUSE_EXACT_CASE);

/** The type an expression names; what is not understood is unknown, alone or as part of a type that is. */
export function readType(expression: Expression): ColumnType {
  const signature = signatureOf(expression);
  if (signature === undefined) return UNKNOWN;
  const type = meaningOf(signature.name)?.(signature.args, readType) ?? UNKNOWN;
  return arrayOf(type, signature.dimensions);
}

function meaningOf(written: string): Meaning | undefined {
  const name = written.toLowerCase();
  return EXACT_CASE.get(written) ?? MEANINGS.get(name) ?? postgresArray(name);
}

/** PostgreSQL's catalogue names the arrays of `int4` and `text` `_int4` and `_text`. */
function postgresArray(name: string): Meaning | undefined {
  const element = name.startsWith("_") ? MEANINGS.get(name.slice(1)) : undefined;
  return element && ((args, read) => arrayOf(element(args, read) ?? UNKNOWN, 1));
}

function arrayOf(type: ColumnType, dimensions: number): ColumnType {
  return dimensions === 0 ? type : arrayOf({ kind: "array", of: type, nullable: false }, dimensions - 1);
}
