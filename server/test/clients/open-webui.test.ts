import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import getPort from 'get-port'
import { expect, test, vi } from 'vitest'
import { registerClient } from '../support/client.ts'
import { deploy } from '../support/deployments.ts'
import { startTestServer } from '../support/server.ts'

const program = join(process.env['TEST_OPEN_WEBUI'] ?? '', 'bin/open-webui')

/** Starts Open WebUI with Berth as its only connection, whose cookie is a custom header. Resolves to its address and its end. */
async function startOpenWebui(baseUrl: string, cookie: string) {
  const folder = await mkdtemp(join(tmpdir(), 'berth-open-webui-'))
  const port = await getPort({ host: '127.0.0.1' })
  const child = spawn(program, ['serve', '--host', '127.0.0.1', '--port', String(port)], {
    cwd: folder,
    stdio: 'ignore',
    env: {
      ...process.env,
      DATA_DIR: folder,
      WEBUI_AUTH: 'False',
      WEBUI_SECRET_KEY: 'test',
      OFFLINE_MODE: 'true',
      HF_HUB_OFFLINE: '1',
      ENABLE_OLLAMA_API: 'False',
      BYPASS_EMBEDDING_AND_RETRIEVAL: 'true',
      RAG_EMBEDDING_ENGINE: 'openai',
      OPENAI_API_BASE_URLS: baseUrl,
      OPENAI_API_KEYS: 'unused',
      OPENAI_API_CONFIGS: JSON.stringify({ 0: { headers: { Cookie: cookie } } }),
      OMP_NUM_THREADS: '1',
    },
  })
  const url = `http://127.0.0.1:${port}`
  const exited = new Promise((resolve) => child.once('exit', resolve))
  const close = async () => {
    child.kill()
    await exited
    await rm(folder, { recursive: true, force: true })
  }
  try {
    await vi.waitUntil(async () => (await fetch(`${url}/health`).catch(() => null))?.ok === true, {
      timeout: 300_000,
      interval: 500,
    })
  } catch (error) {
    await close()
    throw error
  }
  return { url, close }
}

interface Usage {
  prompt_tokens: number
  completion_tokens: number
}

test('Open WebUI shows the usage of streams as Berth bills it', async () => {
  const server = await startTestServer()
  const client = await registerClient(server.url)
  const { id } = await deploy(client)
  const openWebui = await startOpenWebui(`${server.url}/v1`, client.cookie())
  try {
    const ask = async (path: string, body: object, token = ''): Promise<Response> => {
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
      return fetch(openWebui.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    }
    const signIn = await ask('/api/v1/auths/signin', { email: '', password: '' })
    const { token } = (await signIn.json()) as { token: string }
    const models = await fetch(`${openWebui.url}/api/models`, {
      headers: { authorization: `Bearer ${token}` },
    })
    const { data } = (await models.json()) as { data: { id: string }[] }
    const model = data[0]!.id

    /** Adds up all usage in a stream, as clients do. */
    const chat = async (more: object): Promise<Usage> => {
      const messages = [{ role: 'user', content: 'Tell me a story about a fox.' }]
      const response = await ask('/api/chat/completions', { model, messages, stream: true, ...more }, token)
      const stream = await response.text()
      expect(response.status, stream).toBe(200)
      const events = stream.split('\n').filter((line) => line.startsWith('data: {'))
      expect(events.length).toBeGreaterThan(5)
      const usages = events.flatMap((line) => (JSON.parse(line.slice(6)) as { usage?: Usage }).usage ?? [])
      const add = (name: keyof Usage) => usages.reduce((sum, usage) => sum + usage[name], 0)
      return { prompt_tokens: add('prompt_tokens'), completion_tokens: add('completion_tokens') }
    }
    const readBill = async (): Promise<Usage & { requests: number }> => {
      const { body } = await client.get(`/api/v1/model-deployments/${id}/usage`)
      return {
        requests: body.requests,
        prompt_tokens: body.input_tokens,
        completion_tokens: body.output_tokens,
      }
    }
    const shown = await chat({ stream_options: { include_usage: true } })
    expect(shown.completion_tokens).toBeGreaterThan(5)
    await expect.poll(readBill).toEqual({ requests: 1, ...shown })
    expect(await chat({})).toEqual({ prompt_tokens: 0, completion_tokens: 0 })
    await expect.poll(async () => (await readBill()).requests).toBe(2)
  } finally {
    await openWebui.close()
    await server.close()
  }
})
