import type { Tier } from "@routewright/runtime/model";
import { byText } from "../manifest/json.js";
import { type ChangeKind, CHANGE_KINDS, SEVERITIES, type Severity } from "./kinds.js";

/** What differs between two versions of one endpoint. */
export interface Difference {
  readonly kind: ChangeKind;
  /** The parameter, column, method or field in question, by the name that consumers know. */
  readonly subject?: string;
  /** The value in the base; left out where there was none. */
  readonly before?: string;
  /** The value in the head; left out where there is none. */
  readonly after?: string;
  /** More to know, such as why an endpoint is gone. */
  readonly details?: readonly string[];
}

/** A difference with the endpoint that it belongs to. */
export interface Change {
  readonly severity: Severity;
  readonly kind: ChangeKind;
  /** The path that consumers call: the base's, or the head's for a new endpoint. */
  readonly endpoint: string;
  /** Name of the dbt model behind it: the head's while it has one. */
  readonly model: string;
  /** The model's file in its dbt project; null where neither revision names it. */
  readonly file: string | null;
  /** The tier in the base, or the head's for a new endpoint. */
  readonly tier: Tier;
  readonly subject: string | null;
  readonly before: string | null;
  readonly after: string | null;
  readonly details: readonly string[];
}

/** By severity, path, kind and subject. */
export function inOrder(a: Change, b: Change): number {
  return (
    SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) ||
    byText(a.endpoint, b.endpoint) ||
    CHANGE_KINDS.indexOf(a.kind) - CHANGE_KINDS.indexOf(b.kind) ||
    byText(a.subject ?? "", b.subject ?? "")
  );
}
