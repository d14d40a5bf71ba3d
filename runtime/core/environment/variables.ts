import { type Outcome, unlessFailed } from "../model/outcome.js";

/** Reads variables and collects problems. Messages never contain values, which may be secret. */
export class Variables {
  readonly problems: string[] = [];
  /** Names of the variables that were read. Bounded by the variables that are read. */
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

/** What a service reads from the variables, and the names of all variables that it knows. */
export interface VariablesReading<Settings> {
  readonly environment: Readonly<Settings>;
  readonly names: ReadonlySet<string>;
}

/** Reads all variables of a service. Reports every invalid one, not only the first. */
export function readVariables<Settings>(
  source: Readonly<Record<string, string | undefined>>,
  settingsOf: (variables: Variables) => Settings,
): Outcome<VariablesReading<Settings>> {
  const variables = new Variables(source);
  const environment = settingsOf(variables);
  // Services that read the same variable report it once.
  return unlessFailed([...new Set(variables.problems)], { environment, names: variables.names });
}

/** Expected form of `CURSOR_KEY` and `RAMP_SECRETS_KEY`, for messages. */
export const SECRETS_KEY_EXPECTED = "32 bytes as 64 hexadecimal digits or as base64";

/** The bytes of `CURSOR_KEY` or `RAMP_SECRETS_KEY`; null when the text is invalid. */
export function parseSecretsKey(text: string): Buffer | null {
  const bytes = /^[0-9a-f]{64}$/i.test(text) ? Buffer.from(text, "hex") : fromBase64(text);
  return bytes?.length === 32 ? bytes : null;
}

function fromBase64(text: string): Buffer | null {
  return /^[A-Za-z0-9+/_-]{43}=?$/.test(text) ? Buffer.from(text, "base64") : null;
}
