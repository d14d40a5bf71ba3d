import { TIER_NAMES, TIERS } from "@routewright/runtime/model";
import type { DemoKeys } from "./keys.js";

/** What `npm start` ends with: where things are, a key per tier, and three calls to paste. */
export function welcome(url: string, keys: DemoKeys): string {
  const names = TIERS.map((tier) => `  ${tier}  ${TIER_NAMES[tier].padEnd(9)} ${keys[tier]}`);
  return `
The data API is at ${url}

  documentation     ${url}/docs   (or ${url}/redoc)
  OpenAPI           ${url}/openapi.json
  health, metrics   ${url}/health   ${url}/metrics

A demo key per tier, for the header X-API-Key:

${names.join("\n")}

Three calls to try:

  curl ${url}/v1/bridges/volume/last_7d

  curl -H 'X-API-Key: ${keys.tier3}' \\
    '${url}/v1/altchain/altchain_card_activity_by_action/daily?action=Payment&start_date=2026-06-29'

  curl -H 'X-API-Key: ${keys.tier1}' -H 'Content-Type: application/json' \\
    -d '{"token": "USDC", "sort_by": "amount_usd", "sort_direction": "desc", "limit": 2}' \\
    ${url}/v1/bridges/transactions

Ctrl-C stops it. The data stay in .data/.
`;
}
