import { Gauge } from 'prom-client'
import type { Registry } from 'prom-client'
import { createTallyCounter, createTallyHistogram } from './tally.ts'
import type { EngineConnections } from './engines.ts'
import type { Exchange } from './exchange.ts'

const answerBuckets = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]
const overheadBuckets = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5]

/** Registers the metrics of the inference routes; what it returns counts an exchange that has ended. */
export function measureExchanges(
  register: Registry,
  engines: EngineConnections,
): (exchange: Exchange) => void {
  const registers = [register]
  const requests = createTallyCounter(register, {
    name: 'berth_inference_requests_total',
    help: 'Requests that were sent to an engine or waited for one; outcome is complete, caller_left or engine_broke',
  })
  const firstByte = createTallyHistogram(register, {
    name: 'berth_inference_first_byte_seconds',
    help: 'Time from the arrival of a request’s body to the first byte of the engine’s answer',
    buckets: answerBuckets,
  })
  const duration = createTallyHistogram(register, {
    name: 'berth_inference_duration_seconds',
    help: 'Time from the arrival of a request’s body to the end of its answer',
    buckets: answerBuckets,
  })
  const overhead = createTallyHistogram(register, {
    name: 'berth_inference_overhead_seconds',
    help: 'What the gateway itself adds: from the body’s arrival until it goes to the engine, without the time in the queue, and from the answer’s first byte (its last, where it is held until it is whole) until it goes to the caller',
    buckets: overheadBuckets,
  })
  const tokens = createTallyCounter(register, {
    name: 'berth_inference_tokens_total',
    help: 'Tokens that were metered; direction is input or output',
  })
  const inFlight = new Gauge({
    name: 'berth_inference_in_flight',
    help: 'Requests that engines work on now',
    registers,
    collect() {
      let sum = 0
      for (const count of engines.inFlight.values()) sum += count
      this.set(sum)
    },
  })
  const waiting = new Gauge({
    name: 'berth_inference_waiting',
    help: 'Requests that wait for a place now',
    registers,
    collect() {
      this.set(engines.admission.waiting())
    },
  })
  void [inFlight, waiting]

  const byRoute = remember((route: string) => ({
    overhead: overhead({ route }),
    byModel: remember((model: string) => ({
      firstByte: firstByte({ route, model }),
      duration: duration({ route, model }),
      byStatus: remember((status: number) => ({
        complete: requests({ route, model, status, outcome: 'complete' }),
        caller: requests({ route, model, status, outcome: 'caller_left' }),
        engine: requests({ route, model, status, outcome: 'engine_broke' }),
      })),
    })),
  }))
  const tokensOf = remember((model: string) => ({
    input: tokens({ model, direction: 'input' }),
    output: tokens({ model, direction: 'output' }),
  }))

  return (exchange) => {
    const { brokenBy, usage, receivedAt, firstByteAt } = exchange
    const model = exchange.targets[0]!.modelName
    const route = byRoute(exchange.path)
    const series = route.byModel(model)
    series.byStatus(exchange.sentStatus())[brokenBy ?? 'complete'](1)
    series.duration((exchange.endedAt - receivedAt) / 1000)
    if (firstByteAt > 0) series.firstByte((firstByteAt - receivedAt) / 1000)
    if (exchange.answer.passedAt > 0) route.overhead(exchange.overhead() / 1000)
    if (usage === null) return
    const counted = tokensOf(model)
    counted.input(usage.inputTokens)
    counted.output(usage.outputTokens)
  }
}

/** Makes each thing once, by its key. */
function remember<Key, Thing>(make: (key: Key) => Thing): (key: Key) => Thing {
  const made = new Map<Key, Thing>()
  return (key) => {
    let thing = made.get(key)
    if (thing === undefined) {
      thing = make(key)
      made.set(key, thing)
    }
    return thing
  }
}
