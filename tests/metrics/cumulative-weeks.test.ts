import { describeCumulative, isQuick, WEEKS } from "./cumulative-cases.js";

await describeCumulative(WEEKS.filter(isQuick));
