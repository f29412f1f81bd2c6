/** A deployment's requests at one moment, over all server processes. Times are milliseconds since 1970. */
export interface LoadSample {
  at: number
  /** At engines, in queues, and held until the deployment is awake */
  requests: number
}

/** The instances that a mean of the load needs. A burst has a short mean: the longer one is too late. */
export interface LoadDemand {
  instances: number
  isBurst: boolean
}

/** The load is averaged over this time. */
export const meanMilliseconds = 30_000
const burstMilliseconds = 6_000
/** The mean of the last seconds counts if it is so many times the longer mean. */
const burstFactor = 2

/**
 * The demand at each sample after `since`, oldest first, of regular samples in that order. Null if some of
 * the time is unknown: its first sample is later, or two samples are too far apart.
 */
export function listDemands(
  samples: readonly LoadSample[],
  since: number,
  target: number,
): readonly LoadDemand[] | null {
  const first = samples[0]
  if (first === undefined || first.at > since) return null
  const demands: LoadDemand[] = []
  const mean = new SlidingMean(samples, meanMilliseconds)
  const burst = new SlidingMean(samples, burstMilliseconds)
  for (const [index, { at }] of samples.entries()) {
    const [long, short] = [mean.include(index), burst.include(index)]
    if (at <= since) continue
    if (at - samples[index - 1]!.at > meanMilliseconds) return null
    const isBurst = short >= burstFactor * long && short > long
    demands.push({ instances: Math.ceil((isBurst ? short : long) / target), isBurst })
  }
  return demands
}

/** The instances that the load asks for now; null until the samples cover the time of a burst. */
export function findDemand(samples: readonly LoadSample[], now: number, target: number): LoadDemand | null {
  const recent = samples.filter(({ at }) => at > now - meanMilliseconds - burstMilliseconds && at <= now)
  if (recent.length === 0 || recent[0]!.at > now - burstMilliseconds) return null
  if (recent.at(-1)!.at <= now - burstMilliseconds) return null
  return listDemands(recent, recent.at(-2)!.at, target)?.at(-1) ?? null
}

/** The mean load of the samples that are at most so many milliseconds older than the last one included. */
class SlidingMean {
  readonly #samples: readonly LoadSample[]
  readonly #milliseconds: number
  #from = 0
  #sum = 0

  constructor(samples: readonly LoadSample[], milliseconds: number) {
    this.#samples = samples
    this.#milliseconds = milliseconds
  }

  include(index: number): number {
    const { at } = this.#samples[index]!
    this.#sum += this.#samples[index]!.requests
    while (this.#samples[this.#from]!.at <= at - this.#milliseconds) {
      this.#sum -= this.#samples[this.#from]!.requests
      this.#from += 1
    }
    return this.#sum / (index - this.#from + 1)
  }
}
