import type { CheckId } from "../finding.js";
import type { Check } from "./check.js";
import { higherTierData } from "./higher-tier-data.js";
import { privateData } from "./private-data.js";
import { undescribedParameter } from "./undescribed-parameter.js";
import { unindexedColumn } from "./unindexed-column.js";
import { unlimitedResponse } from "./unlimited-response.js";
import { unstablePagination } from "./unstable-pagination.js";
import { untypedColumn } from "./untyped-column.js";

export const CHECKS: Readonly<Record<CheckId, Check>> = {
  "private-data": privateData,
  "higher-tier-data": higherTierData,
  "unstable-pagination": unstablePagination,
  "unlimited-response": unlimitedResponse,
  "unindexed-column": unindexedColumn,
  "untyped-column": untypedColumn,
  "undescribed-parameter": undescribedParameter,
};

export const CHECK_IDS = Object.keys(CHECKS) as readonly CheckId[];

export function isCheckId(text: string): text is CheckId {
  return Object.hasOwn(CHECKS, text);
}
