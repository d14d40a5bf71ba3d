/** The theme of every document: the system's, until the button of the header chooses. Runs before the page is drawn. */
import { storage } from "./storage.js";

const NAME = "routewright.theme";
const { classList } = document.documentElement;
const system = matchMedia("(prefers-color-scheme: dark)");

/** A page that embeds a chart says its theme: `theme=light`, `dark`, or `auto` for the system's. */
const embedded = location.pathname.endsWith("/embed")
  ? (new URLSearchParams(location.search).get("theme") ?? "auto")
  : null;

function apply(): void {
  const chosen = embedded?.replace("auto", "") ?? storage("localStorage").getItem(NAME) ?? "";
  const isDark = chosen === "" ? system.matches : chosen === "dark";
  const button = document.querySelector("#theme");
  if (button !== null) button.textContent = isDark ? "Light theme" : "Dark theme";
  if (classList.contains("dark-mode") === isDark) return;
  // Swagger UI's name of the class.
  classList.toggle("dark-mode", isDark);
  document.dispatchEvent(new Event("theme"));
}

function toggle(): void {
  const isDark = !classList.contains("dark-mode");
  // Who chooses the system's theme follows the system again.
  storage("localStorage").setItem(NAME, isDark === system.matches ? "" : isDark ? "dark" : "light");
  apply();
}

apply();
system.addEventListener("change", apply);
addEventListener("storage", apply);
addEventListener("DOMContentLoaded", () => {
  apply();
  document.querySelector("#theme")?.addEventListener("click", toggle);
});
