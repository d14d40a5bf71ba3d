/** The cases of `cumulative.test.ts` that the quick set leaves out. */
import { CASES, describeCumulative, isQuick } from "./cumulative-cases.js";

await describeCumulative(CASES.filter((each, at) => !isQuick(each, at)));
