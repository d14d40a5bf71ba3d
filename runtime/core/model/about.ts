import { record, text } from "./schema.js";
import type { ValueOf } from "./schema.js";

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
  },
);

export type ApiAbout = ValueOf<typeof ABOUT_SCHEMA>;
