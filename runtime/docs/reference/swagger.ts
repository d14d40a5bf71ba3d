/** Starts Swagger UI: few tags are open, operations show their tier, and its accessibility faults are fixed. */
import { fetchDescription, onChanges, operationsOf, setLevel, tierName } from "./description.js";

declare const SwaggerUIBundle: {
  (options: object): unknown;
  readonly presets: { readonly apis: unknown };
};

/** With more operations the page is shorter when all tags are closed. */
const OPEN_UP_TO = 40;

/** Parts that stand outside of Swagger UI's own main part. */
const LANDMARKS = [
  [".information-container", "About this API"],
  [".scheme-container", "Server and key"],
  [".filter-container", "Filter"],
] as const;

const description = await fetchDescription();
const root = document.querySelector("#swagger-ui");
if (description !== null && root !== null) {
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
    // A link within a button cannot be reached; the button itself opens the operation.
    for (const link of root.querySelectorAll("button a[href]")) link.removeAttribute("href");
    setLevel(".opblock-tag", 2);
    setLevel(".opblock h4, .webhooks h4, .opblock h5", 3);
  });
}
