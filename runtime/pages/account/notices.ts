import { form, type SignedInReader } from "./form.js";
import { type Html, html } from "../../core/http/html.js";

/** A key that was just made: it is nowhere else. `call`: how to use it. */
export function newKey(key: string, call: string, until: string | null): Html {
  return html`<section class="panel made" role="status">
    <h3>Your new key</h3>
    <p>
      Store it now: it is shown only
      here.${until === null ? null : ` The key before stays valid until ${until.replace("T", " ").replace("Z", " UTC")}.`}
    </p>
    <pre class="once" tabindex="0"><code>${key}</code></pre>
    <p>Paste this into a terminal. A new key opens after at most 2 seconds.</p>
    <pre class="once" tabindex="0"><code>${call}</code></pre>
  </section>`;
}

export function newInvitation(link: string, expires: string): Html {
  return html`<section class="panel made" role="status">
    <h3>An invitation</h3>
    <p>
      Send this link to one person. It works once, until ${expires.replace("T", " ").replace("Z", " UTC")},
      and is shown only here.
    </p>
    <pre class="once" tabindex="0"><code>${link}</code></pre>
  </section>`;
}

export const done = (text: string): Html => html`<p class="panel made" role="status">${text}</p>`;

/** Before anybody has signed in. `who`: who may sign up, as a sentence. */
export function welcome(root: string, title: string, who: string, terms: string | undefined): Html {
  return html`<main id="account">
    <section class="panel first">
      <h2>Get a key for ${title}</h2>
      <p>Sign in, create a key, and paste a call: a minute in all. ${who}</p>
      <p><a class="main" href="${root}/sign-in">Sign in</a></p>
      ${terms === undefined ? null : html`<p class="hint">By signing in you accept the <a href="${terms}" rel="noreferrer">terms of service</a>.</p>`}
    </section>
  </main>`;
}

/** What an invitation offers. `reader` null: nobody is signed in. */
export function invitation(root: string, reader: SignedInReader | null, code: string, offer: string): Html {
  return html`<main id="account">
    <section class="panel first">
      <h2>You are invited</h2>
      <p>${offer}</p>
      ${
        reader === null
          ? html`<p><a class="main" href="${root}/sign-in?invitation=${code}">Sign in to accept</a></p>`
          : html`<p>You are signed in as <strong>${reader.name}</strong>.</p>
              ${form(reader, "invitation", html`<input type="hidden" name="code" value="${code}" /><button class="main">Accept</button>`)}`
      }
    </section>
  </main>`;
}

/** Why there is nothing else, and what to do. */
export function message(
  root: string,
  title: string,
  text: string,
  reader: SignedInReader | null = null,
): Html {
  return html`<main id="account">
    <section class="panel">
      <h2>${title}</h2>
      <p>${text}</p>
      <p><a href="${root}">To the account page</a></p>
      ${reader === null ? null : form(reader, "sign-out", html`<button>Sign out</button>`)}
    </section>
  </main>`;
}
