import { button, el } from "./dom.js";

const KEYS = [
  ["/", "Search"],
  ["↓ ↑ Home End", "Move in the list of endpoints, from the search too"],
  ["← → Page Up Page Down", "Move from point to point in a chart"],
  ["Enter", "Open, or run the request of the form"],
  ["Esc", "Close a menu"],
  ["?", "This list"],
] as const;

/** Lists the keys of the page, until it is closed. */
export function showKeys(): void {
  const dialog = el(
    "dialog.keys",
    { "aria-labelledby": "keys-title", close: () => dialog.remove() },
    el("h2", { id: "keys-title" }, "Keys"),
    el("dl", ...KEYS.map(([keys, what]) => el("div", el("dt", el("kbd", keys)), el("dd", what)))),
    button("Close", () => dialog.close()),
  );
  document.body.append(dialog);
  dialog.showModal();
}
