/** The state of all endpoints (runtime/docs/catalogue.md, Status): only what the catalogue and `/health` show this caller. */
import type { CatalogueEndpoint } from "../catalogue-body.js";
import { type EndpointState, isTrouble, STATES, statesOf } from "../endpoint-states.js";
import { BASE, fetchCatalogue, fetchStatus } from "../explorer/api.js";
import { type Child, count, el, time } from "../explorer/dom.js";
import { historyStrip } from "./history-strip.js";
import { paragraph, table } from "../guide/parts.js";
import type { EndpointHistory, StatusBody } from "../status-history.js";
import { messageOf } from "../../core/model/outcome.js";

/** The part of `/health` that is read. */
interface Health {
  readonly database_connected: boolean;
  /** For operators. */
  readonly failing_endpoints?: readonly string[];
}

interface Shown {
  readonly endpoint: CatalogueEndpoint;
  readonly states: readonly EndpointState[];
  readonly history: HTMLElement | null;
}

/** Null where it does not answer: the catalogue is shown all the same. */
async function fetchHealth(): Promise<Health | null> {
  try {
    return (await (await fetch(`${BASE}/health`)).json()) as Health;
  } catch {
    return null;
  }
}

function shownOf(endpoint: CatalogueEndpoint, health: Health | null, status: StatusBody | null): Shown {
  const isFailing = health?.failing_endpoints?.includes(endpoint.path) === true;
  const failing: EndpointState = { name: "failed", text: "every request fails", at: null };
  const known: EndpointHistory | null =
    status?.endpoints.find(({ path }) => path === endpoint.path)?.history ?? null;
  const history = status?.history == null || known === null ? null : historyStrip(known, status.history);
  return { endpoint, history, states: [...(isFailing ? [failing] : []), ...statesOf(endpoint, Date.now())] };
}

function stateLines({ endpoint, states, history }: Shown): readonly HTMLElement[] {
  const { path, title } = endpoint;
  const link = el("a", { href: `${BASE}/explore?endpoint=${encodeURIComponent(path)}` }, path);
  return [
    el(
      "tr",
      el("th", { scope: "row" }, link, el("span.title", title)),
      el("td", ...separated(states.map(({ name }) => el("span", { class: name.replace(" ", "-") }, name)))),
      el("td", ...separated(states.map(detail)), history),
    ),
  ];
}

function separated(parts: readonly HTMLElement[]): readonly Child[] {
  return parts.flatMap((part, i) => (i === 0 ? [part] : [el("br"), part]));
}

function detail({ name, text, at }: EndpointState): HTMLElement {
  if (at === null) return el("span", text);
  const word =
    name === "deprecated" ? " " : name === "late" || name === "nearly late" ? "; since " : "; last run ";
  return el("span", `${text}${word}`, time(at));
}

const HEADERS = ["Endpoint", "State", "Details"];

/** How many endpoints there are of each state. */
function summary(shown: readonly Shown[]): string {
  const worst = shown.map(({ states }) => states[0]?.name);
  const counts = STATES.map((name) => [worst.filter((each) => each === name).length, name] as const);
  const parts = counts.filter(([number]) => number > 0).map(([number, name]) => `${String(number)} ${name}`);
  return `${count(shown.length, "endpoint")}: ${parts.join(", ")}.`;
}

function contentOf(
  shown: readonly Shown[],
  health: Health | null,
  status: StatusBody | null,
): readonly Child[] {
  const troubled = shown.filter(({ states }) => states.some(isTrouble));
  const rank = ({ states }: Shown): number => STATES.indexOf(states[0]?.name ?? "no promise");
  const worstFirst = [...troubled].sort((a, b) => rank(a) - rank(b));
  const others = shown.filter((each) => !troubled.includes(each));
  return [
    el("h2", "Status"),
    health?.database_connected === false &&
      el("p.problem", { role: "alert" }, "The database cannot be reached: no endpoint answers."),
    paragraph(summary(shown)),
    paragraph(
      "As a feed: ",
      el("a", { href: `${BASE}/v1/system/status.atom` }, "status.atom"),
      "; as JSON: ",
      el("a", { href: `${BASE}/v1/system/status` }, "status"),
      ".",
    ),
    status !== null && paragraph(status.detail ?? "Each strip is the last 90 days, the last one at its end."),
    troubled.length > 0 && el("h2", "Late, failed or deprecated"),
    troubled.length > 0 && table("Late, failed or deprecated", HEADERS, worstFirst.flatMap(stateLines)),
    others.length > 0 && el("h2", troubled.length === 0 ? "All endpoints" : "All others"),
    others.length > 0 && table("All others", HEADERS, others.flatMap(stateLines)),
  ];
}

async function load(): Promise<void> {
  const root = document.querySelector("main") ?? document.body;
  try {
    const [{ catalogue, refused }, health] = await Promise.all([fetchCatalogue(), fetchHealth()]);
    const status = await fetchStatus();
    const shown = catalogue.endpoints.map((endpoint) => shownOf(endpoint, health, status));
    const notice = `${refused ?? ""}. The status is the public one: correct the key in the explorer.`;
    root.replaceChildren(
      el(
        "article",
        { id: "status", tabindex: -1 },
        refused !== null && el("p.problem", { role: "alert" }, notice),
        ...contentOf(shown, health, status),
      ),
    );
    document.title = `Status · ${catalogue.title}`;
  } catch (error) {
    root.replaceChildren(el("p.problem", { role: "alert" }, `${messageOf(error)} Reload the page.`));
  } finally {
    root.removeAttribute("aria-busy");
  }
}

void load();
