import { catalogueBody, type CatalogueBody } from "../docs/catalogue.js";
import { openApiForTier } from "../docs/openapi-for-tier.js";
import type { Tier } from "../model/tier.js";
import { BufferedResult } from "../results/buffered-result.js";
import type { BuildTimes } from "./data-versions.js";
import type { ActiveRelease, LoadedRelease } from "./release.js";

/** A document as it is sent, and the state that it was made from. */
interface Made<T> {
  readonly release: LoadedRelease;
  readonly results: string;
  readonly value: T;
}

interface Catalogue {
  readonly body: CatalogueBody;
  readonly result: BufferedResult;
}

/** What describes the release in service: each document is made once per release and tier, when it is first requested. */
export class Documents {
  readonly #title: string;
  readonly #active: ActiveRelease;
  readonly #builds: BuildTimes;
  readonly #lineageTier: Tier | null;
  readonly #openApi = new Map<Tier | null, Made<BufferedResult>>();
  readonly #catalogues = new Map<Tier, Made<Catalogue>>();

  constructor(title: string, active: ActiveRelease, builds: BuildTimes, lineageTier: Tier | null) {
    this.#title = title;
    this.#active = active;
    this.#builds = builds;
    this.#lineageTier = lineageTier;
  }

  /** The OpenAPI document; with a tier, what a caller of that tier may call. */
  openApi(tier: Tier | null): BufferedResult {
    return this.#make(this.#openApi, tier, "", ({ openApi }) =>
      bufferedText(tier === null ? openApi : openApiForTier(openApi, tier)),
    );
  }

  /** The catalogue as a caller of a tier sees it. */
  catalogue(tier: Tier): Catalogue {
    const builds = this.#builds;
    const results = `${String(builds.changes)} ${String(builds.testChanges)}`;
    return this.#make(this.#catalogues, tier, results, ({ endpoints, documentation }) => {
      const body = catalogueBody(
        {
          title: this.#title,
          endpoints: [...endpoints.values()].map(({ spec }) => spec),
          ...documentation,
          results: builds,
          lineageTier: this.#lineageTier,
        },
        tier,
      );
      return { body, result: bufferedText(JSON.stringify(body)) };
    });
  }

  #make<Key, T>(made: Map<Key, Made<T>>, key: Key, results: string, make: (release: LoadedRelease) => T): T {
    const release = this.#active.current;
    const known = made.get(key);
    if (known?.release === release && known.results === results) return known.value;
    const value = make(release);
    made.set(key, { release, results, value });
    return value;
  }
}

function bufferedText(text: string): BufferedResult {
  return new BufferedResult(text, 0, 0);
}
