import { type Html, html } from "../../core/http/html.js";

/** A table that scrolls sideways where it is wider than the page. */
export function table(name: string, heads: readonly string[], rows: readonly Html[]): Html {
  return html`<div class="wide">
    <table class="${name}">
      <thead>
        <tr>
          ${heads.map((head) => html`<th scope="col">${head}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div>`;
}
