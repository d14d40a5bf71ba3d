import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { opened, sealed } from "../../../webhooks/sealing.js";

/** The cookies of the account page at an address. */
export interface Cookies {
  read(request: Pick<IncomingMessage, "headers">, name: CookieName): string | null;
  /** `Set-Cookie`; `seconds` 0: the browser forgets it. */
  set(name: CookieName, value: string, seconds: number): string;
}

/** `login` holds what a sign-in began with. */
export type CookieName = "session" | "login";

/** A longer header is none of a browser's. */
const MAX_HEADER = 8192;

/**
 * Over https the names begin with `__Host-`, so that no other host of the domain can set one, with which it would sign a reader in as
 * somebody else. `Lax`: the issuer leads the browser back to this page.
 */
export function cookiesAt(publicUrl: string): Cookies {
  const { protocol, pathname } = new URL(publicUrl);
  const isSecure = protocol === "https:";
  const prefix = isSecure ? "__Host-routewright-" : "routewright-";
  const place = isSecure ? "Path=/; Secure" : `Path=${pathname.replace(/\/$/, "")}/account`;
  return {
    read({ headers: { cookie = "" } }, name) {
      if (cookie.length > MAX_HEADER) return null;
      const start = `${prefix}${name}=`;
      const found = cookie.split("; ").filter((each) => each.startsWith(start));
      // Two of one name: one of them was not set by this page.
      return found.length === 1 ? (found[0]?.slice(start.length) ?? null) : null;
    },
    set: (name, value, seconds) =>
      `${prefix}${name}=${value}; ${place}; HttpOnly; SameSite=Lax; Max-Age=${String(seconds)}`,
  };
}

/** Encrypts what a browser keeps, with a key of the client's secret: all servers read it, and no table grows by strangers. */
export class Seal {
  readonly #key: Buffer;

  constructor(secret: string) {
    this.#key = Buffer.from(hkdfSync("sha256", secret, "", "routewright account", 32));
  }

  seal(value: object): string {
    return sealed(this.#key, PURPOSE, JSON.stringify(value)).toString("base64url");
  }

  /** Null for what was sealed otherwise. */
  open(text: string): unknown {
    const value = opened(this.#key, PURPOSE, Buffer.from(text, "base64url"));
    return value === null ? null : (JSON.parse(value) as unknown);
  }
}

const PURPOSE = "sign-in";

/** What each form of a session has: another page cannot know it. */
export function formToken(session: string): string {
  return createHmac("sha256", session).update("form").digest("base64url");
}

export function isFormToken(session: string, sent: string): boolean {
  const [expected, given] = [Buffer.from(formToken(session)), Buffer.from(sent)];
  return expected.length === given.length && timingSafeEqual(expected, given);
}
