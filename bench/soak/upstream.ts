import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Script } from './script.ts'

const eventMilliseconds = 100

export interface SoakUpstream {
  port: number
  /** Tokens sent: the reported usage, or one per event of a broken stream */
  sent: { inputTokens: number; outputTokens: number }
  /** Unexpected events */
  surprises: string[]
  /** Requests in flight */
  live(): number
  close(): void
}

/** An engine that follows the script in each request and counts the tokens sent. */
export async function startSoakUpstream(): Promise<SoakUpstream> {
  const sent = { inputTokens: 0, outputTokens: 0 }
  const live = new Set<ServerResponse>()
  const surprises: string[] = []
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    const pieces: Buffer[] = []
    live.add(response)
    response.once('close', () => live.delete(response))
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      const { script } = JSON.parse(Buffer.concat(pieces).toString()) as { script: Script }
      perform(script, response, (inputTokens, outputTokens) => {
        sent.inputTokens += inputTokens
        sent.outputTokens += outputTokens
      }).catch((error: unknown) => {
        const what = error instanceof Error ? error.message : String(error)
        surprises.push(`${script.does}, as the engine saw it: ${what}`)
      })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    sent,
    surprises,
    live: () => live.size,
    close: () => server.closeAllConnections(),
  }
}

type Count = (inputTokens: number, outputTokens: number) => void

async function perform({ does, events }: Script, response: ServerResponse, count: Count): Promise<void> {
  const { socket } = response
  switch (does) {
    case 'answer':
      return answer(response, count)
    case 'answer late':
      await delay(1000)
      return answer(response, count)
    case 'break before':
      return void socket?.destroy()
    case 'break amid':
      response.writeHead(200, {
        'content-type': 'application/json',
        'content-length': wholeBody(1, 1).length,
      })
      response.write('{"id":"chatcmpl-soak",')
      await delay(50)
      return void socket?.destroy()
    case 'send garbage':
      return void socket?.end('\u0000\u0001 this is no HTTP\r\n\r\n')
    case 'fail with HTML':
      response.writeHead(502, { 'content-type': 'text/html' }).end('<html>Bad gateway</html>')
      return
    case 'fail with JSON':
      response
        .writeHead(503, { 'content-type': 'application/json' })
        .end('{"error":{"message":"Too much to do","type":"server_error"}}')
      return
    case 'wait for the caller to leave':
      return
    default:
      return stream(does, events, response, count)
  }
}

function wholeBody(inputTokens: number, outputTokens: number): string {
  return JSON.stringify({
    id: 'chatcmpl-soak',
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: 'The berth is ready.' } }],
    usage: {
      prompt_tokens: inputTokens,
      completion_tokens: outputTokens,
      total_tokens: inputTokens + outputTokens,
    },
  })
}

function answer(response: ServerResponse, count: Count): void {
  const inputTokens = 1 + Math.floor(Math.random() * 1000)
  const outputTokens = 1 + Math.floor(Math.random() * 1000)
  response
    .writeHead(200, { 'content-type': 'application/json' })
    .end(wholeBody(inputTokens, outputTokens), () => count(inputTokens, outputTokens))
}

async function stream(
  does: Script['does'],
  events: number,
  response: ServerResponse,
  count: Count,
): Promise<void> {
  const end = does === 'stream with CRLF and comments' ? '\r\n' : '\n'
  const frame = (chunk: object | string) =>
    `data: ${typeof chunk === 'string' ? chunk : JSON.stringify(chunk)}${end}${end}`
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (let index = 0; index < events; index += 1) {
    if (response.destroyed) throw new Error('The gateway disconnected from a stream before its end.')
    const event = frame({ choices: [{ index: 0, delta: { content: `token ${index}` } }] })
    if (does === 'stream with events cut in two') {
      response.write(event.slice(0, 20))
      await delay(2)
      response.write(event.slice(20))
    } else {
      if (end === '\r\n' && index % 10 === 0) response.write(': a comment\r\n\r\n')
      response.write(event)
    }
    await delay(eventMilliseconds)
  }
  switch (does) {
    case 'end amid':
    case 'reset amid':
      count(0, events)
      // The gateway has read everything by now, so a reset loses nothing.
      await delay(1000)
      if (does === 'end amid') response.socket?.destroy()
      else response.socket?.resetAndDestroy()
      return
    case 'send an error amid':
      count(0, events)
      response.end(frame({ error: { message: 'Out of memory', type: 'server_error' } }))
      return
    case 'hold for the caller to leave':
      count(0, events)
      return
    default: {
      const usage = { prompt_tokens: 7, completion_tokens: events, total_tokens: events + 7 }
      response.write(frame({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }))
      response.write(frame({ choices: [], usage }))
      response.end(frame('[DONE]'), () => count(7, events))
    }
  }
}
