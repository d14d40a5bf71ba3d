import type { HttpError } from "../model/errors.js";
import { loadedOnce } from "../model/loaded-once.js";

/** What groups and measures need: their requests, and their statements. */
export type MetricsModule = Awaited<ReturnType<typeof importMetrics>>;

/** A request for the values of a column. */
export type ValuesQuestion = Exclude<ReturnType<MetricsModule["readValuesQuestion"]>, HttpError>;

/** A request for the points of a chart. */
export type ChartQuestion = Exclude<ReturnType<MetricsModule["readChartQuestion"]>, HttpError>;

const importMetrics = () => import("../../metrics/metrics.js");

/**
 * Loads it with the first endpoint that has an aggregate, or with the first question about values or points: most processes serve rows
 * alone. Asked for again, a module that is loaded takes 40 µs.
 */
export const loadMetrics = loadedOnce(importMetrics);
