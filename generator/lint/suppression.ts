import { closest } from "../catalogue/meta-api/fault.js";
import { isObject, objectOr } from "../manifest/json.js";
import { list, plain, sentence } from "../report/sentence.js";
import type { CheckId } from "./finding.js";
import { member, type Meta, type Node } from "./project/node.js";
import type { Remark } from "./rules/check.js";
import { CHECK_IDS, isCheckId } from "./rules/checks.js";

/** A rule that a model turns off, and why. */
export interface Suppression {
  readonly rule: CheckId;
  readonly reason: string;
  /** Where it says so in its node, as a JSON path. */
  readonly path: string;
}

/** What a model turns off in `meta.routewright.lint`, and what is wrong with how it does. */
export interface Suppressions {
  readonly valid: readonly Suppression[];
  readonly faults: readonly Remark[];
}

/** Reads `meta.routewright.lint`: rule → reason. `config.meta` wins over `meta`, as for `meta.api`. */
export function suppressionsOf({ metas }: Node): Suppressions {
  const place = metas.map(settingOf).find(({ value }) => value !== undefined);
  if (place === undefined) return { valid: [], faults: [] };
  const { value, path } = place;
  if (!isObject(value)) {
    const message = sentence`It is no object, so nothing is turned off.`;
    return { valid: [], faults: [{ path, message, hint: plain("Write rule ids with a reason each.") }] };
  }
  const read = Object.entries(value).map(([rule, reason]) => readOne(rule, reason, path + member(rule)));
  return {
    valid: read.filter((item) => "rule" in item),
    faults: read.filter((item) => "message" in item),
  };
}

function settingOf({ path, value }: Meta): { readonly value: unknown; readonly path: string } {
  return { value: objectOr(value["routewright"])["lint"], path: `${path}.routewright.lint` };
}

function readOne(rule: string, reason: unknown, path: string): Suppression | Remark {
  if (!isCheckId(rule)) {
    const near = closest(rule, CHECK_IDS);
    const message = sentence`No rule that can be turned off is called ${rule}.`;
    const hint = near ? sentence`Did you mean ${near}?` : sentence`There are ${list(CHECK_IDS)}.`;
    return { path, message, hint };
  }
  if (typeof reason === "string" && reason.trim() !== "") return { rule, reason: reason.trim(), path };
  return {
    path,
    message: sentence`The rule ${rule} is turned off without a reason, so it stays on: who reads this next must be able to tell whether it still holds.`,
    hint: plain("Write the reason as its value."),
  };
}
