import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

const sweepMilliseconds = 100
/** So long before the end, requests that are still open learn of it. */
const noticeMilliseconds = 2_000

/**
 * Prepares a stop that waits for requests up to `milliseconds`, and calls `onEnding` shortly before. Call
 * this before the server listens.
 */
export function prepareClose(
  app: Pick<FastifyInstance, 'server' | 'close'>,
  milliseconds: number,
  onEnding: () => void = () => {},
): () => Promise<void> {
  const { server } = app
  const sockets = new Set<Socket>()
  // One function for all sockets, because many are idle
  function forget(this: Socket): void {
    sockets.delete(this)
  }
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', forget)
  })
  const closeWaiting = () => {
    server.closeIdleConnections()
    // For Node, a connection is not idle before its first request.
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
  }
  return async () => {
    // Node reads requests that have arrived before it calls back.
    const sweeping = setInterval(() => setImmediate(closeWaiting), sweepMilliseconds)
    const ending = setTimeout(onEnding, Math.max(0, milliseconds - noticeMilliseconds))
    const closingAll = setTimeout(() => server.closeAllConnections(), milliseconds)
    await app.close()
    clearInterval(sweeping)
    clearTimeout(ending)
    clearTimeout(closingAll)
  }
}
