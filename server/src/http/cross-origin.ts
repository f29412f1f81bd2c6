import fastifyCors from '@fastify/cors'
import type { App } from './app.ts'

/** Headers that pages of other origins may read besides those that browsers always show. */
const exposedHeaders = [
  'Allow',
  'Content-Disposition',
  'ETag',
  'Idempotency-Replayed',
  'Location',
  'Retry-After',
  'Tus-Resumable',
  'Upload-Expires',
  'Upload-Length',
  'Upload-Offset',
  'X-Request-Id',
]

/** Lets pages of these origins call every route with the session cookie (CORS), preflights included. */
export async function allowOrigins(app: App, origins: readonly string[]): Promise<void> {
  if (origins.length === 0) return
  const trusted = new Set(origins)
  await app.register(fastifyCors, {
    // false for other origins: their preflights stay a 405, and no response names them.
    origin: (origin, decide) => decide(null, origin !== undefined && trusted.has(origin)),
    credentials: true,
    methods: ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'],
    exposedHeaders,
    maxAge: 600,
  })
}
