import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'

const heartbeatMilliseconds = 15_000

/** True when the caller asks to follow rather than to read once. */
export function wantsEventStream(request: FastifyRequest): boolean {
  return (request.headers.accept ?? '').split(',').some((type) => type.trim().startsWith('text/event-stream'))
}

/**
 * Sends items as server-sent events named `event` until they end, the caller leaves or may see no more, or the server shuts
 * down, with a comment every 15 s so that proxies in between don't take the silence for a dead connection. `watch` is told when
 * the caller has left and tells when they may see no more.
 */
export function sendEventStream<Item>(
  reply: FastifyReply,
  event: string,
  toBody: (item: Item) => unknown,
  follow: (signal: AbortSignal) => AsyncIterable<Item>,
  watch: (left: AbortSignal) => AbortSignal,
): FastifyReply {
  const left = new AbortController()
  reply.raw.once('close', () => left.abort())
  if (reply.raw.destroyed) left.abort()
  const ended = AbortSignal.any([left.signal, watch(left.signal), reply.server.draining])
  const stream = Readable.from(encodeEvents(event, toBody, follow(ended), ended))
  stream.on('error', () => left.abort())
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
  yield ': following\n\n'
  let next = iterator.next()
  try {
    while (!signal.aborted) {
      const heartbeat = Promise.withResolvers<'heartbeat'>()
      const timer = setTimeout(() => heartbeat.resolve('heartbeat'), heartbeatMilliseconds)
      const result = await Promise.race([next, heartbeat.promise]).finally(() => clearTimeout(timer))
      if (result === 'heartbeat') {
        yield ': still here\n\n'
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
