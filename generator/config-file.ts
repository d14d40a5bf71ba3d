import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { failed, messageOf, type Outcome, succeeded, unlessFailed } from "@routewright/runtime/model";
import { readSource } from "./artifacts/source.js";
import type { Config } from "./config-schema.js";
import { isObject } from "./manifest/json.js";
import { parseJson } from "./manifest/json-text.js";
import { schemaErrorOf, validatorOf } from "./manifest/schema-errors.js";

/** The config file of a folder: one of these. */
const CONFIG_FILES = ["routewright.config.json", "routewright.config.yml", "routewright.config.ts"] as const;

/** The settings of a repository, and the name of the file that has them. */
export interface ConfigFile {
  readonly config: Config;
  /** Null where there is none. */
  readonly file: string | null;
}

/** The config file of the current folder; an empty one where there is none. */
export async function readConfig(): Promise<Outcome<ConfigFile>> {
  const [file, other] = CONFIG_FILES.filter((name) => existsSync(name));
  if (file === undefined) return succeeded({ config: {}, file: null });
  if (other !== undefined) return failed(`There are two config files, ${file} and ${other}: keep one.`);
  const reading = await readFile(file);
  if (!reading.ok) return reading;
  const problems = configProblems(reading.value).map((problem) => `${file}: ${problem}`);
  return unlessFailed(problems, { config: reading.value as Config, file });
}

async function readFile(file: (typeof CONFIG_FILES)[number]): Promise<Outcome<unknown>> {
  if (file.endsWith(".ts")) return loadTypeScript(file);
  const source = await readSource(file);
  if (!source.ok) return source;
  if (file.endsWith(".json")) return parseJson(source.value.text, file);
  const { parse } = await import("yaml");
  return parsed(file, () => parse(source.value.text) as unknown);
}

/** `jiti` compiles and loads it and what it imports: Node 20 cannot. */
async function loadTypeScript(file: string): Promise<Outcome<unknown>> {
  const { createJiti } = await import("jiti");
  const load = createJiti(import.meta.url, { fsCache: false });
  return parsed(file, () => load.import(resolve(file), { default: true }));
}

async function parsed(file: string, value: () => unknown): Promise<Outcome<unknown>> {
  try {
    return succeeded(await value());
  } catch (error) {
    const [reason = ""] = messageOf(error).trim().split("\n");
    return failed(`${file} cannot be read: ${reason.replace(/^ParseError: /, "").trim()}`);
  }
}

const errorsOf = validatorOf("config");

/** Every problem of a config file's value; each names its key. */
export function configProblems(value: unknown): readonly string[] {
  if (!isObject(value)) return ["it is not an object of settings."];
  return errorsOf(value)
    .map(schemaErrorOf)
    .map(({ at, message, hint }) => `${at === "" ? "" : `\`${at}\`: `}${message} ${hint}`);
}
