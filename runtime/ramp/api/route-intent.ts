import { detailsSchema, payerSchema, type Side } from "../accounts/account-details.js";
import { readAmount } from "../accounts/currency.js";
import type { NewIntent } from "../intents/intent-rows.js";
import type { ProjectId } from "../database/id.js";
import { candidatesFor, type Candidate, type PaymentPath, fetchQuotes } from "../providers/quotes.js";
import type { ProviderConnection } from "../providers/provider-connections.js";
import { Rail } from "../providers/protocol.js";
import type { RampContext } from "../context.js";
import { check, violations, type Violation } from "../json-schema.js";
import { isRampError, rampError, type RampError } from "../ramp-errors.js";
import { type CurrencyPair, hasIdOrCode, readCountry, readPair } from "./routes/catalogue.js";
import type { CreateIntentBody } from "./schemas.js";

/** The part of an intent that decides how the money goes. */
type PaymentRoute = Pick<
  NewIntent,
  "connectionId" | "connectionVersion" | "provider" | "type" | "src" | "dest" | "srcAmount" | "rail"
>;

/** Checks what is to be moved and chooses who moves it. Changes nothing. */
export async function routeIntent(
  ramp: RampContext,
  projectId: ProjectId,
  body: CreateIntentBody,
): Promise<PaymentRoute | RampError> {
  const pair = readPair(ramp, body.src.currencyCode, body.dest.currencyCode, [
    "/src/currencyCode",
    "/dest/currencyCode",
  ]);
  if (isRampError(pair)) return pair;
  const reading = readAmount(body.srcAmount, pair.src);
  if (!reading.ok) return rampError("INVALID_AMOUNT", { message: reading.problem });
  const path = readPath(pair, body, reading.amount);
  if (isRampError(path)) return path;
  const candidates = preferredCandidates(candidatesFor(await ramp.providers.list(projectId), path), body);
  if (isRampError(candidates)) return candidates;
  const chosen = await chooseCandidate(ramp, candidates, path, pair);
  if (isRampError(chosen)) return chosen;
  const wrong = [
    ...detailViolations("src", pair, body, chosen.rail),
    ...detailViolations("dest", pair, body, chosen.rail),
  ];
  if (wrong.length > 0) return rampError("INVALID_ACCOUNT_DETAILS", { details: wrong });
  return {
    connectionId: chosen.connection.id,
    connectionVersion: chosen.connection.version,
    provider: chosen.connection.capabilities.name,
    type: pair.type,
    src: { currencyCode: pair.src.code, details: body.src.details },
    dest: { currencyCode: pair.dest.code, details: body.dest.details },
    srcAmount: reading.amount,
    rail: chosen.rail,
  };
}

/** Rail and country are those of the bank account. */
function readPath(
  { src, dest, type }: CurrencyPair,
  body: CreateIntentBody,
  srcAmount: string,
): (PaymentPath & { srcAmount: string }) | RampError {
  const side: Side = type === "ONRAMP" ? "src" : "dest";
  const { rail, countryCode } = body[side].details;
  if (rail !== undefined && !check(Rail, rail))
    return rampError("INVALID_ACCOUNT_DETAILS", {
      details: [{ path: `/${side}/details/rail`, message: "must be one of ACH, SEPA, PIX" }],
    });
  if (countryCode !== undefined && typeof countryCode !== "string")
    return rampError("INVALID_ACCOUNT_DETAILS", {
      details: [{ path: `/${side}/details/countryCode`, message: "must be a text" }],
    });
  const country = countryCode === undefined ? null : readCountry(countryCode, `/${side}/details/countryCode`);
  if (isRampError(country)) return country;
  return {
    srcCurrencyCode: src.code,
    destCurrencyCode: dest.code,
    srcAmount,
    countryCode: country,
    rail: rail ?? null,
  };
}

/** The candidates that the caller accepts: `providerId`, or the provider that an account names. */
function preferredCandidates(
  candidates: readonly Candidate[],
  { providerId, src, dest }: CreateIntentBody,
): readonly Candidate[] | RampError {
  if (candidates.length === 0) return rampError("UNSUPPORTED_PATH");
  const names = [providerId, src.details["provider"], dest.details["provider"]].filter(
    (name) => typeof name === "string",
  );
  const accepted = candidates.filter(({ connection }) =>
    names.every((name) => hasIdOrCode(connection, name)),
  );
  return accepted.length === 0 ? rampError("PROVIDER_NOT_AVAILABLE") : accepted;
}

interface Chosen {
  readonly connection: ProviderConnection;
  readonly rail: Rail;
}

/** The only candidate, or the one with the best quote. */
async function chooseCandidate(
  ramp: RampContext,
  candidates: readonly Candidate[],
  path: PaymentPath & { readonly srcAmount: string },
  pair: CurrencyPair,
): Promise<Chosen | RampError> {
  const [first, ...others] = candidates;
  const [route, ...otherRoutes] = first?.pairs ?? [];
  if (first && route && others.length === 0 && otherRoutes.length === 0)
    return { connection: first.connection, rail: route.rail };
  const [best] = await fetchQuotes(ramp, candidates, path, pair);
  return best ?? rampError("PROVIDER_UNAVAILABLE");
}

function detailViolations(
  side: Side,
  pair: CurrencyPair,
  body: CreateIntentBody,
  rail: Rail,
): readonly Violation[] {
  const schema = side === "src" ? payerSchema(pair.src, rail) : detailsSchema(pair.dest, [rail]);
  return violations(schema, body[side].details).map(({ path, message }) => ({
    path: `/${side}/details${path}`,
    message,
  }));
}
