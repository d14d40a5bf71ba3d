import { createInterface } from "node:readline/promises";
import { type Tier, TIERS } from "@routewright/runtime/model";
import type { ServedEngine } from "../../catalogue/types/type-in-copy.js";
import { type DbtProject, titleOf } from "./dbt-project.js";
import type { DOCKER_FILES } from "./plan.js";

export const CI = ["github", "gitlab", "none"] as const;

export interface InitFlags {
  readonly manifest?: string;
  readonly catalog?: string;
  readonly out?: string;
  readonly title?: string;
  readonly defaultTier?: Tier;
  readonly schema?: string;
  readonly engine?: ServedEngine;
  readonly publish?: readonly string[];
  readonly publishName?: readonly string[];
  readonly publishTier?: Tier;
  readonly ci?: (typeof CI)[number];
  readonly docker?: keyof typeof DOCKER_FILES | "none";
  readonly yes: boolean;
}

const BY_TAGS = "those with tags";

async function publishedModels(
  ask: (question: string, fallback: string) => Promise<string>,
): Promise<readonly string[]> {
  const answer = await ask("Models that become endpoints, such as path:models/marts", BY_TAGS);
  return answer === BY_TAGS ? [] : [answer];
}

/** Prompts for what no flag sets. */
export async function prompted(
  flags: InitFlags,
  projects: readonly DbtProject[],
  isConfigured: boolean,
): Promise<InitFlags> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const ask = async (question: string, fallback: string, choices?: readonly string[]): Promise<string> => {
    const hint = choices === undefined ? "" : ` (${choices.join(", ")})`;
    const answer = (await terminal.question(`${question}${hint} [${fallback}] `)).trim() || fallback;
    return choices === undefined || choices.includes(answer) ? answer : ask(question, fallback, choices);
  };
  try {
    const manifests = projects.map((project) => project.manifest);
    const [first] = manifests;
    const isPrompted = flags.manifest === undefined && !isConfigured && first !== undefined;
    const manifest = isPrompted ? await ask("dbt's manifest", first, manifests) : flags.manifest;
    const own =
      titleOf(projects.find((project) => project.manifest === manifest)?.name ?? null) ?? "Data API";
    const title = flags.title ?? (isConfigured ? undefined : await ask("Title of the API", own));
    const schema = flags.schema ?? (isConfigured ? "" : await ask("Schema in production", "the manifest's"));
    const publish = flags.publish ?? (isConfigured ? [] : await publishedModels(ask));
    const isNamed = publish.length > 0 && flags.publishTier === undefined;
    const publishTier = isNamed ? ((await ask("Their tier", "tier3", TIERS)) as Tier) : flags.publishTier;
    const ci = flags.ci ?? ((await ask("Pipeline", "none", CI)) as InitFlags["ci"] & string);
    const docker =
      flags.docker ?? ((await ask("Container files", "no", ["yes", "no"])) === "yes" ? "data" : "none");
    return {
      ...flags,
      ...(manifest !== undefined && { manifest }),
      ...(title !== undefined && { title }),
      ...(schema !== "the manifest's" && { schema }),
      ...(publish.length > 0 && { publish }),
      ...(publishTier !== undefined && { publishTier }),
      ci,
      docker,
    };
  } finally {
    terminal.close();
  }
}
