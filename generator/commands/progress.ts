/** Says how far work is. */
export type Progress = (done: number, total: number) => void;

/** Work that ends sooner shows no bar. */
const DELAY_MS = 400;

/**
 * Runs work with a bar of this name on a terminal's standard error, which is gone when the work ends; nothing is written
 * to a pipe or a file.
 */
export async function withProgress<Value>(
  name: string,
  work: (progress: Progress) => Value | Promise<Value>,
): Promise<Value> {
  if (!process.stderr.isTTY) return work(() => undefined);
  const { SingleBar } = (await import("cli-progress")).default;
  const bar = new SingleBar({
    format: `${name} {bar} {value} of {total}`,
    barsize: 30,
    barCompleteChar: "#",
    barIncompleteChar: "-",
    clearOnComplete: true,
    // Its handlers of signals would keep the process alive after Ctrl-C.
    gracefulExit: false,
  });
  const begin = performance.now();
  let [isShown, done, total] = [false, 0, 0];
  const show = (): void => {
    if (isShown || total === 0 || performance.now() - begin < DELAY_MS) return;
    isShown = true;
    bar.start(total, done);
  };
  // Work that waits calls nothing meanwhile, and work that computes lets no timer run.
  const timer = setTimeout(show, DELAY_MS + 1);
  try {
    return await work((...now) => {
      [done, total] = now;
      if (isShown) bar.update(done);
      else show();
    });
  } finally {
    clearTimeout(timer);
    bar.stop();
  }
}
