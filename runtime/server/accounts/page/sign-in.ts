import type * as oidc from "openid-client";
import type { IncomingMessage } from "node:http";
import { Seal } from "./cookies.js";

/** The client of an OpenID Connect issuer. */
export interface SignInSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** PUBLIC_URL, without a trailing slash. */
  readonly publicUrl: string;
}

/** Who has signed in: a subject of an issuer. */
export interface Arrival {
  readonly issuer: string;
  readonly subject: string;
  readonly name: string;
  /** Null unless the issuer has verified it. */
  readonly mail: string | null;
}

/** A sign-in that has ended, and the code of the invitation that it began with. */
export interface SignedIn {
  readonly arrival: Arrival;
  readonly invitation: string | null;
}

/** How long a reader may take at the issuer. */
export const LOGIN_SECONDS = 600;

/** How long the issuer may take. */
const ISSUER_TIMEOUT_SECONDS = 10;

/** The discovery document is read again, since an issuer may move its endpoints. */
const DISCOVERY_MS = 600_000;

const MAX_NAME = 100;

/** What a browser keeps between the beginning and the end of a sign-in. */
interface Login {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly invitation: string | null;
  readonly until: number;
}

/** Sign-in with an OpenID Connect issuer: code with PKCE, `state` and `nonce`. */
export class SignIn {
  readonly #settings: SignInSettings;
  readonly #seal: Seal;
  /** `until`: by `performance.now()`. */
  #discovered: { readonly configuration: Promise<oidc.Configuration>; readonly until: number } | null = null;

  constructor(settings: SignInSettings) {
    this.#settings = settings;
    this.#seal = new Seal(settings.clientSecret);
  }

  /** Where to send the browser, and what it keeps meanwhile. Rejects where the issuer does not respond. */
  async begin(invitation: string | null): Promise<{ readonly location: string; readonly cookie: string }> {
    const client = await loadClient();
    const configuration = await this.#configuration();
    const login: Login = {
      state: client.randomState(),
      nonce: client.randomNonce(),
      verifier: client.randomPKCECodeVerifier(),
      invitation,
      until: Date.now() + LOGIN_SECONDS * 1000,
    };
    const location = client.buildAuthorizationUrl(configuration, {
      redirect_uri: this.#redirectUri,
      scope: "openid profile email",
      code_challenge: await client.calculatePKCECodeChallenge(login.verifier),
      code_challenge_method: "S256",
      state: login.state,
      nonce: login.nonce,
    });
    return { location: location.href, cookie: this.#seal.seal(login) };
  }

  /** Who comes back from the issuer; null where this browser did not begin it, or the issuer refuses. */
  async end({ url = "" }: Pick<IncomingMessage, "url">, cookie: string | null): Promise<SignedIn | null> {
    const login = cookie === null ? null : (this.#seal.open(cookie) as Login | null);
    if (login === null || login.until < Date.now()) return null;
    const client = await loadClient();
    const configuration = await this.#configuration();
    const current = new URL(this.#redirectUri);
    current.search = url.includes("?") ? url.slice(url.indexOf("?")) : "";
    try {
      const tokens = await client.authorizationCodeGrant(configuration, current, {
        pkceCodeVerifier: login.verifier,
        expectedState: login.state,
        expectedNonce: login.nonce,
        idTokenExpected: true,
      });
      const claims = { ...tokens.claims() } as Claims;
      if (claims.name === undefined || claims.email === undefined)
        Object.assign(claims, await this.#more(tokens));
      return { arrival: arrivalOf(claims), invitation: login.invitation };
    } catch (error) {
      if (isOfIssuer(error)) return null;
      throw error;
    }
  }

  get #redirectUri(): string {
    return `${this.#settings.publicUrl}/account/callback`;
  }

  /** Claims that the issuer has not put into the token. */
  async #more(tokens: { readonly access_token: string; claims(): { readonly sub: string } | undefined }) {
    const configuration = await this.#configuration();
    if (configuration.serverMetadata().userinfo_endpoint === undefined) return {};
    const { fetchUserInfo } = await loadClient();
    return fetchUserInfo(configuration, tokens.access_token, tokens.claims()?.sub ?? "");
  }

  #configuration(): Promise<oidc.Configuration> {
    if (this.#discovered === null || this.#discovered.until < performance.now()) {
      const configuration = this.#discover();
      configuration.catch(() => (this.#discovered = null));
      this.#discovered = { configuration, until: performance.now() + DISCOVERY_MS };
    }
    return this.#discovered.configuration;
  }

  /** Tokens are verified by the issuer's keys, also where TLS would do. */
  async #discover(): Promise<oidc.Configuration> {
    const { issuer, clientId, clientSecret } = this.#settings;
    const client = await loadClient();
    return client.discovery(new URL(issuer), clientId, clientSecret, undefined, {
      timeout: ISSUER_TIMEOUT_SECONDS,
      execute: [
        client.enableNonRepudiationChecks,
        // Settings take http:// for this machine alone, which is what it is for.
        // eslint-disable-next-line @typescript-eslint/no-deprecated
        ...(issuer.startsWith("http:") ? [client.allowInsecureRequests] : []),
      ],
    });
  }
}

interface Claims {
  readonly iss: string;
  readonly sub: string;
  readonly name?: unknown;
  readonly preferred_username?: unknown;
  readonly email?: unknown;
  readonly email_verified?: unknown;
}

function arrivalOf({
  iss,
  sub,
  name,
  preferred_username: username,
  email,
  email_verified: isVerified,
}: Claims): Arrival {
  const mail = typeof email === "string" && isVerified === true ? shortened(email, 254) : null;
  const shown = [name, username, mail].find(
    (each): each is string => typeof each === "string" && each.trim() !== "",
  );
  return { issuer: iss, subject: sub, name: shortened(shown ?? "Unnamed", MAX_NAME), mail };
}

/** Without control characters, and as PostgreSQL stores it. */
function shortened(text: string, length: number): string {
  return text
    .replace(/[\u0000-\u001f\u007f]/g, " ")
    .trim()
    .slice(0, length)
    .toWellFormed();
}

/** The issuer's answer is a refusal, or none that the standard allows. */
function isOfIssuer(error: unknown): boolean {
  const { name = "", code } = error as { readonly name?: string; readonly code?: unknown };
  if (/^(AuthorizationResponseError|ResponseBodyError|WWWAuthenticateChallengeError)$/.test(name))
    return true;
  return /^OAUTH_/.test(String(code)) && code !== "OAUTH_TIMEOUT";
}

async function loadClient(): Promise<typeof oidc> {
  try {
    return await import("openid-client");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new Error(
      "ACCOUNT_ISSUER needs a package that is not installed: run `npm install openid-client`.",
      {
        cause: error,
      },
    );
  }
}

/** Before the server listens: a package that is missing ends the start. */
export async function requireClient(): Promise<void> {
  await loadClient();
}
