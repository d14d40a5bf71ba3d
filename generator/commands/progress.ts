/** Says how far work is. */
export type ReportProgress = (done: number, total: number) => void;

/** Work that ends sooner shows no bar. */
const DELAY_MS = 400;

let isQuiet = false;

/** Whether the command that runs shows bars: not with `--quiet`. */
export function showProgress(isShown: boolean): void {
  isQuiet = !isShown;
}

/**
 * Runs work with a bar of this name on a terminal's standard error, or with the time that it has taken while it says nothing; gone
 * when the work ends. Nothing is written to a pipe or a file.
 */
export async function withProgress<Value>(
  name: string,
  work: (progress: ReportProgress) => Value | Promise<Value>,
): Promise<Value> {
  if (isQuiet || !process.stderr.isTTY) return work(() => undefined);
  const { SingleBar } = (await import("cli-progress")).default;
  const barOf = (format: string) =>
    new SingleBar({
      format,
      barsize: 30,
      barCompleteChar: "#",
      barIncompleteChar: "-",
      clearOnComplete: true,
      // Its handlers of signals would keep the process alive after Ctrl-C.
      gracefulExit: false,
    });
  const [counted, waiting] = [
    barOf(`${name} {bar} {value} of {total}`),
    barOf(`${name}: {duration_formatted}`),
  ];
  const begin = performance.now();
  let [isShown, isWaiting, done, total] = [false, false, 0, 0];
  const show = (): void => {
    if (isShown || performance.now() - begin < DELAY_MS) return;
    if (total === 0) {
      if (!isWaiting) waiting.start(1, 0);
      isWaiting = true;
      return;
    }
    waiting.stop();
    isShown = true;
    counted.start(total, done);
  };
  // Work that waits calls nothing meanwhile, and work that computes lets no timer run.
  const timer = setTimeout(show, DELAY_MS + 1);
  try {
    return await work((...now) => {
      [done, total] = now;
      if (isShown) counted.update(done);
      else show();
    });
  } finally {
    clearTimeout(timer);
    waiting.stop();
    counted.stop();
  }
}
