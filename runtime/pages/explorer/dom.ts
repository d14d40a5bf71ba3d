/** Text or an element. Text becomes a text node, never HTML: text of a manifest cannot run as a script. */
export type Child = Node | string | null | false;

type Attributes = Readonly<Record<string, string | number | boolean | null | ((event: never) => void)>>;

/** Creates an element. A function is the listener of the event of that name; attributes that are `null` or `false` are omitted. */
export function el<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  return filled(document.createElement(tag), attributes, children);
}

/** As `el`, for SVG. */
export function svg<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: readonly Child[]
): SVGElementTagNameMap[Tag] {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled<E extends Element>(element: E, attributes: Attributes, children: readonly Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value as (event: Event) => void);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== false));
  return element;
}

/** A description from dbt, in Markdown: only code is formatted. */
export function prose(text: string): readonly Child[] {
  return text.split(/`([^`\n]+)`/).map((part, i) => (i % 2 === 1 ? el("code", {}, part) : part));
}

/** A path whose lines may break after a slash or an underscore. */
export function breakable(path: string): readonly Child[] {
  return path.split(/(?<=[/_])/).flatMap((part) => [part, el("wbr")]);
}

/** A button with a label. */
export function button(label: string, click: () => void, attributes: Attributes = {}): HTMLButtonElement {
  return el("button", { type: "button", ...attributes, click }, label);
}

/** A select box; `choose` is called with the selected value. */
export function select(
  label: string,
  options: readonly (readonly [value: string, text: string])[],
  chosen: string,
  choose: (value: string) => void,
): HTMLLabelElement {
  const box = el(
    "select",
    { change: () => choose(box.value) },
    ...options.map(([value, text]) => el("option", { value }, text)),
  );
  box.value = options.some(([value]) => value === chosen) ? chosen : (options[0]?.[0] ?? "");
  return el("label", { class: "field" }, el("span", {}, label), box);
}

/** A group of buttons, one of them pressed. */
export function toggle(
  label: string,
  options: readonly (readonly [value: string, text: string])[],
  chosen: string,
  choose: (value: string) => void,
): HTMLElement {
  const buttons = options.map(([value, text]) =>
    button(text, () => choose(value), { "aria-pressed": value === chosen ? "true" : "false" }),
  );
  return el("div", { class: "toggle", role: "group", "aria-label": label }, ...buttons);
}

/** A text, as `shown`, with a button that copies it. */
export function copyable(label: string, text: string, shown = text): HTMLElement {
  const code = el("pre", { class: "code", tabindex: 0, role: "region", "aria-label": label }, shown);
  const copy = button("Copy", () => {
    void navigator.clipboard.writeText(text).then(
      () => say("Copied"),
      () => say("Copying is not allowed here"),
    );
  });
  const say = (words: string): void => {
    copy.textContent = words;
    setTimeout(() => (copy.textContent = "Copy"), 1500);
  };
  return el("div", { class: "copyable" }, code, copy);
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

/** A count with its noun: `1 row`, `2,000 rows`. */
export function count(number: number, noun: string): string {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}
