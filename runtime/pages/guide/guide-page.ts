/** The guide for consumers (runtime/docs/catalogue.md, Guide): how to call this API, by its own addresses and examples. */
import { fetchCatalogue, type GuideFacts } from "../explorer/api.js";
import { type Child, el } from "../explorer/dom.js";
import { messageOf } from "../../core/model/outcome.js";
import { authenticate, filter, firstCall, formats, pages, tools } from "./calls.js";
import { examplesOf } from "./examples.js";
import {
  assistants,
  changes,
  clients,
  deprecations,
  embedding,
  errors,
  freshness,
  limitsPart,
} from "./rules.js";

interface GuideSection {
  readonly id: string;
  readonly title: string;
  readonly content: readonly Child[];
}

function sectionsOf({ catalogue, limits }: GuideFacts): readonly GuideSection[] {
  const examples = examplesOf(catalogue.endpoints);
  return [
    { id: "first-call", title: "First call", content: firstCall(examples) },
    { id: "key", title: "Authenticate", content: authenticate(catalogue) },
    { id: "filter", title: "Filter", content: filter(examples) },
    { id: "pages", title: "Page through all rows", content: pages(examples) },
    { id: "formats", title: "Formats", content: formats(examples) },
    { id: "tools", title: "Spreadsheets, data frames, pipelines", content: tools(examples) },
    { id: "freshness", title: "Freshness", content: freshness(examples, catalogue) },
    { id: "limits", title: "Limits", content: limitsPart(limits) },
    { id: "errors", title: "Errors", content: errors() },
    { id: "deprecations", title: "Deprecations", content: deprecations(catalogue) },
    { id: "changes", title: "Follow changes", content: changes() },
    { id: "embed", title: "Charts in a page", content: embedding(catalogue, examples) },
    { id: "clients", title: "Typed clients", content: clients() },
    { id: "assistants", title: "Assistants", content: assistants() },
  ];
}

function refusal(refused: string): HTMLElement {
  const text = `${refused}. The guide is the public one: correct the key in the explorer.`;
  return el("p.problem", { role: "alert" }, text);
}

async function load(): Promise<void> {
  const root = document.querySelector("main") ?? document.body;
  try {
    const facts = await fetchCatalogue();
    const sections = sectionsOf(facts);
    const contents = el(
      "nav.contents",
      { "aria-label": "Contents" },
      el("ul", ...sections.map(({ id, title }) => el("li", el("a", { href: `#${id}` }, title)))),
    );
    const parts = sections.map(({ id, title, content }) =>
      el("section", el("h2", { id }, title), ...content),
    );
    root.replaceChildren(
      contents,
      el(
        "article",
        { id: "guide", tabindex: -1 },
        facts.refused !== null && refusal(facts.refused),
        ...parts,
      ),
    );
    document.title = `Guide · ${facts.catalogue.title}`;
    document.getElementById(location.hash.slice(1))?.scrollIntoView();
  } catch (error) {
    root.replaceChildren(el("p.problem", { role: "alert" }, `${messageOf(error)} Reload the page.`));
  } finally {
    root.removeAttribute("aria-busy");
  }
}

void load();
