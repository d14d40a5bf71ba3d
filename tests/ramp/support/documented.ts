import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { expect } from "vitest";
import { COMPILED_ONCE } from "../../support/compiled-once.js";
import type { CallOptions, Reply, World } from "./world.js";

export interface DocumentedContent {
  readonly schema: object;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

type ContentByType = Readonly<Record<string, DocumentedContent>>;

export interface DocumentedOperation {
  readonly tags: readonly string[];
  readonly parameters?: readonly (DocumentedContent & {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
  })[];
  readonly requestBody?: { readonly required: boolean; readonly content: ContentByType };
  readonly responses: Readonly<Record<string, { readonly content?: ContentByType }>>;
}

interface RampDocument {
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
  readonly webhooks: Readonly<
    Record<string, { readonly post: Required<Pick<DocumentedOperation, "requestBody">> }>
  >;
}

/** The ramp's OpenAPI document, and what it says of values. */
export async function readDocument(world: Pick<World, "call">) {
  const document = (await world.call("GET", "/openapi.json")).json as RampDocument;
  const ajv = new Ajv2020({ ...COMPILED_ONCE, strict: false });
  addFormats.default(ajv);
  ajv.addSchema(document, "api");
  const validators = new Map<object, ReturnType<typeof ajv.compile>>();
  /** What is wrong with a value, by a schema of the document; empty: nothing. */
  const problems = (schema: object, value: unknown): string => {
    const inDocument = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"api#/')) as object;
    const validate = validators.get(schema) ?? ajv.compile(inDocument);
    validators.set(schema, validate);
    return validate(value) ? "" : JSON.stringify(validate.errors);
  };
  const schemaOfEvent = (type: string): DocumentedContent => {
    const content = document.webhooks[type]?.post.requestBody.content["application/json"];
    if (content === undefined) throw new Error(`${type} has no schema.`);
    return content;
  };
  return { document, problems, schemaOfEvent };
}

export type ReadDocument = Awaited<ReturnType<typeof readDocument>>;

/** Calls of a ramp, each checked against its document: path, parameters and body of what is accepted, status, type and body of the answer. */
export async function documentedCalls(world: Pick<World, "call">) {
  const read = await readDocument(world);
  const used = new Set<string>();
  const call: World["call"] = async (method, path, options = {}) => {
    const reply = await world.call(method, path, options);
    const [template, operation] = operationOf(read, method, path);
    used.add(`${method} ${template}`);
    const at = `${method} ${path} ${reply.text}`;
    expect(answerProblem(read, operation, reply), at).toBe("");
    if (reply.status < 400) expect(requestProblems(read, operation, path, options), at).toEqual([]);
    return reply;
  };
  return { ...read, call, used };
}

function operationOf(
  { document }: ReadDocument,
  method: string,
  path: string,
): readonly [string, DocumentedOperation] {
  const parts = new URL(path, "http://ramp").pathname.split("/");
  const fits = (template: string): boolean => {
    const names = template.split("/");
    return (
      names.length === parts.length && names.every((name, at) => name === parts[at] || name.startsWith("{"))
    );
  };
  // A fixed path comes before one with a parameter.
  const found = Object.keys(document.paths).filter(fits).sort().reverse();
  for (const template of [...found.filter((name) => !name.endsWith("}")), ...found]) {
    const operation = document.paths[template]?.[method.toLowerCase()];
    if (operation !== undefined) return [template, operation];
  }
  throw new Error(`${method} ${path} is not documented.`);
}

function answerProblem({ problems }: ReadDocument, { responses }: DocumentedOperation, reply: Reply): string {
  const response = responses[String(reply.status)];
  if (response === undefined) return `the status ${String(reply.status)} is not documented`;
  const [[type, content] = []] = Object.entries(response.content ?? {});
  if (type === undefined || content === undefined) return reply.text === "" ? "" : "a body is not documented";
  if (!reply.headers.get("content-type")?.startsWith(type)) return `the type is not ${type}`;
  return problems(content.schema, type === "application/json" ? reply.json : reply.text);
}

function requestProblems(
  { problems }: ReadDocument,
  { parameters = [], requestBody }: DocumentedOperation,
  path: string,
  { body, key }: CallOptions,
): readonly string[] {
  const query = new URL(path, "http://ramp").searchParams;
  const given = new Map([...query, ...(key === undefined ? [] : [["Idempotency-Key", key] as const])]);
  const known = parameters.filter((parameter) => parameter.in !== "path");
  const content = requestBody?.content["application/json"];
  const isMissing = body === undefined && requestBody?.required === true;
  return [
    ...[...given.keys()]
      .filter((name) => !known.some((one) => one.name === name))
      .map((name) => `unknown ${name}`),
    ...known.map(({ name, required, schema }) => {
      const value = given.get(name);
      if (value === undefined) return required === true ? `missing ${name}` : "";
      return problems(schema, value);
    }),
    ...(isMissing ? ["missing body"] : []),
    ...(body === undefined
      ? []
      : [content === undefined ? "a body is not documented" : problems(content.schema, body)]),
  ].filter((problem) => problem !== "");
}
