import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { playEndpoint } from './play-endpoint.ts'
import { startLlamaServers, startProgram } from './real-server.ts'
import type { RealServer } from './real-server.ts'

playEndpoint('LiteLLM’s proxy of a llama-server', async (): Promise<RealServer> => {
  const engines = await startLlamaServers()
  const folder = await mkdtemp(join(tmpdir(), 'berth-litellm-'))
  const key = 'sk-litellm-0123456789'
  const entries = [engines.chat, engines.embedding!].map((address) => ({
    model_name: address.model,
    litellm_params: {
      model: `openai/${address.model}`,
      api_base: `${address.url}/v1`,
      api_key: address.key,
    },
  }))
  const config = join(folder, 'litellm.json')
  await writeFile(
    config,
    JSON.stringify({
      model_list: entries,
      general_settings: { master_key: key },
      litellm_settings: { telemetry: false, num_retries: 0 },
    }),
  )
  const program = join(process.env['TEST_LITELLM']!, 'bin/litellm')
  const proxy = await startProgram([program, '--config', config], '/health/liveliness', {
    HOME: folder,
    // Otherwise each start requests the list of prices from the internet.
    LITELLM_LOCAL_MODEL_COST_MAP: 'True',
  })
  return {
    ...engines,
    chat: { ...engines.chat, url: proxy.url, key },
    embedding: { ...engines.embedding!, url: proxy.url, key },
    // Without a database, LiteLLM says that it can't look the key up.
    unknownKey: { check: 'invalid', status: 400, code: '400' },
    kill: () => proxy.kill(),
    start: () => proxy.start(),
    async close() {
      await proxy.kill()
      await engines.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
})
