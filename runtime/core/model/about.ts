import { described, listOf, mapOf, name, record, text } from "./schema.js";
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
  },
);

export type ApiAbout = ValueOf<typeof ABOUT_SCHEMA>;
export type HeadlineFigure = ValueOf<typeof HEADLINE_FIGURE>;
