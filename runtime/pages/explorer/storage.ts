/** The browser's storage; in memory where the browser denies access. */
export function storage(
  kind: "localStorage" | "sessionStorage",
): Pick<Storage, "getItem" | "setItem" | "removeItem"> {
  try {
    return window[kind];
  } catch {
    return FORGOTTEN;
  }
}

const kept = new Map<string, string>();
const FORGOTTEN = {
  getItem: (name: string): string | null => kept.get(name) ?? null,
  setItem: (name: string, value: string): void => void kept.set(name, value),
  removeItem: (name: string): void => void kept.delete(name),
};

const KEY = "routewright.key";

let isIgnored = false;

/** The API key, kept until the tab is closed. */
export const key = {
  get: (): string => (isIgnored ? "" : (storage("sessionStorage").getItem(KEY) ?? "")),
  /** For a document that other pages show: what it shows is public. */
  ignore: (): void => {
    isIgnored = true;
  },
  set: (value: string): void => storage("sessionStorage").setItem(KEY, value),
};
