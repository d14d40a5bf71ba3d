import { type Tier, TIER_NAMES, TIERS } from "@routewright/runtime/model";
import type { DemoRamp } from "./ramp.js";

/** A key per tier, to try the API with. */
export type DemoKeys = Readonly<Record<Tier, string>>;

/** What `npm start` ends with: where things are, a key per tier, and three calls to paste. */
export function welcome(url: string, keys: DemoKeys, ramp: DemoRamp | null): string {
  const names = TIERS.map((tier) => `  ${tier}  ${TIER_NAMES[tier].padEnd(9)} ${keys[tier]}`);
  return `
The data API is at ${url}

  explore           ${url}/explore
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

${ramp === null ? NO_RAMP : rampWalk(ramp)}
Ctrl-C stops it. The data stay in .data/.
`;
}

const NO_RAMP = "The ramp is not served: set RAMP_SECRETS_KEY beside DATABASE_URL.\n";

/** From customer to a completed on-ramp: 50 dollars by bank transfer become USDC, at the provider that asks for no papers. */
function rampWalk({ url, sandboxUrl, credentials }: DemoRamp): string {
  const { clientId, clientSecret } = credentials;
  const json = `-H 'Content-Type: application/json'`;
  const take = (field: string): string => `node -p 'JSON.parse(require("fs").readFileSync(0)).${field}'`;
  return `The ramp API is at ${url} (documentation: ${url}/docs), its sandbox providers at ${sandboxUrl}.
An on-ramp from customer to COMPLETED; events are printed here:

  RAMP=${url}
  TOKEN=$(curl -s -u ${clientId}:${clientSecret} ${json} \\
    -d '{"id": "alice"}' $RAMP/v1/customers | ${take("accessToken")})

  INTENT=$(curl -s -H "Authorization: Bearer $TOKEN" ${json} -H "Idempotency-Key: $(date +%s)" \\
    -d '{"src": {"currencyCode": "USD", "details": {"countryCode": "US", "rail": "ACH", "provider": "sandbox-south"}},
         "dest": {"currencyCode": "USDC_POLYGON", "details": {"address": "0x52908400098527886E0F7030069857D2E4169EE7"}},
         "srcAmount": "50.00"}' $RAMP/v1/intent | ${take("intent.id")})

  curl -s -X POST -H "Authorization: Bearer $TOKEN" $RAMP/v1/intent/$INTENT/transaction

  sleep 5; curl -s -H "Authorization: Bearer $TOKEN" $RAMP/v1/intent/$INTENT
`;
}
