import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import { collectDefaultMetrics, Histogram } from 'prom-client'
import type { Registry } from 'prom-client'
import { z } from 'zod'
import { ApplicationError } from '../base/errors.ts'
import type { App } from './app.ts'
import { createRegistry, openMetrics } from './cluster-metrics.ts'
import { isLoopbackAddress, isLoopbackHost } from '../base/loopback.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** True if the route itself measures and logs the request */
    hasOwnAccessLog: boolean
  }
  interface FastifyInstance {
    metrics: Registry
    /** Measures and logs a request that has ended. */
    measureRequest: (request: MeasuredRequest, log: Pick<FastifyBaseLogger, 'info'>) => void
    /** Reads the metrics of all processes that share the port, in Prometheus's text format */
    readMetrics: () => Promise<string>
    /** Aborts at the start of a graceful shutdown: the server fails `/readyz` but still accepts requests */
    shuttingDown: AbortController
    /** Aborts when the server stops accepting requests: event streams end */
    draining: AbortSignal
    /** Aborts shortly before the server closes all connections: open requests get their last response */
    ending: AbortController
  }
}

interface MeasuredRequest {
  method: string
  /** The route pattern, not the URL, which may contain a token */
  route: string
  status: number
  milliseconds: number
  /** Of a request for the API that no route serves */
  path?: string | undefined
}

/** Measures and logs every request. Also serves `/metrics` to the callers that `exposed` names. */
export async function measureRequests(
  app: App,
  { exposed }: { exposed: 'nobody' | 'this machine' | 'everybody' },
): Promise<void> {
  const metrics = createRegistry()
  collectDefaultMetrics({ register: metrics })
  const duration = new Histogram({
    name: 'berth_http_request_duration_seconds',
    help: 'Time from receiving a request to the end of its response',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
    registers: [metrics],
  })
  const readMetrics = openMetrics(metrics)
  app.decorate('metrics', metrics)
  app.decorate('readMetrics', readMetrics)
  app.decorate('measureRequest', ({ method, route, status, milliseconds, path }, log) => {
    duration.observe({ method, route, status }, milliseconds / 1000)
    log.info({ method, route, path, status, ms: Math.round(milliseconds) }, 'request')
  })
  app.decorateRequest('hasOwnAccessLog', false)
  app.addHook('onResponse', (request, reply, done) => {
    done()
    if (request.hasOwnAccessLog) return
    const { method, routeOptions, log } = request
    const { statusCode: status, elapsedTime: milliseconds } = reply
    const route = routeOptions.url ?? 'none'
    const path = route === 'none' ? toUnknownPath(request.url) : undefined
    app.measureRequest({ method, route, path, status, milliseconds }, log)
  })
  if (exposed === 'nobody') return
  app.get(
    '/metrics',
    {
      config: { anyHost: true },
      schema: {
        operationId: 'getMetrics',
        summary: 'Get metrics for Prometheus',
        tags: ['Service'],
        security: [],
        response: {
          200: { description: 'Prometheus’s text format', content: { 'text/plain': { schema: z.string() } } },
        },
        errors: ['forbidden'],
      },
    },
    async (request, reply) => {
      if (exposed === 'this machine' && !isLocal(request)) {
        const message = 'On this port, only the server’s own machine can read the metrics. Set METRICS_PORT.'
        throw new ApplicationError('forbidden', message)
      }
      return reply.type(metrics.contentType).send(await readMetrics())
    },
  )
}

/** Headers that proxies add, next to `x-forwarded-…` */
const proxyHeaders = new Set([
  'forwarded',
  'via',
  'x-real-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-original-forwarded-for',
  'x-original-host',
  'x-envoy-external-address',
  'true-client-ip',
  'cf-connecting-ip',
  'fastly-client-ip',
  'cdn-loop',
  'x-amzn-trace-id',
  'x-proxyuser-ip',
])

/**
 * Whether a program on this machine sent the request. A proxy here forwards others' requests (nginx, by
 * default, by HTTP/1.0 without a header), and a page in a browser may use another name (DNS rebinding).
 */
function isLocal({ socket, headers, hostname, raw }: FastifyRequest): boolean {
  const isForwarded = Object.keys(headers).some(
    (name) => name.startsWith('x-forwarded') || proxyHeaders.has(name),
  )
  return (
    !isForwarded &&
    raw.httpVersion !== '1.0' &&
    isLoopbackHost(hostname) &&
    isLoopbackAddress(socket.remoteAddress ?? '')
  )
}

/** The path of a request for the API, for the operator, with ids and tokens masked; undefined for others. */
function toUnknownPath(url: string): string | undefined {
  const path = url.split('?', 1)[0]!.slice(0, 200)
  if (!/^\/(v1|api)\//.test(path)) return undefined
  return path.replaceAll(/[^/]{25,}|[^/]*[\d%][^/]*/g, (segment) => (segment === 'v1' ? segment : '*'))
}
