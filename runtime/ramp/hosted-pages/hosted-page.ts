import { reasonOf } from "../providers/provider.js";
import type { IntentContext } from "../intents/lease.js";
import { exitOf, type Stage, stageOf, versionOf } from "./stage.js";
import { page, pageHeaders, problemPage } from "./layout.js";
import { type OpenedPage, openLink } from "./link.js";
import { viewOf } from "./page-views.js";
import { TRAVEL_RULE_FORM, travelRuleOf } from "../providers/travel-rule.js";
import { isRampError, type RampResponse } from "../core/ramp-errors.js";
import { changeIntent } from "../intents/process-intent.js";
import type { Intent } from "../intents/intent.js";
import { applyOnboarding } from "../intents/apply-onboarding.js";
import { acceptPrice } from "../intents/new-price.js";
import { isPayable, makePayment, termsOf } from "../intents/payment.js";
import { errorsOf, type FormErrors, valuesOf } from "./form-input.js";
import { FIELD_PREFIX, type FormState, UNTOUCHED } from "./requirement-form.js";
import { fieldsOf } from "../providers/form.js";

/** `GET /onboarding/{token}`, with `?leave` the last page for a customer who leaves. */
export async function showPage(
  ramp: IntentContext,
  token: string,
  isLeaving: boolean,
): Promise<RampResponse> {
  const opened = await openLink(ramp, token);
  if ("status" in opened) return opened;
  const stage = stageOf(opened.intent);
  return stagePage(opened, isLeaving && stage.kind !== "end" ? { kind: "end", outcome: "DISMISSED" } : stage);
}

/** `GET /onboarding/{token}/status`: JSON with a version that changes when the page does. */
export async function pageStatus(ramp: IntentContext, token: string): Promise<RampResponse> {
  const opened = await openLink(ramp, token);
  if ("status" in opened) return opened;
  const headers = { "Content-Type": "application/json; charset=utf-8", "Referrer-Policy": "no-referrer" };
  const version = versionOf(opened.intent, stageOf(opened.intent));
  return { status: 200, headers, body: JSON.stringify({ status: opened.intent.status, version }) };
}

/**
 * `POST /onboarding/{token}`. The address is the secret that other sites would have to know to send a form in the customer's name: forms
 * carry no other.
 */
export async function actOnPage(
  ramp: IntentContext,
  token: string,
  { text, contentType }: { readonly text: string; readonly contentType: string },
): Promise<RampResponse> {
  const opened = await openLink(ramp, token);
  if ("status" in opened) return opened;
  const { pageOrigins, intent } = opened;
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(contentType))
    return problemPage(415, "That did not work", "The form was not sent as a form.", pageOrigins);
  const sent = new URLSearchParams(text);
  const stage = stageOf(intent);
  const action = sent.get("action");
  const isAsked = stage.kind === "form" && stage.requirement.code === sent.get("requirement");
  if (action === "submit" && isAsked) return submit(ramp, opened, stage, sent);
  if (action === "accept" && stage.kind === "offer")
    await acceptOffer(ramp, intent, sent.get("quoteId") ?? "");
  if (action === "execute" && !(await orderPayment(ramp, intent)))
    return stagePage(opened, stage, { ...UNTOUCHED, errors: new Map([["", unreachable(intent)]]) }, 503);
  // The state has changed meanwhile: the page shows the current one.
  return redirect(token);
}

/** Submits the form to the provider and processes the intent. The ramp stores none of the values. */
async function submit(
  ramp: IntentContext,
  opened: OpenedPage,
  stage: Stage & { kind: "form" },
  sent: URLSearchParams,
): Promise<RampResponse> {
  const { intent } = opened;
  const { code, form } = stage.requirement;
  const typed = new Map(
    [...sent]
      .filter(([name]) => name.startsWith(FIELD_PREFIX))
      .map(([name, value]) => [name.slice(FIELD_PREFIX.length), value]),
  );
  const again = (status: number, errors: FormErrors): RampResponse =>
    stagePage(opened, stage, { typed, errors }, status);
  const fields = fieldsOf(form);
  const values = valuesOf(fields, typed);
  const errors = errorsOf(form, fields, values);
  if (errors.size > 0) return again(422, errors);
  const { id, connectionId } = intent;
  const { provider } = await ramp.providers.get(intent);
  const isOwnForm = form === TRAVEL_RULE_FORM;
  const reply = await provider.submit(id, code, {
    fields: isOwnForm ? travelRuleOf(values, accountsOf(intent)) : values,
  });
  switch (reply.kind) {
    case "answer":
      // Recorded at once: a look-up of another process, begun before, would leave the customer at a form that was submitted.
      await changeIntent(ramp, intent, (tx, current) =>
        reply.value.id === id && current.status === "COMPLIANCE_IN_PROGRESS"
          ? applyOnboarding(tx, current, reply.value)
          : null,
      );
      return redirect(opened.token);
    case "refused":
      return again(422, new Map([["", reply.message]]));
    case "unknown":
    case "invalid":
    case "unavailable": {
      ramp.log.warn({ intent: id, connection: connectionId, reason: reasonOf(reply) }, "form not submitted");
      return again(503, new Map([["", unreachable(intent)]]));
    }
  }
}

/** What identifies both accounts, where it is known. */
function accountsOf({ src, dest }: Intent) {
  const [from, to] = [src.details, dest.details].map((details) =>
    ["address", "iban", "accountNumber", "key"]
      .map((name) => details[name])
      .find((value) => typeof value === "string"),
  );
  return { src: from ?? null, dest: to ?? null };
}

function redirect(location: string): RampResponse {
  return { status: 303, body: "", headers: { ...pageHeaders([]), Location: location } };
}

function stagePage(
  opened: OpenedPage,
  stage: Stage,
  state: FormState = UNTOUCHED,
  status = 200,
): RampResponse {
  const { intent, token, pageOrigins } = opened;
  const ending = stage.kind === "end" ? exitOf(intent, stage.outcome, pageOrigins) : undefined;
  const isLive = stage.kind !== "end" && stage.kind !== "form";
  // A form that is being filled in stays as it is.
  const live = isLive ? { statusPath: `${token}/status`, version: versionOf(intent, stage) } : undefined;
  const body = page({ ...viewOf(opened, stage, state), live, ending });
  return { status, headers: pageHeaders(pageOrigins), body };
}

const unreachable = ({ provider }: Intent): string =>
  `${provider} cannot be reached right now. Please try again in a moment.`;

/** Makes the payment, unless it is made or the intent has expired; or offers another price. False: the provider gives no price for it. */
async function orderPayment(ramp: IntentContext, intent: Intent): Promise<boolean> {
  if (!isPayable(intent)) return true;
  const terms = await termsOf(ramp, intent);
  if (terms === null) return false;
  await changeIntent(ramp, intent, (tx, current) =>
    isPayable(current) ? makePayment(tx, current, terms) : null,
  );
  return true;
}

/** Accepts the price that the page shows, and makes the payment where the customer is at it. */
async function acceptOffer(ramp: IntentContext, intent: Intent, quoteId: string): Promise<void> {
  await changeIntent(ramp, intent, (tx, current) => {
    const accepted = acceptPrice(tx, current, quoteId);
    if (isRampError(accepted)) return null;
    return isPayable(accepted) ? makePayment(tx, accepted, "held") : accepted;
  });
}
