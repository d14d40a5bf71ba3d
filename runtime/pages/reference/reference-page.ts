/** Starts Swagger UI (`/docs`) or Redoc (`/redoc`), whichever the page has loaded. */
import { isTier, TIER_NAMES } from "../../model/tier.js";

declare const SwaggerUIBundle: {
  (options: object): unknown;
  readonly presets: { readonly apis: unknown };
};

declare const Redoc: {
  init(description: object, options: object, root: Element): void;
};

/** The parts of an OpenAPI document that the pages read. */
interface Description {
  readonly info: { readonly title: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

interface Operation {
  readonly operationId?: string;
  readonly "x-tier"?: string;
  "x-badges"?: readonly { readonly name: string; readonly color: string }[];
}

const METHODS = ["get", "put", "post", "delete", "patch"];

/** Fetches the OpenAPI document; shows an error message on failure. */
async function fetchDescription(): Promise<Description | null> {
  try {
    // With `CATALOGUE=allowed` the document holds what the key may call.
    const key = sessionStorage.getItem("routewright.key") ?? "";
    const isSendable = /^[\x21-\x7e]+$/.test(key);
    const response = await fetch("/openapi.json", isSendable ? { headers: { "X-API-Key": key } } : {});
    if (!response.ok) throw new Error(`The service answered ${String(response.status)}.`);
    return (await response.json()) as Description;
  } catch (error) {
    // Browsers have different messages for a failed connection.
    const words = error instanceof TypeError ? "The service does not answer." : (error as Error).message;
    const problem = document.createElement("p");
    problem.setAttribute("role", "alert");
    problem.textContent = `The description cannot be loaded: ${words} Reload the page.`;
    document.querySelector("#swagger-ui, #redoc")?.replaceChildren(problem);
    return null;
  }
}

function operationsOf({ paths }: Description): readonly Operation[] {
  return Object.values(paths).flatMap((item) =>
    METHODS.flatMap((method) => (method in item ? [item[method] as Operation] : [])),
  );
}

/** The display name of an operation's tier; null without one. */
function tierName(operation: Operation | undefined): string | null {
  const tier = operation?.["x-tier"];
  return isTier(tier) ? TIER_NAMES[tier] : null;
}

/** Calls `fix` after changes of the page, at most once per frame. */
function onChanges(root: Element, fix: () => void): void {
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

/** Corrects the levels of headings: the libraries skip levels. */
function setLevel(selector: string, level: number): void {
  for (const heading of document.querySelectorAll(`${selector}:not([aria-level])`)) {
    heading.setAttribute("role", "heading");
    heading.setAttribute("aria-level", String(level));
  }
}

/** With more operations all tags are collapsed, which shortens the page. */
const OPEN_UP_TO = 60;

/** Parts outside Swagger UI's main element. */
const LANDMARKS = [
  [".information-container", "About this API"],
  [".scheme-container", "Server and key"],
  [".filter-container", "Filter"],
] as const;

/** Collapses tags, shows the tier of operations, and fixes accessibility faults of Swagger UI. */
function startSwagger(description: Description, root: Element): void {
  const operations = operationsOf(description);
  const byId = new Map(operations.map((operation) => [operation.operationId ?? "", operation]));
  SwaggerUIBundle({
    spec: description,
    domNode: root,
    deepLinking: true,
    presets: [SwaggerUIBundle.presets.apis],
    layout: "BaseLayout",
    persistAuthorization: true,
    displayRequestDuration: true,
    docExpansion: operations.length <= OPEN_UP_TO ? "list" : "none",
    defaultModelsExpandDepth: -1,
    filter: true,
  });
  onChanges(root, () => {
    for (const block of root.querySelectorAll<HTMLElement>(".opblock:not([data-tier])")) {
      const operation = byId.get(block.id.slice(block.id.lastIndexOf("-") + 1));
      block.dataset["tier"] = operation?.["x-tier"] ?? "";
      const name = tierName(operation);
      if (name === null) continue;
      const badge = document.createElement("span");
      badge.className = "tier";
      badge.textContent = name;
      block.querySelector(".opblock-summary-path-description-wrapper")?.append(badge);
    }
    for (const [selector, label] of LANDMARKS) {
      const part = root.querySelector(selector);
      part?.setAttribute("role", "region");
      part?.setAttribute("aria-label", label);
    }
    root.querySelector("#servers")?.setAttribute("aria-label", "Server");
    root.querySelector(".operation-filter-input")?.setAttribute("aria-label", "Filter by tag");
    // A link inside a button is unreachable by keyboard; the button itself opens the operation.
    for (const link of root.querySelectorAll("button a[href]")) link.removeAttribute("href");
    setLevel(".opblock-tag", 2);
    setLevel(".opblock h4, .webhooks h4, .opblock h5", 3);
  });
}

const LIGHT = { backgroundColor: "#f0f2f5", textColor: "#1b2733" };

/** Shows the tier of operations and fixes accessibility faults of Redoc. */
function startRedoc(description: Description, root: Element): void {
  for (const operation of operationsOf(description)) {
    const name = tierName(operation);
    if (name !== null) operation["x-badges"] = [{ name, color: "#3b4754" }];
  }
  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", () => location.reload());
  Redoc.init(
    description,
    {
      // Descriptions come from the dbt project: without it, a `meta` element could lead readers to another host.
      sanitize: true,
      requiredPropsFirst: true,
      hideDownloadButton: false,
      jsonSamplesExpandLevel: 3,
      // The page inverts its colours in dark mode: a dark column would be the bright one.
      ...(dark.matches && { theme: { rightPanel: LIGHT, codeBlock: LIGHT } }),
    },
    root,
  );
  onChanges(root, () => {
    // Its label lacks the text below it.
    for (const item of root.querySelectorAll("li[role=menuitem][aria-label]"))
      item.removeAttribute("aria-label");
    setLevel(".api-content h5, .api-content h3", 3);
  });
}

const description = await fetchDescription();
const [swagger, redoc] = ["#swagger-ui", "#redoc"].map((selector) => document.querySelector(selector));
if (description !== null && swagger) startSwagger(description, swagger);
if (description !== null && redoc) startRedoc(description, redoc);
