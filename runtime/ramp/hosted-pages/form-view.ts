import type { Field, FormErrors, FormInput } from "./requirement-form.js";
import { type Html, html } from "./layout.js";

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
export function errorSummary(fields: readonly Field[], { errors }: FormState): Html | null {
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

export function fieldViews(fields: readonly Field[], state: FormState): Html {
  return html`${fields.map((field, at) => fieldView(field, at, state))}`;
}

function idOf(at: number): string {
  return `field-${String(at)}`;
}

function fieldView(field: Field, at: number, { typed, errors }: FormState): Html {
  const id = idOf(at);
  const error = errors.get(field.name) ?? null;
  const notes = [
    ...(field.hint === null
      ? []
      : [{ id: `${id}-hint`, view: html`<p class="hint" id="${id}-hint">${field.hint}</p>` }]),
    ...(error === null
      ? []
      : [{ id: `${id}-error`, view: html`<p class="error" id="${id}-error">${error}</p>` }]),
  ];
  const described =
    notes.length === 0 ? null : html` aria-describedby="${notes.map((note) => note.id).join(" ")}"`;
  const attributes = html`${described}${error === null ? null : html` aria-invalid="true"`}${field.isRequired ? html` required` : null}`;
  const given = { id, value: typed.get(field.name) ?? "", attributes, notes: notes.map(({ view }) => view) };
  return controlView(field, given);
}

interface Given {
  readonly id: string;
  readonly value: string;
  readonly attributes: Html;
  readonly notes: readonly Html[];
}

function controlView(field: Field, { id, value, attributes, notes }: Given): Html {
  const { control } = field;
  const name = FIELD_PREFIX + field.name;
  const label = field.isRequired ? field.label : `${field.label} (optional)`;
  switch (control.kind) {
    case "choice":
      return html`<fieldset>
        <legend>${label}</legend>
        ${notes}
        ${control.choices.map(
          (choice, i) =>
            html`<label class="choice"
              ><input
                type="radio"
                id="${i === 0 ? id : `${id}-${String(i)}`}"
                name="${name}"
                value="${choice.value}"
                ${choice.value === value ? html` checked` : null}${attributes}
              />
              ${choice.label}</label
            >`,
        )}
      </fieldset>`;
    case "checkbox":
      return html`<div class="field">
        <label class="choice"
          ><input
            type="checkbox"
            id="${id}"
            name="${name}"
            value="yes"
            ${value === "" ? null : html` checked`}${attributes}
          />
          ${label}</label
        >${notes}
      </div>`;
    case "number":
      return html`<div class="field">
        <label for="${id}">${label}</label>${notes}
        <input type="text" inputmode="decimal" id="${id}" name="${name}" value="${value}" ${attributes} />
      </div>`;
    case "text": {
      const complete = AUTOCOMPLETE.get(field.name);
      const limit = control.maxLength === null ? null : html` maxlength="${String(control.maxLength)}"`;
      return html`<div class="field">
        <label for="${id}">${label}</label>${notes}
        <input
          type="${control.type}"
          id="${id}"
          name="${name}"
          value="${value}"
          ${limit}${complete === undefined ? null : html` autocomplete="${complete}"`}${attributes}
        />
      </div>`;
    }
  }
}
