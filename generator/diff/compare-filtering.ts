import type { Endpoint } from "@routewright/runtime/model";
import type { Difference } from "./change.js";
import { renamedParameters } from "./compare-parameters.js";

/** What differs in the filters that a request must carry (data-api.md §4.3, rules 4 and 5). */
export function compareFiltering(base: Endpoint, head: Endpoint): readonly Difference[] {
  return [...compareUnfiltered(base, head), ...compareRequired(base, head)];
}

/** Beside a `require_any_of`, which asks for more, `allow_unfiltered` decides nothing that a consumer can notice. */
function compareUnfiltered(base: Endpoint, head: Endpoint): readonly Difference[] {
  const isDecisive = (base.allowUnfiltered ? base : head).requireAnyOf.length === 0;
  if (base.allowUnfiltered === head.allowUnfiltered || !isDecisive) return [];
  const kind = base.allowUnfiltered ? "unfiltered-refused" : "unfiltered-allowed";
  const [before, after] = [String(base.allowUnfiltered), String(head.allowUnfiltered)];
  return [{ kind, subject: "allow_unfiltered", before, after }];
}

function compareRequired(base: Endpoint, head: Endpoint): readonly Difference[] {
  const [was, is] = [requiredUnderNewNames(base, head), head.requireAnyOf];
  const text = { subject: "require_any_of", ...listed("before", was), ...listed("after", is) };
  if (is.length === 0) return was.length === 0 ? [] : [{ kind: "require-any-of-loosened", ...text }];
  if (was.length === 0) {
    return isSatisfiedAlready(base, head) ? [] : [{ kind: "require-any-of-added", ...text }];
  }
  if (was.some((name) => !is.includes(name))) return [{ kind: "require-any-of-narrowed", ...text }];
  return is.length > was.length ? [{ kind: "require-any-of-loosened", ...text }] : [];
}

/** A renamed parameter is told as such, and not a second time for standing in the list. */
function requiredUnderNewNames(base: Endpoint, head: Endpoint): readonly string[] {
  const renamed = renamedParameters(base, head);
  return base.requireAnyOf.map((name) => renamed.get(name) ?? name);
}

/** Whether any of the parameters was required before, and every one of those still does. */
function isSatisfiedAlready(base: Endpoint, head: Endpoint): boolean {
  const renamed = renamedParameters(base, head);
  return (
    !base.allowUnfiltered &&
    base.parameters.every(({ name }) => head.requireAnyOf.includes(renamed.get(name) ?? name))
  );
}

function listed(side: "before" | "after", names: readonly string[]): Partial<Difference> {
  return names.length === 0 ? {} : { [side]: names.join(", ") };
}
