/** A column's type, whatever the warehouse calls it. */
export type SourceType =
  | { readonly kind: "integer"; readonly bits: 8 | 16 | 32 | 64 | 128; readonly isUnsigned?: true }
  | { readonly kind: "decimal"; readonly precision: number; readonly scale: number }
  | { readonly kind: "float"; readonly bits: 32 | 64 }
  | { readonly kind: "boolean" | "text" | "bytes" | "date" | "time" | "uuid" | "json" }
  /** Digits of a second. */
  | { readonly kind: "timestamp"; readonly precision: number; readonly hasZone: boolean }
  | { readonly kind: "array"; readonly of: SourceType }
  | { readonly kind: "map"; readonly key: SourceType; readonly value: SourceType }
  | { readonly kind: "record"; readonly fields: readonly SourceField[] };

export interface SourceField {
  readonly name: string;
  readonly type: SourceType;
}
