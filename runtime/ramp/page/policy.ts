/** A page's headers: its address is a secret, its content a customer's own, and only who is registered may frame it. */
export function pageHeaders(frameOrigins: readonly string[]): Readonly<Record<string, string>> {
  return {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src data:",
      "connect-src 'self'",
      "form-action 'self'",
      "base-uri 'none'",
      `frame-ancestors ${frameOrigins.length === 0 ? "'none'" : frameOrigins.join(" ")}`,
    ].join("; "),
    ...(frameOrigins.length === 0 ? { "X-Frame-Options": "DENY" } : {}),
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow",
  };
}

/** What may stand in a policy as an origin; anything else could change what the policy says. */
export function isFrameOrigin(text: string): boolean {
  return /^https?:\/\/[A-Za-z0-9.:[\]-]+$/.test(text);
}

/**
 * Whether a form was sent by a page of ours, as far as the browser says. With no referrer to tell, browsers name the origin
 * `null`; the form's own token decides then.
 */
export function isOwnForm(publicUrl: string, site: string | undefined, origin: string | undefined): boolean {
  if (site !== undefined && site !== "same-origin") return false;
  return origin === undefined || origin === "null" || origin === new URL(publicUrl).origin;
}
