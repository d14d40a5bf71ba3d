import { type GenerationEnvironment, readGenerationEnvironment } from "@routewright/runtime/model";
import { Option } from "commander";
import { EXIT, type Outcome } from "../commands/outcome.js";

/** `--manifest`, which all commands that read one share. */
export function manifestOption(): Option {
  const about = "dbt's manifest.json (default: DBT_MANIFEST_PATH or DBT_MANIFEST_URL)";
  return new Option("--manifest <file or URL>", about);
}

/** Runs a command with the manifest that a flag or else the environment names, or tells that none is named. */
export async function withManifest(
  named: string | undefined,
  variables: NodeJS.ProcessEnv,
  command: (manifest: string, environment: GenerationEnvironment) => Promise<Outcome>,
): Promise<Outcome> {
  const { environment, problems } = readGenerationEnvironment(variables);
  const manifest = named ?? environment.manifest;
  if (problems.length > 0) return { exit: EXIT.error, errors: problems };
  if (manifest === null) return { exit: EXIT.error, errors: [NO_MANIFEST] };
  return command(manifest, environment);
}

const NO_MANIFEST = "Name the manifest with --manifest, DBT_MANIFEST_PATH or DBT_MANIFEST_URL.";
