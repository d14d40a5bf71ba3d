import type { QuotaUnit } from "../../core/model/organization-plan.js";
import { form, type SignedInReader } from "./form.js";
import { type Html, html } from "../../core/http/html.js";
import type { Overview, ShownPlan } from "./overview.js";
import { changesOf, endOf, peopleOf, usageOf } from "./sections.js";
import { table } from "./table.js";

/** The account of an organization. */
export function overview(shown: Overview): Html {
  const { organization, reader, notice, keys } = shown;
  const first = keys.length === 0;
  return html`<main id="account">
    ${whoIs(shown)}
    <h2>${organization.name || "Your organization"}<small>${organization.id}</small></h2>
    ${notice} ${first ? firstKey(shown) : null} ${planOf(shown.plan)} ${first ? null : keysOf(shown)}
    ${usageOf(shown)} ${peopleOf(shown)} ${changesOf(shown)} ${endOf(shown, reader)}
  </main>`;
}

function whoIs({ reader, organization, organizations }: Overview): Html {
  const { root, name, mail } = reader;
  const others = organizations.filter(({ id }) => id !== organization.id);
  return html`<div class="who">
    <p>Signed in as <strong>${name}</strong>${mail !== null && mail !== name ? html` (${mail})` : null}</p>
    ${others.length === 0 ? null : html`<p>Other organizations: ${others.map(({ id, name: other }) => html`<a href="${root}?organization=${encodeURIComponent(id)}">${other || id}</a> `)}</p>`}
    ${form(reader, "sign-out", html`<button>Sign out</button>`)}
  </div>`;
}

function firstKey({ reader, organization, formId }: Overview): Html {
  return html`<section class="panel first">
    <h3>Get your first key</h3>
    <p>It is shown once. You can name, limit and replace keys later.</p>
    ${form(
      reader,
      "keys",
      html`<input type="hidden" name="once" value="${formId}" /><input
          type="hidden"
          name="name"
          value="First key"
        /><button class="main">Create a key</button>`,
      organization.id,
    )}
  </section>`;
}

function planOf({ name, tier, requestsPerMinute, allowed, price, upgrade, quotas }: ShownPlan): Html {
  return html`<section>
    <h3>Plan</h3>
    <dl>
      <div>
        <dt>Plan</dt>
        <dd>${name ?? "none"}${price === undefined ? null : html`, ${price}`}</dd>
      </div>
      <div>
        <dt>Opens</dt>
        <dd>${tier}${allowed.length === 0 ? null : html`: ${allowed.join(", ")}`}</dd>
      </div>
      <div>
        <dt>Requests a minute and key</dt>
        <dd>${requestsPerMinute.toLocaleString("en")}</dd>
      </div>
      ${quotas.map(
        ({ unit, quota, left }) =>
          html`<div>
            <dt>${UNIT_NAMES[unit]} left this month (UTC)</dt>
            <dd>${left.toLocaleString("en")} of ${quota.toLocaleString("en")}</dd>
          </div>`,
      )}
    </dl>
    ${upgrade === undefined ? null : html`<p><a href="${upgrade}" rel="noreferrer">Change the plan</a></p>`}
  </section>`;
}

const UNIT_NAMES: Readonly<Record<QuotaUnit, string>> = {
  requests: "Requests",
  rows: "Rows",
  bytes: "Bytes",
};

function keysOf(shown: Overview): Html {
  const { reader, organization, keys, formId, categories } = shown;
  const rows = keys.map(
    ({ id, name, created, expires, allowed, lastUsed, isReplaceable }) =>
      html`<tr>
        <th scope="row">${name || id}<small>${id}</small></th>
        <td data-label="Limited to">${allowed.length === 0 ? "the plan" : allowed.join(", ")}</td>
        <td data-label="Made">${created.slice(0, 10)}</td>
        <td data-label="Ends">
          ${expires === null ? "never" : expires.replace("T", " ").replace("Z", " UTC")}
        </td>
        <td data-label="Last used">${lastUsed ?? "not yet"}</td>
        <td class="acts">
          ${isReplaceable ? act(reader, "keys/rotate", organization.id, id, `Replace the key ${name || id}`, "Replace", formId + id) : null}
          ${act(reader, "keys/revoke", organization.id, id, `Revoke the key ${name || id}`, "Revoke")}
        </td>
      </tr>`,
  );
  return html`<section>
    <h3>Keys</h3>
    ${table("keys", ["Name", "Limited to", "Made", "Ends", "Last used", "Change"], rows)}
    <details>
      <summary>New key</summary>
      ${form(
        reader,
        "keys",
        html`<input type="hidden" name="once" value="${formId}" />
          <label>Name <input name="name" required maxlength="100" autocomplete="off" /></label>
          <label>Last day, in UTC (may be empty) <input name="expires" type="date" /></label>
          <label
            >Limited to (may be empty)
            <input name="allowed" maxlength="2000" autocomplete="off" aria-describedby="allowed-hint"
          /></label>
          <p class="hint" id="allowed-hint">
            Categories and paths with spaces between: ${categories.join(", ")}, or /v1/…
          </p>
          <button class="main">Create a key</button>`,
        organization.id,
      )}
    </details>
    <p class="hint">A key that you replace stays valid for a day.</p>
  </section>`;
}

function act(
  reader: SignedInReader,
  action: string,
  organization: string,
  id: string,
  label: string,
  text: string,
  once?: string,
): Html {
  return form(
    reader,
    action,
    html`<input
        type="hidden"
        name="id"
        value="${id}"
      />${once === undefined ? null : html`<input type="hidden" name="once" value="${once}" />`}<button
        aria-label="${label}"
      >
        ${text}
      </button>`,
    organization,
  );
}
