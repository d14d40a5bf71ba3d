import { CASES, describeCumulative, isQuick } from "./cumulative-cases.js";

await describeCumulative(CASES.filter(isQuick));
