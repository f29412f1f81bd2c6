/** A request of a simulated day. Times are milliseconds since the day's beginning. */
export interface Arrival {
  at: number
  /** How long an engine works on it */
  duration: number
}

/** What a day looks like. */
export interface SimulatedDay {
  milliseconds: number
  /** Requests per second in the busiest hour, without bursts */
  peakRate: number
  seed: number
}

/**
 * The course of a weekday and the lengths of its requests follow the Azure LLM inference trace of May 2024
 * (CC BY; Stojkovic et al.: "DynamoLLM", HPCA 2025, arXiv 2408.00741;
 * https://github.com/Azure/AzurePublicDataset). The course is that of its service `Coding`, whose callers
 * work at the same hours, as those of one organization do: on its weekdays the busiest hour has 10 times the
 * requests of the quietest (8.6 to 11.3), and the hours have a coefficient of variation of 0.72.
 */
const quietestShare = 0.1
/** With this exponent of the cosine, the hours have the trace's coefficient of variation. */
const peakedness = 1.8

/**
 * Generated tokens of the trace's service `Conversation`, at these shares of its requests: medians and
 * percentiles 90, 95 and 99
 */
const generatedTokens: readonly [share: number, tokens: number][] = [
  [0, 1],
  [0.5, 41],
  [0.9, 342],
  [0.95, 455],
  [0.99, 694],
  [1, 1_000],
]
/** Its mean prompt. The distribution is assumed to be exponential. */
const meanPromptTokens = 1_630

/**
 * Time of a token of a prompt and of an answer, in milliseconds: about a model with 8 billion parameters on
 * one GPU
 */
const promptMilliseconds = 0.2
const outputMilliseconds = 20

/**
 * Requests come in bursts: BurstGPT (Wang et al., arXiv 2401.17644) fits gamma distributions to the times
 * between them. A shape of one half gives these times a coefficient of variation of 1.4. Besides, a batch job
 * or a class begins now and then.
 */
const bursts = { perDay: 12, milliseconds: 180_000, factor: 2.5 }

/** Generates the requests of a day, in the order of their arrival. The same seed gives the same day. */
export function generateArrivals({ milliseconds, peakRate, seed }: SimulatedDay): Arrival[] {
  const random = createRandom(seed)
  const count = Math.round((bursts.perDay * milliseconds) / 86_400_000)
  const begins = Array.from({ length: count }, () => random() * milliseconds)
  const arrivals: Arrival[] = []
  for (let at = 0; ;) {
    const isBurst = begins.some((begin) => at >= begin && at < begin + bursts.milliseconds)
    const rate = (peakRate / 1000) * findShare(at / milliseconds) * (isBurst ? bursts.factor : 1)
    // The square of a normal variable has a gamma distribution with a shape of one half and a mean of one.
    at += drawNormal(random) ** 2 / rate
    if (at >= milliseconds) return arrivals
    const prompt = -Math.log(1 - random()) * meanPromptTokens
    const generated = interpolate(generatedTokens, random())
    arrivals.push({ at, duration: prompt * promptMilliseconds + generated * outputMilliseconds })
  }
}

/**
 * The rate at a time of the day, as a share of that in the busiest hour. A day begins and ends in its
 * quietest hour.
 */
export function findShare(time: number): number {
  return quietestShare + (1 - quietestShare) * ((1 - Math.cos(2 * Math.PI * time)) / 2) ** peakedness
}

function interpolate(points: readonly [number, number][], share: number): number {
  const next = points.findIndex(([at]) => at > share)
  const [[fromShare, from], [toShare, to]] = [points[next - 1]!, points[next]!]
  return from + ((share - fromShare) / (toShare - fromShare)) * (to - from)
}

function drawNormal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
}

/** Numbers from 0 to 1 by the generator mulberry32. */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
