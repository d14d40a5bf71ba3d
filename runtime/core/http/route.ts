import type { IncomingMessage, ServerResponse } from "node:http";
import { groupedBy } from "../model/grouped.js";
import type { HttpMethod, Operation } from "./openapi.js";
import type { Reply } from "./send.js";

/** What a handler gives: a response, why there is none, or null where it is sent already or the client has disconnected. */
export type Handled<Refusal> = Reply | Refusal | null;

/** What a service answers at a path to a method. */
export interface Route<Exchange = never, Access = unknown, Refusal = unknown> {
  readonly method: HttpMethod;
  /** As OpenAPI writes it, such as `/v1/intent/{id}`. Behind `/docs/*` is every other path below `/docs`. */
  readonly path: string;
  /** Who may call it. */
  readonly access: Access;
  /** Null: the service's document does not describe it. */
  readonly operation: Operation | null;
  /** Its handler sends the response itself, with the headers that every response has. */
  readonly sends?: true;
  readonly handle: (exchange: Exchange) => Handled<Refusal> | Promise<Handled<Refusal>>;
}

/** A page or a file before its service says who may load it. Its handler needs the request alone. */
export type PageRoute = Omit<
  Route<{ readonly request: IncomingMessage; readonly response: ServerResponse }, never, never>,
  "access"
>;

/** The routes of one path. */
export interface PathItem<R extends Route = Route> {
  readonly path: string;
  /** Methods, as in `Allow`; null for an unknown path. */
  readonly allowed: string | null;
  readonly routes: readonly R[];
}

/** The routes of a path, by method. `OPTIONS` is answered for all of them unless `isPrivate`. */
export function pathItem<R extends Route>(routes: readonly R[], isPrivate = false): PathItem<R> {
  const methods = routes.map(({ method }) => (method === "GET" ? "GET, HEAD" : method));
  const allowed = [...methods, ...(isPrivate ? [] : ["OPTIONS"])].join(", ");
  return { path: routes[0]?.path ?? "", allowed, routes };
}

/** The route of a method; `HEAD` is that of `GET`. */
export function routeFor<R extends Route>(
  { routes }: PathItem<R>,
  method: string | undefined,
): R | undefined {
  const wanted = method === "HEAD" ? "GET" : method;
  return routes.find((route) => route.method === wanted);
}

/** A path of a table, with the values of its parameters. */
export interface FoundPath<R extends Route> {
  readonly item: PathItem<R>;
  readonly parameters: Readonly<Record<string, string>>;
}

/** The routes of a service, by path. Paths without parameters come before those with. */
export class RouteTable<R extends Route> {
  /** Bounded by the routes of the service. */
  readonly #exact = new Map<string, FoundPath<R>>();
  readonly #templates: { readonly pattern: RegExp; readonly item: PathItem<R> }[] = [];

  /** `isPrivate`: whether pages of other origins have no business with a path. */
  constructor(routes: readonly R[], isPrivate: (route: R) => boolean = () => false) {
    for (const [path, group] of groupedBy(routes, ({ path }) => path)) {
      const item = pathItem(group, group.some(isPrivate));
      if (/[{*]/.test(path)) this.#templates.push({ pattern: patternOf(path), item });
      else this.#exact.set(path, { item, parameters: NO_PARAMETERS });
    }
  }

  /** Null for an unknown path. */
  find(path: string): FoundPath<R> | null {
    const exact = this.#exact.get(path);
    if (exact !== undefined) return exact;
    for (const { pattern, item } of this.#templates) {
      const found = pattern.exec(path);
      if (found !== null) return withParameters(item, found.groups ?? {});
    }
    return null;
  }
}

const NO_PARAMETERS: Readonly<Record<string, string>> = {};

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replace(/\{(\w+)\}/g, "(?<$1>[^/]+)").replace("*", ".*")}$`);
}

/** Null where an escape of a parameter is invalid. */
function withParameters<R extends Route>(
  item: PathItem<R>,
  groups: Readonly<Record<string, string>>,
): FoundPath<R> | null {
  try {
    const values = Object.entries(groups).map(([name, text]) => [name, decodeURIComponent(text)] as const);
    return { item, parameters: Object.fromEntries(values) };
  } catch {
    return null;
  }
}

/** The path of a request's address, without the query string. */
export function pathOf(url: string): string {
  if (!url.startsWith("/")) return absoluteFormPath(url);
  const mark = url.indexOf("?");
  return mark === -1 ? url : url.slice(0, mark);
}

/** A proxy may send an absolute address (RFC 9112 §3.2.2). */
function absoluteFormPath(url: string): string {
  return URL.canParse(url) ? new URL(url).pathname : url;
}

/** The parameters in a request's address. */
export function queryOf({ url = "" }: Pick<IncomingMessage, "url">): URLSearchParams {
  const mark = url.indexOf("?");
  return new URLSearchParams(mark === -1 ? "" : url.slice(mark + 1));
}
