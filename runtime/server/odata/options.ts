import { httpError, type Result } from "../../core/model/errors.js";
import type { RawFields } from "../../core/model/query.js";
import { queryFields } from "../../core/request/request-fields.js";

/** System query options of OData 4.01 that are offered. */
const OFFERED = [
  "filter",
  "select",
  "orderby",
  "top",
  "skip",
  "count",
  "skiptoken",
  "format",
  "apply",
] as const;

/** The others: 501, as OData asks for. */
const OTHERS: ReadonlySet<string> = new Set([
  ...["expand", "search", "compute", "levels", "index", "schemaversion", "deltatoken", "id"],
]);

export type SystemOption = (typeof OFFERED)[number];

/** The query options of a request below `/odata`. */
export interface OdataOptions {
  readonly system: Readonly<Partial<Record<SystemOption, string>>>;
  /** By name without `@`. */
  readonly aliases: ReadonlyMap<string, string>;
  /** Parameters of the endpoint. */
  readonly custom: RawFields;
}

/** `isOwn`: whether the endpoint has a parameter of this name, which then means that. */
export function readOptions(query: string, isOwn: (name: string) => boolean): Result<OdataOptions> {
  const system: Partial<Record<SystemOption, string>> = {};
  const aliases = new Map<string, string>();
  const custom = new Map<string, { from: "query"; texts: readonly string[] }>();
  for (const [name, raw] of queryFields(query)) {
    const texts = raw.from === "query" ? raw.texts : [];
    const option = isOwn(name) ? null : systemOption(name);
    if (option === null) {
      if (name.startsWith("@")) aliases.set(name.slice(1), texts[0] ?? "");
      else custom.set(name, { from: "query", texts });
      continue;
    }
    if (OTHERS.has(option))
      return httpError("notImplemented", { name: `$${option}`, reason: "this service has no such option" });
    const offered = OFFERED.find((each) => each === option);
    if (offered === undefined) return httpError("valueNotOfType", { name: shown(name), type: KNOWN });
    if (texts.length > 1 || system[offered] !== undefined)
      return httpError("notSingle", { name: `$${offered}` });
    system[offered] = (texts[0] ?? "").trim();
  }
  return { system, aliases, custom };
}

const KNOWN = `one of ${OFFERED.map((name) => `$${name}`).join(", ")}`;

/** OData 4.01 has options without `$` and in any letter case too. Null for a name that is none. */
function systemOption(name: string): string | null {
  const plain = name.replace(/^\$/, "").toLowerCase();
  const isKnown = OTHERS.has(plain) || OFFERED.some((each) => each === plain);
  return name.startsWith("$") || isKnown ? plain : null;
}

/** Characters of a caller's text that an error repeats. */
const MAX_SHOWN = 100;

export const shown = (text: string): string => text.slice(0, MAX_SHOWN).toWellFormed();

/** A whole number of an option; null where it is not sent. */
export function readCount(
  name: SystemOption,
  { system }: OdataOptions,
  max = Number.MAX_SAFE_INTEGER,
): Result<number> | null {
  const text = system[name];
  if (text === undefined) return null;
  const isNumber = /^\d{1,16}$/.test(text) && Number(text) <= max;
  if (isNumber) return Number(text);
  return httpError("valueNotOfType", { name: `$${name}`, type: "a whole number from 0 on" });
}

/** `$count=true`. */
export function readFlag(name: SystemOption, { system }: OdataOptions): Result<boolean> {
  const text = system[name]?.toLowerCase() ?? "false";
  if (text === "true" || text === "false") return text === "true";
  return httpError("valueNotOfType", { name: `$${name}`, type: "true or false" });
}

/**
 * A filter with the values of its parameter aliases (`@p`) in their place. Only a whole name outside of quotes is one; a value is read by
 * the grammar like any other text.
 */
export function withAliases(text: string, aliases: OdataOptions["aliases"], maxBytes: number): string {
  if (aliases.size === 0 || !text.includes("@")) return text;
  let [result, isQuoted] = ["", false];
  for (let at = 0; at < text.length && result.length <= maxBytes; at++) {
    const character = text.charAt(at);
    if (character === "'") isQuoted = !isQuoted;
    const name = isQuoted || character !== "@" ? "" : aliasAt(text, at + 1);
    const value = name === "" ? undefined : aliases.get(name);
    result += value ?? character;
    if (value !== undefined) at += name.length;
  }
  return result;
}

const ALIAS = /[\p{L}_][\p{L}\p{N}_]{0,127}/uy;

function aliasAt(text: string, at: number): string {
  const pattern = new RegExp(ALIAS);
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? "";
}
