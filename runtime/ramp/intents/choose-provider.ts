import {
  type AccountSide,
  intentDetailsSchema,
  type Side,
  withUpperCountry,
} from "../accounts/account-details.js";
import { readAmount } from "../accounts/currency.js";
import type { IsReplay } from "../core/idempotency.js";
import type { ProjectId } from "../database/id.js";
import {
  acceptedCandidates,
  type Candidate,
  type CurrencyPair,
  fetchQuotes,
  type Price,
  type PricedPath,
  priceOf,
  readCountry,
  readPair,
} from "../providers/quotes.js";
import type { ProviderConnection } from "../providers/provider-connections.js";
import { Rail } from "../providers/protocol.js";
import type { IntentContext } from "./lease.js";
import { check, providerViolations } from "../core/json-schema.js";
import { errorAt, isRampError, rampError, type RampError } from "../core/ramp-errors.js";

/** Both sides of an intent with all their details. */
export interface AccountSides {
  readonly src: AccountSide;
  readonly dest: AccountSide;
}

/** The payment that a caller asks for. */
interface IntentRequest extends AccountSides {
  readonly srcAmount: string;
  readonly providerId?: string | null;
}

/** Validates the payment and chooses the provider and rail, by quotes where several could carry it out. Changes nothing. */
export async function chooseProvider(
  ramp: IntentContext,
  projectId: ProjectId,
  body: IntentRequest,
  isReplay: IsReplay,
): Promise<ReturnType<typeof choiceOf> | RampError | "replay"> {
  const pair = readPair(ramp, body.src.currencyCode, body.dest.currencyCode, [
    "/src/currencyCode",
    "/dest/currencyCode",
  ]);
  if (isRampError(pair)) return pair;
  const reading = readAmount(body.srcAmount, pair.src);
  if (!reading.ok) return rampError("INVALID_AMOUNT", { message: reading.problems.join(" ") });
  const path = readPath(pair, body, reading.value);
  if (isRampError(path)) return path;
  const names = [body.providerId, body.src.details["provider"], body.dest.details["provider"]].filter(
    (name) => typeof name === "string",
  );
  const candidates = acceptedCandidates(await ramp.providers.list(projectId), path, names);
  if (isRampError(candidates)) return candidates;
  const payable = payableCandidates(candidates, pair, body);
  if (isRampError(payable)) return payable;
  if (await isReplay()) return "replay";
  const chosen = await chooseCandidate(ramp, payable, path);
  return isRampError(chosen) ? chosen : choiceOf(chosen, pair, { ...body, srcAmount: reading.value });
}

/** The part of an intent that names the provider, the rail and both accounts. */
function choiceOf(
  { connection, rail, price }: Chosen,
  { type, src, dest }: CurrencyPair,
  body: IntentRequest,
) {
  return {
    connectionId: connection.id,
    connectionVersion: connection.version,
    provider: connection.capabilities.name,
    sandbox: connection.capabilities.sandbox ?? false,
    callbackUrl: connection.callbackUrl,
    type,
    src: { currencyCode: src.code, details: withUpperCountry(body.src.details) },
    dest: { currencyCode: dest.code, details: withUpperCountry(body.dest.details) },
    srcAmount: body.srcAmount,
    rail,
    price,
  };
}

/** Rail and country are those of the bank account. */
function readPath(pair: CurrencyPair, body: IntentRequest, srcAmount: string): PricedPath | RampError {
  const side: Side = pair.type === "ONRAMP" ? "src" : "dest";
  const { rail, countryCode } = body[side].details;
  if (rail !== undefined && !check(Rail, rail))
    return errorAt(
      "INVALID_ACCOUNT_DETAILS",
      `/${side}/details/rail`,
      "must be the code of a rail, such as ACH",
    );
  const countryPath = `/${side}/details/countryCode`;
  if (typeof countryCode !== "string") {
    const message =
      countryCode === undefined ? "is required: the country decides limits" : "must be a string";
    return errorAt("INVALID_ACCOUNT_DETAILS", countryPath, message);
  }
  const country = readCountry(countryCode, countryPath);
  if (isRampError(country)) return country;
  return { ...pair, srcAmount, countryCode: country, rail: rail ?? null };
}

/** The rails of the candidates that the given details fit, each a candidate of its own. */
function payableCandidates(
  candidates: readonly Candidate[],
  pair: CurrencyPair,
  body: IntentRequest,
): readonly Candidate[] | RampError {
  const choices = candidates.flatMap(({ connection, rails }) =>
    rails.map((rail) => {
      const wrong = (["src", "dest"] as const).flatMap((side) =>
        providerViolations(
          intentDetailsSchema(side, pair[side], rail),
          body[side].details,
          `/${side}/details`,
        ),
      );
      return { candidate: { connection, rails: [rail] as const }, wrong };
    }),
  );
  const payable = choices.filter(({ wrong }) => wrong.length === 0);
  if (payable.length > 0) return payable.map(({ candidate }) => candidate);
  const [nearest] = choices.sort((left, right) => left.wrong.length - right.wrong.length);
  return rampError("INVALID_ACCOUNT_DETAILS", { details: nearest?.wrong ?? [] });
}

interface Chosen {
  readonly connection: ProviderConnection;
  readonly rail: Rail;
  readonly price: Price | null;
}

/** The candidate with the best quote. The only one needs none yet: no order is sent before the intent has a price. */
async function chooseCandidate(
  ramp: IntentContext,
  candidates: readonly Candidate[],
  path: PricedPath,
): Promise<Chosen | RampError> {
  const [first, ...others] = candidates;
  const [best] = await fetchQuotes(ramp, candidates, path);
  if (best) return { ...best, price: priceOf(best) };
  return first && others.length === 0
    ? { connection: first.connection, rail: first.rails[0].code, price: null }
    : rampError("PROVIDER_UNAVAILABLE");
}
