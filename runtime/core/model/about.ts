import { described, listOf, mapOf, name, oneOf, record, text, textOf, wholeNumber } from "./schema.js";
import type { ValueOf } from "./schema.js";

/** A number that the first page begins with: of the first row, with those before it. */
const HEADLINE_FIGURE = record(
  {
    path: described("Path of an endpoint of tier0.", name),
    column: described("A column of numbers.", name),
  },
  { parameters: described("Parameters of the request, by name.", mapOf(text)) },
);

export const HEADLINE_SCHEMA = listOf(HEADLINE_FIGURE, { maxItems: 3 });

/** Who gets an organization by signing in on the account page (runtime/docs/accounts.md). */
export const SIGN_UP_SCHEMA = record(
  { plan: described("Name of the plan of an organization that signs up.", name) },
  {
    who: described(
      "Who may sign up: everybody whom the issuer knows, those with a verified address of `mailDomains`, or those with an invitation of an operator. Default: open.",
      oneOf(["open", "mailDomains", "invitation"]),
    ),
    mailDomains: described(
      "Such as example.com, without its subdomains.",
      listOf(textOf({ pattern: "^[a-z0-9-]+(\\.[a-z0-9-]+)+$" }), { minItems: 1, maxItems: 100 }),
    ),
    perHour: described("New people per hour at most. Default: 100.", wholeNumber(1, 1_000_000)),
  },
);

export type SignUp = ValueOf<typeof SIGN_UP_SCHEMA>;

/** What the documents of an API say of it and of its operator, beside its title. */
export const ABOUT_SCHEMA = record(
  {},
  {
    description: text,
    /** An `https:` or `mailto:` address: who gives keys and answers questions. */
    contact: text,
    /** An `https:` address. */
    termsOfService: text,
    /** A picture as a `data:` address: documents load nothing from other hosts. */
    logo: text,
    /** A colour, `#rrggbb`. */
    accent: text,
    headline: HEADLINE_SCHEMA,
    /** Absent: nobody. */
    signUp: SIGN_UP_SCHEMA,
  },
);

export type ApiAbout = ValueOf<typeof ABOUT_SCHEMA>;
export type HeadlineFigure = ValueOf<typeof HEADLINE_FIGURE>;
