import type { IdempotentOperation } from "../core/idempotency.js";
import { type NewIntent, NO_DEPOSIT, recordIntent, lockIntent, readIntent } from "../intents/intent-rows.js";
import { changeIntent, processIfFree, processLeased, type OnIdle } from "../intents/process-intent.js";
import type { AccountSide } from "../accounts/account-details.js";
import type { Intent } from "../intents/intent.js";
import { newId, type ProjectId, isUuid } from "../database/id.js";
import type { ProjectTransaction } from "../database/transaction.js";
import {
  type RampResponse,
  jsonResponse,
  isRampError,
  type RampError,
  rampError,
} from "../core/ramp-errors.js";
import { storeTravelRule } from "../intents/travel-rules.js";
import { travelRuleProblems } from "../providers/travel-rule.js";
import { useQuote } from "../providers/held-quotes.js";
import { applyPrice, isWorse } from "../intents/new-price.js";
import { isPayable, isPriceHeld, type Terms, termsOf } from "../intents/payment.js";
import { chooseProvider, type AccountSides } from "../intents/choose-provider.js";
import { intentEnvelope } from "./intent-view.js";
import type { CustomerRequest } from "./route.js";
import { type CreateIntentBody, readMetadata } from "./request-schemas.js";
import type { Customer } from "../sign-in/customer-token.js";
import { type ExternalAccount, readExternalAccounts } from "./routes/external-accounts.js";
import type { RampContext } from "./route.js";
import type { Pair } from "../providers/protocol.js";
import { takeLease } from "../intents/lease.js";
import { Timer } from "@routewright/runtime/internal/core/model/timer.js";

/** Records the intent, onboards it and, with `autoExecute` and no outstanding requirement, executes it. */
export function intentCreation(call: CustomerRequest<CreateIntentBody>): IdempotentOperation {
  const { ramp, caller, body } = call;
  const leaseOwner = newId();
  let begun: Intent | null = null;
  return {
    async prepare(isReplay) {
      const metadata = readMetadata(call.text);
      if (isRampError(metadata)) return metadata;
      const wrong = travelRuleProblems(body.travelRule, "/travelRule", ramp.now());
      if (wrong.length > 0) return rampError("INVALID_REQUEST", { details: wrong });
      const error = await checkRedirectOrigins(ramp, caller.projectId, body);
      if (error) return error;
      const sides = await readSides(ramp, caller, body);
      if (isRampError(sides)) return sides;
      const choice = await chooseProvider(ramp, { ...body, ...sides, ...caller }, isReplay);
      if (choice === "replay" || isRampError(choice)) return choice;
      const { autoExecute = false, maxSlippage = null } = body;
      const { onboardingRedirectUrl = null, checkoutRedirectUrl = null } = body;
      const given = { autoExecute, maxSlippage, onboardingRedirectUrl, checkoutRedirectUrl, metadata };
      const { customerId } = caller;
      const intent: NewIntent = { id: newId(), customerId, leaseOwner, ...choice, ...given, ...NO_DEPOSIT };
      const begin = async (tx: ProjectTransaction): Promise<RampError | null> => {
        const { quoteId } = intent.price ?? {};
        const error = quoteId === undefined ? null : await useQuote(tx, quoteId, intent.id);
        if (error) return error;
        const recorded = recordIntent(tx, intent, caller, ramp.polling);
        const { travelRule } = body;
        begun = travelRule ? storeTravelRule(tx, ramp.vault, recorded, travelRule) : recorded;
        return null;
      };
      return { resourceId: intent.id, begin };
    },
    finish(id, store) {
      // A claim that was taken over is of another request's intent.
      const work = { id, owner: leaseOwner, begun: begun?.id === id ? begun : null };
      return answerInTime(ramp, caller.projectId, work, (tx, intent) =>
        store(tx, jsonResponse(201, intentEnvelope(ramp, intent))),
      );
    },
  };
}

/** Resolves `externalAccountId`: the account's details, and what the request adds to them. */
export async function readSides(
  ramp: RampContext,
  { projectId, customerId }: Customer,
  { src, dest }: Pick<CreateIntentBody, "src" | "dest">,
): Promise<AccountSides | RampError> {
  const ids = [src, dest].flatMap(({ externalAccountId: id }) => (id === undefined ? [] : [id]));
  const accounts =
    ids.length === 0
      ? []
      : await ramp.database.inProject(projectId, (tx) => readExternalAccounts(tx, customerId, ids));
  const located = await withCountries(ramp, projectId, accounts);
  const [from, to] = [readSide("src", src, located), readSide("dest", dest, located)];
  const wrong = [from, to].filter((side) => "path" in side);
  if ("path" in from || "path" in to) return rampError("INVALID_ACCOUNT_DETAILS", { details: wrong });
  return { src: from, dest: to };
}

/**
 * Registered bank accounts with their country, which decides limits: where an account names none, that of its IBAN, else the currency's own
 * (by ISO 4217 the first two letters of its code), if the project's providers move the currency there, else the only one where they do.
 */
async function withCountries(
  ramp: RampContext,
  projectId: ProjectId,
  accounts: readonly ExternalAccount[],
): Promise<readonly ExternalAccount[]> {
  if (accounts.length === 0) return accounts;
  const connections = await ramp.providers.list(projectId);
  const pairs = connections.flatMap(({ capabilities }) => capabilities.pairs);
  return accounts.map((account) => {
    const { currencyCode, metadata } = account;
    if (metadata["countryCode"] !== undefined || ramp.currencies.get(currencyCode).type !== "FIAT")
      return account;
    const countryCode = countryOf(account, pairs);
    return countryCode === undefined ? account : { ...account, metadata: { ...metadata, countryCode } };
  });
}

function countryOf(
  { currencyCode, metadata: { iban, rail } }: ExternalAccount,
  pairs: readonly Pair[],
): string | undefined {
  if (typeof iban === "string") return iban.slice(0, 2).toUpperCase();
  const countries = pairs
    .filter((pair) => pair.srcCurrencyCode === currencyCode || pair.destCurrencyCode === currencyCode)
    .filter((pair) => rail === undefined || pair.rail === rail)
    .flatMap((pair) => pair.countries);
  const home = currencyCode.slice(0, 2);
  const [only, ...others] = new Set(countries);
  return countries.includes(home) ? home : others.length === 0 ? only : undefined;
}

function readSide(
  name: "src" | "dest",
  { currencyCode, details, externalAccountId }: CreateIntentBody["src"],
  accounts: readonly ExternalAccount[],
): AccountSide | { readonly path: string; readonly message: string } {
  if (externalAccountId === undefined)
    return details === undefined
      ? { path: `/${name}/details`, message: "is required without externalAccountId" }
      : { currencyCode, details };
  const account = accounts.find(({ id }) => id === externalAccountId.toLowerCase());
  const path = `/${name}/externalAccountId`;
  if (!account) return { path, message: "names no external account of the customer" };
  if (account.currencyCode.toUpperCase() !== currencyCode.toUpperCase())
    return { path, message: `is an account in ${account.currencyCode}` };
  const { metadata } = account;
  const other = Object.entries(details ?? {}).find(
    ([field, value]) => Object.hasOwn(metadata, field) && metadata[field] !== value,
  );
  if (other) return { path: `/${name}/details/${other[0]}`, message: "differs from the external account" };
  return { currencyCode, details: { ...metadata, ...details } };
}

const FIELDS = ["onboardingRedirectUrl", "checkoutRedirectUrl"] as const;

/**
 * Refuses redirect URLs outside the origins that the project registered; a project that registered none accepts any
 * (runtime/ramp/docs/intents.md).
 */
async function checkRedirectOrigins(
  ramp: RampContext,
  projectId: ProjectId,
  body: Pick<CreateIntentBody, (typeof FIELDS)[number]>,
): Promise<RampError | null> {
  const given = FIELDS.flatMap((field) => (body[field] == null ? [] : [{ field, url: body[field] }]));
  if (given.length === 0) return null;
  const row = await ramp.database
    .of(projectId)
    .row<{ redirect_origins: readonly string[] }>(
      "SELECT redirect_origins FROM ramp.projects WHERE id = ramp.current_project()",
    );
  const origins = row?.redirect_origins ?? [];
  if (origins.length === 0) return null;
  const details = given
    .filter(({ url }) => !origins.includes(new URL(url).origin))
    .map(({ field }) => ({ path: `/${field}`, message: "is not at an origin that the project registered" }));
  return details.length === 0 ? null : rampError("INVALID_REQUEST", { details });
}

interface IntentChange {
  /** Whether the change makes the payment, which needs a price that holds. */
  readonly isPayment?: true;
  /** Records the change of the locked intent, or refuses it. */
  record(tx: ProjectTransaction, intent: Intent, terms: Terms): Intent | RampError;
  /** Called once the change is recorded. */
  recorded?(): Promise<void> | undefined;
  answer(intent: Intent): RampResponse;
}

/** A change of a customer's own intent: recorded first, then carried out at the provider. */
export function intentAction(call: CustomerRequest<unknown>, change: IntentChange): IdempotentOperation {
  const { ramp, caller, parameters } = call;
  const { id = "" } = parameters;
  const leaseOwner = newId();
  let begun: Intent | null = null;
  return {
    async prepare(isReplay) {
      if (!isUuid(id)) return rampError("NOT_FOUND");
      const unpriced = change.isPayment ? await readUnpriced(call, id) : null;
      if (unpriced && (await isReplay())) return "replay";
      const terms = unpriced && (await offeredOrTerms(ramp, unpriced));
      if (terms === "offered") return rampError("PRICE_CHANGED");
      const begin = async (tx: ProjectTransaction): Promise<RampError | null> => {
        if ((await readIntent(tx, id, caller.customerId)) === null) return rampError("NOT_FOUND");
        const intent = await lockIntent(tx, id);
        const changed = change.record(tx, intent, terms);
        if (isRampError(changed)) return changed;
        // A repeated change is known: who carries it out keeps the lease, and can record the answer.
        if (changed === intent) return null;
        // The lease owner has not seen this change: this request carries it out.
        begun = { ...changed, leaseOwner };
        takeLease(tx, begun, ramp.polling);
        return null;
      };
      return { resourceId: id, begin };
    },
    async finish(_id, store) {
      await change.recorded?.();
      return answerInTime(ramp, caller.projectId, { id, owner: leaseOwner, begun }, (tx, intent) =>
        store(tx, change.answer(intent)),
      );
    },
  };
}

/** What the payment can be made at. A worse price than was accepted is offered first. */
async function offeredOrTerms(ramp: RampContext, intent: Intent): Promise<Terms> {
  const terms = await termsOf(ramp, intent);
  if (terms === null || typeof terms === "string" || !isWorse(terms.price, intent)) return terms;
  await changeIntent(ramp, intent, (tx, current) =>
    isPayable(current) && !isPriceHeld(current) ? applyPrice(tx, current, terms) : null,
  );
  return "offered";
}

/** The customer's intent if its payment can be made, but at no price that holds. */
async function readUnpriced(
  { ramp, caller: { projectId, customerId } }: CustomerRequest<unknown>,
  id: string,
): Promise<Intent | null> {
  const intent = await ramp.database.inProject(projectId, (tx) => readIntent(tx, id, customerId));
  return intent !== null && isPayable(intent) && !isPriceHeld(intent) ? intent : null;
}

interface IntentWork {
  readonly id: string;
  readonly owner: string;
  /** The intent as this request recorded it, with the lease; null: another process recorded the request. */
  readonly begun: Intent | null;
}

/** The answer once the intent is idle; after `answerWithinMs` the one for the recorded state, while the processing continues. */
async function answerInTime<T>(
  ramp: RampContext,
  projectId: ProjectId,
  { id, owner, begun }: IntentWork,
  settle: OnIdle<T>,
): Promise<T> {
  const processing = begun
    ? processLeased(ramp, begun, settle)
    : processIfFree(ramp, projectId, { id, owner }, settle);
  let timer: Timer | undefined;
  const deadline = new Promise<"late">((resolve) => {
    timer = new Timer(ramp.polling.answerWithinMs, () => resolve("late"));
  });
  const first = await Promise.race([processing.then((answer) => ({ answer })), deadline]).finally(() =>
    timer?.stop(),
  );
  if (first !== "late") return first.answer;
  const continued = processing
    .catch((error: unknown) =>
      ramp.log.warn({ intent: id, err: error }, "intent not processed: polled later"),
    )
    .finally(() => ramp.continued.delete(continued));
  ramp.continued.add(continued);
  return ramp.database.inProject(projectId, async (tx) => {
    const intent = await readIntent(tx, id);
    if (intent === null) throw new Error(`The intent ${id} does not exist.`);
    return settle(tx, intent);
  });
}
