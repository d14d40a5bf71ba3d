/** A chart alone, for the frames of other pages (runtime/docs/catalogue.md, Explorer). It sends no key. */
import { BASE, fetchCatalogue } from "./api.js";
import { type ApiRequest } from "./api-request.js";
import { ChartReader } from "./chart-rows.js";
import { NOT_TRUE, planFor } from "./chart.js";
import { plotOf } from "./chart-plot.js";
import { el, time } from "./dom.js";
import { readState, writeState } from "./state.js";
import { key } from "./storage.js";
import { messageOf } from "../../core/model/outcome.js";

const root = document.querySelector("main") ?? document.body;
const state = readState(location.search);
/** The title that the embedding page chooses. */
const title = new URLSearchParams(location.search).get("title");

/** The height of lines and upright bars that it chooses, in pixels. */
function chosenHeight(): number | undefined {
  const height = Number(new URLSearchParams(location.search).get("height") ?? NaN);
  return Number.isInteger(height) && height >= 60 && height <= 2000 ? height : undefined;
}

async function show(): Promise<void> {
  const { catalogue } = await fetchCatalogue();
  const endpoint = catalogue.endpoints.find(({ path }) => path === state.endpoint);
  if (endpoint?.callable !== true)
    throw new Error(`There is no public endpoint ${state.endpoint || "in this address"}.`);
  const request: ApiRequest = { endpoint, parameters: state.parameters };
  const found = await planFor(new ChartReader(request, null), state.chart);
  if (found === null) throw new Error("There is nothing to draw in these rows.");
  const { plan, columns, notes } = found;
  if (notes === null) throw new Error(NOT_TRUE);
  const source = `${BASE}/explore${writeState({ ...state, view: "chart" })}`;
  const draw = (): void =>
    root.replaceChildren(
      el("h1", title ?? endpoint.title),
      plotOf(plan, columns, notes, chosenHeight()).element,
      el(
        "p.note",
        `Source: ${catalogue.title}, ${new URL(BASE).host} · `,
        el("a", { href: source, target: "_blank", rel: "noopener" }, "Open in the explorer"),
        endpoint.data_as_of !== null && " · built ",
        endpoint.data_as_of !== null && time(endpoint.data_as_of),
      ),
    );
  draw();
  // Charts are drawn in the colours of the theme.
  document.addEventListener("theme", draw);
}

key.ignore();
show()
  .catch((error: unknown) => root.replaceChildren(el("p.problem", { role: "alert" }, messageOf(error))))
  .finally(() => root.removeAttribute("aria-busy"));
