import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { HubRepository } from './hub-server.ts'
import { makeSafetensors } from './model-files.ts'

const weights = fileURLToPath(new URL('../../../../catalog/weights/berth-tiny.gguf', import.meta.url))

/** Repositories for people and browsers: the bundled model, which runs anywhere, and one for GPUs. */
export function makeBundledRepositories(): Record<string, HubRepository> {
  return {
    'harbour/Pilot-GGUF': {
      commit: '7f3c9a1e5b2d4068c1a7e9f0d3b5c7a9e1f20486',
      license: 'apache-2.0',
      task: 'text-generation',
      files: {
        'README.md': Buffer.from('# Pilot'),
        'Pilot-Q8_0.gguf': readFileSync(weights),
        'Pilot-IQ4_XS-00001-of-00002.gguf': Buffer.from('GGUF'),
        'pytorch_model.bin': 8_000_000,
      },
    },
    'harbour/Navigator': {
      commit: 'a94e1c70d2b85f3694cc01d7be52f8836ad01f57',
      license: 'mit',
      gated: 'manual',
      files: {
        'config.json': Buffer.from(JSON.stringify({ architectures: ['LlamaForCausalLM'] })),
        'model.safetensors': makeSafetensors({ 'model.weight': ['BF16', [64, 64]] }),
      },
    },
  }
}
