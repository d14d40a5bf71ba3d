import type { DataRoute, Exchange, RouteAccess } from "../../../core/handler/exchange.js";
import { httpError, type HttpError, isHttpError } from "../../../core/model/errors.js";
import type { Plans } from "../../../core/model/organization-plan.js";
import type { ObjectSchema, Schema, ValueOf } from "../../../core/model/schema.js";
import type { Operation } from "../../../core/http/openapi.js";
import { type Handled, pathOf } from "../../../core/http/route.js";
import type { Reply } from "../../../core/http/send.js";
import { isConnectionFailure, isConnectionRefusal } from "../../../postgres/errors.js";
import type { OwnTables, Statements } from "../../../postgres/own-tables.js";
import { KeyDatabase } from "../key-database.js";
import { type Answered, once } from "./idempotency.js";
import { isStorable } from "../storable.js";

/** What the routes of operators work on. */
export interface Operators {
  /** The database of KEYS_DATABASE_URL. */
  readonly tables: OwnTables;
  /** Of the release that is served. */
  readonly plans: () => Plans;
  /** Address of the API where it has an account page; null: it has none. */
  readonly publicUrl: string | null;
}

/** What a request of an operator is answered with. */
export type OperatorAnswer = Promise<Answered | HttpError>;

/** One request of an operator, in a transaction of the database. */
export interface OperatorRequest<Input> {
  readonly input: Input;
  readonly keys: KeyDatabase;
  readonly tables: Statements;
  readonly plans: Plans;
  /** For the audit log. */
  readonly actor: string;
  /** What stands in the path in place of its parameter. */
  readonly id: string;
}

/** The tier that a key needs, whose `allowed` must name `system` beside it: another could give itself keys of every organization. */
const OPERATORS: RouteAccess = { limit: "caller", tier: "tier3", isForOperators: true };

interface Described extends Pick<Operation, "operationId" | "summary"> {
  readonly description?: string;
  /** Of a successful response. */
  readonly status?: number;
  readonly answer: Schema;
}

/** A route that reads. `input`: the schema of its parameters. */
export function reading<S extends ObjectSchema>(
  operators: Operators,
  path: string,
  described: Described,
  input: S,
  handle: (operation: OperatorRequest<ValueOf<S>>) => OperatorAnswer,
): DataRoute {
  return route("GET", path, { ...operationOf(described), query: input }, async (exchange) => {
    const { parametersIn } = await loadInput();
    const value = parametersIn(exchange, input);
    if (isHttpError(value)) return value;
    return operators.tables.inTransaction((tables) =>
      handle(operationIn(operators, tables, exchange, value)),
    );
  });
}

/** A route that changes something, once for an `Idempotency-Key`. `input`: the schema of its body. */
export function changing<S extends ObjectSchema>(
  operators: Operators,
  [method, path]: readonly ["POST" | "PATCH" | "DELETE", string],
  described: Described,
  input: S,
  handle: (operation: OperatorRequest<ValueOf<S>>) => OperatorAnswer,
): DataRoute {
  const operation = { ...operationOf(described), ...(method !== "DELETE" && { body: input }) };
  return route(method, path, operation, async (exchange) => {
    const { bodyOf } = await loadInput();
    const body = await bodyOf(exchange, input);
    if (body === null || isHttpError(body)) return body;
    const key = idempotencyKeyOf(exchange);
    if (isHttpError(key)) return key;
    const content = `${method} ${pathOf(exchange.request.url ?? "")}\n${body.text}`;
    return operators.tables.inTransaction((tables) => {
      const request = { actor: actorOf(exchange), key, content };
      return once(tables, request, () => handle(operationIn(operators, tables, exchange, body.value)));
    });
  });
}

/** With Ajv it takes 8 MB and 70 ms of processor time, which servers without operators' requests need not spend. */
const loadInput = () => import("./input.js");

function operationOf({ status = 200, answer, ...described }: Described): Operation {
  const description = status === 201 ? "Made." : "Done.";
  return {
    ...described,
    responses: [{ status, description, mediaType: "application/json", schema: answer }],
  };
}

function route(
  method: DataRoute["method"],
  path: string,
  operation: Operation,
  handle: (exchange: Exchange) => Promise<Handled<HttpError>>,
): DataRoute {
  return { method, path, operation, access: OPERATORS, handle: (exchange) => guarded(exchange, handle) };
}

/** A tier3 key without a list may call everything else; a database that is away is no fault of ours. */
async function guarded(
  exchange: Exchange,
  handle: (exchange: Exchange) => Promise<Handled<HttpError>>,
): Promise<Handled<HttpError>> {
  const path = pathOf(exchange.request.url ?? "");
  if (exchange.context.caller.allowed === null) return httpError("notListed", { path });
  try {
    return await handle(exchange);
  } catch (error) {
    if (isConnectionFailure(error) || isConnectionRefusal(error))
      return httpError("keysUnreachable", { n: 5 });
    throw error;
  }
}

function operationIn<Input>(
  { plans }: Operators,
  tables: Statements,
  exchange: Exchange,
  input: Input,
): OperatorRequest<Input> {
  return {
    input,
    tables,
    plans: plans(),
    actor: actorOf(exchange),
    keys: new KeyDatabase(tables, actorOf(exchange), plans()),
    id: idIn(pathOf(exchange.request.url ?? "")),
  };
}

const actorOf = ({ context }: Exchange): string => context.caller.id;

/** `/v1/system/keys/{id}`: invalid escapes are of no known path, and what no text of the database is finds nothing. */
function idIn(path: string): string {
  const id = decodeURIComponent(path.split("/")[4] ?? "");
  return isStorable(id) ? id : "";
}

const MAX_IDEMPOTENCY_KEY = 256;

function idempotencyKeyOf({ request }: Exchange): string | null | HttpError {
  const { "idempotency-key": sent = null } = request.headers;
  if (sent === null) return null;
  const key = String(sent);
  if (key.trim() !== "" && key.length <= MAX_IDEMPOTENCY_KEY) return key;
  return httpError("valueNotOfType", {
    name: "Idempotency-Key",
    type: `a text of 1 to ${String(MAX_IDEMPOTENCY_KEY)} characters`,
  });
}

export function json(status: number, value: unknown, stored?: unknown): Answered {
  const reply: Reply = { status, body: JSON.stringify(value) };
  return stored === undefined ? reply : { ...reply, stored: JSON.stringify(stored) };
}

/** A page of a list: `limit` of the `limit + 1` items that were read, and the id of the last where there are more. */
export function pageOf<Item>(
  items: readonly Item[],
  limit: number,
  idIn: (item: Item) => string | number,
): { readonly shown: readonly Item[]; readonly next: string | number | null } {
  const shown = items.slice(0, limit);
  const last = shown.at(-1);
  return { shown, next: items.length > limit && last !== undefined ? idIn(last) : null };
}
