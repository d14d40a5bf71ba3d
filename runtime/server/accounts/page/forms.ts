import type { DataRoute, Exchange } from "../../../core/handler/exchange.js";
import { isHttpError, type HttpError } from "../../../core/model/errors.js";
import { readBodyText } from "../../../core/handler/resolve.js";
import type { Handled } from "../../../core/http/route.js";
import type { Reply } from "../../../core/http/send.js";
import type { Statements } from "../../../postgres/own-tables.js";
import {
  type AccountPage,
  attemptOf,
  ATTEMPTS_A_MINUTE,
  FORMS_A_MINUTE,
  pageRoute,
  told,
  tooMany,
  unknown,
  type Visitor,
  visitorOf,
} from "./account.js";
import { isFormToken } from "./cookies.js";
import { lockedRole, type MemberRole } from "./members.js";

/** A form that somebody who is signed in has sent, in a transaction of the database. */
export interface SentForm {
  readonly exchange: Exchange;
  readonly tables: Statements;
  readonly visitor: Visitor;
  /** A field, without spaces around it; empty where it is missing. U+0000 and lone surrogates are not in it. */
  readonly field: (name: string) => string;
}

/** A form about an organization of which its sender is a member. */
export interface OrganizationForm extends SentForm {
  readonly organization: string;
  readonly role: MemberRole;
}

/** The response to a form, or what makes it once the transaction has ended. */
export type FormResult = Reply | (() => Promise<Reply>);

/** Forms of a network in a minute, by what they are about. */
const MOST = { form: FORMS_A_MINUTE, invitation: ATTEMPTS_A_MINUTE } as const;

/** Longer ones are none of this page. */
const MAX_FORM = 16_384;

/** A path for a form. Its handler runs in a transaction, which also reads who sends it and what they may. */
export function formRoute(
  page: AccountPage,
  path: string,
  handle: (form: SentForm) => Promise<FormResult>,
  attempt: keyof typeof MOST = "form",
): DataRoute {
  return pageRoute(page, "POST", path, (exchange) => receive(page, exchange, attempt, handle));
}

/** As `formRoute`. `role`: who may send it; without one every member. Others learn nothing of the organization. */
export function organizationRoute(
  page: AccountPage,
  path: string,
  handle: (form: OrganizationForm) => Promise<FormResult>,
  required: MemberRole = "member",
): DataRoute {
  return formRoute(page, path, async (form) => {
    const organization = form.field("organization");
    const role = await lockedRole(form.tables, organization, form.visitor.person.id);
    if (role === null) return unknown(page);
    if (required === "owner" && role !== "owner")
      return told(page, 403, "Not allowed", "Only an owner of the organization may do this.");
    return handle({ ...form, organization, role });
  });
}

async function receive(
  page: AccountPage,
  exchange: Exchange,
  attempt: keyof typeof MOST,
  handle: (form: SentForm) => Promise<FormResult>,
): Promise<Handled<HttpError>> {
  if (isForeign(page, exchange)) return FOREIGN(page);
  const refused = await tooMany(page, exchange, attemptOf(exchange, attempt), MOST[attempt]);
  if (refused !== null) return refused;
  const text = await readBodyText(exchange.request, exchange.context.caller);
  if (text === null || isHttpError(text)) return text;
  const fields = text.length > MAX_FORM ? new URLSearchParams() : new URLSearchParams(text);
  const outcome = await page.tables.inTransaction<FormResult>(async (tables) => {
    const visitor = await visitorOf(page, tables, exchange);
    if (visitor === null) return told(page, 401, "Signed out", "Your session has ended. Sign in again.");
    if (!isFormToken(visitor.session, fields.get("form") ?? "")) return FOREIGN(page);
    const field = (name: string): string =>
      (fields.get(name) ?? "").replaceAll("\0", "").toWellFormed().trim();
    return handle({ exchange, tables, visitor, field });
  });
  return typeof outcome === "function" ? outcome() : outcome;
}

const FOREIGN = (page: AccountPage): Reply =>
  told(
    page,
    403,
    "Not from this page",
    "This form was not sent from your account page. Open the page again.",
  );

/** Whether a page of another origin has sent it. Browsers say so; the token of the form is the proof. */
function isForeign({ publicUrl }: AccountPage, { request }: Exchange): boolean {
  const { origin, "sec-fetch-site": site, "content-type": type = "" } = request.headers;
  if (!/^application\/x-www-form-urlencoded\b/i.test(type)) return true;
  if (site !== undefined && site !== "same-origin") return true;
  return origin !== undefined && origin !== new URL(publicUrl).origin;
}
