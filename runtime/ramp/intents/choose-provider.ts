import type { AmountText } from "../accounts/amount.js";
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
  type PaymentPath,
  type PricedPath,
  readCountry,
  readPair,
} from "../providers/payment-path.js";
import { fetchQuotes, type Price, priceOf, type Quote } from "../providers/quotes.js";
import { quotedCandidate } from "./quoted-candidate.js";
import type { ProviderConnection } from "../providers/provider-connections.js";
import { Rail } from "../providers/protocol.js";
import type { Intent, PricedOrder } from "./intent.js";
import type { IntentContext } from "./lease.js";
import type { NextOrder } from "./transitions.js";
import { check, providerViolations } from "../core/json-schema.js";
import { errorAt, isRampError, rampError, type RampError } from "../core/ramp-errors.js";

/** Both sides of an intent with all their details. */
export interface AccountSides {
  readonly src: AccountSide;
  readonly dest: AccountSide;
}

/** The payment that a customer asks for. */
interface IntentRequest extends AccountSides {
  readonly projectId: ProjectId;
  readonly customerId: string;
  readonly srcAmount: AmountText;
  readonly providerId?: string | null;
  /** The quote whose price the payment has. */
  readonly quoteId?: string | null;
}

/**
 * Validates the payment and chooses the provider and rail: those of the quote that it names, else by quotes where several could carry it
 * out. Changes nothing.
 */
export async function chooseProvider(
  ramp: IntentContext,
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
  const chosen = await (body.quoteId == null
    ? bestCandidate(ramp, body, path, isReplay)
    : namedCandidate(ramp, body, path, body.quoteId));
  if (chosen === "replay" || isRampError(chosen)) return chosen;
  return choiceOf(chosen, pair, { ...body, srcAmount: reading.value });
}

async function bestCandidate(
  ramp: IntentContext,
  body: IntentRequest,
  path: PricedPath,
  isReplay: IsReplay,
): Promise<ChosenProvider | RampError | "replay"> {
  const connections = await ramp.providers.list(body.projectId);
  const candidates = acceptedCandidates(connections, path, providerNames(body));
  if (isRampError(candidates)) return candidates;
  const payable = payableCandidates(candidates, path, body);
  if (isRampError(payable)) return payable;
  return (await isReplay()) ? "replay" : chooseCandidate(ramp, payable, path);
}

async function namedCandidate(
  ramp: IntentContext,
  body: IntentRequest,
  path: PaymentPath,
  quoteId: string,
): Promise<ChosenProvider | RampError> {
  const quoted = await quotedCandidate(ramp, { ...body, quoteId, names: providerNames(body) }, path);
  if (isRampError(quoted)) return quoted;
  const { candidate, price } = quoted;
  const payable = payableCandidates([candidate], path, body);
  const { connection, rails } = candidate;
  return isRampError(payable) ? payable : { connection, rail: rails[0].code, price, held: null };
}

/** What the payment names the provider by: its id in the project, or its code. */
export function providerNames({
  providerId,
  src,
  dest,
}: AccountSides & Pick<IntentRequest, "providerId">): readonly string[] {
  return [providerId, src.details["provider"], dest.details["provider"]].filter(
    (name) => typeof name === "string",
  );
}

/** The part of an intent that names the provider, the rail and both accounts. */
function choiceOf(chosen: ChosenProvider, { type, src, dest }: CurrencyPair, body: IntentRequest) {
  return {
    ...providerOf(chosen),
    isProviderNamed: body.quoteId != null || providerNames(body).length > 0,
    type,
    src: { currencyCode: src.code, details: withUpperCountry(body.src.details) },
    dest: { currencyCode: dest.code, details: withUpperCountry(body.dest.details) },
    srcAmount: body.srcAmount,
  };
}

function providerOf({
  connection,
  rail,
  price,
}: Pick<ChosenProvider, "connection" | "rail" | "price">): NextOrder {
  return {
    connectionId: connection.id,
    connectionVersion: connection.version,
    provider: connection.capabilities.name,
    providerCode: connection.code,
    sandbox: connection.capabilities.sandbox ?? false,
    callbackUrl: connection.callbackUrl,
    rail,
    price,
  };
}

/** Rail and country are those of the bank account. */
function readPath(pair: CurrencyPair, body: AccountSides, srcAmount: AmountText): PricedPath | RampError {
  const bank = readBank(pair, body);
  return isRampError(bank) ? bank : { ...pair, srcAmount, destAmount: null, ...bank };
}

export function readBank(
  pair: CurrencyPair,
  body: AccountSides,
): Pick<PaymentPath, "countryCode" | "rail"> | RampError {
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
  return { countryCode: country, rail: rail ?? null };
}

/** The rails of the candidates that the given details fit, each a candidate of its own. */
export function payableCandidates(
  candidates: readonly Candidate[],
  pair: CurrencyPair,
  body: AccountSides,
  sides: readonly Side[] = ["src", "dest"],
): readonly Candidate[] | RampError {
  const choices = candidates.flatMap(({ connection, rails }) =>
    rails.map((rail) => {
      const wrong = sides.flatMap((side) =>
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

/**
 * Where an intent goes that its provider has refused, by quotes of now: null where no other one takes the path; an error where several do, and
 * none can be asked.
 */
export async function nextCandidate(
  ramp: IntentContext,
  { projectId, refusedBy, src, dest, srcAmount }: Intent,
): Promise<(NextOrder & Pick<PricedOrder, "heldUntil">) | RampError | null> {
  const pair = readPair(ramp, src.currencyCode, dest.currencyCode, ["/src", "/dest"]);
  if (isRampError(pair)) return null;
  const path = readPath(pair, { src, dest }, srcAmount);
  if (isRampError(path)) return null;
  const connections = (await ramp.providers.list(projectId)).filter(({ id }) => !refusedBy.includes(id));
  const candidates = acceptedCandidates(connections, path, []);
  if (isRampError(candidates)) return null;
  const payable = payableCandidates(candidates, path, { src, dest });
  if (isRampError(payable)) return null;
  const chosen = await chooseCandidate(ramp, payable, path);
  if (isRampError(chosen)) return chosen;
  return { ...providerOf(chosen), heldUntil: chosen.held?.expiresAt.toISOString() ?? null };
}

interface ChosenProvider {
  readonly connection: ProviderConnection;
  readonly rail: Rail;
  readonly price: Price | null;
  readonly held: Quote["held"];
}

/** The candidate with the best quote. The only one needs none yet: no order is sent before the intent has a price. */
async function chooseCandidate(
  ramp: IntentContext,
  candidates: readonly Candidate[],
  path: PricedPath,
): Promise<ChosenProvider | RampError> {
  const [first, ...others] = candidates;
  const {
    quotes: [best],
  } = await fetchQuotes(ramp, candidates, path);
  if (best) return { ...best, price: priceOf(best) };
  return first && others.length === 0
    ? { connection: first.connection, rail: first.rails[0].code, price: null, held: null }
    : rampError("PROVIDER_UNAVAILABLE");
}
