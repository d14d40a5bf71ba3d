import { closest } from "../catalogue/meta-api/validation-error.js";
import { isObject, objectOr } from "../manifest/json.js";
import { CHECK_IDS, type CheckId, isCheckId, type Remark } from "./finding.js";
import { member, type Meta, type Node } from "./project.js";
import { list, plain, sentence } from "./sentence.js";

/** A rule that a model turns off, and why. */
export interface Suppression {
  readonly rule: CheckId;
  readonly reason: string;
  /** Where it says so in its node, as a JSON path. */
  readonly path: string;
}

/** What a model turns off in `meta.routewright.lint`, and the problems of its entries. */
export interface Suppressions {
  readonly valid: readonly Suppression[];
  readonly invalid: readonly Remark[];
}

/** Reads `meta.routewright.lint`: rule → reason. `config.meta` wins over `meta`, as for `meta.api`. */
export function suppressionsOf({ metas }: Node): Suppressions {
  const setting = metas.map(settingOf).find(({ value }) => value !== undefined);
  if (setting === undefined) return { valid: [], invalid: [] };
  const { value, path } = setting;
  if (!isObject(value)) {
    const message = plain("It is not an object, so no rule is turned off.");
    return { valid: [], invalid: [{ path, message, hint: plain("Write an object: rule id → reason.") }] };
  }
  const read = Object.entries(value).map(([rule, reason]) => readOne(rule, reason, path + member(rule)));
  return {
    valid: read.filter((item) => "rule" in item),
    invalid: read.filter((item) => "message" in item),
  };
}

function settingOf({ path, value }: Meta): { readonly value: unknown; readonly path: string } {
  return { value: objectOr(value["routewright"])["lint"], path: `${path}.routewright.lint` };
}

function readOne(rule: string, reason: unknown, path: string): Suppression | Remark {
  if (!isCheckId(rule)) {
    const near = closest(rule, CHECK_IDS);
    const message = sentence`Unknown rule ${rule}.`;
    const hint = near ? sentence`Did you mean ${near}?` : sentence`Use one of ${list(CHECK_IDS)}.`;
    return { path, message, hint };
  }
  if (typeof reason === "string" && reason.trim() !== "") return { rule, reason: reason.trim(), path };
  return {
    path,
    message: sentence`The suppression of ${rule} has no reason, so the rule stays on.`,
    hint: plain("Write the reason as its value, so that a later reader can tell whether it still holds."),
  };
}
