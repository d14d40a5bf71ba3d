import type { Exchange } from "../../core/handler/exchange.js";
import { requireAccess } from "../../core/request/authorize.js";
import { type HttpError, httpError, isHttpError, type Result } from "../../core/model/errors.js";
import type { ResolvedQuery } from "../../core/model/query.js";
import { BufferedResult, documentReply } from "../../core/response/buffered-result.js";
import { queryOf } from "../../core/http/route.js";
import type { Reply } from "../../core/http/send.js";
import type { CatalogueEndpoint } from "../../pages/catalogue-body.js";
import type { Documents } from "../../pages/documents.js";
import { csdlJson } from "./csdl-json.js";
import { csdlXml } from "./csdl-xml.js";
import { databaseType, type EdmType } from "./edm-types.js";
import { versionHeaders } from "./errors.js";
import { readOptions } from "./options.js";
import { prefersJson, representationOf, versionOf } from "./representation.js";
import { requestAddress } from "../../core/http/request-address.js";
import { ROOT } from "./set-request.js";
import { type DescribedSet, describedSet } from "./schema.js";
import type { OdataProperty, OdataSet } from "./sets.js";

/** What documents are made of. */
export interface OdataSource {
  readonly documents: Documents;
  /** By path of the endpoint. */
  readonly setAt: (path: string) => OdataSet | undefined;
}

const VARY = "Accept, Accept-Encoding, Authorization, OData-MaxVersion, X-API-Key";

/** The service document: the sets that the caller sees. */
export async function serviceDocument(exchange: Exchange, source: OdataSource): Promise<Reply | HttpError> {
  const { request, gateway } = exchange;
  const format = formatOf(exchange);
  const representation = isHttpError(format) ? format : representationOf(request, format);
  if (isHttpError(representation)) return representation;
  const seen = seenSets(exchange, source);
  if (isHttpError(seen)) return seen;
  const value = seen.map(({ set, endpoint }) => ({
    name: set.name,
    title: endpoint.title,
    kind: set.keys === null ? "FunctionImport" : "EntitySet",
    url: set.keys === null ? `${set.name}()` : set.name,
  }));
  const { metadata } = representation;
  const context = `${requestAddress(gateway, request)}${ROOT}/$metadata`;
  const body = JSON.stringify({ ...(metadata === "minimal" && { "@odata.context": context }), value });
  return documentReply(new BufferedResult(Buffer.from(body), 0, 0), request, {
    "Content-Type": `application/json;odata.metadata=${metadata};charset=utf-8`,
    Vary: VARY,
    ...versionHeaders(request),
  });
}

/** `$metadata`: XML, or JSON where the client asks for it. */
export async function metadataDocument(exchange: Exchange, source: OdataSource): Promise<Reply | HttpError> {
  const { request, context } = exchange;
  const format = formatOf(exchange);
  const isJson = isHttpError(format) ? format : prefersJson(request, format);
  const version = versionOf(request);
  if (isHttpError(isJson)) return isJson;
  if (isHttpError(version)) return version;
  const seen = seenSets(exchange, source);
  if (isHttpError(seen)) return seen;
  const types = await typesOf(
    exchange,
    seen.map(({ set }) => set),
  );
  const make = (): BufferedResult => {
    const read = isJson ? "4.01" : version;
    const sets = seen.map(({ set, endpoint }): DescribedSet => describedSet(set, types.of, endpoint, read));
    return new BufferedResult(Buffer.from(isJson ? csdlJson(sets) : csdlXml(sets, version)), 0, 0);
  };
  const hasKey = context.caller.key !== null;
  const kind = `odata ${isJson ? "json" : version}${hasKey ? " key" : ""}`;
  const document = types.isWhole ? source.documents.derived(kind, context.caller, make) : make();
  return documentReply(document, request, {
    "Content-Type": isJson ? "application/json;charset=utf-8" : "application/xml;charset=utf-8",
    Vary: VARY,
    ...versionHeaders(request),
  });
}

/** `$format` of a document, which has no other option. */
function formatOf({ request }: Exchange): Result<string | undefined> | undefined {
  const options = readOptions(queryOf(request).toString(), () => false);
  return isHttpError(options) ? options : options.system.format;
}

interface SeenSet {
  readonly set: OdataSet;
  readonly endpoint: CatalogueEndpoint;
}

/**
 * With a key what it may call, else all that everybody may see: what needs a key then asks for one. Where nobody sees what he may not
 * call, a caller without a key is asked for it here.
 */
function seenSets(
  { gateway, context: { caller } }: Exchange,
  { documents, setAt }: OdataSource,
): Result<readonly SeenSet[]> {
  const { body, callable } = documents.catalogue(caller);
  const isHidden = gateway.catalogue === "allowed" && Object.keys(body.locked).length > 0;
  if (caller.key === null && isHidden) return httpError("missingKey");
  const { endpoints } = caller.key === null ? body : callable;
  return endpoints.flatMap((endpoint) => {
    const { path, version_path: stays, tier } = endpoint;
    const opensBoth =
      stays !== undefined && (caller.key === null || requireAccess(stays, tier, caller) === null);
    const sets = [setAt(path), opensBoth ? setAt(stays) : undefined];
    return sets.flatMap((set) => (set === undefined ? [] : [{ set, endpoint }]));
  });
}

interface PropertyTypes {
  readonly of: (property: OdataProperty) => EdmType;
  /** Whether the database has said all that the models do not. */
  readonly isWhole: boolean;
}

/** Look-ups at a time. */
const AT_ONCE = 8;

/** The types of all properties: what a model does not declare, the database says. */
async function typesOf({ gateway }: Exchange, sets: readonly OdataSet[]): Promise<PropertyTypes> {
  const found = new Map<OdataProperty, EdmType>();
  const open = sets.filter(({ properties }) => properties.some(({ type }) => type === null));
  let isWhole = true;
  const next = open.values();
  const lookUp = async (): Promise<void> => {
    for (const {
      endpoint: { spec, all },
      properties,
    } of next) {
      const selection = { columns: all, conditions: [], sort: [], page: null };
      const query: ResolvedQuery = { relation: spec.relation, selection, format: "json", timeoutMs: 0 };
      const version = gateway.versionOf(spec.path)?.id ?? null;
      const asked = Promise.resolve(gateway.warehouse.columnsOf(query, version));
      const columns = await asked.then(({ columns }) => columns).catch(() => null);
      if (columns === null) isWhole = false;
      for (const property of properties) {
        const column = columns?.find(({ name }) => name.toLowerCase() === property.column.name.toLowerCase());
        if (column) found.set(property, databaseType(column));
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lookUp));
  return { of: (property) => property.type ?? found.get(property) ?? TEXT, isWhole };
}

const TEXT: EdmType = { name: "Edm.String" };
