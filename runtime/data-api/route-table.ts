import type { EndpointModule } from "./define.js";
import type { Endpoint } from "../model/endpoint.js";

/** All endpoints by path: one hash look-up, however many there are. */
export class RouteTable {
  readonly #endpoints: ReadonlyMap<string, Endpoint>;

  constructor(modules: readonly Pick<EndpointModule, "spec">[]) {
    this.#endpoints = new Map(modules.map(({ spec }) => [spec.path, spec]));
  }

  /** The endpoint at a path (without query string), or null. */
  find(path: string): Endpoint | null {
    const endpoint = this.#endpoints.get(path);
    if (endpoint) return endpoint;
    return path.includes("%") ? (this.#endpoints.get(decoded(path)) ?? null) : null;
  }

  get size(): number {
    return this.#endpoints.size;
  }
}

/** Escapes are allowed in a URL also where none are needed. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
