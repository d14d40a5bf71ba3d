import { TIERS, type Tier } from "../model/tier.js";
import { Variables } from "./variables.js";

/** Polling of a manifest for changes. */
export interface ManifestPolling {
  /** Whether `serve` polls the manifest without `--watch`. */
  readonly refreshEnabled: boolean;
  readonly refreshIntervalSeconds: number;
}

/** Settings for reading a manifest. */
export interface GenerationEnvironment extends ManifestPolling {
  /** File or address of the manifest; the file takes precedence. */
  readonly manifest: string | null;
  /** Tier of an endpoint whose model names none. */
  readonly defaultTier: Tier;
  /** Null: the default title of the OpenAPI document. */
  readonly apiTitle: string | null;
}

/** Reads only the variables of `generate`: invalid server settings must not fail a pipeline. */
export function readGenerationEnvironment(source: Readonly<Record<string, string | undefined>>): {
  readonly environment: GenerationEnvironment;
  readonly problems: readonly string[];
} {
  const variables = new Variables(source);
  return { environment: generationOf(variables), problems: variables.problems };
}

export function generationOf(variables: Variables): GenerationEnvironment {
  return {
    manifest: artifactOf(variables, "DBT_MANIFEST"),
    defaultTier: variables.oneOf("DEFAULT_ENDPOINT_TIER", "tier0", TIERS),
    apiTitle: variables.text("API_TITLE"),
    refreshEnabled: variables.oneOf("DBT_MANIFEST_REFRESH_ENABLED", "false", ["true", "false"]) === "true",
    refreshIntervalSeconds: variables.whole("DBT_MANIFEST_REFRESH_INTERVAL_SECONDS", 300, {
      min: 1,
      max: 86_400,
    }),
  };
}

/** File or address of dbt's `run_results.json`; the file takes precedence. */
export function runResultsOf(variables: Variables): string | null {
  return artifactOf(variables, "DBT_RUN_RESULTS");
}

function artifactOf(variables: Variables, name: string): string | null {
  const address = variables.parsed(`${name}_URL`, null, "an http:// or https:// address", (text) =>
    /^https?:\/\//i.test(text) && URL.canParse(text) ? text : null,
  );
  return variables.text(`${name}_PATH`) ?? address;
}
