/** The cases of `cumulative.test.ts` and `cumulative-weeks.test.ts` that the quick set leaves out. */
import { CASES, describeCumulative, isQuick, WEEKS } from "./cumulative-cases.js";

for (const cases of [CASES, WEEKS]) await describeCumulative(cases.filter((each, at) => !isQuick(each, at)));
