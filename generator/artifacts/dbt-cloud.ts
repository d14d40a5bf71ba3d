import { fetchFile } from "./http.js";
import { failedFetch, type Fetched, type ReadFrom, refusedAs } from "./store.js";

/**
 * A file of a job's latest successful run, by dbt Cloud's administrative API v2:
 * `GET /api/v2/accounts/{account}/jobs/{job}/artifacts/{file}`.
 */
export const readDbtCloud: ReadFrom<"dbt-cloud"> = ({ account, job, path }, request) => {
  const { host, token } = request.access.dbtCloud;
  if (token === null)
    return Promise.resolve(
      failedFetch(
        `Cannot read ${request.shown}: set DBT_CLOUD_API_TOKEN to a token that may read the job's artifacts.`,
      ),
    );
  const file = path.split("/").map(encodeURIComponent).join("/");
  const url = new URL(`/api/v2/accounts/${account}/jobs/${job}/artifacts/${file}`, host);
  const secrets = [{ headers: { authorization: `Token ${token}` }, origins: [url.origin] }];
  return fetchFile(url, secrets, request, (status) =>
    Promise.resolve<Fetched | null>(REFUSED.has(status) ? refusedAs(request, NO_ACCESS) : null),
  );
};

const REFUSED: ReadonlySet<number> = new Set([401, 403]);

const NO_ACCESS =
  "dbt Cloud refuses DBT_CLOUD_API_TOKEN. It is wrong, has expired, is of another account or region (DBT_CLOUD_HOST), or may not read this job.";
