import type { Caller, CallerReply } from '../arrival/caller.ts'

const updateSeconds = 10
const comment = ': waiting for the model to wake up\n\n'

/** What a stream gets while it waits. */
interface HeldEvents {
  /** Returns the data of an event that tells for how many seconds it has waited; null for comments */
  toProgress: ((seconds: number) => unknown) | null
  toErrorBody: (error: unknown) => unknown
}

/**
 * Returns the caller of a stream that waits for its engine. After ten seconds, and then every ten, it gets a
 * comment or an event, so that its connection stays open. An error after that is an event.
 */
export function holdStream(caller: Caller, { toProgress, toErrorBody }: HeldEvents): Caller {
  if (caller.isHeld) return caller
  const { reply } = caller
  const { raw } = reply
  let seconds = 0
  const timer = setInterval(() => {
    if (!raw.headersSent) begin(reply)
    seconds += updateSeconds
    raw.write(toProgress === null ? comment : toEvent(toProgress(seconds)))
  }, updateSeconds * 1000)
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
      raw.end(toEvent(toErrorBody(error)))
      return undefined
    },
  }
  return { ...caller, reply: held, isHeld: true }
}

const toEvent = (data: unknown) => `data: ${JSON.stringify(data)}\n\n`

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
