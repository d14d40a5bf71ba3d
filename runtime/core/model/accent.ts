/** Of text, by WCAG 2.2 AA. */
const ENOUGH = 4.5;

/** The grounds of text in the accent: those of the documents' frame (`pages/frame.css`). */
const LIGHT = { ground: "#f6f7f9", panel: "#ffffff" };
const DARK = { ground: "#0f141b", panel: "#171e28" };

type Channels = readonly [red: number, green: number, blue: number];

function channelsOf(color: string): Channels {
  const at = (i: number): number => parseInt(color.slice(i, i + 2), 16);
  return [at(1), at(3), at(5)];
}

function luminanceOf(color: string): number {
  const linear = channelsOf(color).map((channel) => {
    const share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  const [red = 0, green = 0, blue = 0] = linear;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** The contrast of two colours, 1 to 21. */
function contrastOf(one: string, other: string): number {
  const [darker = 0, lighter = 0] = [luminanceOf(one), luminanceOf(other)].sort((a, b) => a - b);
  return (lighter + 0.05) / (darker + 0.05);
}

/** `share` of one colour over another. */
function mixed(color: string, over: string, share: number): string {
  const under = channelsOf(over);
  const parts = channelsOf(color).map((channel, i) =>
    Math.round(channel * share + (under[i] ?? 0) * (1 - share)),
  );
  return `#${parts.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

/** The contrast of an accent on the light documents, where it is too small for text; else null. */
export function faintContrast(accent: string): number | null {
  const contrast = contrastOf(accent, LIGHT.ground);
  return contrast < ENOUGH ? contrast : null;
}

/** A tint of the panel on which the accent can be read. */
function tintOf(accent: string, panel: string): string {
  const shares = [0.18, 0.14, 0.1, 0.06, 0.03];
  const tints = shares.map((share) => mixed(accent, panel, share));
  return tints.find((tint) => contrastOf(accent, tint) >= ENOUGH) ?? panel;
}

/** The accent as the documents' style; in the dark theme as much lighter as it must be. */
export function accentStyle(accent: string): string {
  const rule = (root: string, color: string, { panel }: typeof LIGHT): string =>
    `${root}{--accent:${color};--accent-ground:${tintOf(color, panel)}}\n`;
  const lighter = Array.from({ length: 21 }, (_, i) => mixed("#ffffff", accent, i / 20));
  const dark = lighter.find((color) => contrastOf(color, DARK.panel) >= ENOUGH + 0.5) ?? "#ffffff";
  return rule(":root", accent, LIGHT) + rule(":root.dark-mode", dark, DARK);
}
