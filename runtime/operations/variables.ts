import { TIERS } from "../model/tier.js";
import type { TokenSettings } from "../request/bearer-tokens.js";
import { isFetchable } from "../http/issuer-keys.js";

/** Reads variables and collects problems. Messages never contain values, which may be secret. */
export class Variables {
  readonly problems: string[] = [];
  /** Names of the variables that were read. */
  readonly names = new Set<string>();
  readonly #variables: Readonly<Record<string, string | undefined>>;

  constructor(variables: Readonly<Record<string, string | undefined>>) {
    this.#variables = variables;
  }

  /** The trimmed text; null when unset or empty. */
  text(name: string): string | null {
    this.names.add(name);
    return this.#variables[name]?.trim() || null;
  }

  /** The parsed value. `parse` returns null for invalid text; the problem then names what is `expected`. */
  parsed<T>(name: string, fallback: T, expected: string, parse: (text: string) => T | null): T {
    const text = this.text(name);
    if (text === null) return fallback;
    const value = parse(text);
    if (value === null) this.problems.push(`${name} must be ${expected}.`);
    return value ?? fallback;
  }

  /** As `parsed`, for a comma-separated list. Problems name an invalid entry by its position. */
  parsedList<T>(name: string, expected: string, parse: (text: string) => T | null): readonly T[] {
    const texts = this.text(name)?.split(",") ?? [];
    return texts.flatMap((text, i) => {
      const value = parse(text.trim());
      if (value === null) this.problems.push(`${name}: entry ${String(i + 1)} must be ${expected}.`);
      return value ?? [];
    });
  }

  whole(name: string, fallback: number, range: { readonly min: number; readonly max: number }): number {
    const expected = `a whole number from ${String(range.min)} to ${String(range.max)}`;
    return this.parsed(name, fallback, expected, (text) => {
      const number = /^\d{1,12}$/.test(text) ? Number(text) : NaN;
      return number >= range.min && number <= range.max ? number : null;
    });
  }

  oneOf<T extends string>(name: string, fallback: T, allowed: readonly T[]): T {
    return this.parsed(
      name,
      fallback,
      `one of ${allowed.join(", ")}`,
      (text) => allowed.find((word) => word === text) ?? null,
    );
  }

  flag(name: string, fallback: boolean): boolean {
    return this.oneOf(name, String(fallback), ["true", "false"]) === "true";
  }
}

/** Expected form of `CURSOR_KEY` and `RAMP_SECRETS_KEY`, for messages. */
export const SECRETS_KEY_EXPECTED = "32 bytes as 64 hexadecimal digits or as base64";

/** The bytes of `CURSOR_KEY` or `RAMP_SECRETS_KEY`; null when the text is invalid. */
export function secretsKey(text: string): Buffer | null {
  const bytes = /^[0-9a-f]{64}$/i.test(text) ? Buffer.from(text, "hex") : fromBase64(text);
  return bytes?.length === 32 ? bytes : null;
}

function fromBase64(text: string): Buffer | null {
  return /^[A-Za-z0-9+/_-]{43}=?$/.test(text) ? Buffer.from(text, "base64") : null;
}

/** Settings for reading a manifest. */
export type GenerationEnvironment = Readonly<ReturnType<typeof generationOf>>;

/** Reads only the variables of `generate`: invalid server settings must not fail a pipeline. */
export function readGenerationEnvironment(source: Readonly<Record<string, string | undefined>>) {
  const variables = new Variables(source);
  return { environment: generationOf(variables), problems: variables.problems as readonly string[] };
}

export function generationOf(variables: Variables) {
  return {
    /** File or address of the manifest; the file takes precedence. */
    manifest: artifactOf(variables, "DBT_MANIFEST"),
    /** Tier of an endpoint whose model names none. */
    defaultTier: variables.oneOf("DEFAULT_ENDPOINT_TIER", "tier0", TIERS),
    /** Null: the default title of the OpenAPI document. */
    apiTitle: variables.text("API_TITLE"),
    /** Whether `serve` polls the manifest without `--watch`. */
    refreshEnabled: variables.flag("DBT_MANIFEST_REFRESH_ENABLED", false),
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

/** Without an audience, tokens that the issuer made for other services would open this one. */
export function tokenSettings(variables: Variables): TokenSettings | null {
  const expected = "an https:// address, or http:// on this machine";
  const issuer = variables.parsed("API_JWT_ISSUER", null, expected, (text) =>
    isFetchable(text) ? text : null,
  );
  const audience = variables.text("API_JWT_AUDIENCE");
  const claims = {
    tier: variables.text("API_JWT_TIER_CLAIM") ?? "tier",
    org: variables.text("API_JWT_ORG_CLAIM") ?? "org",
    user: variables.text("API_JWT_USER_CLAIM") ?? "sub",
  };
  const clockSkewSeconds = variables.whole("API_JWT_CLOCK_SKEW_SECONDS", 5, { min: 0, max: 300 });
  if ((variables.text("API_JWT_ISSUER") === null) !== (audience === null))
    variables.problems.push("API_JWT_ISSUER and API_JWT_AUDIENCE need each other: set both, or neither.");
  return issuer === null || audience === null ? null : { issuer, audience, claims, clockSkewSeconds };
}
