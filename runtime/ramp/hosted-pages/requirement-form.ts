import { type Html, html } from "@routewright/runtime/internal/core/http/html.js";
import { type FormErrors, type FormInput, NUMBERS } from "./form-input.js";
import type { Choice, FormField } from "../providers/form.js";

export interface FormState {
  readonly typed: FormInput;
  readonly errors: FormErrors;
}

export const UNTOUCHED: FormState = { typed: new Map(), errors: new Map() };

/** Prefix of form fields, which keeps them apart from the page's own. */
export const FIELD_PREFIX = "field.";

/** Values of `autocomplete`, by the field's name. */
const AUTOCOMPLETE: ReadonlyMap<string, string> = new Map([
  ["fullName", "name"],
  ["firstName", "given-name"],
  ["lastName", "family-name"],
  ["dateOfBirth", "bday"],
  ["email", "email"],
  ["phone", "tel"],
  ["address", "street-address"],
  ["city", "address-level2"],
  ["postalCode", "postal-code"],
]);

/** The summary at the top names every error and leads to its field. */
export function errorSummary(fields: readonly FormField[], { errors }: FormState): Html | null {
  if (errors.size === 0) return null;
  const items = [...errors].map(([name, message]) => {
    const at = fields.findIndex((field) => field.name === name);
    return at < 0 ? html`<li>${message}</li>` : html`<li><a href="#${idOf(at)}">${message}</a></li>`;
  });
  return html`<div class="summary" role="alert" tabindex="-1">
    <h2>Please check the form</h2>
    <ul>
      ${items}
    </ul>
  </div>`;
}

export function fieldViews(fields: readonly FormField[], state: FormState): Html {
  return html`${fields.map((field, at) => fieldView(field, at, state))}`;
}

function idOf(at: number): string {
  return `field-${String(at)}`;
}

function fieldView(field: FormField, at: number, { typed, errors }: FormState): Html {
  const id = idOf(at);
  const { kind, hint, isRequired } = field;
  const error = errors.get(field.name) ?? null;
  const notes = [
    hint === null ? null : html`<p class="hint" id="${id}-hint">${hint}</p>`,
    error === null ? null : html`<p class="error" id="${id}-error">${error}</p>`,
  ].filter((note) => note !== null);
  const described = [hint === null ? "" : `${id}-hint`, error === null ? "" : `${id}-error`].join(" ").trim();
  const attributes = html`name="${FIELD_PREFIX + field.name}"
  ${described === "" ? null : html` aria-describedby="${described}"`}${error === null ? null : html` aria-invalid="true"`}${isRequired ? html` required` : null}`;
  const label = isRequired ? field.label : `${field.label} (optional)`;
  const value = typed.get(field.name) ?? "";
  if (kind === "choice")
    return html`<fieldset>
      <legend>${label}</legend>
      ${notes}
      ${choicesShown(field).map(
        (choice, i) =>
          html`<label class="choice"
            ><input
              type="radio"
              id="${i === 0 ? id : `${id}-${String(i)}`}"
              value="${choice.text}"
              ${choice.text === value ? html` checked` : null}
              ${attributes}
            />
            ${choice.label}</label
          >`,
      )}
    </fieldset>`;
  if (kind === "consent")
    return html`<div class="field">
      <label class="choice"
        ><input
          type="checkbox"
          id="${id}"
          value="yes"
          ${value === "" ? null : html` checked`}
          ${attributes}
        />
        ${label}</label
      >${notes}
    </div>`;
  const complete = AUTOCOMPLETE.get(field.name);
  const type = NUMBERS[kind] ? html`type="text" inputmode="decimal"` : html`type="${kind}"`;
  return html`<div class="field">
    <label for="${id}">${label}</label>${notes}
    <input
      ${type}
      id="${id}"
      value="${value}"
      ${field.maxLength === null ? null : html` maxlength="${String(field.maxLength)}"`}${complete === undefined ? null : html` autocomplete="${complete}"`}
      ${attributes}
    />
  </div>`;
}

/** A choice that may be left out can be taken back. */
function choicesShown({ choices, isRequired }: FormField): readonly Pick<Choice, "text" | "label">[] {
  return isRequired ? choices : [...choices, { text: "", label: "No answer" }];
}
