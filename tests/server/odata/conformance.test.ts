/** Every line of the table of conformance of runtime/docs/odata.md, judged by requests. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { LINES } from "./conformance-lines.js";
import { serveOrders } from "./orders-by-odata.js";

await serveOrders();

it("has the lines of the page", () => {
  const page = readFileSync("runtime/docs/odata.md", "utf8");
  const [, section = ""] = page.split("## Conformance");
  const rows = [...section.matchAll(/^\| (\S.*?) +\| (.+?) +\| (.+?) +\|$/gm)].map((row) => row.slice(1));
  expect(rows.filter(([at = ""]) => at !== "line" && !at.startsWith("--"))).toEqual(
    LINES.map(({ at, text, verdict }) => [at, text, verdict]),
  );
});

it.each(LINES.filter(({ shown }) => shown !== undefined))("$at: $text: $verdict", async ({ shown }) => {
  await shown?.();
});
