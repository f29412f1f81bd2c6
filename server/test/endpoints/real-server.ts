import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import getPort from 'get-port'
import { vi } from 'vitest'

/** Starting takes minutes on a busy machine, in milliseconds. */
export const patience = 600_000

/** Where a model is, as an admin enters it. */
export interface Address {
  url: string
  key: string
  model: string
}

/** A server with OpenAI's protocol that Berth does not run. */
export interface RealServer {
  chat: Address
  embedding: Address | null
  /** What a check says of a key that the server does not know, and what a caller gets */
  unknownKey: { check: 'refused' | 'invalid'; status: number; code: string }
  /** Members of a chat that make its response as long as possible, and the tokens of this response */
  long: { members: object; tokens: number }
  /** The tokens that it generated since its start, and whether it generates some now */
  observe(): Promise<{ generated: number; isBusy: boolean }>
  /** Ends it with SIGKILL. */
  kill(): Promise<void>
  /** Starts it again at the same address. */
  start(): Promise<void>
  /** Ends it with all that it needs. */
  close(): Promise<void>
}

/** A server that responds with 401 to a key that it does not know */
export const refusesKeys: RealServer['unknownKey'] = {
  check: 'refused',
  status: 502,
  code: 'endpoint_refused',
}

interface Program {
  url: string
  start(): Promise<void>
  kill(): Promise<void>
}

/** Starts a program at a free port. It is ready when `readyPath` responds with 200. */
export async function startProgram(
  [command, ...args]: readonly string[],
  readyPath: string,
  environment: Record<string, string> = {},
): Promise<Program> {
  const port = await getPort({ host: '127.0.0.1' })
  const url = `http://127.0.0.1:${port}`
  const { PATH = '', HOME = '' } = process.env
  let end = async () => {}
  const start = async () => {
    let output = ''
    const child = spawn(command!, [...args, '--host', '127.0.0.1', '--port', String(port)], {
      env: { PATH, HOME, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      // The group has the program's own processes too.
      detached: true,
    })
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (bytes: Buffer) => (output = (output + bytes.toString()).slice(-4_000)))
    const closed = once(child, 'close')
    end = async () => {
      if (child.exitCode === null) process.kill(-child.pid!, 'SIGKILL')
      await closed
    }
    const isReady = async () => {
      if (child.exitCode !== null) throw new Error(`${command} ended:\n${output}`)
      return (await fetch(url + readyPath).catch(() => null))?.status === 200
    }
    await vi.waitUntil(isReady, { timeout: patience, interval: 250 })
  }
  await start()
  return { url, start, kill: () => end() }
}

const metrics = {
  generated: /^(?:llamacpp:tokens_predicted_total|vllm:generation_tokens_total)(?:\{.*\})? (\S+)$/m,
  running: /^(?:llamacpp:requests_processing|vllm:num_requests_running)(?:\{.*\})? (\S+)$/m,
}

/** Reads the metrics of llama-server or vLLM. */
export async function observeEngine({ url, key }: Pick<Address, 'url' | 'key'>) {
  const text = await (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${key}` } })).text()
  const read = (pattern: RegExp) => {
    const found = pattern.exec(text)
    if (found === null) throw new Error(`/metrics has no ${pattern.source}:\n${text.slice(0, 500)}`)
    return Number(found[1])
  }
  return { generated: read(metrics.generated), isBusy: read(metrics.running) > 0 }
}

/** Starts a llama-server for chats and one for embeddings, which no process serves both. */
export async function startLlamaServers(): Promise<RealServer> {
  const command = JSON.parse(process.env['TEST_LLAMA_SERVER']!) as string[]
  const key = 'sk-llama-0123456789'
  const open = (model: string, ...more: string[]) => {
    const file = fileURLToPath(new URL(`../../../catalog/weights/berth-${model}.gguf`, import.meta.url))
    const options = ['--model', file, '--alias', model, '--api-key', key, '--metrics', ...more]
    return startProgram([...command, ...options], '/health')
  }
  const chat = await open('tiny', '--ctx-size', '2048')
  const embedding = await open('tiny-embedding', '--embeddings', '--ctx-size', '512')
  return {
    chat: { url: chat.url, key, model: 'tiny' },
    embedding: { url: embedding.url, key, model: 'tiny-embedding' },
    unknownKey: refusesKeys,
    long: { members: { max_tokens: 1_900, ignore_eos: true }, tokens: 1_900 },
    observe: () => observeEngine({ url: chat.url, key }),
    kill: () => chat.kill(),
    start: () => chat.start(),
    async close() {
      await chat.kill()
      await embedding.kill()
    },
  }
}
