import fastifyRateLimit from '@fastify/rate-limit'
import type { RateLimitOptions } from '@fastify/rate-limit'
import type { Config } from '../config/config.ts'
import { RateLimitedError } from '../base/errors.ts'
import { networkOf } from '../base/network.ts'
import type { App } from './app.ts'
import { isLoopbackAddress } from '../base/loopback.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Limits a network's requests before the body is read: per hour for `registration`, else per minute */
    networkLimit?: 'registration' | 'public'
  }
}

/**
 * Limits routes without a session in memory, in each process, so that a flood costs no query. This machine is
 * not limited: behind a proxy that TRUST_PROXY doesn't name, all callers would share one limit.
 */
export async function limitNetworks(app: App, limits: Config['networkLimits']): Promise<void> {
  const windows = {
    registration: { max: limits.registrationsPerHour, timeWindow: 3_600_000 },
    public: { max: limits.requestsPerMinute, timeWindow: 60_000 },
  } as const satisfies Record<string, RateLimitOptions>
  app.addHook('onRoute', (route) => {
    const kind = route.config?.networkLimit
    if (kind !== undefined) route.config = { ...route.config, rateLimit: windows[kind] }
  })
  await app.register(fastifyRateLimit, {
    global: false,
    cache: 20_000,
    keyGenerator: ({ ip }) => networkOf(ip),
    allowList: ({ ip }) => isLoopbackAddress(ip),
    errorResponseBuilder: (_request, { ttl }) =>
      new RateLimitedError(ttl / 1000, 'Too many requests from your network. Try again later.'),
    addHeadersOnExceeding: {
      'x-ratelimit-limit': false,
      'x-ratelimit-remaining': false,
      'x-ratelimit-reset': false,
    },
    addHeaders: {
      'x-ratelimit-limit': false,
      'x-ratelimit-remaining': false,
      'x-ratelimit-reset': false,
      'retry-after': false,
    },
  })
}
