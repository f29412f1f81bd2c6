import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { Context } from '@opentelemetry/api'
import type { Exchange } from './exchange.ts'

/** Traces of the inference routes; see `openTraces`. */
export interface Traces {
  /** Begins the span of a request, a child of the caller's where his `traceparent` names one */
  begin(path: string, model: string, traceparent: string | undefined): RequestSpan
  close(): Promise<void>
}

export interface RequestSpan {
  /** The header that makes the engine's spans children of this one */
  traceparent: string
  end(exchange: Exchange): void
}

/**
 * Sends a span for each request to an OTLP collector over HTTP, in batches. The packages are loaded here, so that who has no
 * collector pays nothing. Names are those of OpenTelemetry's conventions for HTTP and generative AI; no content is sent.
 */
export async function openTraces(endpoint: URL): Promise<Traces> {
  const [{ BatchSpanProcessor, TracerProvider }, { OTLPTraceExporter }, { resourceFromAttributes }] =
    await Promise.all([
      import('@opentelemetry/sdk-trace'),
      import('@opentelemetry/exporter-trace-otlp-http'),
      import('@opentelemetry/resources'),
    ])
  const url = `${endpoint.href.replace(/\/$/, '')}/v1/traces`
  const processor = new BatchSpanProcessor({ exporter: new OTLPTraceExporter({ url }) })
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'berth' }),
    spanProcessors: [processor],
  })
  const tracer = provider.getTracer('berth')
  return {
    begin(path, model, traceparent) {
      const operation = path === '/v1/embeddings' ? 'embeddings' : 'chat'
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
          const { brokenBy, usage, target, firstByteAt, receivedAt } = exchange
          span.setAttribute('http.response.status_code', exchange.sentStatus())
          if (target !== null) span.setAttribute('berth.deployment.id', target.deploymentId)
          if (usage !== null) {
            span.setAttribute('gen_ai.usage.input_tokens', usage.inputTokens)
            span.setAttribute('gen_ai.usage.output_tokens', usage.outputTokens)
          }
          if (firstByteAt > 0) span.setAttribute('berth.first_byte_ms', firstByteAt - receivedAt)
          if (brokenBy !== null)
            span.setStatus({ code: SpanStatusCode.ERROR, message: `broken by the ${brokenBy}` })
          span.end()
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
