/** Writes `runtime/filter/parser.ts`: `npm run filter-parser`, after the grammar has changed. A test compares the two. */
import { writeFileSync } from "node:fs";
import { PARSER, parserSource } from "./parser-source.js";

writeFileSync(PARSER, parserSource());
