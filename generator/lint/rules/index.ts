import type { Check, CheckId } from "../finding.js";
import { undescribedParameter, untypedColumn, zonelessTimestamp } from "./documentation.js";
import { categoryTypo, higherTierData, missingTierTag, privateAccess, privateData } from "./exposure.js";
import { unlimitedResponse, viewOnTable } from "./tables.js";
import { unindexedColumn } from "./unindexed-column.js";
import { unstablePagination } from "./unstable-pagination.js";

/** The code of every check. */
export const CHECK_CODE: Readonly<Record<CheckId, Check>> = {
  "private-data": privateData,
  "private-access": privateAccess,
  "missing-tier-tag": missingTierTag,
  "category-typo": categoryTypo,
  "higher-tier-data": higherTierData,
  "view-on-table": viewOnTable,
  "unstable-pagination": unstablePagination,
  "unlimited-response": unlimitedResponse,
  "unindexed-column": unindexedColumn,
  "zoneless-timestamp": zonelessTimestamp,
  "untyped-column": untypedColumn,
  "undescribed-parameter": undescribedParameter,
};
