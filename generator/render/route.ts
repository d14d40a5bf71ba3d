import type { Endpoint } from "@routewright/runtime/model";
import type { CatalogueEntry } from "../catalogue/catalogue.js";
import { literal } from "./code.js";
import { docComment, lineComment } from "./comment.js";
import { declarationOf } from "./declaration.js";
import { queryMembers, rowMembers } from "./members.js";
import { fill, skeletons } from "./parts.js";

/** The source of an endpoint's module: nothing in it that the model does not explain. */
export function routeModule(entry: CatalogueEntry): string {
  const { endpoint, documentation } = entry;
  const { route, properties } = skeletons();
  const query = queryMembers(entry);
  return fill(route, {
    model: lineComment(endpoint.model),
    row: docComment([`A row of \`${endpoint.path}\`.`, documentation.description], 0),
    columns: block(rowMembers(entry)),
    query: docComment([query.length === 0 ? "It takes no parameters." : "What a caller may ask for."], 0),
    parameters: block(query),
    handlers: handlersOf(endpoint),
    declaration: literal(declarationOf(endpoint, properties)),
  });
}

function handlersOf({ methods }: Endpoint): string {
  return methods.includes("POST") ? "{ spec, get, post }" : "{ spec, get }";
}

/** What stands between an interface's braces. */
function block(members: readonly string[]): string {
  return members.length === 0 ? "" : `\n${members.join("")}`;
}
