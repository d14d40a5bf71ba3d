import type { Endpoint } from "@routewright/runtime/model";
import type { FileSet } from "../../render/render.js";
import { visible } from "../../manifest/hidden.js";
import { isObject, type JsonObject } from "../../manifest/json.js";
import { parseJson } from "../../manifest/manifest.js";
import type { Published } from "../snapshot.js";
import { endpointOf } from "./declaration.js";
import { documentationOf } from "./documentation.js";
import { readLiteral } from "./literal.js";
import { failed, type SideReading } from "./reading.js";

/**
 * A generated folder's files as a side. They are read and never run: the folder may come from a branch that nobody has
 * reviewed. The modules that count are those that `index.ts` lists; each endpoint is read from its declaration, the
 * authors' words from `openapi.json`.
 */
export function readGenerated(files: FileSet, place: string): SideReading {
  const index = files.get("index.ts");
  const openApi = files.get("openapi.json");
  if (index === undefined || openApi === undefined) return failed(`${place} ${NOT_GENERATED}`);
  const document = parseJson(openApi, `${place}/openapi.json`);
  if (!document.ok) return failed(document.problem);
  if (!isObject(document.value)) return failed(`${place}/openapi.json is not an OpenAPI document.`);
  const modules = listedModules(index);
  if (modules === undefined)
    return failed(`${place}/index.ts is not as Routewright writes it. ${REGENERATE}`);
  const readings = modules.map((file) => readModule(file, files.get(file)));
  const problems = readings.flatMap((reading) =>
    "problem" in reading ? [`${place}/${reading.problem}`] : [],
  );
  const endpoints = readings.flatMap((reading) => ("endpoint" in reading ? [reading.endpoint] : []));
  if (problems.length === 0) problems.push(...repeatedPaths(endpoints, place));
  return problems.length > 0 ? { ok: false, problems } : snapshotOf(endpoints, document.value, place);
}

const NOT_GENERATED =
  "is not a generated folder: it has no index.ts and openapi.json. Name a folder that `routewright generate` wrote.";
const REGENERATE = "Run `routewright generate` on that side.";

function snapshotOf(endpoints: readonly Endpoint[], document: JsonObject, place: string): SideReading {
  const published = endpoints.map((endpoint): Published => {
    return { endpoint, uniqueId: null, file: null, documentation: documentationOf(document, endpoint) };
  });
  const unread = published.filter(({ documentation }) => documentation === null).length;
  const warnings =
    unread === 0
      ? []
      : [
          `${place}/openapi.json is another version's: the descriptions of ${String(unread)} endpoints are not compared.`,
        ];
  return { ok: true, snapshot: { published, skipped: [], warnings } };
}

/** Files of the modules that the index imports and lists, in its order. */
function listedModules(index: string): readonly string[] | undefined {
  const imports = new Map(
    [...index.matchAll(/^import \* as ([\w$]+) from "\.\/(routes\/[\w~./-]+)\.js";\r?$/gm)].map(
      ([, name = "", file = ""]) => [name, `${file}.ts`],
    ),
  );
  const list = /^export const endpoints\b[^=]*= \[([\w$,\s]*)\];\s*$/m.exec(index)?.[1];
  const names = list
    ?.split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
  const files = names?.map((name) => imports.get(name)).filter((file) => file !== undefined);
  return files?.length === names?.length ? files : undefined;
}

type ModuleReading = { readonly endpoint: Endpoint } | { readonly problem: string };

/** Up to the literal that a module declares its endpoint with. A line of a comment never begins so. */
const DECLARATION = /^export const \{[^\n]*\} = defineEndpoint<Query, Row>\(\)\(/m;

function readModule(file: string, text: string | undefined): ModuleReading {
  if (text === undefined)
    return { problem: `${file} is missing, or a link, and index.ts lists it. ${REGENERATE}` };
  const start = DECLARATION.exec(text);
  const declared = start === null ? undefined : readLiteral(text, start.index + start[0].length);
  // Nothing may follow, or it could change what was declared.
  const isWhole = declared !== undefined && /^\);\s*$/.test(text.slice(declared.end));
  if (!isWhole || !(declared.value instanceof Map))
    return {
      problem: `${file} is not as Routewright writes it: no plain declaration ends it. ${REGENERATE}`,
    };
  const reading = endpointOf(declared.value as Parameters<typeof endpointOf>[0]);
  if (reading.ok) return { endpoint: reading.endpoint };
  const fields = reading.fields.map((field) => visible(JSON.stringify(field))).join(", ");
  return { problem: `${file} declares what this version does not understand: ${fields}. ${REGENERATE}` };
}

function repeatedPaths(endpoints: readonly Endpoint[], place: string): readonly string[] {
  const seen = new Set<string>();
  return endpoints.flatMap(({ path }) => {
    const isRepeated = seen.has(path);
    seen.add(path);
    return isRepeated ? [`${place} declares ${visible(JSON.stringify(path))} twice. ${REGENERATE}`] : [];
  });
}
