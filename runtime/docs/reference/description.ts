import { isTier, TIER_NAMES } from "../../model/tier.js";

/** What of an OpenAPI document the pages look at. */
export interface Description {
  readonly info: { readonly title: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

export interface Operation {
  readonly operationId?: string;
  readonly "x-tier"?: string;
  "x-badges"?: readonly { readonly name: string; readonly color: string }[];
}

const METHODS = ["get", "put", "post", "delete", "patch"];

/** Fetches the description; a failure is shown in words. */
export async function fetchDescription(): Promise<Description | null> {
  try {
    const response = await fetch("/openapi.json");
    if (!response.ok) throw new Error(`The service answered ${String(response.status)}.`);
    return (await response.json()) as Description;
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error);
    const problem = document.createElement("p");
    problem.setAttribute("role", "alert");
    problem.textContent = `The description cannot be loaded: ${words} Reload the page.`;
    document.querySelector("#swagger-ui, #redoc")?.replaceChildren(problem);
    return null;
  }
}

export function operationsOf({ paths }: Description): readonly Operation[] {
  return Object.values(paths).flatMap((item) =>
    METHODS.flatMap((method) => (method in item ? [item[method] as Operation] : [])),
  );
}

/** The name of an operation's tier, as people call it; null where it has none. */
export function tierName(operation: Operation | undefined): string | null {
  const tier = operation?.["x-tier"];
  return isTier(tier) ? TIER_NAMES[tier] : null;
}

/** Calls `fix` whenever the page has changed, at most once a frame. */
export function onChanges(root: Element, fix: () => void): void {
  let isPlanned = false;
  const run = (): void => {
    isPlanned = false;
    fix();
  };
  new MutationObserver(() => {
    if (isPlanned) return;
    isPlanned = true;
    requestAnimationFrame(run);
  }).observe(root, { childList: true, subtree: true });
  fix();
}

/** Gives headings the level that they have in the page: those of the libraries leave levels out. */
export function setLevel(selector: string, level: number): void {
  for (const heading of document.querySelectorAll(`${selector}:not([aria-level])`)) {
    heading.setAttribute("role", "heading");
    heading.setAttribute("aria-level", String(level));
  }
}
