import { type Html, html } from "../../core/http/html.js";

/** What every form of a reader has. */
export interface SignedInReader {
  readonly name: string;
  readonly mail: string | null;
  /** Address of the page, such as `/data/account`. */
  readonly root: string;
  readonly formToken: string;
}

/** A form with what proves that it is of this page. */
export function form(
  { root, formToken }: SignedInReader,
  action: string,
  content: Html,
  organization?: string,
): Html {
  return html`<form method="post" action="${root}/${action}">
    <input type="hidden" name="form" value="${formToken}" />${
      organization === undefined
        ? null
        : html`<input type="hidden" name="organization" value="${organization}" />`
    }${content}
  </form>`;
}
