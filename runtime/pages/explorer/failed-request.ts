/** What the reader sees of a request that has failed: why, and what to do. */
import { messageOf } from "../../core/model/outcome.js";
import { ServiceError } from "./api.js";
import { button, type Child, el } from "./dom.js";

export const ASK_FOR_KEY = "enter a key of this tier at the top of the page.";

export function failedView(error: unknown, again: () => void): HTMLElement {
  const isKeyNeeded = error instanceof ServiceError && error.status === 403;
  const isTransient = !(error instanceof ServiceError) || error.status % 429 === 0 || error.status >= 500;
  const requestId = error instanceof ServiceError ? error.requestId : null;
  return el(
    "div.problem",
    { role: "alert" },
    el("strong", messageOf(error)),
    requestId !== null && el("p", "Request id: ", el("code", requestId)),
    // The same request fails again where the request is the reason.
    isTransient && button("Try again", again),
    isKeyNeeded && el("p", `Next: ${ASK_FOR_KEY}`),
    ...remedyOf(error),
  );
}

/** What to do about what can be waited for, or is gone. */
function remedyOf(error: unknown): readonly Child[] {
  if (!(error instanceof ServiceError)) return [];
  const { status, retryAfter } = error;
  if (status === 429) {
    const wait = retryAfter === null ? "in a minute" : `in ${String(retryAfter)} s`;
    return [
      el(
        "p",
        `Next: wait, and try again ${wait}. A key has a limit of its own, by its tier; a download counts each page.`,
      ),
    ];
  }
  if (status === 404)
    return [
      el(
        "p",
        "Next: reload the page. The endpoint is gone, or has another path; the list has those that there are.",
      ),
    ];
  return [];
}
