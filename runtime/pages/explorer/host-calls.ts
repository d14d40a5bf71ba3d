import type { App } from "@modelcontextprotocol/ext-apps";
import type { CatalogueEndpoint } from "../catalogue-body.js";
import { parametersOf } from "./api-request.js";

/** What a tool answers: its text, which has all digits of numbers. */
async function toolText(app: App, name: string, args: Record<string, unknown>): Promise<string> {
  const { content, isError } = await app.callServerTool({ name, arguments: args });
  const [first] = content;
  const text = first?.type === "text" ? first.text : "";
  if (isError === true) throw new Error(text);
  return text;
}

export async function describedEndpoint(app: App, path: string): Promise<CatalogueEndpoint> {
  return JSON.parse(await toolText(app, "describe_endpoint", { path })) as CatalogueEndpoint;
}

/** Tools that answer what paths of the service do, with the parameters that are arguments of their own. */
const TOOLS: Readonly<Record<string, readonly [name: string, own: readonly string[]]>> = {
  "/v1/system/values": ["list_values", ["path", "column", "prefix", "limit"]],
  "/v1/system/chart": ["chart_endpoint", ["path", "x", "y", "by", "grain"]],
};

/**
 * `fetch` as the explorer's modules use it, by tools that the host calls: a frame of an assistant reaches no server, and holds no
 * key.
 */
export function fetchByHost(app: App): typeof fetch {
  return async (input) => {
    const { pathname, searchParams } = new URL(input as string);
    const given = parametersOf([...searchParams]);
    try {
      const [name, args] = callOf(pathname, given);
      return responseOf(name, await toolText(app, name, args));
    } catch (error) {
      const detail = error instanceof Error ? error.message : "The host does not answer.";
      return Response.json({ detail }, { status: 400 });
    }
  };
}

function callOf(
  pathname: string,
  given: ReturnType<typeof parametersOf>,
): readonly [name: string, args: Record<string, unknown>] {
  const [name, own] = TOOLS[pathname] ?? ["query_endpoint", ["limit", "offset", "cursor"]];
  const isOwn = ([key]: readonly [string, unknown]): boolean => own.includes(key);
  const all = Object.entries(given);
  const args = all.filter(isOwn).map(([key, values]) => [key, argumentOf(key, values)] as const);
  const parameters = Object.fromEntries(all.filter((each) => !isOwn(each)));
  const path = pathname.replace(/\.(nd)?json$/, "");
  return [name, { ...(own.includes("path") ? {} : { path }), ...Object.fromEntries(args), parameters }];
}

const NUMBERS: ReadonlySet<string> = new Set(["limit", "offset"]);
const LISTS: ReadonlySet<string> = new Set(["y", "by"]);

function argumentOf(name: string, [first = ""]: readonly string[]): unknown {
  if (LISTS.has(name)) return first.split(",");
  return NUMBERS.has(name) ? Number(first) : first;
}

/** Rows as lines, with a `Link` where more follow; anything else as it is. */
function responseOf(name: string, text: string): Response {
  if (name !== "query_endpoint") return new Response(text);
  const { next_cursor: cursor, has_more: hasMore } = JSON.parse(text) as {
    readonly next_cursor?: string;
    readonly has_more: boolean;
  };
  const next = cursor === undefined ? "" : `cursor=${encodeURIComponent(cursor)}`;
  const rows = text.slice(text.indexOf('"rows":[') + '"rows":['.length, -2);
  const headers = hasMore ? { link: `<https://host.invalid/?${next}>; rel="next"` } : {};
  return new Response(rows.replaceAll("},\n{", "}\n{"), { headers });
}
