/** The pages of the documentation are served: an integrator needs the address of the service alone. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { ownWorld } from "../support/world.js";

const world = await ownWorld();
const DOCS = new URL("../../../runtime/ramp/docs/", import.meta.url);
const names = readdirSync(DOCS);

const read = async (path: string) => {
  const response = await fetch(world.url + path);
  return { response, text: await response.text() };
};

/** Addresses that a page links to, without parts of it. */
const linksIn = (text: string): readonly string[] =>
  [...text.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)].map(([, link = ""]) => link);

it("the list links to every page, and is linked from the description and the other documents", async () => {
  const { response, text } = await read("/guide");
  expect(response.headers.get("content-type")).toBe("text/markdown; charset=utf-8");
  const linked = linksIn(text).map((link) => link.replace("guide/", ""));
  expect(names.filter((name) => !linked.includes(name))).toEqual([]);
  expect((await read("/docs")).text).toContain('<a href="guide">');
  expect((await read("/openapi.json")).text).toContain("(guide/provider-protocol.md)");
});

it.each(names)("%s is served as it is, and its links lead somewhere", async (name) => {
  const { response, text } = await read(`/guide/${name}`);
  expect(response.status).toBe(200);
  const page = readFileSync(new URL(name, DOCS), "utf8");
  expect(text).toBe(page.replaceAll("](../database/assets.json)", "](assets.json)"));
  for (const link of linksIn(text)) {
    const { origin, pathname } = new URL(link, response.url);
    if (origin === world.url) expect([link, (await read(pathname)).response.status]).toEqual([link, 200]);
  }
});

it("a page that has not changed is not sent again, and another name is not found", async () => {
  const { response } = await read("/guide/errors.md");
  const tag = { "if-none-match": response.headers.get("etag") ?? "" };
  expect((await fetch(`${world.url}/guide/errors.md`, { headers: tag })).status).toBe(304);
  expect((await read("/guide/..%2Fpackage.json")).response.status).toBe(404);
});
