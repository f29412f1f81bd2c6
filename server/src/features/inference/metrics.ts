import { Counter, Gauge, Histogram } from 'prom-client'
import type { Registry } from 'prom-client'
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
  const requests = new Counter({
    name: 'berth_inference_requests_total',
    help: 'Requests that were sent to an engine or waited for one; outcome is complete, caller_left or engine_broke',
    labelNames: ['route', 'model', 'status', 'outcome'],
    registers,
  })
  const firstByte = new Histogram({
    name: 'berth_inference_first_byte_seconds',
    help: 'Time from the arrival of a request’s body to the first byte of the engine’s answer',
    labelNames: ['route', 'model'],
    buckets: answerBuckets,
    registers,
  })
  const duration = new Histogram({
    name: 'berth_inference_duration_seconds',
    help: 'Time from the arrival of a request’s body to the end of its answer',
    labelNames: ['route', 'model'],
    buckets: answerBuckets,
    registers,
  })
  const overhead = new Histogram({
    name: 'berth_inference_overhead_seconds',
    help: 'What the gateway itself adds: from the body’s arrival until it goes to the engine, without the time in the queue, and from the answer’s first byte (its last, where it is held until it is whole) until it goes to the caller',
    labelNames: ['route'],
    buckets: overheadBuckets,
    registers,
  })
  const tokens = new Counter({
    name: 'berth_inference_tokens_total',
    help: 'Tokens that were metered; direction is input or output',
    labelNames: ['model', 'direction'],
    registers,
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

  return (exchange) => {
    const route = exchange.path
    const model = exchange.targets[0]!.modelName
    const { brokenBy, usage, receivedAt } = exchange
    const outcome = brokenBy === null ? 'complete' : brokenBy === 'caller' ? 'caller_left' : 'engine_broke'
    requests.inc({ route, model, status: exchange.sentStatus(), outcome })
    duration.observe({ route, model }, (performance.now() - receivedAt) / 1000)
    if (exchange.firstByteAt > 0)
      firstByte.observe({ route, model }, (exchange.firstByteAt - receivedAt) / 1000)
    if (exchange.answer.passedAt > 0) overhead.observe({ route }, exchange.overhead() / 1000)
    if (usage === null) return
    tokens.inc({ model, direction: 'input' }, usage.inputTokens)
    tokens.inc({ model, direction: 'output' }, usage.outputTokens)
  }
}
