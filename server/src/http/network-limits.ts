import fastifyRateLimit from '@fastify/rate-limit'
import type { RateLimitOptions } from '@fastify/rate-limit'
import type { Config } from '../config/config.ts'
import { RateLimitedError } from '../base/errors.ts'
import { isFreeOfLimits, networkOf } from '../base/network.ts'
import type { App } from './app.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** true to limit a network's requests per minute before the body is read */
    networkLimit?: boolean
  }
}

/**
 * Limits routes without a session in memory, in each process, so that a flood costs no query. This machine
 * and private networks are not limited: behind a proxy that TRUST_PROXY doesn't name, all callers would share
 * one limit.
 */
export async function limitNetworks(
  app: App,
  { networkLimits, trustProxy }: Pick<Config, 'networkLimits' | 'trustProxy'>,
): Promise<void> {
  const rateLimit: RateLimitOptions = { max: networkLimits.requestsPerMinute, timeWindow: 60_000 }
  app.addHook('onRoute', (route) => {
    if (route.config?.networkLimit === true) route.config = { ...route.config, rateLimit }
  })
  await app.register(fastifyRateLimit, {
    global: false,
    cache: 20_000,
    keyGenerator: ({ ip }) => networkOf(ip),
    allowList: ({ ip }) => isFreeOfLimits(ip, trustProxy),
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
