import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import getPort from 'get-port'
import { installPython } from '../../scripts/suites/python.ts'
import { startProgram, waitForPort } from '../processes.ts'
import type { Running, Surroundings } from '../target.ts'

/** The version of the Python package `litellm`. */
export const liteLlmVersion = '1.106.0'

const key = 'sk-bench'

/**
 * LiteLLM's proxy with one worker, a master key and the settings of its production guide. Its OpenAI provider
 * points to the upstream.
 */
export async function startLiteLlm({
  cores,
  folder,
  upstreamPort,
  cleanup,
}: Surroundings): Promise<() => Promise<Running>> {
  const environment = await installPython(`litellm-${liteLlmVersion}`, [`litellm[proxy]==${liteLlmVersion}`])
  const config = join(folder, 'litellm.json')
  await writeFile(config, JSON.stringify(compose(upstreamPort)))
  return async () => {
    const port = await getPort({ host: '127.0.0.1' })
    const program = startProgram({
      name: 'litellm',
      core: cores.gateway,
      folder,
      cleanup,
      env: {
        LITELLM_MODE: 'PRODUCTION',
        LITELLM_LOG: 'ERROR',
        // Otherwise each start requests the list of prices from the internet.
        LITELLM_LOCAL_MODEL_COST_MAP: 'True',
        // The default of 500 upstream connections is too low for 2,000 streams.
        AIOHTTP_CONNECTOR_LIMIT: '4096',
        AIOHTTP_CONNECTOR_LIMIT_PER_HOST: '4096',
      },
      command: join(environment, 'bin/litellm'),
      args: ['--host', '127.0.0.1', '--port', String(port), '--config', config, '--num_workers', '1'],
    })
    // Its imports alone take 7 s of CPU, so on a busy machine the start takes minutes.
    await waitForPort(program, port, 600)
    return {
      pids: [program.pid],
      ports: { whole: port, stream: port },
      headers: { authorization: `Bearer ${key}` },
      rewrites: true,
      stop: () => program.stop(),
    }
  }
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
