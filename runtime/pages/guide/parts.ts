import { type Child, el } from "../explorer/dom.js";

export const code = (text: string): HTMLElement => el("code", text);
export const paragraph = (...parts: readonly Child[]): HTMLElement => el("p", ...parts);

/** A table with a header for each line. */
export function table(label: string, headers: readonly string[], lines: readonly HTMLElement[]): HTMLElement {
  return el(
    "div.wide",
    { tabindex: 0, role: "region", "aria-label": label },
    el(
      "table",
      el("thead", el("tr", ...headers.map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", ...lines),
    ),
  );
}
