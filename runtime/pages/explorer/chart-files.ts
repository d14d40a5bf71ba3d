import { BASE } from "./api.js";
import { type ApiRequest } from "./api-request.js";
import type { Plot } from "./chart-plot.js";
import { coloursOf, picture, words } from "./chart-svg.js";
import { button, type Child, copyable, el, popover, svg } from "./dom.js";
import { save } from "./downloads.js";
import type { ChartState } from "./chart-choice.js";
import { embedQuery } from "./state.js";

/** What a chart is of. */
export interface ChartSource {
  readonly request: ApiRequest;
  readonly state: ChartState;
}

/** Pixels of a saved picture for each of the screen's. */
const SCALE = 2;
const MARGIN = 16;
const HEAD = 44;
const FOOT = 30;

/** Buttons that save a chart or show how to embed it. */
export function saveBar(source: ChartSource, plot: Plot): HTMLElement {
  const name = `${source.request.endpoint.path.slice(4).replaceAll("/", "-")}-chart`;
  return el(
    "div.bar.save",
    button("Save SVG", () => save(new Blob([savedPicture(source, plot).text], { type: SVG }), `${name}.svg`)),
    button(
      "Save PNG",
      () => void pngOf(savedPicture(source, plot)).then((file) => save(file, `${name}.png`)),
    ),
    popover("Embed", "Embed this chart", "", () => embedHelp(source)),
  );
}

const SVG = "image/svg+xml";

interface SavedPicture {
  readonly text: string;
  readonly width: number;
  readonly height: number;
}

/** The picture below the endpoint's title, with where it is from. */
function savedPicture({ request }: ChartSource, plot: Plot): SavedPicture {
  const drawn = plot.picture();
  const [width, height] = [drawn.width + 2 * MARGIN, drawn.height + HEAD + FOOT];
  const { ground, text, soft } = coloursOf(document.documentElement);
  drawn.element.setAttribute("x", String(MARGIN));
  drawn.element.setAttribute("y", String(HEAD));
  const whole = picture(
    width,
    height,
    svg("rect", { width, height, fill: ground }),
    words(MARGIN + 2, 28, request.endpoint.title, text, { "font-size": 15, "font-weight": 600 }),
    drawn.element,
    words(MARGIN + 2, height - 12, `${new URL(BASE).host}${request.endpoint.path}`, soft, {
      "font-size": 11,
    }),
  );
  return { text: new XMLSerializer().serializeToString(whole), width, height };
}

async function pngOf({ text, width, height }: SavedPicture): Promise<Blob> {
  const image = new Image();
  // The page's policy allows pictures of its own text.
  image.src = `data:${SVG};charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = el("canvas", { width: width * SCALE, height: height * SCALE });
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) =>
    canvas.toBlob((file) => (file === null ? reject(new Error("The picture is too large.")) : resolve(file))),
  );
}

/** The text that shows the chart in another page. */
function embedHelp({ request, state }: ChartSource): readonly Child[] {
  const { path, tier, title } = request.endpoint;
  if (tier !== "tier0")
    return [
      el("h3", "Embed"),
      el("p", "Only charts of public endpoints can be embedded: a page cannot keep a key."),
    ];
  const address = `${BASE}/explore/embed?${embedQuery(path, request.parameters, state)}`;
  const quoted = address.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
  const name = title.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
  const text = `<iframe src="${quoted}" title="${name}" width="100%" height="480" style="border:0"></iframe>`;
  return [
    el("h3", "Embed"),
    el("p", "It is as wide as its place and reads the latest data each time it is opened, without a key."),
    el(
      "p",
      "Add ",
      el("code", "&theme=light"),
      " or ",
      el("code", "dark"),
      ", and ",
      el("code", "&title=…"),
      ".",
    ),
    copyable("Embedded chart", text),
    el("p", el("a", { href: address }, "Open it alone")),
  ];
}
