import { readIntent } from "../intent/read.js";
import type { Ramp } from "../ramp.js";
import { page } from "./layout.js";
import { type PageKind, type PageTarget, readPageLink } from "./link.js";
import { isFrameOrigin, pageHeaders } from "./policy.js";
import { problemView, type Shown } from "./views.js";

export interface PageAnswer {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A page that says what is wrong. */
export function problemPage(
  status: number,
  title: string,
  text: string,
  origins: readonly string[] = [],
): PageAnswer {
  return { status, body: page(problemView(title, text)), headers: pageHeaders(origins) };
}

/** An intent as its page needs it. */
export interface Opened extends Shown {
  readonly target: PageTarget;
  readonly token: string;
  readonly pageOrigins: readonly string[];
}

/** What a link leads to, or the page that says why it leads nowhere. */
export async function openLink(ramp: Ramp, kind: PageKind, token: string): Promise<Opened | PageAnswer> {
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
  410,
  "This link has expired",
  "Please go back to where you got it and start again. Nothing more can be done here, and no money should be sent.",
);
