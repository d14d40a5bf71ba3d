import type { QuotaUnit } from "../../core/model/organization-plan.js";
import type { DayOfUse } from "./chart.js";
import type { SignedInReader } from "./form.js";
import type { Html } from "../../core/http/html.js";

export interface ShownKey {
  readonly id: string;
  readonly name: string;
  readonly created: string;
  readonly expires: string | null;
  readonly allowed: readonly string[];
  readonly lastUsed: string | null;
  /** False where only an operator makes keys like it. */
  readonly isReplaceable: boolean;
}

export interface ShownMember {
  readonly person: string;
  readonly name: string;
  readonly mail: string | null;
  readonly role: string;
  readonly isReader: boolean;
}

export interface ShownPlan {
  readonly name: string | null;
  readonly tier: string;
  readonly requestsPerMinute: number;
  readonly allowed: readonly string[];
  readonly price?: string;
  readonly upgrade?: string;
  /** Of the calendar month in UTC, by unit. */
  readonly quotas: readonly { readonly unit: QuotaUnit; readonly quota: number; readonly left: number }[];
}

export interface SumOfUse {
  readonly name: string;
  readonly requests: number;
  readonly refused: number;
  readonly errors: number;
  readonly rows: number;
}

export interface Overview {
  readonly reader: SignedInReader;
  readonly organization: { readonly id: string; readonly name: string };
  readonly organizations: readonly { readonly id: string; readonly name: string }[];
  readonly isOwner: boolean;
  readonly plan: ShownPlan;
  readonly keys: readonly ShownKey[];
  /** Random: a form that is sent twice makes one key. */
  readonly formId: string;
  readonly categories: readonly string[];
  readonly members: readonly ShownMember[];
  readonly invitations: readonly { readonly id: string; readonly role: string; readonly expires: string }[];
  /** Null where usage is not recorded. */
  readonly usage: {
    readonly days: readonly DayOfUse[];
    readonly byEndpoint: readonly SumOfUse[];
    readonly byKey: readonly SumOfUse[];
  } | null;
  readonly changes: readonly { readonly at: string; readonly who: string; readonly what: string }[];
  /** What the last form did. */
  readonly notice: Html | null;
}
