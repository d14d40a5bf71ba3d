import { fieldTextOf, MAX_TYPE_TEXT, ownValue, type TypeText, typeTextOf } from "@routewright/runtime/model";
import type { SourceField, SourceType } from "./source-type.js";
import { type TypeNames, namesOf } from "./source-type-names.js";

/** The type that an adapter's type text means; null for one that is not known. */
export function sourceTypeOf(adapter: string, text: string): SourceType | null {
  return text.length > MAX_TYPE_TEXT ? null : read(namesOf(adapter), text);
}

function read(names: TypeNames, text: string): SourceType | null {
  const found = typeTextOf(text);
  if (found === null) return null;
  let type = named(names, found);
  for (let i = 0; i < found.dimensions && type !== null; i++) type = { kind: "array", of: type };
  return type;
}

function named(names: TypeNames, { name: written, args }: TypeText): SourceType | null {
  const inner = (text: string | undefined): SourceType | null =>
    text === undefined ? null : read(names, text);
  const name = written.toLowerCase();
  const [first, second] = args;
  const kind = ownValue(names.nested, name);
  switch (kind) {
    case "array": {
      const of = inner(first);
      return of === null ? (ownValue(names.untyped, name) ?? null) : { kind: "array", of };
    }
    case "map": {
      const [key, value] = [inner(first), inner(second)];
      return key === null || value === null ? null : { kind: "map", key, value };
    }
    case "record": {
      const fields = args.map((text) => fieldOf(text, inner));
      if (fields.length === 0) return ownValue(names.untyped, name) ?? null;
      return fields.every((field) => field !== null) ? { kind: "record", fields } : null;
    }
    case "same":
      return inner(first);
    default: {
      const numbers = args.map(Number);
      // A zone, or members of an enum, are no numbers.
      return ownValue(names.scalars, name)?.(numbers.filter(Number.isInteger)) ?? null;
    }
  }
}

function fieldOf(text: string, inner: (text: string) => SourceType | null): SourceField | null {
  const [name, typeText] = fieldTextOf(text) ?? [];
  const type = typeText === undefined ? null : inner(typeText);
  return name === undefined || type === null ? null : { name, type };
}
