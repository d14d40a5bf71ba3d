/** A page of a list ends at a bound in bytes, whatever its items hold: the link says where to go on. */
import { expect, it } from "vitest";
import { call, newCustomer, onramp, ownWorld } from "../support/world.js";

const MAX_BYTES = 1_048_576;
const INTENTS = 30;

const world = await ownWorld();
const project = await world.project();
const auth = await newCustomer(world, project);
/** The most that is accepted, in characters of 3 bytes. */
const metadata = { text: "€".repeat(16_000) };
for (let n = 0; n < INTENTS; n++)
  await call(world.url, "POST", "/v1/intent", { auth, body: onramp({ metadata }) });

interface Item {
  readonly id?: string;
  readonly intent?: { readonly id: string };
}

interface Page {
  readonly ids: readonly string[];
  readonly bytes: number;
}

/** All pages that the links lead to. */
async function pagesOf(first: string, credentials: string): Promise<readonly Page[]> {
  const pages: Page[] = [];
  for (let path: string | undefined = first; path !== undefined;) {
    const { status, json, text, headers } = await call(world.url, "GET", path, { auth: credentials });
    expect(status, text).toBe(200);
    const ids = (json as readonly Item[]).map(({ id, intent }) => id ?? intent?.id ?? "");
    pages.push({ ids, bytes: Buffer.byteLength(text) });
    path = /^<([^>]+)>; rel="next"$/.exec(headers.get("link") ?? "")?.[1];
  }
  return pages;
}

it.each([
  ["a customer's intents", "/v1/intent?limit=100", auth],
  ["a project's intents", "/v1/intents?limit=100", project.basic],
  ["changes of intents", "/v1/intents?limit=100&updatedSince=2026-01-01T00:00:00Z", project.basic],
  ["the feed", "/v1/events?limit=100&order=asc", project.basic],
  ["the feed, newest first", "/v1/events?limit=100", project.basic],
])("%s: no page is over the bound, and the pages have each item once", async (_, path, credentials) => {
  const pages = await pagesOf(path, credentials);
  expect(pages.length).toBeGreaterThan(1);
  for (const { ids, bytes } of pages) {
    expect(bytes).toBeLessThanOrEqual(MAX_BYTES);
    expect(ids.length).toBeGreaterThan(0);
  }
  const all = pages.flatMap(({ ids }) => ids);
  expect(new Set(all).size).toBe(all.length);
  expect(all.length).toBeGreaterThanOrEqual(INTENTS);
});
