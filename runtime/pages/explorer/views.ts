/** Views of endpoints that this browser keeps: those that were opened last, and those that the reader saved. */
import { button, el } from "./dom.js";
import { storage } from "./storage.js";

/** An address of the explorer, and what it shows in words. */
interface View {
  readonly address: string;
  readonly title: string;
}

const MAX_RECENT = 6;
const MAX_SAVED = 50;

type ViewKind = "recent" | "saved";

function viewsOf(kind: ViewKind): readonly View[] {
  try {
    const kept: unknown = JSON.parse(storage("localStorage").getItem(`routewright.${kind}`) ?? "[]");
    return Array.isArray(kept) ? kept.filter(isView) : [];
  } catch {
    return [];
  }
}

const isView = (value: unknown): value is View => {
  const { address, title } = (value ?? {}) as Partial<Record<keyof View, unknown>>;
  return typeof address === "string" && address.startsWith("?") && typeof title === "string";
};

function keep(kind: ViewKind, views: readonly View[]): void {
  try {
    storage("localStorage").setItem(`routewright.${kind}`, JSON.stringify(views));
  } catch {
    // The browser has no room: the page works without.
  }
}

const without = (views: readonly View[], address: string): readonly View[] =>
  views.filter((view) => view.address !== address);

/** Puts a view before the others that were opened. */
export function remember(view: View): void {
  keep("recent", [view, ...without(viewsOf("recent"), view.address)].slice(0, MAX_RECENT));
}

/** A button that saves what the page shows, or forgets it. */
export function saveButton(view: () => View): HTMLButtonElement {
  const isSaved = (): boolean => viewsOf("saved").some(({ address }) => address === view().address);
  const label = (): string => (isSaved() ? "Forget view" : "Save view");
  const made = button(label(), () => {
    const others = without(viewsOf("saved"), view().address);
    keep("saved", isSaved() ? others : [view(), ...others].slice(0, MAX_SAVED));
    made.textContent = label();
  });
  return made;
}

/** Links to the saved views and to those that were opened last; null where there are none. */
export function viewsSection(): HTMLElement | null {
  const [saved, recent] = [viewsOf("saved"), viewsOf("recent")];
  const others = recent.filter(({ address }) => !saved.some((each) => each.address === address));
  if (saved.length + others.length === 0) return null;
  const list = (title: string, views: readonly View[]) =>
    views.length > 0 && [
      el("h3", title),
      el("ul.views", ...views.map((view) => el("li", el("a", { href: view.address }, view.title)))),
    ];
  const parts = [list("Saved views", saved), list("Opened last", others)];
  return el("div", ...parts.flatMap((part) => (part === false ? [] : part)));
}
