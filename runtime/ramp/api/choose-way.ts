import { detailsSchema, payerSchema, type Side } from "../account/details.js";
import { readAmount } from "../currency/amount.js";
import type { NewIntent } from "../intent/create.js";
import type { ProjectId } from "../project/project.js";
import { candidatesFor, type Candidate, type Path } from "../provider/candidates.js";
import type { Connection } from "../provider/connections.js";
import { Rail } from "../provider/protocol.js";
import { askQuotes } from "../provider/quotes.js";
import type { Ramp } from "../ramp.js";
import { check, violations, type Violation } from "../schema/validate.js";
import { isRefusal, refuse, type Refusal } from "./errors.js";
import { type CurrencyPair, isNamed, readCountry, readPair } from "./routes/catalogue.js";
import type { CreateIntentBody } from "./schemas.js";

/** The part of an intent that decides how the money goes. */
type Way = Pick<NewIntent, "connectionId" | "provider" | "type" | "src" | "dest" | "srcAmount" | "rail">;

/** Checks what is to be moved and chooses who moves it. Changes nothing. */
export async function chooseWay(
  ramp: Ramp,
  projectId: ProjectId,
  body: CreateIntentBody,
): Promise<Way | Refusal> {
  const pair = readPair(ramp, body.src.currencyCode, body.dest.currencyCode, [
    "/src/currencyCode",
    "/dest/currencyCode",
  ]);
  if (isRefusal(pair)) return pair;
  const reading = readAmount(body.srcAmount, pair.src);
  if (!reading.ok) return refuse("INVALID_AMOUNT", { message: reading.problem });
  const path = readPath(pair, body, reading.amount);
  if (isRefusal(path)) return path;
  const candidates = preferred(candidatesFor(await ramp.providers.list(projectId), path), body);
  if (isRefusal(candidates)) return candidates;
  const chosen = await chooseCandidate(ramp, candidates, path);
  if (isRefusal(chosen)) return chosen;
  const wrong = [
    ...detailViolations("src", pair, body, chosen.rail),
    ...detailViolations("dest", pair, body, chosen.rail),
  ];
  if (wrong.length > 0) return refuse("INVALID_ACCOUNT_DETAILS", { details: wrong });
  return {
    connectionId: chosen.connection.id,
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
): (Path & { srcAmount: string }) | Refusal {
  const side: Side = type === "ONRAMP" ? "src" : "dest";
  const { rail, countryCode } = body[side].details;
  if (rail !== undefined && !check(Rail, rail))
    return refuse("INVALID_ACCOUNT_DETAILS", {
      details: [{ path: `/${side}/details/rail`, message: "must be one of ACH, SEPA, PIX" }],
    });
  if (countryCode !== undefined && typeof countryCode !== "string")
    return refuse("INVALID_ACCOUNT_DETAILS", {
      details: [{ path: `/${side}/details/countryCode`, message: "must be a text" }],
    });
  const country = countryCode === undefined ? null : readCountry(countryCode, `/${side}/details/countryCode`);
  if (isRefusal(country)) return country;
  return {
    srcCurrencyCode: src.code,
    destCurrencyCode: dest.code,
    srcAmount,
    countryCode: country,
    rail: rail ?? null,
  };
}

/** The candidates that the caller accepts: `providerId`, or the provider that an account names. */
function preferred(
  candidates: readonly Candidate[],
  { providerId, src, dest }: CreateIntentBody,
): readonly Candidate[] | Refusal {
  if (candidates.length === 0) return refuse("UNSUPPORTED_PATH");
  const names = [providerId, src.details["provider"], dest.details["provider"]].filter(
    (name) => typeof name === "string",
  );
  const accepted = candidates.filter(({ connection }) => names.every((name) => isNamed(connection, name)));
  return accepted.length === 0 ? refuse("PROVIDER_NOT_AVAILABLE") : accepted;
}

interface Chosen {
  readonly connection: Connection;
  readonly rail: Rail;
}

/** The only candidate, or the one with the best quote. */
async function chooseCandidate(
  { log }: Ramp,
  candidates: readonly Candidate[],
  path: Path & { readonly srcAmount: string },
): Promise<Chosen | Refusal> {
  const [first, ...others] = candidates;
  const [pair, ...otherPairs] = first?.pairs ?? [];
  if (first && pair && others.length === 0 && otherPairs.length === 0)
    return { connection: first.connection, rail: pair.rail };
  const [best] = await askQuotes(log, candidates, path);
  return best ?? refuse("PROVIDER_UNAVAILABLE");
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
