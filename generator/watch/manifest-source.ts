import { createHash } from "node:crypto";
import { readSource } from "../manifest/source.js";

/** What a look at the manifest found. */
export type Look =
  | { readonly kind: "text"; readonly text: string; readonly hash: string }
  /** The manifest is the one that the caller knows. */
  | { readonly kind: "unchanged" }
  | { readonly kind: "error"; readonly detail: string };

/** A manifest that is looked at again and again: by its content's hash, and over HTTP with conditional requests. */
export class ManifestSource {
  readonly #location: string;

  constructor(location: string) {
    this.#location = location;
  }

  /** `known`: hash of the manifest that the caller has; null for none. */
  async look(known: string | null): Promise<Look> {
    const source = await readSource(this.#location);
    if (!source.ok) return { kind: "error", detail: source.problem };
    const hash = createHash("sha256").update(source.text).digest("hex");
    return hash === known ? { kind: "unchanged" } : { kind: "text", text: source.text, hash };
  }
}
