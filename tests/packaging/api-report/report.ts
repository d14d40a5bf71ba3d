/** What of the packages is public and follows semantic versioning (generator/docs/versions.md), as texts by name. */
import type { Command, Option } from "commander";
import { programFor } from "../../../generator/cli.js";
import { EXIT } from "../../../generator/commands/command.js";
import { CONFIG_SCHEMA } from "../../../generator/config-schema.js";
import { SYSTEM_ROUTES } from "../../../runtime/core/handler/system-routes.js";
import { ERRORS } from "../../../runtime/core/model/errors.js";
import { GENERATED_SCHEMA_VERSION, OWN_ROWS_SCHEMA_VERSION } from "../../../runtime/core/model/endpoint.js";
import { dataSettings } from "../../../runtime/server/operations/environment.js";
import { Variables } from "../../../runtime/core/environment/variables.js";
import { ROUTES } from "../../../runtime/ramp/api/all-routes.js";
import { openApiDocument } from "../../../runtime/ramp/api/openapi.js";
import { RAMP_ERRORS } from "../../../runtime/ramp/core/ramp-errors.js";
import { rampSettings } from "../../../runtime/ramp/environment.js";
import { exportedDeclarations } from "./declarations.js";
import { logFields, metricNames } from "./observed.js";

/** Texts by name. The name is what the changelog has to say of it. */
export type Report = ReadonlyMap<string, string>;

export async function apiReports(): Promise<Readonly<Record<string, Report>>> {
  return {
    commands: await commands(),
    config: config(),
    errors: errors(),
    exports: new Map([...exportedDeclarations(), ["schema-number", schemas()]]),
    http: http(),
    "log-fields": logFields(),
    metrics: metricNames(),
    settings: settings(),
  };
}

function schemas(): string {
  return [GENERATED_SCHEMA_VERSION, OWN_ROWS_SCHEMA_VERSION].join(" to ");
}

async function commands(): Promise<Report> {
  const { commands: names } = await programFor(undefined);
  const programs = await Promise.all(names.map((each) => programFor(each.name())));
  const all = programs.flatMap((program, i) => withBelow(program.commands[i]!, "routewright"));
  const exits = Object.entries(EXIT).map(([name, code]) => `${String(code)} ${name}`);
  return new Map([...all, ["exit-codes", exits.join("\n")] as const]);
}

type Entry = readonly [name: string, text: string];

function withBelow(command: Command, parent: string): readonly Entry[] {
  const name = `${parent} ${command.name()}`;
  const args = command.registeredArguments.map((argument) =>
    argument.required ? `<${argument.name()}>` : `[${argument.name()}]`,
  );
  return [
    [name, args.join(" ")],
    ...command.options.map((option): Entry => [`${name} ${option.long ?? option.flags}`, flagText(option)]),
    ...command.commands.flatMap((each) => withBelow(each, name)),
  ];
}

function flagText({ flags, argChoices, defaultValue, envVar }: Option): string {
  const facts = [
    ...(argChoices === undefined ? [] : [`one of ${argChoices.join(", ")}`]),
    ...(defaultValue === undefined ? [] : [`default ${JSON.stringify(defaultValue)}`]),
    ...(envVar === undefined ? [] : [`or ${envVar}`]),
  ];
  return [flags, ...facts].join("\n");
}

interface Schema {
  readonly type?: unknown;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly pattern?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly $ref?: string;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}

/** Each key of a schema by its path, with what it takes. */
function keysOf(schema: Schema, path: string): readonly Entry[] {
  const { type, enum: values, properties = {}, items, required = [] } = schema;
  const text =
    values === undefined ? JSON.stringify(type ?? schema.$ref ?? "any") : values.map(String).join(" | ");
  const below = Object.entries(properties).flatMap(([key, one]) =>
    keysOf(one, `${path === "" ? "" : `${path}.`}${key}${required.includes(key) && path !== "" ? "" : ""}`),
  );
  return [
    ...(path === "" ? [] : [[path, text] as const]),
    ...below,
    ...(items === undefined ? [] : keysOf(items, `${path}[]`)),
    ...[...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].flatMap((one) =>
      keysOf(one, path === "" ? "" : `${path}|`),
    ),
  ];
}

function config(): Report {
  return new Map(keysOf(CONFIG_SCHEMA as Schema, ""));
}

function errors(): Report {
  const data = Object.entries(ERRORS).map(([code, { status, detail }]): Entry => [
    code,
    `${String(status)} ${detail}`,
  ]);
  const ramp = Object.entries(RAMP_ERRORS).map(([code, { status, message }]): Entry => [
    code,
    `${String(status)} ${message}`,
  ]);
  return new Map([...data, ...ramp]);
}

/** Names with their defaults, as far as a service reads them where nothing is set. */
function settings(): Report {
  const found = new Map<string, string>();
  for (const [service, settingsOf] of [
    ["data API", dataSettings],
    ["ramp", rampSettings],
  ] as const) {
    const variables = new Variables({});
    settingsOf(variables);
    for (const name of variables.names)
      found.set(name, [found.get(name), service].filter(Boolean).join(", "));
  }
  return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
  readonly webhooks: Readonly<Record<string, unknown>>;
}

interface OpenApiOperation {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: unknown;
  readonly responses: Readonly<Record<string, unknown>>;
}

function http(): Report {
  const system = SYSTEM_ROUTES.map(({ method, path, operation }): Entry => [
    `${method} ${path}`,
    (operation?.responses ?? []).map(({ status, mediaType }) => `${String(status)} ${mediaType}`).join("\n"),
  ]);
  const { paths, components, webhooks } = openApiDocument(
    "http://ramp.example",
    ROUTES,
  ) as unknown as OpenApi;
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): Entry => [
      `ramp ${method.toUpperCase()} ${path}`,
      [
        ...(operation.parameters ?? []).map((one) => `${one.in} ${one.name}`),
        ...Object.keys(operation.responses),
        ...[...JSON.stringify(operation).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(
          ([, name = ""]) => name,
        ),
      ].join("\n"),
    ]),
  );
  const fields = Object.entries(components.schemas).flatMap(([name, schema]) =>
    keysOf(schema, "").map(([key, text]): Entry => [`ramp ${name}.${key}`, text]),
  );
  const events = Object.keys(webhooks).map((name): Entry => [`ramp event ${name}`, ""]);
  return new Map([...system, ...operations, ...fields, ...events]);
}
