import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { installPython } from '../../tools/python.ts'
import type { Running, Surroundings } from '../target.ts'
import { preparePeer } from './peer.ts'

/** The version of the Python package `litellm`. */
export const liteLlmVersion = '1.106.0'

const key = 'sk-bench'

/** Installs LiteLLM's proxy once. Returns the folder of its virtual environment. */
export function installLiteLlm(): Promise<string> {
  return installPython(`litellm-${liteLlmVersion}`, [`litellm[proxy]==${liteLlmVersion}`])
}

/** LiteLLM's proxy with one worker, a master key, its production settings, and the upstream as OpenAI. */
export async function startLiteLlm(around: Surroundings): Promise<() => Promise<Running>> {
  const environment = await installLiteLlm()
  const config = join(around.folder, 'litellm.json')
  await writeFile(config, JSON.stringify(compose(around.upstreamPort)))
  return preparePeer(around, {
    name: 'litellm',
    command: join(environment, 'bin/litellm'),
    env: {
      LITELLM_MODE: 'PRODUCTION',
      LITELLM_LOG: 'ERROR',
      // Otherwise each start requests the list of prices from the internet.
      LITELLM_LOCAL_MODEL_COST_MAP: 'True',
      // The default of 500 upstream connections is too low for 2,000 streams.
      AIOHTTP_CONNECTOR_LIMIT: '4096',
      AIOHTTP_CONNECTOR_LIMIT_PER_HOST: '4096',
    },
    args: (port) => ['--host', '127.0.0.1', '--port', String(port), '--config', config, '--num_workers', '1'],
    headers: { authorization: `Bearer ${key}` },
    rewrites: 'all',
    // Its imports alone take 7 s of CPU, so on a busy machine the start takes minutes.
    patience: 600,
  })
}

/** A configuration as JSON, which is YAML too. */
function compose(upstreamPort: number): object {
  return {
    model_list: ['berth-tiny', 'berth-tiny-embedding'].map((model) => ({
      model_name: model,
      litellm_params: {
        model: `openai/${model}`,
        api_base: `http://127.0.0.1:${upstreamPort}/v1`,
        api_key: 'key',
      },
    })),
    general_settings: { master_key: key },
    litellm_settings: { request_timeout: 600, set_verbose: false, json_logs: true },
  }
}
