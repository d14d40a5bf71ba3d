import type { Tier } from "@routewright/runtime/model";
import { byText } from "../manifest/json.js";

/** What a change means to consumers: their calls or clients fail, the data may differ, or they need not care. */
export type Severity = "breaking" | "warning" | "compatible";

/** In the order in which changes are told. */
export const SEVERITIES = ["breaking", "warning", "compatible"] as const satisfies readonly Severity[];

/** Everything that can be told of two catalogues. A new kind is added here, and the build names what must handle it. */
export type ChangeKind =
  | "endpoint-removed"
  | "endpoint-retired"
  | "endpoint-added"
  | "path-moved"
  | "model-changed"
  | "relation-changed"
  | "tier-raised"
  | "tier-lowered"
  | "method-removed"
  | "method-added"
  | "parameter-removed"
  | "parameter-added"
  | "parameter-renamed"
  | "parameter-column-changed"
  | "parameter-operator-changed"
  | "parameter-case-changed"
  | "max-items-lowered"
  | "max-items-raised"
  | "unfiltered-refused"
  | "unfiltered-allowed"
  | "require-any-of-added"
  | "require-any-of-narrowed"
  | "require-any-of-loosened"
  | "pagination-enabled"
  | "pagination-disabled"
  | "default-limit-lowered"
  | "default-limit-raised"
  | "max-limit-lowered"
  | "max-limit-raised"
  | "response-mode-changed"
  | "column-removed"
  | "column-added"
  | "column-retyped"
  | "column-narrowed"
  | "column-made-nullable"
  | "column-made-non-null"
  | "sort-changed"
  | "sort-extended"
  | "sortable-field-removed"
  | "sortable-field-added"
  | "endpoint-deprecated"
  | "deprecation-lifted"
  | "sunset-brought-forward"
  | "sunset-put-off"
  | "successor-changed"
  | "description-changed";

/** How serious a kind is, and its name for people. */
export const KINDS: Readonly<Record<ChangeKind, { readonly severity: Severity; readonly title: string }>> = {
  "endpoint-removed": { severity: "breaking", title: "Endpoint removed" },
  "endpoint-retired": { severity: "compatible", title: "Endpoint removed after its sunset" },
  "endpoint-added": { severity: "compatible", title: "Endpoint added" },
  "path-moved": { severity: "breaking", title: "Path moved" },
  "model-changed": { severity: "warning", title: "Served from another model" },
  "relation-changed": { severity: "warning", title: "Served from another relation" },
  "tier-raised": { severity: "breaking", title: "Tier raised" },
  "tier-lowered": { severity: "compatible", title: "Tier lowered" },
  "method-removed": { severity: "breaking", title: "Method removed" },
  "method-added": { severity: "compatible", title: "Method added" },
  "parameter-removed": { severity: "breaking", title: "Parameter removed" },
  "parameter-added": { severity: "compatible", title: "Parameter added" },
  "parameter-renamed": { severity: "breaking", title: "Parameter renamed" },
  "parameter-column-changed": { severity: "breaking", title: "Parameter filters another column" },
  "parameter-operator-changed": { severity: "breaking", title: "Operator or type of a parameter changed" },
  "parameter-case-changed": { severity: "breaking", title: "Letter case of a parameter changed" },
  "max-items-lowered": { severity: "breaking", title: "max_items lowered" },
  "max-items-raised": { severity: "compatible", title: "max_items raised" },
  "unfiltered-refused": { severity: "breaking", title: "A filter is now required" },
  "unfiltered-allowed": { severity: "compatible", title: "No filter is required any more" },
  "require-any-of-added": { severity: "breaking", title: "require_any_of added" },
  "require-any-of-narrowed": { severity: "breaking", title: "require_any_of narrowed" },
  "require-any-of-loosened": { severity: "compatible", title: "require_any_of loosened" },
  "pagination-enabled": { severity: "breaking", title: "Pagination turned on" },
  "pagination-disabled": { severity: "breaking", title: "Pagination turned off" },
  "default-limit-lowered": { severity: "breaking", title: "default_limit lowered" },
  "default-limit-raised": { severity: "compatible", title: "default_limit raised" },
  "max-limit-lowered": { severity: "breaking", title: "max_limit lowered" },
  "max-limit-raised": { severity: "compatible", title: "max_limit raised" },
  "response-mode-changed": { severity: "breaking", title: "Response mode changed" },
  "column-removed": { severity: "breaking", title: "Column removed" },
  "column-added": { severity: "compatible", title: "Column added" },
  "column-retyped": { severity: "breaking", title: "Column retyped" },
  "column-narrowed": { severity: "compatible", title: "Column type narrowed" },
  "column-made-nullable": { severity: "breaking", title: "Column may now be null" },
  "column-made-non-null": { severity: "compatible", title: "Column is never null any more" },
  "sort-changed": { severity: "breaking", title: "Fixed sort changed" },
  "sort-extended": { severity: "compatible", title: "Fixed sort extended" },
  "sortable-field-removed": { severity: "breaking", title: "Sortable field removed" },
  "sortable-field-added": { severity: "compatible", title: "Sortable field added" },
  "endpoint-deprecated": { severity: "warning", title: "Endpoint deprecated" },
  "deprecation-lifted": { severity: "compatible", title: "No longer deprecated" },
  "sunset-brought-forward": { severity: "warning", title: "Sunset brought forward" },
  "sunset-put-off": { severity: "compatible", title: "Sunset put off" },
  "successor-changed": { severity: "compatible", title: "Successor changed" },
  "description-changed": { severity: "compatible", title: "Description changed" },
};

/** All kinds, in the order of the table. */
export const CHANGE_KINDS = Object.keys(KINDS) as readonly ChangeKind[];

export function isChangeKind(text: string): text is ChangeKind {
  return Object.hasOwn(KINDS, text);
}

/** What differs between two versions of one endpoint. */
export interface Difference {
  readonly kind: ChangeKind;
  /** The parameter, column, method or field in question, by the name that consumers know. */
  readonly subject?: string;
  /** What was, in words; left out where there was nothing. */
  readonly before?: string;
  /** What is now; left out where nothing is left. */
  readonly after?: string;
  /** More to know, such as why an endpoint is gone. */
  readonly details?: readonly string[];
}

/** A difference with its place. */
export interface Change {
  readonly kind: ChangeKind;
  /** The path that consumers call: the base's, or the head's for what is new there. */
  readonly endpoint: string;
  /** Name of the dbt model behind it: the head's while it has one. */
  readonly model: string;
  /** The model's file in its dbt project; null where the side, a generated folder, does not tell. */
  readonly file: string | null;
  /** Whose callers it concerns: the tier in the base, or the head's for what is new there. */
  readonly tier: Tier;
  readonly subject: string | null;
  readonly before: string | null;
  readonly after: string | null;
  readonly details: readonly string[];
}

export function severityOf({ kind }: { readonly kind: ChangeKind }): Severity {
  return KINDS[kind].severity;
}

/** Breaking changes first, then warnings, then the rest; each by path, kind and subject. */
export function inOrder(a: Change, b: Change): number {
  return (
    SEVERITIES.indexOf(severityOf(a)) - SEVERITIES.indexOf(severityOf(b)) ||
    byText(a.endpoint, b.endpoint) ||
    byText(a.kind, b.kind) ||
    byText(a.subject ?? "", b.subject ?? "")
  );
}
