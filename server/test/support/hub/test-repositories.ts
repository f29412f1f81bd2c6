import type { HubRepository } from './hub-server.ts'
import { makeGguf, makeSafetensors, qwenMetadata } from './model-files.ts'

export const commitOf = (digit: string) => digit.repeat(40)

const json = (value: unknown) => Buffer.from(JSON.stringify(value))

/** `config.json` of a small Qwen3 */
export const qwenConfig = {
  architectures: ['Qwen3ForCausalLM'],
  model_type: 'qwen3',
  num_hidden_layers: 28,
  num_attention_heads: 16,
  num_key_value_heads: 8,
  head_dim: 128,
  hidden_size: 1024,
  vocab_size: 151_936,
  max_position_embeddings: 40_960,
}

const qwenGguf = makeGguf(qwenMetadata, [
  [1024, 1000],
  [1024, 4096],
])

function makeClassifier(outputs: number) {
  const labels = Array.from({ length: outputs }, (_, index) => [index, `LABEL_${index}`])
  const architectures = ['BertForSequenceClassification']
  return {
    'config.json': json({ ...qwenConfig, architectures, id2label: Object.fromEntries(labels) }),
    'model.safetensors': makeSafetensors({ 'classifier.weight': ['BF16', [outputs, 64]] }),
  }
}

/** Repositories of each kind that an import must tell apart. */
export function makeRepositories(): Record<string, HubRepository> {
  return {
    'acme/Small-GGUF': {
      commit: commitOf('1'),
      license: 'apache-2.0',
      task: 'text-generation',
      files: {
        'README.md': Buffer.from('# Small'),
        'Small-Q4_K_M.gguf': qwenGguf,
        'Small-Q8_0-00001-of-00002.gguf': Buffer.concat([qwenGguf, Buffer.alloc(300_000)]),
        'Small-Q8_0-00002-of-00002.gguf': Buffer.concat([makeGguf({}, []), Buffer.alloc(200_000)]),
        'mmproj-Small-F16.gguf': Buffer.alloc(1000),
      },
    },
    'acme/Small': {
      commit: commitOf('2'),
      license: 'mit',
      files: {
        'config.json': json(qwenConfig),
        'tokenizer_config.json': json({ chat_template: '{{ messages }}' }),
        'model.safetensors': makeSafetensors({
          'model.embed_tokens.weight': ['BF16', [1000, 64]],
          'model.layers.0.weight': ['BF16', [64, 64]],
        }),
      },
    },
    'acme/Licensed': {
      commit: commitOf('3'),
      gated: 'manual',
      files: { 'Licensed-Q4_K_M.gguf': qwenGguf },
    },
    'acme/Private': { commit: commitOf('4'), isPrivate: true, files: { 'Private-Q4_K_M.gguf': qwenGguf } },
    'acme/Ranker-GGUF': {
      commit: commitOf('6'),
      files: { 'Ranker-Q8_0.gguf': makeGguf({ ...qwenMetadata, 'qwen3.pooling_type': 4 }) },
    },
    'acme/Unnamed-GGUF': {
      commit: commitOf('9'),
      files: { 'model.gguf': makeGguf({ ...qwenMetadata, 'general.file_type': 15 }) },
    },
    'acme/Ranker': { commit: commitOf('7'), files: makeClassifier(1) },
    'acme/Classifier': { commit: commitOf('8'), files: makeClassifier(3) },
    'acme/Pickle': {
      commit: commitOf('5'),
      files: { 'pytorch_model.bin': Buffer.alloc(100), 'config.json': json(qwenConfig) },
    },
  }
}
