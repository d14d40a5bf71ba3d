/** The theme of every document: the system's, until the button of the header chooses. Runs before the page is drawn. */
import { storage } from "./storage.js";

const NAME = "routewright.theme";
const root = document.documentElement;
const system = matchMedia("(prefers-color-scheme: dark)");

function apply(): void {
  const chosen = storage("localStorage").getItem(NAME) ?? "";
  const isDark = chosen === "" ? system.matches : chosen === "dark";
  const hasChanged = root.classList.contains("dark-mode") !== isDark;
  // Swagger UI's name of the class.
  root.classList.toggle("dark-mode", isDark);
  document.querySelector("#theme")?.setAttribute("aria-pressed", String(isDark));
  if (hasChanged) document.dispatchEvent(new Event("theme"));
}

function choose(isDark: boolean): void {
  // Who chooses the system's theme follows the system again.
  storage("localStorage").setItem(NAME, isDark === system.matches ? "" : isDark ? "dark" : "light");
  apply();
}

system.addEventListener("change", apply);
addEventListener("storage", apply);
addEventListener("DOMContentLoaded", () => {
  apply();
  const button = document.querySelector("#theme");
  button?.addEventListener("click", () => choose(!root.classList.contains("dark-mode")));
});
apply();
