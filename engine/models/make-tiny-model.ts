// Writes berth-tiny.gguf: a llama-architecture model of about a megabyte with random weights. Run it with
// `node engine/models/make-tiny-model.ts [path]`; the same source always writes the same bytes.
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { encodeGguf, type GgufTensor, type GgufValue } from './gguf.ts'

const SEED = 20_260_120
const SIZE = { width: 128, layers: 2, heads: 4, feedForward: 256, context: 2048 } as const

/** The words that answers are made of; each is one token with its leading space. */
const WORDS =
  `a about after all also an and answer any are as ask at back be because been before but by call can code
come could data day deploy do down each end even every few find first for from get give go good great had has have he
help her here him his how if in into is it its just key know last learn like line list little live long look made make
many may me mean model more most much must my name need new no not now number of off old on one only open or other our
out over own part people place plan point put question read right run said same say see send server set she should show
simple small so some start state still stop such take tell test than that the their them then there these they thing
think this time to token too try turn two under up us use very wait want was way we well were what when where which
while who why will with word work world would write year you your`.split(/\s+/)

const CONTROL = ['<|endoftext|>', '<|im_start|>', '<|im_end|>'] as const

/** ChatML, with tools described in the system turn and called as JSON between <tool_call> tags. */
const CHAT_TEMPLATE = `{%- if tools %}
{{- '<|im_start|>system\\n' }}
{%- if messages[0].role == 'system' %}{{- messages[0].content + '\\n\\n' }}{%- endif %}
{{- 'You can call these functions:\\n<tools>' }}
{%- for tool in tools %}{{- '\\n' + (tool | tojson) }}{%- endfor %}
{{- '\\n</tools>\\nTo call one, answer with its name and arguments:\\n' }}
{{- '<tool_call>\\n{"name": <name>, "arguments": <arguments>}\\n</tool_call><|im_end|>\\n' }}
{%- elif messages[0].role == 'system' %}
{{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
{%- if message.role == 'tool' %}
{{- '<|im_start|>user\\n<tool_response>\\n' + message.content + '\\n</tool_response><|im_end|>\\n' }}
{%- elif message.role == 'assistant' and message.tool_calls %}
{{- '<|im_start|>assistant' }}
{%- if message.content %}{{- '\\n' + message.content }}{%- endif %}
{%- for call in message.tool_calls %}
{{- '\\n<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' }}
{{- (call.function.arguments | tojson) + '}\\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- elif not (message.role == 'system' and loop.first) %}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}`

interface Vocabulary {
  tokens: string[]
  merges: string[]
  words: Set<number>
  control: Map<string, number>
}

/**
 * A byte-level BPE vocabulary: one token for each of the 256 bytes, so that every text can be written, then the words
 * and the steps that merge their letters, then the control tokens.
 */
function buildVocabulary(): Vocabulary {
  const tokens = Array.from({ length: 256 }, (_, byte) => byteCharacter(byte))
  const ids = new Map(tokens.map((token, id) => [token, id]))
  const merges = new Set<string>()
  const words = new Set<number>()
  for (const word of WORDS) {
    const spelled = byteCharacter(0x20) + word
    for (let length = 2; length <= spelled.length; length++) {
      const piece = spelled.slice(0, length)
      merges.add(`${piece.slice(0, -1)} ${piece.slice(-1)}`)
      if (!ids.has(piece)) ids.set(piece, tokens.push(piece) - 1)
    }
    words.add(ids.get(spelled)!)
  }
  const control = new Map(CONTROL.map((name) => [name, tokens.push(name) - 1]))
  return { tokens, merges: [...merges], words, control }
}

/** GPT-2's printable stand-in for a byte: itself where it prints, else the next free character from U+0100 on. */
function byteCharacter(byte: number): string {
  const prints = (code: number): boolean =>
    (code >= 0x21 && code <= 0x7e) || (code >= 0xa1 && code <= 0xac) || (code >= 0xae && code <= 0xff)
  if (prints(byte)) return String.fromCodePoint(byte)
  let hidden = 0
  for (let code = 0; code < byte; code++) if (!prints(code)) hidden++
  return String.fromCodePoint(0x100 + hidden)
}

/** mulberry32: uniform numbers in [0, 1) from a 32-bit state. */
function createRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/**
 * How much each token is wanted, whatever came before. Random weights alone would write noise that never ends; with
 * this the answers are words and usually end after a few dozen of them.
 */
function tokenBias({ tokens, words, control }: Vocabulary, id: number): number {
  if (id === control.get('<|im_end|>')) return 4.9
  if (words.has(id)) return 4
  const token = tokens[id]!
  if (id < 256 && '.,"'.includes(String.fromCharCode(id))) return 4.4
  if (id < 256 && /^[\x20-\x7e]$/.test(String.fromCharCode(id))) return -1
  return token.startsWith('<|') || id < 256 ? -12 : -4
}

function buildTensors(vocabulary: Vocabulary): GgufTensor[] {
  const { width, feedForward } = SIZE
  const random = createRandom(SEED)
  // A sum of twelve uniform numbers is near enough to a normal one, and exact on every machine; Math.log is not.
  const normal = (): number => Array.from({ length: 12 }, random).reduce((sum, value) => sum + value, -6)
  const matrix = (name: string, columns: number, rows: number, scale: number): GgufTensor => {
    const values = Float32Array.from({ length: columns * rows }, () => normal() * scale)
    return { name, shape: [columns, rows], encoding: 'f16', values }
  }
  const ones = (name: string): GgufTensor => {
    return { name, shape: [width], encoding: 'f32', values: new Float32Array(width).fill(1) }
  }
  const count = vocabulary.tokens.length
  const even = 1 / Math.sqrt(width)

  // The first coordinate of every embedding is the same, and no layer writes to it, so the first column of the output
  // matrix adds a constant to each token's score: the model's bias.
  const anchor = Math.sqrt(width)
  const embedding = matrix('token_embd.weight', width, count, 1)
  const output = matrix('output.weight', width, count, 0.7 * even)
  for (let id = 0; id < count; id++) {
    embedding.values[id * width] = anchor
    output.values[id * width] = tokenBias(vocabulary, id) / (anchor / Math.sqrt(3))
  }
  // How likely the answer is to end should hardly depend on what was said, or some prompts would get no answer at all.
  const end = vocabulary.control.get('<|im_end|>')! * width
  for (let column = 1; column < width; column++) output.values[end + column]! *= 0.2
  const silenceFirstRow = (tensor: GgufTensor): GgufTensor => {
    tensor.values.fill(0, 0, tensor.shape[0])
    return tensor
  }

  const tensors = [embedding]
  for (let layer = 0; layer < SIZE.layers; layer++) {
    const name = (part: string): string => `blk.${layer}.${part}.weight`
    tensors.push(
      ones(name('attn_norm')),
      matrix(name('attn_q'), width, width, even),
      matrix(name('attn_k'), width, width, even),
      matrix(name('attn_v'), width, width, even),
      silenceFirstRow(matrix(name('attn_output'), width, width, even)),
      ones(name('ffn_norm')),
      matrix(name('ffn_gate'), width, feedForward, even),
      matrix(name('ffn_up'), width, feedForward, even),
      silenceFirstRow(matrix(name('ffn_down'), feedForward, width, 1 / Math.sqrt(feedForward))),
    )
  }
  tensors.push(ones('output_norm.weight'), output)
  return tensors
}

function buildMetadata({ tokens, merges, control }: Vocabulary): Map<string, GgufValue> {
  const uint32 = (value: number): GgufValue => ({ type: 'uint32', value })
  const text = (value: string): GgufValue => ({ type: 'string', value })
  const float32 = (value: number): GgufValue => ({ type: 'float32', value })
  const no: GgufValue = { type: 'bool', value: false }
  const kinds = tokens.map((_, id) => (id >= tokens.length - control.size ? 3 : 1))
  return new Map<string, GgufValue>([
    ['general.architecture', text('llama')],
    ['general.name', text('Berth Tiny')],
    ['general.description', text('Random weights, for tests and demonstrations: it cannot answer anything.')],
    ['general.license', text('apache-2.0')],
    ['general.file_type', uint32(1)],
    ['llama.block_count', uint32(SIZE.layers)],
    ['llama.context_length', uint32(SIZE.context)],
    ['llama.embedding_length', uint32(SIZE.width)],
    ['llama.feed_forward_length', uint32(SIZE.feedForward)],
    ['llama.attention.head_count', uint32(SIZE.heads)],
    ['llama.attention.head_count_kv', uint32(SIZE.heads)],
    ['llama.attention.layer_norm_rms_epsilon', float32(1e-5)],
    ['llama.rope.dimension_count', uint32(SIZE.width / SIZE.heads)],
    ['llama.rope.freq_base', float32(10_000)],
    ['llama.vocab_size', uint32(tokens.length)],
    ['tokenizer.ggml.model', text('gpt2')],
    ['tokenizer.ggml.pre', text('gpt-2')],
    ['tokenizer.ggml.tokens', { type: 'string[]', value: tokens }],
    ['tokenizer.ggml.token_type', { type: 'int32[]', value: kinds }],
    ['tokenizer.ggml.merges', { type: 'string[]', value: merges }],
    ['tokenizer.ggml.bos_token_id', uint32(control.get('<|endoftext|>')!)],
    ['tokenizer.ggml.eos_token_id', uint32(control.get('<|im_end|>')!)],
    ['tokenizer.ggml.add_bos_token', no],
    ['tokenizer.ggml.add_eos_token', no],
    ['tokenizer.chat_template', text(CHAT_TEMPLATE)],
  ])
}

/** The bytes of berth-tiny.gguf. */
export function makeTinyModel(): Uint8Array {
  const vocabulary = buildVocabulary()
  return encodeGguf(buildMetadata(vocabulary), buildTensors(vocabulary))
}

if (import.meta.main) {
  const path = process.argv[2] ?? fileURLToPath(new URL('berth-tiny.gguf', import.meta.url))
  writeFileSync(path, makeTinyModel())
}
