/** Values of types whose text depends on settings of the session, from their binary form. */
import { postgresFloat } from "./floats.js";
import { TypeChanged } from "../core/warehouse/query-errors.js";
import { isoText, timeText } from "./times.js";

/** How the binary form of a type is read. */
export interface Scalar {
  /** PostgreSQL's numbers of the type and of its array. */
  readonly oids: readonly [number, number];
  /** As PostgreSQL prints it with its default settings, in UTC; it reads this text whatever is set. */
  readonly text: (field: Buffer) => string;
  /** As responses show it; the text in quotes unless another form is named. */
  readonly json?: (field: Buffer) => string;
}

/** JSON has no NaN and no infinity: they are null. */
function number(oids: Scalar["oids"], text: Scalar["text"]): Scalar {
  return { oids, text, json: (field) => text(field).replace(/^(NaN|-?Infinity)$/, "null") };
}

function time(oids: Scalar["oids"], text: Scalar["text"]): Scalar {
  return { oids, text, json: (field) => JSON.stringify(isoText(field)) };
}

/** By PostgreSQL's type name. */
const SCALARS: Readonly<Record<string, Scalar>> = {
  float4: number([700, 1021], (field) => postgresFloat(bytes(field, 4).readFloatBE(), true)),
  float8: number([701, 1022], (field) => postgresFloat(bytes(field, 8).readDoubleBE(), false)),
  numeric: number([1700, 1231], numericText),
  date: time([1082, 1182], timeText),
  timestamp: time([1114, 1115], (field) => timeText(field).replace("T", " ").replace("Z", "")),
  timestamptz: time([1184, 1185], (field) => timeText(field).replace("T", " ").replace("Z", "+00")),
  bytea: { oids: [17, 1001], text: (field) => `\\x${field.toString("hex")}` },
  interval: { oids: [1186, 1187], text: intervalText },
  point: { oids: [600, 1017], text: (field) => point(field, 0) },
  lseg: { oids: [601, 1018], text: (field) => `[${points(field, 0, 2)}]` },
  line: { oids: [628, 629], text: (field) => `{${[0, 8, 16].map((at) => coordinate(field, at)).join(",")}}` },
  box: { oids: [603, 1020], text: (field) => points(field, 0, 2) },
  path: {
    oids: [602, 1019],
    text: (field) => (field[0] === 1 ? `(${points(field, 5)})` : `[${points(field, 5)}]`),
  },
  polygon: { oids: [604, 1027], text: (field) => `(${points(field, 4)})` },
  circle: { oids: [718, 719], text: (field) => `<${point(field, 0)},${coordinate(field, 16)}>` },
};

/** Null for a type whose text is the same whatever is set, and for one that is not PostgreSQL's own. */
export function scalarOf(type: string): Scalar | null {
  return (Object.hasOwn(SCALARS, type) ? SCALARS[type] : null) ?? null;
}

export function scalarJson({ text, json }: Scalar, field: Buffer): string {
  return json === undefined ? JSON.stringify(text(field)) : json(field);
}

/** Types that a database defines itself, such as domains, have greater numbers. */
const FIRST_OWN_TYPE = 16_384;

/** A value of another type: its column, or a field of it, has changed since it was looked up. */
export function checkType(oid: number, expected: number): void {
  if (oid !== expected && oid < FIRST_OWN_TYPE) throw new TypeChanged();
}

/** A field of so many bytes: another length is that of another type. */
function bytes(field: Buffer, length: number): Buffer {
  if (field.length !== length) throw new TypeChanged();
  return field;
}

const coordinate = (field: Buffer, at: number): string => postgresFloat(field.readDoubleBE(at), false);
const point = (field: Buffer, at: number): string =>
  `(${coordinate(field, at)},${coordinate(field, at + 8)})`;

function points(field: Buffer, from: number, count = (field.length - from) / 16): string {
  return Array.from({ length: count }, (_, i) => point(field, from + 16 * i)).join(",");
}

const SIGNS: ReadonlyMap<number, string> = new Map([
  [0xc000, "NaN"],
  [0xd000, "Infinity"],
  [0xf000, "-Infinity"],
]);
const NEGATIVE = 0x4000;

/** Groups of four decimal digits; the weight is the position of the first one before the point. */
function numericText(field: Buffer): string {
  const [groups, weight, sign, scale] = [0, 2, 4, 6].map((at) =>
    at === 2 ? field.readInt16BE(at) : field.readUInt16BE(at),
  ) as [number, number, number, number];
  const special = SIGNS.get(sign);
  if (special !== undefined) return special;
  const group = (position: number): string =>
    String(position >= 0 && position < groups ? field.readInt16BE(8 + 2 * position) : 0).padStart(4, "0");
  let whole = "";
  for (let position = 0; position <= weight; position++) whole += group(position);
  let fraction = "";
  for (let position = weight + 1; fraction.length < scale; position++) fraction += group(position);
  const digits = whole.replace(/^0+/, "") || "0";
  const point = scale > 0 ? `.${fraction.slice(0, scale)}` : "";
  return `${sign === NEGATIVE ? "-" : ""}${digits}${point}`;
}

const LAST = { microseconds: 2n ** 63n - 1n, number: 2 ** 31 - 1 };

/** Months, days and microseconds, in the style `postgres`. */
function intervalText(field: Buffer): string {
  const time = bytes(field, 16).readBigInt64BE();
  const [days, months] = [field.readInt32BE(8), field.readInt32BE(12)];
  if (months === LAST.number && days === LAST.number && time === LAST.microseconds) return "infinity";
  if (months === -LAST.number - 1 && days === -LAST.number - 1 && time === -LAST.microseconds - 1n)
    return "-infinity";
  const units: readonly (readonly [number, string])[] = [
    [Math.trunc(months / 12), "year"],
    [months % 12, "mon"],
    [days, "day"],
  ];
  const parts: string[] = [];
  let isAfterNegative = false;
  for (const [count, unit] of units) {
    if (count === 0) continue;
    const sign = isAfterNegative && count > 0 ? "+" : "";
    parts.push(`${sign}${String(count)} ${unit}${count === 1 ? "" : "s"}`);
    isAfterNegative = count < 0;
  }
  if (parts.length === 0 || time !== 0n) parts.push(clockText(time, isAfterNegative));
  return parts.join(" ");
}

const SECOND = 1_000_000n;

function clockText(time: bigint, isAfterNegative: boolean): string {
  const [seconds, rest] = [(time < 0n ? -time : time) / SECOND, (time < 0n ? -time : time) % SECOND];
  const clock = [seconds / 3600n, (seconds / 60n) % 60n, seconds % 60n].map((part) =>
    String(part).padStart(2, "0"),
  );
  const fraction = rest === 0n ? "" : `.${String(rest).padStart(6, "0").replace(/0+$/, "")}`;
  return `${time < 0n ? "-" : isAfterNegative ? "+" : ""}${clock.join(":")}${fraction}`;
}
