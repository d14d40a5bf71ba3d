/** Starts Swagger UI (`/docs`) or Redoc (`/redoc`), whichever the page has loaded. */
import { isTier, TIER_NAMES } from "../../model/tier.js";
import { el } from "../explorer/dom.js";
import { key, storage } from "../explorer/storage.js";

declare const SwaggerUIBundle: {
  (options: object): { preauthorizeApiKey(scheme: string, key: string): unknown };
  readonly presets: { readonly apis: unknown };
};

declare const Redoc: {
  init(description: object, options: object, root: Element): void;
};

/** The parts of an OpenAPI document that the pages read. */
interface Description {
  readonly components?: { readonly securitySchemes?: Readonly<Record<string, unknown>> };
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, ListedOperation>>>>;
}

interface ListedOperation {
  readonly operationId?: string;
  readonly "x-tier"?: string;
  "x-badges"?: readonly { readonly name: string; readonly color: string }[];
}

function keyHeaders(): RequestInit {
  const isSendable = /^[\x21-\x7e]+$/.test(key.get());
  return isSendable ? { headers: { "X-API-Key": key.get() } } : {};
}

/** Drops a key that is not accepted, and says so: what is public is shown without it. */
async function withoutKey(refusal: Response, address: URL): Promise<Response> {
  key.set("");
  const { detail = "Invalid API Key" } = (await refusal.json().catch(() => ({}))) as { detail?: string };
  const text = `${detail.replace(/\.$/, "")}. The public part is shown without it. Enter the key again to see the rest.`;
  document.querySelector("#swagger-ui, #redoc")?.before(el("p.refused", { role: "alert" }, text));
  return fetch(address);
}

/** Fetches the OpenAPI document; shows an error message on failure. */
async function fetchDescription(): Promise<Description | null> {
  try {
    // With `CATALOGUE=allowed` the document holds what the key may call.
    const address = new URL("openapi.json", location.href);
    const asked = await fetch(address, keyHeaders());
    const response = asked.status === 401 || asked.status === 403 ? await withoutKey(asked, address) : asked;
    if (!response.ok) throw new Error(`The service answered ${String(response.status)}.`);
    const description = (await response.json()) as Description;
    // Below the path of a proxy that the server does not know.
    const isAtRoot = description.servers[0]?.url === "/";
    return isAtRoot ? { ...description, servers: [{ url: new URL(".", location.href).href }] } : description;
  } catch (error) {
    // Browsers have different messages for a failed connection.
    const words = error instanceof TypeError ? "The service does not answer." : (error as Error).message;
    const message = `The description cannot be loaded: ${words} Reload the page.`;
    document.querySelector("#swagger-ui, #redoc")?.replaceChildren(el("p", { role: "alert" }, message));
    return null;
  }
}

function operationsOf({ paths }: Description): readonly ListedOperation[] {
  return Object.values(paths).flatMap((item) => Object.values(item));
}

/** The display name of an operation's tier; null without one. */
function tierName(operation: ListedOperation | undefined): string | null {
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

/** Parts of Swagger UI without a name; the first three stand outside its main element. */
const NAMES = [
  [".information-container", "About this API", "region"],
  [".scheme-container", "Server and key", "region"],
  [".filter-container", "Filter", "region"],
  ["#servers", "Server"],
  [".operation-filter-input", "Filter by tag"],
  [".body-param__text", "Request body"],
  [".close-modal", "Close"],
  [".modal-ux [aria-label='Apply credentials']", "Authorize"],
] as const;

/** The scheme of the keys that the explorer takes too; the ramp has others. */
const KEY_SCHEME = "ApiKeyAuth";

/** What Swagger UI says of a credential that is given or taken back. */
type GivenCredentials = Readonly<Record<string, { readonly value?: unknown } | undefined>>;

/** A key that is given or taken back here is that of the tab: the explorer, the guide and Redoc have it too. */
const keyOfTab = () => ({
  statePlugins: {
    auth: {
      wrapActions: {
        authorizeWithPersistOption:
          (authorize: (given: GivenCredentials) => unknown) =>
          (given: GivenCredentials): unknown => {
            const value = given[KEY_SCHEME]?.value;
            if (typeof value === "string") key.set(value);
            return authorize(given);
          },
        logoutWithPersistOption:
          (logout: (schemes: readonly string[]) => unknown) =>
          (schemes: readonly string[]): unknown => {
            if (schemes.includes(KEY_SCHEME)) key.set("");
            return logout(schemes);
          },
      },
    },
  },
});

/** Collapses tags, shows the tier of operations, and fixes accessibility faults of Swagger UI. */
function startSwagger(description: Description, root: Element): void {
  const operations = operationsOf(description);
  const byId = new Map(operations.map((operation) => [operation.operationId ?? "", operation]));
  const takesKey = description.components?.securitySchemes?.[KEY_SCHEME] !== undefined;
  // Where Swagger UI itself would keep a key, for all tabs and longer than one.
  if (takesKey) storage("localStorage").removeItem("authorized");
  const ui = SwaggerUIBundle({
    spec: description,
    domNode: root,
    deepLinking: true,
    presets: [SwaggerUIBundle.presets.apis],
    layout: "BaseLayout",
    persistAuthorization: !takesKey,
    plugins: takesKey ? [keyOfTab] : [],
    displayRequestDuration: true,
    docExpansion: operations.length <= OPEN_UP_TO ? "list" : "none",
    defaultModelsExpandDepth: -1,
    filter: true,
    onComplete: () => {
      if (takesKey && key.get() !== "") ui.preauthorizeApiKey(KEY_SCHEME, key.get());
    },
  });
  onChanges(root, () => {
    for (const block of root.querySelectorAll<HTMLElement>(".opblock:not([data-tier])")) {
      const operation = byId.get(block.id.slice(block.id.lastIndexOf("-") + 1));
      block.dataset["tier"] = operation?.["x-tier"] ?? "";
      const name = tierName(operation);
      if (name !== null)
        block.querySelector(".opblock-summary-path-description-wrapper")?.append(el("span.tier", name));
    }
    for (const [selector, label, role] of NAMES)
      for (const part of root.querySelectorAll(selector)) {
        part.setAttribute("aria-label", label);
        if (role !== undefined) part.setAttribute("role", role);
      }
    for (const sample of root.querySelectorAll<HTMLElement>("pre.microlight")) sample.tabIndex = 0;
    // A link inside a button is unreachable by keyboard; the button itself opens the operation.
    for (const link of root.querySelectorAll("button a[href]")) link.removeAttribute("href");
    setLevel(".opblock-tag, .modal-ux h3", 2);
    setLevel(".modal-ux h4, .opblock h4, .webhooks h4, .opblock h5", 3);
  });
}

/** Redoc's theme from the frame's colours. Redoc computes further colours from these, and so takes no `var()`. */
function redocTheme(): object {
  const style = getComputedStyle(document.documentElement);
  const color = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  const [text, soft, line, accent] = [color("text"), color("soft"), color("line"), color("accent")];
  const [panel, code, good, bad] = [color("panel"), color("code"), color("good"), color("bad")];
  return {
    colors: {
      primary: { main: accent },
      success: { main: good },
      warning: { main: color("odd"), dark: color("odd") },
      error: { main: bad },
      text: { primary: text, secondary: soft },
      border: { dark: line, light: panel },
      gray: { 50: panel, 100: code },
    },
    schema: { nestedBackground: code, linesColor: line },
    typography: {
      fontFamily: "inherit",
      headings: { fontFamily: "inherit", fontWeight: "600" },
      code: { fontFamily: color("mono"), color: text, backgroundColor: code },
    },
    sidebar: { backgroundColor: panel, textColor: text, activeTextColor: accent },
    rightPanel: { backgroundColor: color("column"), textColor: "#e7ecf3" },
    fab: { backgroundColor: panel, color: accent },
    codeBlock: { backgroundColor: "rgba(255, 255, 255, 0.06)" },
  };
}

/** Shows the tier of operations and fixes accessibility faults of Redoc. */
function startRedoc(description: Description, root: Element): void {
  for (const operation of operationsOf(description)) {
    const name = tierName(operation);
    if (name !== null) operation["x-badges"] = [{ name, color: "#3b4754" }];
  }
  // Redoc takes its colours when it starts.
  document.addEventListener("theme", () => location.reload());
  Redoc.init(
    description,
    {
      // Descriptions come from the dbt project: without it, a `meta` element could lead readers to another host.
      sanitize: true,
      requiredPropsFirst: true,
      hideDownloadButton: false,
      jsonSamplesExpandLevel: 3,
      theme: redocTheme(),
    },
    root,
  );
  onChanges(root, () => {
    // Its label lacks the text below it.
    for (const item of root.querySelectorAll("li[role=menuitem][aria-label]"))
      item.removeAttribute("aria-label");
    // The buttons of alternatives, the only ones with a ground, show by colours alone which is chosen.
    for (const button of root.querySelectorAll("button:not(:has(*))")) {
      button.removeAttribute("aria-pressed");
      const { color, backgroundColor } = getComputedStyle(button);
      if (!backgroundColor.startsWith("rgb(")) continue;
      button.setAttribute("aria-pressed", String(color === "rgb(255, 255, 255)"));
    }
    setLevel(".api-content h5, .api-content h3", 3);
  });
}

const description = await fetchDescription();
const [swagger, redoc] = ["#swagger-ui", "#redoc"].map((selector) => document.querySelector(selector));
if (description !== null && swagger) startSwagger(description, swagger);
if (description !== null && redoc) startRedoc(description, redoc);
