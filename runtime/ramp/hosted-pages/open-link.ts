import { readIntent } from "../intents/intent-rows.js";
import type { RampContext } from "../context.js";
import { RAMP_ERRORS } from "../ramp-errors.js";
import { page } from "./layout.js";
import { type PageKind, type PageTarget, readPageLink } from "./link.js";
import { problemView, type PageContext } from "./page-views.js";

export interface PageAnswer {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A page with an error. */
export function problemPage(
  status: number,
  title: string,
  text: string,
  origins: readonly string[] = [],
): PageAnswer {
  return { status, body: page(problemView(title, text)), headers: pageHeaders(origins) };
}

/** An intent as its page needs it. */
export interface OpenedPage extends PageContext {
  readonly target: PageTarget;
  readonly token: string;
  readonly pageOrigins: readonly string[];
}

/** The target of a link, or the page with its error. */
export async function openLink(
  ramp: RampContext,
  kind: PageKind,
  token: string,
): Promise<OpenedPage | PageAnswer> {
  const link = readPageLink(ramp.vault, kind, token, ramp.now());
  switch (link.kind) {
    case "unknown":
      return UNKNOWN;
    case "expired":
      return EXPIRED;
    case "valid": {
      const { target, formToken } = link;
      const [intent, project] = await ramp.database.inProject(target.projectId, (tx) =>
        Promise.all([
          readIntent(tx, target.intentId),
          tx.row<{ name: string; page_origins: string[] }>(
            "SELECT name, page_origins FROM ramp.projects WHERE id = ramp.current_project()",
          ),
        ]),
      );
      if (intent === null || project === null) return UNKNOWN;
      const currencyOf = ramp.currencies.get.bind(ramp.currencies);
      const pageOrigins = project.page_origins.filter(isFrameOrigin);
      return { target, token, formToken, intent, currencyOf, pageOrigins, projectName: project.name };
    }
  }
}

const UNKNOWN = problemPage(
  404,
  "This link is not valid",
  "It may have been cut off or changed on its way. Please go back to where you got it and open it again.",
);
const EXPIRED = problemPage(
  RAMP_ERRORS.LINK_EXPIRED.status,
  "This link has expired",
  "Please go back to where you got it and start again. Nothing more can be done here, and no money should be sent.",
);

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

/** A valid origin for the policy; other text could change the policy. */
function isFrameOrigin(text: string): boolean {
  return /^https?:\/\/[A-Za-z0-9.:[\]-]+$/.test(text);
}

/**
 * Whether a form was sent by a page of ours, as far as the browser reveals. Without a referrer browsers send the origin
 * `null`; the form's own token decides then.
 */
export function isOwnForm(publicUrl: string, site: string | undefined, origin: string | undefined): boolean {
  if (site !== undefined && site !== "same-origin") return false;
  return origin === undefined || origin === "null" || origin === new URL(publicUrl).origin;
}
