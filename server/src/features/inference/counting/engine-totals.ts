import type { Logger } from 'pino'
import { Counter } from 'prom-client'
import type { Registry } from 'prom-client'
import { Agent, request } from 'undici'
import { settlesWithin } from '../../../database/settles-within.ts'
import type { TokenCounts } from '../../../ports/runtime-engine.ts'
import type { TokenUsage } from '../../metering/token-usage.ts'
import type { EngineTarget } from '../targets/targets.ts'

interface Tokens {
  input: number
  output: number
}

type Totals = NonNullable<TokenCounts['totals']>

interface Compared {
  target: EngineTarget
  totals: Totals
  /** Billed through this process */
  billed: Tokens
  /** What the engine counted when it was read last; null before the first time */
  counted: Tokens | null
  usedAt: number
}

/** Engines that are read at the same time */
const maxReading = 8
/** An engine's metrics have some 100 KB. Longer ones are cut off, because an engine may send without end. */
const maxBytes = 2 * 1024 * 1024
const readMilliseconds = 1_000
/** `/metrics` doesn't wait longer; engines that were not read by then keep their last value. */
const patienceMilliseconds = 2_000
/** All metrics that are read together see the same values. */
const freshMilliseconds = 1_000
/** A deployment without requests for so long leaves the metrics. */
const idleMilliseconds = 3_600_000

/**
 * Shows in `/metrics` how billed tokens differ from the engines' totals. Reads them only for a reader of the
 * metrics, from instances with requests through this process within an hour.
 */
export class EngineTotals {
  readonly #log: Logger
  readonly #agent = new Agent({ connections: 1, maxResponseSize: maxBytes })
  /** By instance id */
  readonly #compared = new Map<string, Compared>()
  #reading: Promise<void> = Promise.resolve()
  #readAt = -Infinity

  constructor(log: Logger) {
    this.#log = log
  }

  /** Adds a request that an engine has had. `usage` is null if nothing is billed for it. */
  add(target: EngineTarget, usage: TokenUsage | null): void {
    const { totals } = target.counts
    if (totals === undefined) return
    let compared = this.#compared.get(target.instanceId)
    if (compared === undefined) {
      compared = { target, totals, billed: { input: 0, output: 0 }, counted: null, usedAt: 0 }
      this.#compared.set(target.instanceId, compared)
    }
    compared.target = target
    compared.usedAt = performance.now()
    if (usage === null) return
    compared.billed.input += usage.inputTokens
    compared.billed.output += usage.outputTokens
  }

  close(): Promise<void> {
    return this.#agent.destroy()
  }

  /** Reads the totals of the engines. Those without a response in time keep their last value. */
  async read(): Promise<Iterable<Compared>> {
    const now = performance.now()
    if (now - this.#readAt > freshMilliseconds) {
      this.#readAt = now
      for (const [id, { usedAt }] of this.#compared) {
        if (now - usedAt > idleMilliseconds) this.#compared.delete(id)
      }
      // One reading at a time, however often the metrics are read
      if (await settlesWithin(this.#reading, 0)) this.#reading = this.#readAll()
    }
    await settlesWithin(this.#reading, patienceMilliseconds)
    return this.#compared.values()
  }

  async #readAll(): Promise<void> {
    const waiting = [...this.#compared.values()].values()
    const readSome = async () => {
      for (const compared of waiting) await this.#readOne(compared)
    }
    await Promise.all(Array.from({ length: maxReading }, readSome))
  }

  async #readOne(compared: Compared): Promise<void> {
    const { target, totals } = compared
    try {
      const { statusCode, body } = await request(`${target.origin}${target.basePath}/metrics`, {
        dispatcher: this.#agent,
        headers: target.authorization === null ? {} : { authorization: target.authorization },
        signal: AbortSignal.timeout(readMilliseconds),
      })
      const text = await body.text()
      if (statusCode === 200) compared.counted = readTotals(text, totals) ?? compared.counted
    } catch (error) {
      const { deploymentId } = target
      this.#log.debug({ err: error, deployment: deploymentId }, 'the totals of an engine are unknown')
    }
  }
}

/** Registers the metrics of billed and counted tokens. */
export function measureEngineTotals(register: Registry, inference: { engineTotals: EngineTotals }): void {
  const add = (name: string, help: string, pick: (compared: Compared) => Tokens | null) =>
    register.registerMetric(
      new Counter({
        name,
        help,
        labelNames: ['deployment', 'model', 'direction'],
        registers: [],
        async collect() {
          const all = await inference.engineTotals.read()
          this.reset()
          for (const compared of all) addTokens(this, compared.target, pick(compared))
        },
      }),
    )
  add(
    'berth_inference_billed_tokens_total',
    'Tokens that this process has billed for a deployment whose engine counts them as well; direction is input or output',
    ({ billed }) => billed,
  )
  add(
    'berth_inference_engine_tokens_total',
    'What the engine of the deployment has counted since it started, requests of other processes and the warm-up included',
    ({ counted }) => counted,
  )
}

function addTokens(
  counter: Counter,
  { deploymentId: deployment, modelName: model }: EngineTarget,
  tokens: Tokens | null,
): void {
  if (tokens === null) return
  counter.inc({ deployment, model, direction: 'input' }, tokens.input)
  counter.inc({ deployment, model, direction: 'output' }, tokens.output)
}

/** Adds up counters of Prometheus text; null if a direction has none, or an implausible one. */
export function readTotals(text: string, { input, output }: Totals): Tokens | null {
  const found = { input: addUp(text, input), output: addUp(text, output) }
  return Number.isNaN(found.input) || Number.isNaN(found.output) ? null : found
}

/** A counter has a line per combination of its labels. NaN without any: older engines lack some counters. */
function addUp(text: string, names: readonly string[]): number {
  const wanted = new Set(names)
  let sum = NaN
  for (const [, name, value] of text.matchAll(/^([A-Za-z_:][\w:]*)(?:\{.*\})? +([\d.e+]+)/gm)) {
    if (wanted.has(name!)) sum = (Number.isNaN(sum) ? 0 : sum) + Number(value)
  }
  return sum
}
