import { Gauge } from 'prom-client'
import type { Registry } from 'prom-client'
import { createFastCounter, createFastHistogram } from '../../gateway/fast-metrics.ts'
import { measureEngineTotals } from './counting/engine-totals.ts'
import type { FinishedExchange } from './counting/finished-exchange.ts'
import type { Inference } from './sending/inference.ts'

const durationBuckets = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]
const overheadBuckets = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5]

/** Registers the metrics of the inference routes and returns a function that counts an ended exchange. */
export function measureExchanges(
  register: Registry,
  inference: Pick<Inference, 'admission' | 'engineTotals' | 'waking'>,
): (exchange: FinishedExchange) => void {
  measureAdmission(register, inference)
  measureEngineTotals(register, inference)
  const requests = createFastCounter(register, {
    name: 'berth_inference_requests_total',
    help: 'Requests that were sent to an engine or queued for one; outcome is complete, caller_left, engine_broke, access_revoked or server_stopped',
  })
  const firstByte = createFastHistogram(register, {
    name: 'berth_inference_first_byte_seconds',
    help: 'Time from the arrival of a request body to the first byte of the engine’s response',
    buckets: durationBuckets,
  })
  const duration = createFastHistogram(register, {
    name: 'berth_inference_duration_seconds',
    help: 'Time from the arrival of a request body to the end of the response',
    buckets: durationBuckets,
  })
  const overhead = createFastHistogram(register, {
    name: 'berth_inference_overhead_seconds',
    help: 'Time that the gateway adds, without time in the queue: from the arrival of a request body until it is sent to the engine, plus from the first byte of the response (the last byte of a buffered response) until it is sent to the caller',
    buckets: overheadBuckets,
  })
  const tokens = createFastCounter(register, {
    name: 'berth_inference_tokens_total',
    help: 'Metered tokens; direction is input or output',
  })
  const byRoute = memoize((route: string) => ({
    overhead: overhead({ route }),
    byModel: memoize((model: string) => ({
      firstByte: firstByte({ route, model }),
      duration: duration({ route, model }),
      byStatus: memoize((status: number) => ({
        complete: requests({ route, model, status, outcome: 'complete' }),
        caller: requests({ route, model, status, outcome: 'caller_left' }),
        engine: requests({ route, model, status, outcome: 'engine_broke' }),
        gateway: requests({ route, model, status, outcome: 'access_revoked' }),
        shutdown: requests({ route, model, status, outcome: 'server_stopped' }),
      })),
    })),
  }))
  const tokensOf = memoize((model: string) => ({
    input: tokens({ model, direction: 'input' }),
    output: tokens({ model, direction: 'output' }),
  }))

  return (exchange) => {
    const { modelName, usage, receivedAt, firstByteAt, overheadMilliseconds } = exchange
    const route = byRoute(exchange.protocol.path)
    const series = route.byModel(modelName)
    series.byStatus(exchange.status)[exchange.brokenBy ?? 'complete'](1)
    series.duration((exchange.endedAt - receivedAt) / 1000)
    if (firstByteAt > 0) series.firstByte((firstByteAt - receivedAt) / 1000)
    if (overheadMilliseconds !== null) route.overhead(overheadMilliseconds / 1000)
    if (usage === null) return
    const tokenSeries = tokensOf(modelName)
    tokenSeries.input(usage.inputTokens)
    tokenSeries.output(usage.outputTokens)
  }
}

function measureAdmission(register: Registry, inference: Pick<Inference, 'admission' | 'waking'>): void {
  const inFlight = new Gauge({
    name: 'berth_inference_in_flight',
    help: 'Requests in flight at engines',
    registers: [],
    collect() {
      this.set(inference.admission.inFlight.total)
    },
  })
  const queued = new Gauge({
    name: 'berth_inference_waiting',
    help: 'Requests in the admission queue, or held until a deployment is awake',
    registers: [],
    collect() {
      this.set(inference.admission.queued + inference.waking.held)
    },
  })
  register.registerMetric(inFlight)
  register.registerMetric(queued)
}

/** Caches the result of `create` for each key. */
function memoize<Key, Value extends object>(create: (key: Key) => Value): (key: Key) => Value {
  const values = new Map<Key, Value>()
  return (key) => {
    let value = values.get(key)
    if (value === undefined) {
      value = create(key)
      values.set(key, value)
    }
    return value
  }
}
