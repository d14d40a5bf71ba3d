import type { IncomingMessage } from "node:http";
import { httpError, isHttpError, type Result } from "../../core/model/errors.js";

/** The form in which a client wants a response (OData JSON Format 4.01, 3). */
export interface Representation {
  readonly version: "4.0" | "4.01";
  /** `full` is answered as `minimal`. */
  readonly metadata: "minimal" | "none";
  /** Whether long numbers are strings. */
  readonly isExact: boolean;
  /** Rows of a page at most; null: as many as the endpoint gives. */
  readonly maxPageSize: number | null;
}

/** A longer header names nothing that is read. */
const MAX_HEADER = 1000;

/** The form that a request asks for. `format`: of `$format`, which comes before `Accept`. */
export function representationOf(
  request: IncomingMessage,
  format: string | undefined,
): Result<Representation> {
  const version = versionOf(request);
  if (isHttpError(version)) return version;
  const accepted = (format === undefined ? null : mediaTypes(format)) ?? acceptedTypes(request);
  const type = accepted.find(({ name }) => JSON_TYPES.has(name));
  if (type === undefined)
    return httpError("notAcceptable", { name: format === undefined ? "Accept" : "$format" });
  const { parameters } = type;
  return {
    version,
    metadata: parameterOf(parameters, "metadata") === "none" ? "none" : "minimal",
    isExact: parameters.get("ieee754compatible") === "true",
    maxPageSize: pageSizeOf(request),
  };
}

/** The form of a text, such as `/$count`: no JSON is negotiated. */
export function plainRepresentation(request: IncomingMessage): Result<Representation> {
  const version = versionOf(request);
  if (isHttpError(version)) return version;
  return { version, metadata: "none", isExact: false, maxPageSize: null };
}

/** Of CSDL: `$metadata` is XML where a client does not ask for JSON. */
export function prefersJson(request: IncomingMessage, format: string | undefined): Result<boolean> {
  const accepted = (format === undefined ? null : mediaTypes(format)) ?? acceptedTypes(request);
  const isAny = request.headers.accept === undefined && format === undefined;
  const first = accepted.find(({ name }) => JSON_TYPES.has(name) || XML_TYPES.has(name));
  if (first === undefined)
    return httpError("notAcceptable", { name: format === undefined ? "Accept" : "$format" });
  return !isAny && !XML_TYPES.has(first.name);
}

/** `4.01` where a client does not say what it can read. */
export function versionOf({ headers }: Pick<IncomingMessage, "headers">): Result<"4.0" | "4.01"> {
  for (const name of ["odata-version", "odata-maxversion"]) {
    const text = headers[name];
    if (text === undefined) continue;
    const [, major = "", minor = ""] = /^\s*(\d{1,3})\.(\d{1,3})/.exec(String(text)) ?? [];
    const isKnown = name === "odata-version" ? /^4\.0[01]?$/.test(`${major}.${minor}`) : Number(major) >= 4;
    if (!isKnown)
      return httpError("valueNotOfType", {
        name: name === "odata-version" ? "OData-Version" : "OData-MaxVersion",
        type: "4.0 or 4.01",
      });
  }
  const most = headers["odata-maxversion"];
  return most !== undefined && /^\s*4\.0(?![\d])/.test(String(most)) ? "4.0" : "4.01";
}

interface MediaType {
  readonly name: string;
  readonly weight: number;
  readonly parameters: ReadonlyMap<string, string>;
}

const JSON_TYPES: ReadonlySet<string> = new Set(["application/json", "json", "application/*", "*/*"]);
const XML_TYPES: ReadonlySet<string> = new Set(["application/xml", "xml", "application/*", "*/*"]);

function acceptedTypes({ headers: { accept } }: IncomingMessage): readonly MediaType[] {
  return accept === undefined || accept.length > MAX_HEADER ? mediaTypes("*/*") : mediaTypes(accept);
}

/** The types of a list by their weight; those that are refused are left out. */
function mediaTypes(text: string): readonly MediaType[] {
  return (
    text
      .slice(0, MAX_HEADER)
      .toLowerCase()
      // A comma in quotes is of a parameter.
      .split(/,(?=(?:[^"]*"[^"]*")*[^"]*$)/)
      .map((part) => {
        const [name = "", ...rest] = part.split(";").map((each) => each.trim());
        const parameters = new Map(rest.map((each) => [each.split("=", 1)[0]?.trim() ?? "", valueOf(each)]));
        return { name, parameters, weight: Number(parameters.get("q") ?? 1) || 0 };
      })
      .filter(({ weight }) => weight > 0)
      .sort((a, b) => b.weight - a.weight)
  );
}

const valueOf = (parameter: string): string =>
  parameter
    .slice(parameter.indexOf("=") + 1)
    .trim()
    .replace(/^"(.*)"$/, "$1");

/** OData 4.01 has parameters with and without the prefix. */
function parameterOf(parameters: MediaType["parameters"], name: string): string | undefined {
  return parameters.get(`odata.${name}`) ?? parameters.get(name);
}

/** `Prefer: odata.maxpagesize=500`. */
function pageSizeOf({ headers: { prefer } }: IncomingMessage): number | null {
  if (prefer === undefined || prefer.length > MAX_HEADER) return null;
  const digits = /(?:^|[,;])\s*(?:odata\.)?maxpagesize\s*=\s*"?(\d{1,9})"?\s*(?:[,;]|$)/i.exec(
    String(prefer),
  )?.[1];
  return digits === undefined || Number(digits) === 0 ? null : Number(digits);
}
