import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'

const heartbeatMilliseconds = 15_000

/** True if the client requests server-sent events. */
export function wantsEventStream(request: FastifyRequest): boolean {
  return (request.headers.accept ?? '').split(',').some((type) => type.trim().startsWith('text/event-stream'))
}

/**
 * Sends items as server-sent events named `event`, until the items end, the client disconnects, the signal of
 * `watch` aborts because access was revoked, or the server shuts down. `watch` gets a signal that aborts on
 * disconnect. A comment every 15 s keeps proxies from closing the connection.
 */
export function sendEventStream<Item>(
  reply: FastifyReply,
  event: string,
  toBody: (item: Item) => unknown,
  follow: (signal: AbortSignal) => AsyncIterable<Item>,
  watch: (disconnected: AbortSignal) => AbortSignal,
): FastifyReply {
  const disconnected = new AbortController()
  reply.raw.once('close', () => disconnected.abort())
  if (reply.raw.destroyed) disconnected.abort()
  const ended = AbortSignal.any([disconnected.signal, watch(disconnected.signal), reply.server.draining])
  const stream = Readable.from(encodeEvents(event, toBody, follow(ended), ended))
  stream.on('error', () => disconnected.abort())
  return reply
    .header('cache-control', 'no-store')
    .header('x-accel-buffering', 'no')
    .type('text/event-stream; charset=utf-8')
    .serializer((payload: unknown) => payload as string)
    .send(stream)
}

async function* encodeEvents<Item>(
  event: string,
  toBody: (item: Item) => unknown,
  items: AsyncIterable<Item>,
  signal: AbortSignal,
): AsyncIterable<string> {
  const iterator = items[Symbol.asyncIterator]()
  yield ': connected\n\n'
  let next = iterator.next()
  try {
    while (!signal.aborted) {
      const heartbeat = Promise.withResolvers<'heartbeat'>()
      const timer = setTimeout(() => heartbeat.resolve('heartbeat'), heartbeatMilliseconds)
      const result = await Promise.race([next, heartbeat.promise]).finally(() => clearTimeout(timer))
      if (result === 'heartbeat') {
        yield ': keep-alive\n\n'
        continue
      }
      if (result.done) return
      yield `event: ${event}\ndata: ${JSON.stringify(toBody(result.value))}\n\n`
      next = iterator.next()
    }
  } finally {
    await iterator.return?.()
  }
}
