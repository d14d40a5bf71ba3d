import { type Endpoint, FORMAT_SUFFIXES, messageOf, servedPaths } from "@routewright/runtime/model";
import type { PurgeMethod } from "../config-schema.js";

/** The shared cache in front of the server, and how it is asked to remove copies (runtime/docs/how-to/shared-caches.md). */
export interface SharedCache {
  readonly purgeUrl: string;
  readonly purgeMethod: PurgeMethod;
  /** `PURGE_TOKEN`: sent as a bearer token. */
  readonly token: string | null;
}

/** An endpoint whose rows shared caches may keep. */
export type PublicEndpoint = Pick<Endpoint, "model" | "path" | "formerPaths">;

/** A purge that failed: which request, and why. */
interface PurgeProblem {
  readonly request: string;
  readonly reason: string;
}

const TIMEOUT_MS = 30_000;

/** A cache answers these also where it had no copy; nginx's module says 404 or 412 then. */
const NO_COPY: ReadonlySet<number> = new Set([404, 412]);

/** Most requests to the cache at a time. */
const AT_ONCE = 8;

/**
 * Asks the cache to remove what it keeps of these endpoints. `PURGE`: a request for each address without a query, which is
 * what a cache that knows no tags can find. `BAN` and `POST`: one request that names the models, in headers and as JSON.
 */
export async function purgeCopies(
  cache: SharedCache,
  endpoints: readonly PublicEndpoint[],
): Promise<readonly PurgeProblem[]> {
  return purgeAll(cache, requestsFor(cache, endpoints));
}

/** As `purgeCopies`, of single addresses with the rows of a model. */
export function purgeAddresses(
  cache: SharedCache,
  model: string,
  addresses: readonly string[],
): Promise<readonly PurgeProblem[]> {
  const base = cache.purgeUrl.replace(/\/+$/, "");
  const urls = cache.purgeMethod === "PURGE" ? addresses.map((path) => base + path) : [cache.purgeUrl];
  return purgeAll(
    cache,
    urls.map((url) => ({ url, tags: [model] })),
  );
}

async function purgeAll(
  cache: SharedCache,
  requests: readonly PurgeRequest[],
): Promise<readonly PurgeProblem[]> {
  const waiting = [...requests];
  const problems: PurgeProblem[] = [];
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const reason = await send(cache, next);
      if (reason !== null) problems.push({ request: `${cache.purgeMethod} ${next.url}`, reason });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return problems;
}

interface PurgeRequest {
  readonly url: string;
  readonly tags: readonly string[];
}

function requestsFor(
  { purgeUrl, purgeMethod }: SharedCache,
  endpoints: readonly PublicEndpoint[],
): PurgeRequest[] {
  if (endpoints.length === 0) return [];
  if (purgeMethod !== "PURGE")
    return inParts([...new Set(endpoints.map(({ model }) => model))]).map((tags) => ({
      url: purgeUrl,
      tags,
    }));
  const base = purgeUrl.replace(/\/+$/, "");
  return endpoints.flatMap((endpoint) =>
    servedPaths(endpoint).flatMap((path) =>
      ["", ...FORMAT_SUFFIXES.map((suffix) => `.${suffix}`)].map((suffix) => ({
        url: `${base}${path}${suffix}`,
        tags: [endpoint.model],
      })),
    ),
  );
}

/** Names of models in one request: those of 30 stay far below the 8 KB that servers take as headers. */
const MAX_TAGS = 30;

function inParts(tags: readonly string[]): readonly (readonly string[])[] {
  return Array.from({ length: Math.ceil(tags.length / MAX_TAGS) }, (_, i) =>
    tags.slice(i * MAX_TAGS, (i + 1) * MAX_TAGS),
  );
}

/** Null when the cache has no copy any more, else why that is not known. */
async function send(
  { purgeMethod: method, token }: SharedCache,
  { url, tags }: PurgeRequest,
): Promise<string | null> {
  try {
    const response = await fetch(url, {
      method,
      headers: {
        "Cache-Tag": tags.join(","),
        "Surrogate-Key": tags.join(" "),
        ...(token !== null && authorization(url, token)),
        ...(method === "POST" && { "Content-Type": "application/json" }),
      },
      ...(method === "POST" && { body: JSON.stringify({ tags }) }),
      // The token is for this address alone.
      redirect: "manual",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    await response.body?.cancel();
    const isDone = response.ok || (method === "PURGE" && NO_COPY.has(response.status));
    return isDone ? null : `the cache answered ${String(response.status)}`;
  } catch (error) {
    return messageOf(error instanceof Error && error.cause !== undefined ? error.cause : error);
  }
}

/** Fastly's API takes its token in a header of its own. */
function authorization(url: string, token: string): Readonly<Record<string, string>> {
  return new URL(url).hostname === "api.fastly.com"
    ? { "Fastly-Key": token }
    : { Authorization: `Bearer ${token}` };
}
