import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { ArtifactAccess } from "../../generator/artifacts/store.js";
import { atEnd } from "../support/at-end.js";
import type { Gate } from "./gate.js";

export type Variables = Readonly<Record<string, string>>;

/** A store of one kind, which runs. */
export interface TestStore {
  /** Address of a folder in it. */
  readonly folder: string;
  /** An address of the same kind in a bucket, container or job that is not there. */
  readonly elsewhere: string;
  /** `encoding`: the `Content-Encoding` that the store keeps with it, where it has one. */
  put(name: string, content: string | Buffer, encoding?: string): Promise<unknown>;
  remove(name: string): Promise<unknown>;
  /** The proxy in front of it; null: nothing is between. */
  readonly gate: Gate | null;
  /** The variables that its own tools read. */
  readonly variables: Variables;
  readonly access: ArtifactAccess;
  /** Credentials that it does not accept, by what is wrong with them. */
  readonly refused: readonly {
    readonly why: "wrong" | "expired";
    readonly variables?: Variables;
    readonly access?: ArtifactAccess;
  }[];
  /** What no message may show. */
  readonly secrets: readonly string[];
  /** Whether a version that is known is not sent again. */
  readonly isConditional: boolean;
}

/** Sets variables of this process, as a shell would; the former ones are back at the end of the test. */
export function withVariables(variables: Variables): void {
  const before = process.env;
  const kept = Object.entries(before).filter(
    ([name]) => !/^(AWS|GOOGLE|CLOUDSDK|STORAGE|AZURE|DBT)_/.test(name),
  );
  process.env = {
    ...Object.fromEntries(kept),
    HOME: "/nonexistent",
    AWS_EC2_METADATA_DISABLED: "true",
    ...variables,
  };
  atEnd(() => void (process.env = before));
}

/** Puts a file in one step. */
export function putFile(file: string, content: string | Buffer): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}.tmp`, content);
  renameSync(`${file}.tmp`, file);
}
