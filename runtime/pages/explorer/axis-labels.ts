/** Labels of the y axis, with as many digits as tell them apart. Beyond trillions there is no common unit. */
export function labelsOf(splits: readonly number[]): string[] {
  const isHuge = splits.some((split) => Math.abs(split) >= 1e15);
  const notation = isHuge ? "scientific" : "compact";
  for (let digits = 2; ; digits++) {
    const format = new Intl.NumberFormat("en", { notation, maximumFractionDigits: digits });
    const labels = splits.map((split) => (split === 0 ? "0" : format.format(split)));
    if (digits === MAX_DECIMALS || new Set(labels).size === labels.length) return labels;
  }
}

const MAX_DECIMALS = 10;

/** Characters of a label of the x axis. */
export const MAX_LABEL = 14;

export function shortened(text: string): string {
  if (text.length <= MAX_LABEL) return text;
  // Addresses and hashes differ at both ends.
  return /\s/.test(text) ? `${text.slice(0, MAX_LABEL - 1)}…` : `${text.slice(0, 6)}…${text.slice(-4)}`;
}
