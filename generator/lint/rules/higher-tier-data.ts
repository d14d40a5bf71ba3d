import { isTier, TIERS, type Tier } from "@routewright/runtime/model";
import { isPublished } from "../../catalogue/tags.js";
import { chain, sentence } from "../../report/sentence.js";
import type { Node } from "../project/node.js";
import type { Check } from "./check.js";

/** An endpoint made of data that another model's tags keep for a higher tier. */
export const higherTierData: Check = {
  find({ entry: { endpoint }, ancestors }, { defaultTier }) {
    return ancestors.flatMap(({ node, way }) => {
      const tier = tierOf(node, defaultTier);
      if (tier === null || TIERS.indexOf(tier) <= TIERS.indexOf(endpoint.tier)) return [];
      return [
        {
          path: "$.tags",
          message: sentence`Callers of ${endpoint.tier} get data of ${node.name}, which is tagged ${tier}: ${chain(way)}. What is sold or kept apart there may be given away here.`,
          hint: sentence`Tag this model ${tier}, or build it from data of its own tier; where it gives nothing away, as sums and counts may, turn the rule off with that reason.`,
        },
      ];
    });
  },
};

/** The tier that a node's tags ask for; an API model without such a tag has the default. */
function tierOf({ kind, tags }: Node, defaultTier: Tier): Tier | null {
  if (kind !== "model") return null;
  return tags.find(isTier) ?? (isPublished(tags) ? defaultTier : null);
}
