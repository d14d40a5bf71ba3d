import type { IncomingHttpHeaders } from "node:http";
import type { ApiAbout } from "../../../runtime/core/model/about.js";
import type { Plans } from "../../../runtime/core/model/organization-plan.js";
import { ownDatabase, ownSchema, queryAt } from "../../support/database.js";
import { sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { freePort } from "../../support/port.js";
import { generateInto, ownFolder, startFolder } from "../../support/service.js";
import { SECRET, startIssuer } from "./issuer.js";

const PLANS: Plans = { free: { tier: "tier1", requestsPerMinute: 500 }, pro: { tier: "tier2" } };
export const OPEN = { plan: "free" } as const;
export const OPERATOR = "sk_live_operator";

/** A server with an account page, its issuer and its database. */
export async function accountWorld(
  signUp: ApiAbout["signUp"] | null = OPEN,
  variables: Readonly<Record<string, string>> = {},
  publicUrl?: string,
) {
  const schema = await ownSchema(
    "CREATE TABLE @.sales AS SELECT 1 AS n; CREATE TABLE @.staff AS SELECT 2 AS n",
  );
  const model = (name: string, category: string, tier: string) => ({
    ...{ name, schema, tags: ["production", category, `api:${name}`, tier] },
    ...{ columns: { n: "int" }, api: { allow_unfiltered: true } },
  });
  const folder = ownFolder();
  const about: ApiAbout = { termsOfService: "https://example.com/terms", ...(signUp && { signUp }) };
  const manifest = manifestOf([model("sales", "shop", "tier1"), model("staff", "people", "tier2")]);
  generateInto(folder, manifest, { plans: PLANS, about, title: "Shop data" });
  const database = await ownDatabase();
  const port = await freePort();
  const url = `http://127.0.0.1:${String(port)}`;
  const publicAddress = publicUrl ?? url;
  const issuer = await startIssuer([`${publicAddress}/account/callback`]);
  const service = await startFolder(folder, {
    ...{ PORT: String(port), PUBLIC_URL: publicAddress, KEYS_DATABASE_URL: database },
    ...{ ACCOUNT_ISSUER: issuer, ACCOUNT_CLIENT_ID: "account", ACCOUNT_CLIENT_SECRET: SECRET },
    API_KEYS: JSON.stringify({ [OPERATOR]: { tier: "tier3", user: "ops", allowed: ["system"] } }),
    // Each browser of a test comes from an address of its own, as strangers do.
    ...{ RATE_LIMITS: "tier0=1000000", TRUST_PROXY: "1" },
    ...variables,
  });
  const sql = (text: string, values?: readonly unknown[]) => queryAt(database, text, values);
  const operate = async (path: string, body: unknown, method = "POST") => {
    const { text } = await sendRequest(url, `/v1/system${path}`, { method, key: OPERATOR, body });
    return JSON.parse(text) as Record<string, string>;
  };
  return {
    url,
    publicUrl: publicAddress,
    issuer,
    database,
    service,
    sql,
    operate,
    browser: () => new Browser(publicAddress),
  };
}

export type World = Awaited<ReturnType<typeof accountWorld>>;

/** A response with its page as text. */
export interface Page {
  readonly url: string;
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

interface Sent {
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether redirects are followed. */
  readonly follows?: boolean;
}

let browsers = 0;

/** Keeps cookies by origin and sends forms, as a browser does; what an attacker can do more is in the options. */
export class Browser {
  readonly jars = new Map<string, Map<string, string>>();
  #page: Page | null = null;
  /** What the forms of the last page had. */
  formToken = "";
  readonly #address = `10.${String(++browsers >> 8)}.${String(browsers & 255)}.1`;

  constructor(readonly base: string) {}

  get page(): Page {
    if (this.#page === null) throw new Error("no page is open");
    return this.#page;
  }

  cookie(name: string): string | undefined {
    return this.#jar(this.base).get(name);
  }

  setCookie(name: string, value: string): void {
    this.#jar(this.base).set(name, value);
  }

  get(path: string, sent: Sent = {}): Promise<Page> {
    return this.#send(
      "GET",
      new URL(path.startsWith("/") ? new URL(this.base).origin + path : path),
      undefined,
      sent,
    );
  }

  post(path: string, fields: Readonly<Record<string, string>>, sent: Sent = {}): Promise<Page> {
    const body = new URLSearchParams(fields).toString();
    return this.#send(
      "POST",
      new URL(path.startsWith("/") ? new URL(this.base).origin + path : path),
      body,
      sent,
    );
  }

  /** Signs in at the issuer, and ends where that leads. */
  async signIn(
    login: string,
    path = `${new URL(this.base).pathname.replace(/\/$/, "")}/account/sign-in`,
  ): Promise<Page> {
    const page = await this.get(path);
    return this.post(page.url, { login });
  }

  /** Fields of the form with this action on the page that is open. */
  fields(action: string): Record<string, string> {
    const form = this.page.text
      .split("<form ")
      .find((each) =>
        each.includes(`action="${new URL(this.base).pathname.replace(/\/$/, "")}/account/${action}"`),
      );
    if (form === undefined) throw new Error(`no form ${action} in ${this.page.text}`);
    const inputs = form.split("</form>")[0]?.matchAll(/name="(\w+)"[^>]*? value="([^"]*)"/g) ?? [];
    return Object.fromEntries([...inputs].map(([, name = "", value = ""]) => [name, value]));
  }

  /** Sends a form of the page that is open. */
  submit(action: string, fields: Readonly<Record<string, string>> = {}, sent: Sent = {}): Promise<Page> {
    const prefix = new URL(this.base).pathname.replace(/\/$/, "");
    return this.post(`${prefix}/account/${action}`, { ...this.fields(action), ...fields }, sent);
  }

  #jar(url: string): Map<string, string> {
    const { origin } = new URL(url);
    const jar = this.jars.get(origin) ?? new Map<string, string>();
    this.jars.set(origin, jar);
    return jar;
  }

  async #send(
    method: string,
    url: URL,
    body: string | undefined,
    { headers = {}, follows = true }: Sent,
  ): Promise<Page> {
    const jar = this.#jar(url.href);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
    const reply = await sendRequest(url.origin, url.pathname + url.search, {
      ...{ method, body },
      headers: {
        ...{ host: url.host, "x-forwarded-for": this.#address },
        ...(cookie !== "" && { cookie }),
        ...(method === "POST" && { "content-type": "application/x-www-form-urlencoded", origin: url.origin }),
        ...headers,
      },
    });
    for (const line of reply.headers["set-cookie"] ?? []) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === "" || /max-age=0\b/i.test(line)) jar.delete(name);
      else jar.set(name, value);
    }
    const { location } = reply.headers;
    if (follows && location !== undefined && reply.status >= 300 && reply.status < 400)
      return this.#send("GET", new URL(location, url), undefined, {});
    this.#page = { url: url.href, status: reply.status, headers: reply.headers, text: reply.text };
    this.formToken = /name="form" value="([^"]+)"/.exec(reply.text)?.[1] ?? this.formToken;
    return this.#page;
  }
}

/** The key that a page shows. */
export const keyIn = ({ text }: Page): string => /sk_live_rw_[\w-]{49}/.exec(text)?.[0] ?? "";

/** The address in a link that a page shows. */
export const linkIn = ({ text }: Page): string =>
  /http[^<\s]*\/account\/invitation\?code=[\w-]{43}/.exec(text)?.[0] ?? "";
