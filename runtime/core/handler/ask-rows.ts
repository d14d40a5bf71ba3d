import { httpError, isHttpError, type Result } from "../model/errors.js";
import type { RawFields, ResolvedQuery, Selection } from "../model/query.js";
import { queryKey } from "../model/query-key.js";
import type { ServedEndpoint } from "../model/served-endpoint.js";
import { traceOf } from "../http/headers.js";
import { queryOf } from "../http/route.js";
import { requireAccess } from "../request/authorize.js";
import { queryFields, readRequired } from "../request/request-fields.js";
import { ownRows } from "../request/resolve-query.js";
import { linesOf, readRows, rowOf, type ReadRow } from "../response/read-rows.js";
import { NO_ROWS } from "../response/respond.js";
import { KeptAnswer, type ReadAnswer } from "../response/values-cache.js";
import type { Exchange } from "./exchange.js";
import { recordRequest, StepTimes } from "./record-request.js";
import { readBodyFields } from "./resolve.js";
import { errorOf } from "./query-error.js";
import { run, rowsRefusal } from "./run.js";

/** An endpoint that is asked about its rows, and by what fields. */
export interface RowsRequest {
  readonly endpoint: ServedEndpoint;
  /** The path by which the caller names it. */
  readonly path: string;
  readonly fields: RawFields;
  readonly isPrivate: (path: string, column: string) => boolean;
  /** The path of the request in the log; null for a tool. */
  readonly requestPath: string | null;
}

/** Where endpoints and the marks of private data are looked up. */
export interface EndpointLookup extends Pick<RowsRequest, "isPrivate"> {
  readonly endpointAt: (path: string) => ServedEndpoint | null;
}

/** A question whose fields have been checked. */
export interface RowsQuestion<T extends object> {
  /** Names of filters and columns, for the log. */
  readonly names: readonly string[];
  /** Longer answers are cut. */
  readonly maxBytes: number;
  /** What it selects, once the types in the database are known. */
  readonly select: () => Result<Selection> | Promise<Result<Selection>>;
  readonly answer: (rows: readonly ReadRow[], hasMore: boolean) => T;
}

/** The endpoint and the fields of a query string, or of the body of a QUERY. Null when the client has disconnected. */
export async function rowsRequest(
  exchange: Exchange,
  { endpointAt, isPrivate }: EndpointLookup,
): Promise<Result<RowsRequest> | null> {
  const fields = await requestFields(exchange);
  if (fields === null || isHttpError(fields)) return fields;
  const path = readRequired("path", fields);
  if (isHttpError(path)) return path;
  const endpoint = endpointAt(path);
  if (endpoint === null) return httpError("notFound");
  return { endpoint, path, fields, isPrivate, requestPath: exchange.item.path };
}

function requestFields({
  request,
  context,
}: Exchange): Result<RawFields> | Promise<Result<RawFields> | null> {
  const query = queryOf(request);
  if (request.method !== "QUERY") return queryFields(query.toString());
  return query.size > 0 ? httpError("queryOnPost") : readBodyFields(request, context.caller);
}

/** The answer to one question, as `askAll` gives it. */
export async function askRows<T extends object>(
  exchange: Exchange,
  request: RowsRequest,
  readQuestion: () => Promise<Result<RowsQuestion<T>>>,
): Promise<Result<T> | null> {
  const answers = await askAll(exchange, request, async () => {
    const question = await readQuestion();
    return isHttpError(question) ? question : [question];
  });
  return answers === null || isHttpError(answers) ? answers : (answers[0] ?? null);
}

/**
 * The answers to questions about an endpoint's rows, as the caller may read them: the checks, limits and own rows of a request for
 * rows, recorded as one. Null when the client has disconnected.
 */
export async function askAll<T extends object>(
  exchange: Exchange,
  { endpoint, path, requestPath }: RowsRequest,
  readQuestions: () => Promise<Result<readonly RowsQuestion<T>[]>>,
): Promise<Result<readonly T[]> | null> {
  const { gateway, request, context } = exchange;
  const { spec } = endpoint;
  const times = new StepTimes();
  const refused = requireAccess(path, spec.tier, context.caller);
  // As at the path itself: it is none that this caller knows of.
  const refusal = refused !== null && gateway.catalogue === "allowed" ? httpError("notFound") : refused;
  times.end("authorize");
  const asked = refusal ?? (await readQuestions());
  const exceeded = isHttpError(asked) ? null : await context.caller.key?.use?.take(context);
  const questions = exceeded ?? asked;
  times.end("resolve");
  const { outcome, sent } = isHttpError(questions)
    ? { outcome: questions, sent: NO_ROWS }
    : together(await Promise.all(questions.map((question) => answerTo(exchange, endpoint, question))));
  times.end("run");
  const error = isHttpError(outcome) ? outcome : null;
  recordRequest(gateway, context, {
    method: requestPath === null ? "GET" : (request.method ?? "GET"),
    route: spec.path,
    path: requestPath,
    parameters: isHttpError(questions) ? [] : [...new Set(questions.flatMap(({ names }) => names))],
    trace: traceOf(request),
    status: error?.status ?? 200,
    sent,
    error,
    times,
  });
  return outcome;
}

/** One answer of several: the first error, or all. */
function together<T extends object>(answers: readonly ReadAnswer<T>[]): ReadAnswer<readonly T[]> {
  const failed = answers.find(({ outcome }) => outcome === null || isHttpError(outcome));
  if (failed !== undefined) return failed as ReadAnswer<never>;
  const sum = (of: "rows" | "bytes" | "databaseMs"): number =>
    answers.reduce((total, { sent }) => total + (sent[of] ?? 0), 0);
  const hasRun = answers.some(({ sent }) => sent.databaseMs !== null);
  const sent = { rows: sum("rows"), bytes: sum("bytes"), databaseMs: hasRun ? sum("databaseMs") : null };
  return { outcome: answers.map(({ outcome }) => outcome as T), sent };
}

async function answerTo<T extends object>(
  exchange: Exchange,
  endpoint: ServedEndpoint,
  question: RowsQuestion<T>,
): Promise<ReadAnswer<T>> {
  const { gateway } = exchange;
  try {
    const refused = rowsRefusal(gateway, endpoint.spec, exchange.context.caller);
    const query = refused ?? (await resolve(exchange, endpoint, question));
    if (isHttpError(query)) return { outcome: query, sent: NO_ROWS };
    const key = `${queryKey(query)}\0${gateway.versionOf(endpoint.spec.path)?.id ?? ""}`;
    // Questions of two kinds select different columns: an answer at a key is of the question's own kind.
    const keptAnswer = () => gateway.values.get(key) as KeptAnswer<T> | undefined;
    for (let others = keptAnswer(); others !== undefined; others = keptAnswer()) {
      const kept = await others.reading;
      // Null: the client of that request has left. The next in line reads.
      if (kept.outcome) return { ...kept, sent: { ...kept.sent, databaseMs: null } };
    }
    const reading = read(exchange, endpoint, query, question).catch((error: unknown) =>
      failed(exchange, endpoint, error),
    );
    const kept = new KeptAnswer<T>(reading);
    gateway.values.set(key, kept);
    const found = await reading;
    kept.weigh(found);
    // A failure, or a client that did not wait, is no answer to others.
    const isNone = found.outcome === null || isHttpError(found.outcome);
    if (keptAnswer() === kept && isNone) gateway.values.delete(key);
    return found;
  } catch (error) {
    return failed(exchange, endpoint, error);
  }
}

function failed({ gateway, context }: Exchange, { spec }: ServedEndpoint, error: unknown) {
  return { outcome: errorOf(gateway, spec, context, error), sent: NO_ROWS };
}

async function resolve(
  { gateway, context: { caller } }: Exchange,
  { spec }: ServedEndpoint,
  question: RowsQuestion<object>,
): Promise<Result<ResolvedQuery>> {
  const own = ownRows(spec, caller.org);
  if (isHttpError(own)) return own;
  const selection = await question.select();
  if (isHttpError(selection)) return selection;
  const selected = own === null ? selection : { ...selection, conditions: [own, ...selection.conditions] };
  const { relation, path: route } = spec;
  const limits = gateway.queryLimits[caller.tier];
  return { relation, route, selection: selected, format: "ndjson", ...limits };
}

async function read<T extends object>(
  { gateway, context }: Exchange,
  { spec }: ServedEndpoint,
  query: ResolvedQuery,
  { maxBytes, answer: answerOf }: RowsQuestion<T>,
): Promise<ReadAnswer<T>> {
  const answer = await run(gateway, spec, query, context);
  if (answer === null || isHttpError(answer)) return { outcome: answer, sent: NO_ROWS };
  const { result } = answer;
  if (result === null) return { outcome: null, sent: NO_ROWS };
  const { body, isCut, sent } = await readRows({ ...answer, result }, maxBytes);
  return { outcome: answerOf(linesOf(body).map(rowOf), isCut || answer.hasMore), sent };
}
