import { providerViolations } from "../core/json-schema.js";
import { schemaProblem } from "../core/provider-schema.js";
import { type FieldKind, fieldsOf, type FormField, type FormSchema } from "./form.js";

/** What `ramp provider test` fills into a form (runtime/ramp/docs/provider-protocol.md, Forms). */
export interface FilledForm {
  readonly fields: Readonly<Record<string, unknown>>;
  /** Required fields for which no value is known. */
  readonly missing: readonly string[];
}

/** Values that fields of a kind take, where they have no examples. The date is that of an adult, and one to come. */
const USUAL: Readonly<Record<FieldKind, readonly unknown[]>> = {
  text: [
    ...["Test Customer", "Test", "1 Test Street", "12345678", "123-45-6789", "GB", "GBR", "A1", "SW1A 1AA"],
    ...["021000021", "DE89370400440532013000", "test@example.com", "2030-01-01T00:00:00Z"],
  ],
  date: ["1990-01-01", "2030-01-01"],
  email: ["test@example.com"],
  url: ["https://example.com/"],
  tel: ["+441632960961", "441632960961", "4415550100"],
  number: [100, 1, 42, 0, 0.5],
  integer: [100, 1, 42, 0],
  consent: [true],
  choice: [],
};

/** Each field has its first example, its default, or the first usual value that its schema takes. */
export function filledForm(form: FormSchema): FilledForm {
  const isChecked = schemaProblem(form) === null;
  const fields: [string, unknown][] = [];
  const missing: string[] = [];
  for (const field of fieldsOf(form)) {
    const fits = (value: unknown): boolean =>
      !isChecked || providerViolations(field.schema, value).length === 0;
    const value = candidatesOf(field).find(fits);
    if (value !== undefined) fields.push([field.name, value]);
    else if (field.isRequired) missing.push(field.name);
  }
  return { fields: Object.fromEntries(fields), missing };
}

function candidatesOf({ kind, choices, schema }: FormField): readonly unknown[] {
  const { examples = [], default: usual, minLength = 0, minimum, maximum, exclusiveMinimum } = schema;
  const ends = [minimum, maximum, typeof exclusiveMinimum === "number" ? exclusiveMinimum + 1 : undefined];
  const isNumber = kind === "number" || kind === "integer";
  const long = kind === "text" && typeof minLength === "number" ? ["Test".padEnd(minLength, "t")] : [];
  const short = kind === "text" ? ["T"] : [];
  return [
    ...[examples, usual].flat(),
    ...choices.map(({ value }) => value),
    ...USUAL[kind],
    ...(isNumber ? ends : [...long, ...short]),
  ].filter((value) => value !== undefined);
}
