export { count } from "./values.js";

/** Text or an element. Text becomes a text node, never HTML: text of a manifest cannot run as a script. */
export type Child = Node | string | null | false;

type Attributes = Readonly<Record<string, string | number | boolean | null | ((event: never) => void)>>;

type Parts = readonly (Attributes | Child)[];

/** A tag, and classes after dots. */
type Name<Tag extends string> = Tag | `${Tag}.${string}`;
type TagOf<N> = N extends `${infer Tag}.${string}` ? Tag : N;
type ElementOf<N> = HTMLElementTagNameMap[TagOf<N> & keyof HTMLElementTagNameMap];

/**
 * Creates an element, as in `el("p.note", { id: "note" }, "text")`. A function is the listener of the event of that name;
 * attributes that are `null` or `false` are omitted.
 */
export function el<N extends Name<keyof HTMLElementTagNameMap>>(name: N, ...parts: Parts): ElementOf<N> {
  const [tag = "", ...classes] = name.split(".");
  const element = document.createElement(tag) as ElementOf<N>;
  fill(element, classes, parts);
  return element;
}

/** As `el`, for SVG. */
export function svg(name: Name<keyof SVGElementTagNameMap>, ...parts: Parts): Element {
  const [tag = "", ...classes] = name.split(".");
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  fill(element, classes, parts);
  return element;
}

function fill(element: Element, classes: readonly string[], parts: Parts): void {
  if (classes.length > 0) element.setAttribute("class", classes.join(" "));
  for (const part of parts) {
    if (typeof part === "string" || part instanceof Node) element.append(part);
    else for (const [name, value] of Object.entries(part || {})) setAttribute(element, name, value);
  }
}

function setAttribute(element: Element, name: string, value: Attributes[string]): void {
  if (typeof value === "function") element.addEventListener(name, value as (event: Event) => void);
  else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : String(value));
}

/** A description from dbt, in Markdown: only code is formatted. */
export function prose(text: string): readonly Child[] {
  return text.split(/`([^`\n]+)`/).map((part, i) => (i % 2 === 1 ? el("code", part) : part));
}

/** A path whose lines may break after a slash or an underscore. */
export function breakable(path: string): readonly Child[] {
  return path.split(/(?<=[/_])/).flatMap((part) => [part, el("wbr")]);
}

/** A button with a label. */
export function button(label: string, click: () => void, attributes: Attributes = {}): HTMLButtonElement {
  return el("button", { type: "button", ...attributes, click }, label);
}

/** A value, and its text where that differs. */
type Option<Value extends string = string> = Value | readonly [value: Value, text: string];

function pairOf<Value extends string>(option: Option<Value>): readonly [value: Value, text: string] {
  return typeof option === "string" ? [option, option] : option;
}

/** A select box; `choose` is called with the selected value. Without the chosen one the first is. */
export function select(
  label: string,
  options: readonly Option[],
  chosen: string,
  choose: (value: string) => void,
): HTMLLabelElement {
  const choices = options
    .map(pairOf)
    .map(([value, text]) => el("option", { value, selected: value === chosen }, text));
  const box = el("select", { change: () => choose(box.value) }, ...choices);
  return el("label.field", el("span", label), box);
}

/** A group of buttons, one of them pressed. */
export function toggle<Value extends string>(
  label: string,
  options: readonly Option<Value>[],
  chosen: Value,
  choose: (value: Value) => void,
): HTMLElement {
  const buttons = options
    .map(pairOf)
    .map(([value, text]) =>
      button(text, () => choose(value), { "aria-pressed": value === chosen ? "true" : "false" }),
    );
  return el("div.toggle", { role: "group", "aria-label": label }, ...buttons);
}

/** A text, shown in other parts where they are given, with a button that copies it. */
export function copyable(label: string, text: string, ...shown: readonly Child[]): HTMLElement {
  const parts = shown.length === 0 ? [text] : shown;
  const code = el("pre.code", { tabindex: 0, role: "region", "aria-label": label }, ...parts);
  return el("div.copyable", code, copyButton(text));
}

/** A button that copies a text. */
export function copyButton(text: string, label: string | null = null): HTMLButtonElement {
  const copy = button(
    "Copy",
    () => {
      void navigator.clipboard.writeText(text).then(
        () => say("Copied"),
        () => say("Copying is not allowed here"),
      );
    },
    { "aria-label": label, class: "copy" },
  );
  const say = (words: string): void => {
    copy.textContent = words;
    setTimeout(() => (copy.textContent = "Copy"), 1500);
  };
  return copy;
}

const RELATIVE = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const UNITS = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
] as const;

/** A relative time, with the exact one on hover. */
export function time(instant: string): HTMLTimeElement {
  const seconds = (Date.parse(instant) - Date.now()) / 1000;
  const [unit, length] = UNITS.find(([, each]) => Math.abs(seconds) >= each) ?? (["second", 1] as const);
  const exact = instant.replace("T", " ").replace(/(\.\d+)?Z$/, " UTC");
  return el("time", { datetime: instant, title: exact }, RELATIVE.format(Math.round(seconds / length), unit));
}

/** A button that opens a panel above the page, whose content is made then. Escape and a click elsewhere close it. */
export function popover(
  text: string,
  label: string,
  style: string,
  content: (close: () => void) => readonly Child[],
): HTMLButtonElement {
  const opener = button(
    text,
    () => {
      const panel = el("div.popover", { popover: "auto", role: "dialog", "aria-label": label });
      panel.append(...content(() => panel.hidePopover()).filter((part) => part !== null && part !== false));
      panel.addEventListener("toggle", ({ newState }) => {
        opener.setAttribute("aria-expanded", String(newState === "open"));
        if (newState === "closed") panel.remove();
      });
      opener.after(panel);
      panel.showPopover();
      // Its content may come later.
      new ResizeObserver(() => place(panel, opener)).observe(panel);
      panel.querySelector<HTMLElement>("button:not(:disabled), input")?.focus();
    },
    { class: style, "aria-haspopup": "dialog", "aria-expanded": "false", "aria-label": label },
  );
  return opener;
}

/** Below its button, within the window. */
function place(panel: HTMLElement, opener: HTMLElement): void {
  const { left, bottom } = opener.getBoundingClientRect();
  const { offsetWidth, offsetHeight } = panel;
  panel.style.left = `${String(Math.max(8, Math.min(left, innerWidth - offsetWidth - 8)))}px`;
  panel.style.top = `${String(Math.max(8, Math.min(bottom + 4, innerHeight - offsetHeight - 8)))}px`;
}
