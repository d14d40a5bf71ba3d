import type { Release } from "../data-api/release.js";
import { type Environment, readEnvironment } from "../environment/environment.js";
import { withKeysInline } from "../environment/keys.js";
import { readGeneratedRelease } from "../data-api/release.js";
import type { EnvironmentVariables } from "./messages.js";

/**
 * The configuration of all workers, read at one moment: a worker that replaces a dead one serves the same, whatever
 * happened to the files since.
 */
export interface WorkerConfig {
  /** With the keys in them. */
  readonly variables: EnvironmentVariables;
  readonly environment: Environment;
  /** What the generated folder has to serve; null where the data API is not served. */
  readonly data: { readonly title: string; readonly release: Release } | null;
}

export interface WorkerConfigSource {
  readonly variables: NodeJS.ProcessEnv;
  /** The generated folder; null where the data API is not served. */
  readonly generated: string | null;
  readonly dataDir: string;
}

/** Reads the environment, the keys and the generated folder. Rejects with a message for each that is invalid. */
export async function readWorkerConfig({
  variables,
  generated,
  dataDir,
}: WorkerConfigSource): Promise<WorkerConfig> {
  const reading = readEnvironment(variables);
  if (!reading.ok) throw new Error(reading.problems.join(" "));
  const { environment } = reading;
  const { apiTitle } = environment;
  const data = generated === null ? null : await readGeneratedRelease({ generated, dataDir, apiTitle });
  return { variables: withKeysInline(variables, environment.keysFile), environment, data };
}
