import { bySeverity, type FindingPlace } from "../report/finding.js";
import type { Tier } from "@routewright/runtime/model";
import { byText } from "../manifest/strings.js";
import { CHANGE_KINDS, type ChangeKind, type ChangeSeverity } from "./change-kinds.js";

/** What differs between two versions of one endpoint. */
export interface Difference {
  readonly kind: ChangeKind;
  /** The parameter, column, method or field in question, by the name that consumers know. */
  readonly subject?: string | undefined;
  /** The value in the base; none where there was none. */
  readonly before?: string | null | undefined;
  /** The value in the head; none where there is none. */
  readonly after?: string | null | undefined;
  /** More to know, such as why an endpoint is gone. */
  readonly details?: readonly string[];
}

/** A difference with the endpoint that it belongs to. */
export interface Change extends FindingPlace {
  readonly severity: ChangeSeverity;
  readonly kind: ChangeKind;
  /** The path that consumers call: the base's, or the head's for a new endpoint; of a plan `plans/` and its name. */
  readonly endpoint: string;
  /** Name of the dbt model behind it: the head's while it has one. */
  readonly model: string;
  /** The tier in the base, or the head's for a new endpoint. */
  readonly tier: Tier;
  readonly subject: string | null;
  readonly before: string | null;
  readonly after: string | null;
  readonly details: readonly string[];
  /** The endpoint was a preview: its breaking changes are warnings. */
  readonly isPreview?: true;
  /** Who a breaking change hits, where the run knows it. */
  readonly usage?: ChangeUsage;
}

/** Who a change hits, by what servers recorded. */
export interface ChangeUsage {
  /** `unused`: recorded on each of the days without a call that the change hits; `unknown`: without one, but not all days. */
  readonly state: "used" | "unused" | "unknown";
  /** Ids of keys with such calls; `none` for callers without a key. */
  readonly keys: readonly string[];
  readonly organizations: readonly string[];
  readonly requests: number;
  /** Requests to the path by the parameter that they use, the most used first. */
  readonly parameters: Readonly<Record<string, number>>;
  /** How many of the days were recorded, of how many. */
  readonly recordedDays: number;
  readonly days: number;
  /** Shapes of requests that the change hits, the most used first, where servers keep shapes. */
  readonly shapes?: readonly HitShape[];
  /** Requests to the path that succeeded and whose shape was not kept. */
  readonly rest?: number;
}

/** A shape of requests that a change hits; `usage.shapes` of the report says who sends it. */
export interface HitShape {
  readonly route: string;
  /** Method, format and tier, then parameters, without values. */
  readonly shape: string;
  readonly requests: number;
}

/** Whether a change opens data or makes working calls fail. */
export function isFailing({ severity }: Change): boolean {
  return severity === "exposing" || severity === "breaking";
}

/** By severity, path, kind and subject. */
export function inOrder(a: Change, b: Change): number {
  return (
    bySeverity(a, b) ||
    byText(a.endpoint, b.endpoint) ||
    CHANGE_KINDS.indexOf(a.kind) - CHANGE_KINDS.indexOf(b.kind) ||
    byText(a.subject ?? "", b.subject ?? "")
  );
}
