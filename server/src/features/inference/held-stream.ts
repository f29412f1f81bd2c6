import type { Caller, CallerReply } from './caller.ts'

const commentMilliseconds = 10_000

/**
 * Returns the caller of a stream that waits for its engine. After ten seconds, and then every ten, it gets a comment, so that its connection
 * stays open. An error after that is an event.
 */
export function holdStream(caller: Caller, toErrorBody: (error: unknown) => unknown): Caller {
  const { reply } = caller
  const { raw } = reply
  const timer = setInterval(() => {
    if (!raw.headersSent) begin(reply)
    raw.write(': waiting for the model to wake up\n\n')
  }, commentMilliseconds)
  const end = () => clearInterval(timer)
  raw.once('close', end)
  const held: CallerReply = {
    raw,
    getHeaders: () => reply.getHeaders(),
    hijack() {
      end()
      return reply.hijack()
    },
    send(error) {
      end()
      if (!raw.headersSent) return reply.send(error)
      raw.end(`data: ${JSON.stringify(toErrorBody(error))}\n\n`)
      return undefined
    },
  }
  return { ...caller, reply: held }
}

function begin(reply: CallerReply): void {
  const own = Object.entries(reply.getHeaders()).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  )
  reply.raw.writeHead(200, {
    ...Object.fromEntries(own),
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
  })
  reply.hijack()
}
