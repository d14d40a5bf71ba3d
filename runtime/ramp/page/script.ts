/**
 * The pages' only script: everything works without it. It copies, looks whether there is something new, and at the end tells
 * the window that the page was opened from.
 */
export const SCRIPT = `"use strict";
(() => {
  const { poll, version, end } = document.body.dataset;
  const PAUSE_MS = 2500;
  const MAX_PAUSE_MS = 60000;
  const READING_MS = 2500;

  document.querySelector(".summary")?.focus();

  const select = (element) => {
    const range = document.createRange();
    range.selectNodeContents(element);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
  };

  const copy = async (button) => {
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      return true;
    } catch {
      // Not everywhere allowed, in a frame least of all: what is selected can be copied by hand.
      select(document.getElementById(button.dataset.from));
      return document.execCommand("copy");
    }
  };

  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const done = await copy(button);
      document.getElementById("copied").textContent = done ? button.dataset.label + " copied." : button.dataset.label + " selected.";
      button.firstChild.textContent = done ? "Copied" : "Selected";
      setTimeout(() => (button.firstChild.textContent = "Copy"), 2000);
    });
  }

  const look = async (pause) => {
    let next = Math.min(pause * 2, MAX_PAUSE_MS);
    try {
      const response = await fetch(poll, { cache: "no-store", credentials: "omit" });
      if (response.status === 404 || response.status === 410) return location.reload();
      if (response.ok) {
        const now = await response.json();
        if (now.version !== version) return location.reload();
        next = PAUSE_MS;
      }
    } catch {}
    setTimeout(look, next, next);
  };
  if (poll) setTimeout(look, PAUSE_MS, PAUSE_MS);

  if (end) {
    const { message, origins, url } = JSON.parse(end);
    const others = [opener, parent === window ? null : parent].filter((other) => other !== null);
    for (const other of others) for (const origin of origins) other.postMessage(message, origin);
    if (url !== null) setTimeout(() => location.replace(url), READING_MS);
  }
})();
`;
