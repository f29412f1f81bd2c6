import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rerankerContext, rerankerShape, writeRandomReranker } from '../../../bench/engine/random-reranker.ts'

const tokenizerFile = fileURLToPath(new URL('../../../catalog/weights/berth-tiny.gguf', import.meta.url))
/**
 * The numbers of parameters and of tokens of the vocabulary, without which there is no estimate of the
 * memory.
 */
const counts = { parameters: 430_000, vocabulary_size: 4415 }

/**
 * Writes a reranking model with random weights into a folder, and a catalog that has nothing else. Returns
 * the catalog's path.
 */
export async function writeRerankerCatalog(folder: string): Promise<string> {
  await writeRandomReranker(join(folder, 'reranker.gguf'), tokenizerFile)
  const billions = 0.0004
  const { default: usual, variants } = {
    default: { format: 'ggufv2', billions, quantization: 'Q8_0' },
    variants: [{ format: 'ggufv2', quantizations: ['Q8_0'], weights: { file: 'reranker.gguf' } }],
  }
  const model = {
    id: 'random-reranker',
    model_name: 'random-reranker',
    display_name: 'Random Reranker',
    provider: 'Berth',
    family: 'random',
    model_type: 'rerank',
    description: 'Random weights',
    license: 'apache-2.0',
    tags: ['rerank'],
    context_length: rerankerContext,
    sizes: [{ billions, architecture: { ...rerankerShape, ...counts }, variants }],
    default: usual,
  }
  const file = join(folder, 'models.yaml')
  await writeFile(file, JSON.stringify({ models: [model] }))
  return file
}
