import type { Html } from "../../core/http/html.js";
import { html } from "../../core/http/html.js";

/** Requests of a day in UTC. */
export interface DayOfUse {
  readonly day: string;
  readonly requests: number;
}

const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP] = [720, 180, 46, 22, 12];

/** Bars of the days, oldest first, as a picture that needs no script. */
export function usageChart(days: readonly DayOfUse[]): Html {
  const most = niceMaximum(Math.max(1, ...days.map(({ requests }) => requests)));
  const step = (WIDTH - LEFT) / Math.max(1, days.length);
  const heightOf = (requests: number): number => ((HEIGHT - BOTTOM - TOP) * requests) / most;
  const bars = days.map(({ day, requests }, i) => {
    const height = requests === 0 ? 0 : Math.max(1, heightOf(requests));
    const [x, y] = [LEFT + i * step + 1, HEIGHT - BOTTOM - height];
    return html`<rect
      x="${round(x)}"
      y="${round(y)}"
      width="${round(Math.max(1, step - 2))}"
      height="${round(height)}"
      ><title>${day}: ${counted(requests)}</title></rect
    >`;
  });
  const lines = [0, 0.5, 1].map((part) => {
    const y = round(HEIGHT - BOTTOM - heightOf(most * part));
    return html`<line x1="${LEFT}" x2="${WIDTH}" y1="${y}" y2="${y}" /><text
        x="${LEFT - 6}"
        y="${y + 4}"
        text-anchor="end"
        >${short(most * part)}</text
      >`;
  });
  const [first, last] = [days[0]?.day ?? "", days.at(-1)?.day ?? ""];
  const sum = days.reduce((all, { requests }) => all + requests, 0);
  return html`<svg
    class="usage"
    viewBox="0 0 ${WIDTH} ${HEIGHT}"
    role="img"
    aria-label="Requests by day from ${first} to ${last}: ${counted(sum)}"
  >
    <g class="lines">${lines}</g>
    <g class="bars">${bars}</g>
    <text x="${LEFT}" y="${HEIGHT - 6}">${first}</text>
    <text x="${WIDTH}" y="${HEIGHT - 6}" text-anchor="end">${last}</text>
  </svg>`;
}

const round = (number: number): number => Math.round(number * 10) / 10;

const counted = (requests: number): string =>
  `${requests.toLocaleString("en")} request${requests === 1 ? "" : "s"}`;

const short = (number: number): string =>
  new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 }).format(number);

/** 1, 2 or 5 and zeros. */
function niceMaximum(number: number): number {
  const power = 10 ** Math.floor(Math.log10(number));
  return ([1, 2, 5, 10].find((each) => each * power >= number) ?? 10) * power;
}
