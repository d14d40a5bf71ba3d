/** What the deliveries of a project take of this process at the moment. */
interface Share {
  inFlight: number;
  /** Attempts that began in the running second. */
  begun: number;
  /** When that second ends, by the process's own clock. */
  until: number;
}

/** What a project's deliveries may take of a process. */
export interface ShareLimits {
  readonly perProject: number;
  readonly perProjectSecond: number;
}

/**
 * Deliveries in flight and per second, by project: a project whose receivers are slow, or many, delays its own events alone. It holds
 * the projects that sent something within the last second.
 */
export class ProjectShares {
  readonly #limits: ShareLimits;
  /** Bounded by the projects that send. */
  readonly #shares = new Map<string, Share>();

  constructor(limits: ShareLimits) {
    this.#limits = limits;
  }

  begin(projectId: string): void {
    const share = this.#of(projectId);
    share.inFlight += 1;
    share.begun += 1;
    this.#shares.set(projectId, share);
  }

  end(projectId: string): void {
    this.#of(projectId).inFlight -= 1;
  }

  /** What is in flight, and how many more may begin, of each project that has a share. */
  inUse(): readonly { readonly projectId: string; readonly inFlight: number; readonly free: number }[] {
    const { perProject, perProjectSecond } = this.#limits;
    const now = performance.now();
    for (const [id, { inFlight, until }] of this.#shares)
      if (inFlight === 0 && until <= now) this.#shares.delete(id);
    return [...this.#shares.keys()].map((projectId) => {
      const { inFlight, begun } = this.#of(projectId);
      return {
        projectId,
        inFlight,
        free: Math.max(Math.min(perProject - inFlight, perProjectSecond - begun), 0),
      };
    });
  }

  #of(projectId: string): Share {
    const now = performance.now();
    const share = this.#shares.get(projectId) ?? { inFlight: 0, begun: 0, until: now + 1_000 };
    if (share.until <= now) Object.assign(share, { begun: 0, until: now + 1_000 });
    return share;
  }
}
