import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { Context } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { proxyAgentOptions } from '../../../base/proxy.ts'
import type { ProxySettings } from '../../../config/proxy.ts'
import type { FinishedExchange } from './finished-exchange.ts'
import type { Protocol } from '../protocols/protocol.ts'

/** Traces of the inference routes; see `openTraces`. */
export interface Traces {
  /** Starts a request's span, as a child of the span in the caller's `traceparent` header, if any */
  begin(protocol: Protocol, model: string, traceparent: string | undefined): RequestSpan
  close(): Promise<void>
}

export interface RequestSpan {
  /** Header that makes the engine's spans children of this span */
  traceparent: string
  end(exchange: FinishedExchange): void
}

/** Sends a span per request to an OTLP collector in batches: OpenTelemetry's names, no content. */
export function openTraces(endpoint: URL, proxy: ProxySettings): Traces {
  const url = `${endpoint.href.replace(/\/$/, '')}/v1/traces`
  const processor = new BatchSpanProcessor({
    exporter: new OTLPTraceExporter({ url, httpAgentOptions: proxyAgentOptions(proxy) }),
  })
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'berth' }),
    spanProcessors: [processor],
  })
  const tracer = provider.getTracer('berth')
  return {
    begin({ path, operation }, model, traceparent) {
      const attributes = {
        'http.request.method': 'POST',
        'http.route': path,
        'gen_ai.operation.name': operation,
        'gen_ai.request.model': model,
      }
      const options = { kind: SpanKind.SERVER, attributes }
      const span = tracer.startSpan(`${operation} ${model}`, options, readParent(traceparent))
      const { traceId, spanId, traceFlags } = span.spanContext()
      return {
        traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`,
        end(exchange) {
          const { brokenBy, usage, deploymentId, firstByteAt, receivedAt } = exchange
          span.setAttribute('http.response.status_code', exchange.status)
          if (deploymentId !== null) span.setAttribute('berth.deployment.id', deploymentId)
          if (usage !== null) {
            span.setAttribute('gen_ai.usage.input_tokens', usage.inputTokens)
            span.setAttribute('gen_ai.usage.output_tokens', usage.outputTokens)
          }
          if (firstByteAt > 0) span.setAttribute('berth.first_byte_ms', firstByteAt - receivedAt)
          if (brokenBy !== null)
            span.setStatus({ code: SpanStatusCode.ERROR, message: `broken by the ${brokenBy}` })
          span.end(exchange.endedAt)
        },
      }
    },
    close: () => provider.shutdown(),
  }
}

const traceparentForm = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/

function readParent(traceparent: string | undefined): Context {
  const [, traceId, spanId, flags] = traceparentForm.exec(traceparent ?? '') ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return ROOT_CONTEXT
  const parent = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
  return trace.isSpanContextValid(parent) ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT
}
