import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ModelType } from '../../src/ports/model-variant.ts'
import { startHubServer } from '../support/hub/hub-server.ts'
import type { HubRepository } from '../support/hub/hub-server.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'
import { readRepository, writeVllmCommand } from './vllm-files.ts'

/** The virtual environment with vLLM */
export const environment = process.env['TEST_VLLM'] ?? ''
/** The folder of the bundled model as a Hugging Face repository */
const model = process.env['TEST_VLLM_MODEL'] ?? ''
/** The folder of a reranking model with random weights */
const reranker = process.env['TEST_VLLM_RERANKER'] ?? ''
/** Loading takes minutes on a busy machine, in milliseconds */
export const patience = 600_000

/** A model of the catalog with the weights of the bundled one, or of a repository of the tests, as YAML. */
export function describeModel(
  name: string,
  profile: string,
  type: ModelType = 'LLM',
  repository = 'berth/tiny',
): string {
  return `
  - id: ${name}
    model_name: ${name}
    display_name: ${name}
    provider: Berth
    family: berth
    model_type: ${type}
    description: The bundled model as a Hugging Face repository
    license: apache-2.0
    tags: [chat]
    enabled: true
    context_length: 512
    engines:
      vllm: { ${profile} }
    sizes:
      - billions: 0.002
        architecture: { parameters: 2196608, layers: 5, hidden_size: 128, attention_heads: 4, kv_heads: 4, head_dim: 32, vocabulary_size: 4415 }
        variants:
          - format: pytorch
            quantizations: [none]
            weights: { huggingface: ${repository} }
    default: { format: pytorch, billions: 0.002, quantization: none }
`
}

/**
 * Starts a server whose deployments of these models run on a real vLLM on the CPU. Its hub has `repositories`
 * besides theirs.
 */
export async function startVllmServer(
  models: readonly string[],
  repositories: Record<string, HubRepository> = {},
): Promise<TestServer> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-vllm-'))
  writeFileSync(join(folder, 'models.yaml'), `models:${models.join('')}`)
  const hub = await startHubServer({
    'berth/tiny': readRepository(model),
    'berth/reranker': readRepository(reranker),
    ...repositories,
  })
  const server = await startTestServer({
    settings: {
      CATALOG_FILE: join(folder, 'models.yaml'),
      HF_ENDPOINT: hub.origin,
      VLLM_COMMAND: writeVllmCommand(folder, environment),
    },
  })
  return {
    ...server,
    async close() {
      await server.close()
      await hub.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
