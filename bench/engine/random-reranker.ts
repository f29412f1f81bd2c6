import { readGgufFileInfo } from 'node-llama-cpp'
import { copyTokenizer } from './random-model.ts'
import { constantVector, number, randomMatrix, string, strings, writeGguf } from './gguf.ts'
import type { GgufTensor } from './gguf.ts'

/** The shape of the file, as in the catalog. */
export const rerankerShape = {
  layers: 2,
  hidden_size: 64,
  attention_heads: 2,
  kv_heads: 2,
  head_dim: 32,
} as const
export const rerankerContext = 512

const inner = 128

/**
 * Writes a GGUF file like Qwen3-Reranker's with random weights and the vocabulary of `tokenizerFile`. Its
 * scores differ from text to text, but mean nothing.
 */
export async function writeRandomReranker(path: string, tokenizerFile: string): Promise<void> {
  const { metadata } = await readGgufFileInfo(tokenizerFile)
  const vocabulary = metadata.tokenizer.ggml.tokens.length
  const { layers, hidden_size: width, attention_heads: heads, head_dim: head } = rerankerShape
  const fields = [
    ['general.architecture', string('qwen3')],
    ['qwen3.block_count', number('uint32', layers)],
    ['qwen3.context_length', number('uint32', rerankerContext)],
    ['qwen3.embedding_length', number('uint32', width)],
    ['qwen3.feed_forward_length', number('uint32', inner)],
    ['qwen3.attention.head_count', number('uint32', heads)],
    ['qwen3.attention.head_count_kv', number('uint32', heads)],
    ['qwen3.attention.key_length', number('uint32', head)],
    ['qwen3.attention.value_length', number('uint32', head)],
    ['qwen3.attention.layer_norm_rms_epsilon', number('float32', 1e-6)],
    ['qwen3.rope.freq_base', number('float32', 1e6)],
    // llama.cpp's number of pooling by rank
    ['qwen3.pooling_type', number('uint32', 4)],
    ['qwen3.classifier.output_labels', strings(['yes', 'no'])],
    ...(await copyTokenizer(tokenizerFile)),
    ['tokenizer.chat_template.rerank', string('<Query>: {query}\n<Document>: {document}\n')],
  ] as const
  await writeGguf(path, fields, listTensors(vocabulary))
}

function listTensors(vocabulary: number): GgufTensor[] {
  const { layers, hidden_size: width, head_dim: head } = rerankerShape
  const tensors: GgufTensor[] = []
  const matrix = (name: string, columns: number, rows: number) =>
    void tensors.push(randomMatrix(name, { columns, rows, seed: tensors.length }))
  const ones = (name: string, length: number) => void tensors.push(constantVector(name, length, 1))
  matrix('token_embd.weight', width, vocabulary)
  ones('output_norm.weight', width)
  matrix('cls.output.weight', width, 2)
  for (let layer = 0; layer < layers; layer++) {
    const at = `blk.${layer}`
    ones(`${at}.attn_norm.weight`, width)
    ones(`${at}.ffn_norm.weight`, width)
    ones(`${at}.attn_q_norm.weight`, head)
    ones(`${at}.attn_k_norm.weight`, head)
    for (const name of ['q', 'k', 'v', 'output']) matrix(`${at}.attn_${name}.weight`, width, width)
    matrix(`${at}.ffn_gate.weight`, width, inner)
    matrix(`${at}.ffn_up.weight`, width, inner)
    matrix(`${at}.ffn_down.weight`, inner, width)
  }
  return tensors
}
