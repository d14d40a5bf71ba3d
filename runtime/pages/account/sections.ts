import { usageChart } from "./chart.js";
import { form, type SignedInReader } from "./form.js";
import { type Html, html } from "../../core/http/html.js";
import type { Overview, SumOfUse } from "./overview.js";
import { table } from "./table.js";

export function usageOf({ usage, reader, organization }: Overview): Html {
  if (usage === null)
    return html`<section>
      <h3>Usage</h3>
      <p>This server does not record usage.</p>
    </section>`;
  const used = usage.byEndpoint.length > 0;
  return html`<section>
    <h3>Usage of the last 30 days</h3>
    <div class="wide chart">${usageChart(usage.days)}</div>
    ${used ? html`${sums("Endpoint", usage.byEndpoint)}${sums("Key", usage.byKey)}` : html`<p>No requests yet.</p>`}
    <p>
      <a href="${reader.root}/usage.csv?organization=${encodeURIComponent(organization.id)}"
        >Download as CSV</a
      >: by day, endpoint and key. The last seconds are missing.
    </p>
  </section>`;
}

function sums(title: string, lines: readonly SumOfUse[]): Html {
  const count = (number: number): string => number.toLocaleString("en");
  const rows = lines.map(
    ({ name, requests, refused, errors, rows: sent }) =>
      html`<tr>
        <th scope="row">${name}</th>
        <td data-label="Requests">${count(requests)}</td>
        <td data-label="Refused">${count(refused)}</td>
        <td data-label="Failed">${count(errors)}</td>
        <td data-label="Rows">${count(sent)}</td>
      </tr>`,
  );
  return table("numbers", [title, "Requests", "Refused", "Failed", "Rows"], rows);
}

export function peopleOf({ reader, organization, members, invitations, isOwner }: Overview): Html {
  const rows = members.map(({ person, name, mail, role, isReader }) => {
    const other = role === "owner" ? "member" : "owner";
    const acts = html`${form(reader, "members/role", html`<input type="hidden" name="person" value="${person}" /><input type="hidden" name="role" value="${other}" /><button aria-label="Make ${other}: ${name}">Make ${other}</button>`, organization.id)}
    ${form(reader, "members/remove", html`<input type="hidden" name="person" value="${person}" /><button aria-label="Remove ${name}">Remove</button>`, organization.id)}`;
    return html`<tr>
      <th scope="row">
        ${name}${isReader ? " (you)" : null}${mail === null || mail === name ? null : html`<small>${mail}</small>`}
      </th>
      <td data-label="Role">${role}</td>
      <td class="acts">${isOwner && members.length > 1 ? acts : null}</td>
    </tr>`;
  });
  const open = invitations.map(
    ({ id, role, expires }) =>
      html`<li>
        For ${role === "owner" ? "an owner" : "a member"}, until ${expires.slice(0, 10)}
        ${form(reader, "invitations/withdraw", html`<input type="hidden" name="id" value="${id}" /><button>Withdraw</button>`, organization.id)}
      </li>`,
  );
  return html`<section>
    <h3>People</h3>
    ${table("people", ["Name", "Role", "Change"], rows)}
    ${
      isOwner
        ? html`${form(
            reader,
            "invitations",
            html`<label
                >Invite
                <select name="role">
                  <option value="member">a member</option>
                  <option value="owner">an owner</option>
                </select></label
              ><button>Make a link</button>`,
            organization.id,
          )}
          ${
            open.length === 0
              ? null
              : html`<h4>Open invitations</h4>
                  <ul class="open">
                    ${open}
                  </ul>`
          }`
        : html`<p class="hint">Owners invite and remove people.</p>`
    }
  </section>`;
}

export function changesOf({ changes }: Overview): Html {
  const rows = changes.map(
    ({ at, who, what }) =>
      html`<li>
        <time datetime="${at}">${at.replace("T", " ").replace("Z", " UTC")}</time> ${who} ${what}
      </li>`,
  );
  return html`<section>
    <details>
      <summary>What changed: the last ${changes.length}</summary>
      <ul class="changes">
        ${rows}
      </ul>
    </details>
  </section>`;
}

export function endOf({ organization, isOwner }: Overview, reader: SignedInReader): Html {
  return html`<section>
    <details>
      <summary>
        ${isOwner ? "Name of the organization, and the end of your account" : "The end of your account"}
      </summary>
      ${isOwner ? form(reader, "name", html`<label>Name of the organization <input name="name" maxlength="100" value="${organization.name}" autocomplete="off" /></label><button>Save</button>`, organization.id) : null}
      <h4>Delete your account</h4>
      <p>
        Your name and your address are erased. Where nobody else belongs to an organization of yours, its keys
        end at once and lose their names. Counts of requests stay, without a name.
      </p>
      ${form(reader, "delete", html`<label class="check"><input type="checkbox" name="sure" value="yes" required /> Yes, delete my account</label><button class="bad">Delete my account</button>`)}
    </details>
  </section>`;
}
