import type { DataRoute, Exchange } from "../../../core/handler/exchange.js";
import type { HttpError } from "../../../core/model/errors.js";
import type { ApiAbout } from "../../../core/model/about.js";
import {
  type Figures,
  figuresOf,
  type OrganizationPlan,
  type Plans,
} from "../../../core/model/organization-plan.js";
import { ownValue } from "../../../core/model/own-value.js";
import type { Endpoint } from "../../../core/model/endpoint.js";
import type { PerTier } from "../../../core/model/tier.js";
import { FAILOVER_RETRY_SECONDS, networkOf } from "../../../core/http/headers.js";
import type { Handled } from "../../../core/http/route.js";
import type { Reply } from "../../../core/http/send.js";
import { secondsLeft } from "../../../core/request/rate-limit/memory-store.js";
import { accountDocument } from "../../../pages/html-documents.js";
import { ACCOUNT_HEADERS } from "../../../pages/pages.js";
import type { Html } from "../../../core/http/html.js";
import { message } from "../../../pages/account/notices.js";
import { isConnectionFailure, isConnectionRefusal } from "../../../postgres/errors.js";
import type { OwnTables, Statements } from "../../../postgres/own-tables.js";
import type { Organization } from "../organizations.js";
import type { Cookies } from "./cookies.js";
import { type Person, personOf } from "./people.js";
import type { SignIn } from "./sign-in.js";

/** What keys of an organization have used, by day, endpoint and key. */
export interface UseOfKey {
  readonly day: string;
  readonly key: string;
  readonly route: string;
  readonly requests: number;
  readonly refused: number;
  readonly errors: number;
  readonly rows: number;
  readonly bytes: number;
}

/** What the account page shows of the server that has it. */
export interface AccountHost {
  readonly title: string;
  readonly about: ApiAbout;
  /** Requests per window by tier. */
  readonly rateLimits: Readonly<PerTier<number>>;
  /** Of the release that is served. */
  readonly endpoints: () => readonly Endpoint[];
  /** Null where usage is not recorded. */
  readonly usageOf: (keys: readonly string[]) => Promise<readonly object[] | null>;
  /** Erases what names the users of keys in usage; counts stay. */
  readonly eraseUsers: (keys: readonly string[]) => Promise<void>;
}

/** The account page (runtime/docs/accounts.md). */
export interface AccountPage extends AccountHost {
  readonly tables: OwnTables;
  readonly plans: () => Plans;
  readonly signIn: SignIn;
  readonly cookies: Cookies;
  readonly publicUrl: string;
}

/** Somebody who is signed in. */
export interface Visitor {
  /** The text of the cookie. */
  readonly session: string;
  readonly person: Person;
}

/** Requests a minute: sign-ins and invitations of a network, each of which costs the issuer or the database something; forms of a person. */
export const ATTEMPTS_A_MINUTE = 20;
export const FORMS_A_MINUTE = 60;

/** The path below which a proxy serves the API, and its account page. */
export const prefixOf = ({ publicUrl }: Pick<AccountPage, "publicUrl">): string =>
  new URL(publicUrl).pathname.replace(/\/$/, "");
export const rootOf = (page: Pick<AccountPage, "publicUrl">): string => `${prefixOf(page)}/account`;

export function shown(
  page: AccountPage,
  status: number,
  main: Html,
  headers: Readonly<Record<string, string>> = {},
): Reply {
  const body = accountDocument(page.title, page.about, prefixOf(page), main.text);
  return { status, body, headers: { ...ACCOUNT_HEADERS, ...headers } };
}

export function told(page: AccountPage, status: number, title: string, text: string): Reply {
  return shown(page, status, message(rootOf(page), title, text));
}

export const unknown = (page: AccountPage): Reply =>
  told(page, 404, "Not found", "There is nothing here, or you do not belong to it.");

export const noPlan = (page: AccountPage): Reply =>
  told(page, 409, "No plan", "This organization has no plan that is served. Ask the operator for one.");

export function movedTo(location: string): Reply {
  return { status: 303, body: "", headers: { Location: location } };
}

/** A path of the account page. Pages of other origins may not read it. */
export function pageRoute(
  page: AccountPage,
  method: "GET" | "POST",
  path: string,
  handle: (exchange: Exchange) => Promise<Handled<HttpError>>,
): DataRoute {
  return {
    method,
    path: `/account${path}`,
    access: { limit: "document", isForOperators: true },
    operation: null,
    async handle(exchange) {
      try {
        return await handle(exchange);
      } catch (error) {
        if (!isConnectionFailure(error) && !isConnectionRefusal(error)) throw error;
        return shown(
          page,
          503,
          message(
            rootOf(page),
            "Not now",
            "The database of the accounts is away. Try again in some seconds.",
          ),
          {
            "Retry-After": String(FAILOVER_RETRY_SECONDS),
          },
        );
      }
    },
  };
}

/** Counts an attempt of a network or a person; a page that says when to try again where there were too many. */
export async function tooMany(
  page: AccountPage,
  { gateway }: Exchange,
  name: string,
  most: number,
): Promise<Reply | null> {
  const window = await gateway.rates.hit(name);
  if (window.count <= most) return null;
  const seconds = String(secondsLeft(window));
  const text = `These are too many attempts in a minute. Try again in ${seconds} seconds.`;
  return shown(page, 429, message(rootOf(page), "Too many attempts", text), { "Retry-After": seconds });
}

export const attemptOf = ({ gateway, request }: Exchange, kind: string): string =>
  `${kind}:${networkOf(gateway.addressOf(request))}`;

/** Who sends a request; null: nobody who is signed in. */
export async function visitorOf(
  page: AccountPage,
  tables: Statements,
  { request }: Exchange,
): Promise<Visitor | null> {
  const session = page.cookies.read(request, "session");
  if (session === null || !/^[\w-]{43}$/.test(session)) return null;
  const person = await personOf(tables, session);
  return person === null ? null : { session, person };
}

/** The plan with this name; null: none that is served. */
export function planOf({ plans }: Pick<AccountPage, "plans">, name: string | null): OrganizationPlan | null {
  return name === null ? null : (ownValue(plans(), name) ?? null);
}

/** The figures that count for an organization. */
export function figuresIn(
  page: Pick<AccountPage, "plans">,
  { plan, own }: Pick<Organization, "plan" | "own">,
): Figures {
  return figuresOf(planOf(page, plan) ?? {}, own);
}
