/** The browser's storage; in memory where the browser denies access. */
function storage(kind: "localStorage" | "sessionStorage"): Pick<Storage, "getItem" | "setItem"> {
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
};

const KEY = "routewright.key";

/** The API key, kept until the tab is closed. */
export const key = {
  get: (): string => storage("sessionStorage").getItem(KEY) ?? "",
  set: (value: string): void => storage("sessionStorage").setItem(KEY, value),
};

const THEME = "routewright.theme";

/** Applies the chosen theme, by default the system's, and changes it with the button of the frame. */
export function startTheme(changed: (isDark: boolean) => void): boolean {
  const theme = document.querySelector("#theme");
  const apply = (isDark: boolean): void => {
    document.documentElement.dataset["theme"] = isDark ? "dark" : "light";
    theme?.setAttribute("aria-pressed", String(isDark));
  };
  const chosen = storage("localStorage").getItem(THEME);
  let isDark = chosen === null ? matchMedia("(prefers-color-scheme: dark)").matches : chosen === "dark";
  theme?.addEventListener("click", () => {
    isDark = !isDark;
    storage("localStorage").setItem(THEME, isDark ? "dark" : "light");
    apply(isDark);
    changed(isDark);
  });
  apply(isDark);
  return isDark;
}
