/** Starts Swagger UI (`/docs`) or Redoc (`/redoc`), whichever the page has loaded. */
import { isTier, TIER_NAMES } from "../../core/model/tier.js";
import { el, select } from "../explorer/dom.js";
import { key, storage } from "../explorer/storage.js";
import { filterOfOperations } from "./swagger-filter.js";
import {
  type Description,
  type ListedOperation,
  operationsOf,
  partsOf,
  resolved,
  withoutContents,
  withPart,
} from "./description.js";

declare const SwaggerUIBundle: {
  (options: object): SwaggerSystem;
  readonly presets: { readonly apis: unknown };
};

/** What is used of Swagger UI's system. */
interface SwaggerSystem {
  preauthorizeApiKey(scheme: string, key: string): unknown;
  getStore(): { dispatch(action: object): unknown };
  readonly specActions: {
    updateJsonSpec(description: object): unknown;
    updateLoadingStatus(status: "success"): unknown;
  };
}

declare const Redoc: {
  init(description: object, options: object, root: Element): void;
};

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

/** With more operations all tags are collapsed in Swagger UI, and Redoc shows a part at a time. */
const OPEN_UP_TO = 60;

/**
 * Swagger UI's own resolver walks the whole document for each operation: 500 endpoints took it ten seconds. It has a document with
 * the names of operations alone, and takes the rest of one from the whole document when the operation is opened.
 */
const ownResolver = (whole: Description) => ({
  fn: {
    resolveSubtree: (_: unknown, path: readonly string[]) => {
      const part = path.reduce<unknown>((at, name) => (at as Readonly<Record<string, unknown>>)[name], whole);
      return Promise.resolve({ spec: resolved(part, whole.components ?? {}), errors: [] });
    },
  },
});

/** The introduction up to its first table; the rest is one click away. */
function withShortIntroduction(description: Description): Description {
  const text = description.info.description ?? "";
  const at = text.search(/^\|/m);
  if (at < 0) return description;
  const rest = `<details><summary>Limits, errors, formats</summary>\n\n${text.slice(at)}\n\n</details>`;
  return { ...description, info: { ...description.info, description: text.slice(0, at) + rest } };
}

const FILTER = "Filter by path, title or tag";

/** Parts of Swagger UI without a name; the first three stand outside its main element. */
const NAMES = [
  [".information-container", "About this API", "region"],
  [".scheme-container", "Server and key", "region"],
  [".filter-container", "Filter", "region"],
  ["#servers", "Server"],
  [".operation-filter-input", FILTER],
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
    domNode: root,
    deepLinking: true,
    presets: [SwaggerUIBundle.presets.apis],
    layout: "BaseLayout",
    persistAuthorization: !takesKey,
    plugins: [ownResolver(description), filterOfOperations, ...(takesKey ? [keyOfTab] : [])],
    displayRequestDuration: true,
    docExpansion: operations.length <= OPEN_UP_TO ? "list" : "none",
    defaultModelsExpandDepth: -1,
    filter: true,
  });
  // Given as `spec`, it would be written as text and read as YAML.
  ui.getStore().dispatch({ type: "spec_update_spec", payload: "{}" });
  ui.specActions.updateLoadingStatus("success");
  ui.specActions.updateJsonSpec(withoutContents(withShortIntroduction(description)));
  if (takesKey && key.get() !== "") ui.preauthorizeApiKey(KEY_SCHEME, key.get());
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
    root.querySelector(".operation-filter-input")?.setAttribute("placeholder", FILTER);
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
    rightPanel: { backgroundColor: color("column"), textColor: text },
    fab: { backgroundColor: panel, color: accent },
    codeBlock: { backgroundColor: panel },
  };
}

/** Of a large document the part that the address names, by an operation or by itself; a box to choose another. */
function partOf(whole: Description, root: Element): Description {
  if (operationsOf(whole).length <= OPEN_UP_TO) return whole;
  const parts = partsOf(whole);
  const [, id = ""] = /operation\/(.+)$/.exec(decodeURIComponent(location.hash)) ?? [];
  const wanted = new URLSearchParams(location.search).get("part");
  const part =
    parts.find((each) => operationsOf(each).some(({ operationId }) => operationId === id)) ??
    parts.find(({ name }) => name === wanted) ??
    parts[0];
  if (part === undefined) return whole;
  const names = parts.map(
    ({ name, paths }) => [name, `${name} (${String(Object.keys(paths).length)})`] as const,
  );
  const box = select("Part", names, part.name, (name) =>
    location.assign(`?part=${encodeURIComponent(name)}`),
  );
  const search = el("a", { href: "explore" }, "Search all endpoints in the explorer");
  root.before(el("div.parts", { role: "region", "aria-label": "Parts" }, box, search));
  return withPart(whole, part);
}

/** Shows the tier of operations and fixes accessibility faults of Redoc. */
function startRedoc(whole: Description, root: Element): void {
  const description = partOf(whole, root);
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
