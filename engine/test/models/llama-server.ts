import { spawn } from 'node:child_process'
import { once } from 'node:events'
import getPort from 'get-port'
import { vi } from 'vitest'

/** A real llama-server with one model. */
export interface LlamaServer {
  post: (path: string, body: object) => Promise<unknown>
  stop: () => Promise<void>
}

/** Starts the program that `npm run test:models` provides. */
export async function startLlamaServer(model: string): Promise<LlamaServer> {
  const [program, ...args] = JSON.parse(process.env['TEST_LLAMA_SERVER']!) as [string, ...string[]]
  const port = await getPort({ host: '127.0.0.1' })
  const options = ['--model', model, '--port', String(port), '--ctx-size', '4096']
  const child = spawn(program, [...args, ...options], { stdio: 'ignore' })
  const url = `http://127.0.0.1:${port}`
  await vi.waitFor(async () => {
    if (!(await fetch(`${url}/health`)).ok) throw new Error('llama-server is not ready.')
  }, 60_000)
  return {
    post: async (path, body) => {
      const headers = { 'content-type': 'application/json' }
      const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
      if (!response.ok) throw new Error(`${path} answers ${response.status}: ${await response.text()}`)
      return response.json()
    },
    stop: async () => {
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}
