import { readGgufFileInfo } from 'node-llama-cpp'
import type { GgufTensor } from '../../../bench/engine/gguf.ts'
import {
  constantVector,
  flag,
  integers,
  number,
  string,
  strings,
  writeGguf,
} from '../../../bench/engine/gguf.ts'
import { tinyModel } from './engine.ts'

/** A model that answers every prompt with one text. */
export interface ScriptedModel {
  path: string
  template: string | null
  /** What the model writes, in pieces; each piece becomes a token */
  answer: readonly string[]
  /** What it writes instead once its prompt has a token of control */
  reply?: { after: string; answer: readonly string[] }
  /** Texts that are tokens of control */
  control: readonly string[]
  contextTokens?: number
}

const width = 256
/** One small head, because long prompts of agents take the time of attention */
const headWidth = 64
/** Values of a token's state: 1 before an answer, whether the prompt has the mark, and always 1 */
const [startAt, markAt, constantAt] = [0, width - 2, width - 1]
const strength = 4
const end = '<|scripted_end|>'
const begin = '<|scripted_begin|>'

/**
 * Writes a model of one layer, whose attention finds the mark. Its output matrix says which token follows
 * which: an answer's first piece follows any token, or a reply's any after the mark, each piece the one
 * before it, and the end of the turn the last.
 */
export async function writeScriptedModel(model: ScriptedModel): Promise<void> {
  const { path, template, answer, reply, control, contextTokens = 4096 } = model
  const { metadata } = await readGgufFileInfo(tinyModel, { sourceType: 'filesystem' })
  const { ggml } = metadata.tokenizer
  const special = new Set([...control, begin, end])
  const script = [...answer, ...(reply?.answer ?? [])]
  const pieces = script.filter((piece) => !special.has(piece)).map(toLetters)
  const base = ggml.tokens.filter(
    (token) => !special.has(token) && !pieces.includes(token) && !/^<\|.*\|>$/.test(token),
  )
  const tokens = [...base, ...new Set(pieces), ...special]
  const ids = new Map(tokens.map((token, id) => [token, id]))
  const chain = script.map((piece) => ids.get(special.has(piece) ? piece : toLetters(piece))!)
  if (new Set(chain).size < chain.length) throw new Error('Each piece of a scripted answer must be unique.')
  if (chain.length > width - 3) throw new Error('A scripted answer has too many pieces.')

  const embeddings = new Float32Array(tokens.length * width)
  const output = new Float32Array(tokens.length * width)
  for (let token = 0; token < tokens.length; token++) {
    embeddings[token * width + startAt] = 1
    embeddings[token * width + constantAt] = 1
  }
  const first = chain[0] ?? ids.get(end)!
  output[first * width + startAt] = strength
  for (const [index, token] of chain.entries()) {
    const isLast = index === answer.length - 1 || index === chain.length - 1
    embeddings[token * width + startAt] = 0
    embeddings[token * width + index + 1] = 1
    output[(isLast ? ids.get(end)! : chain[index + 1]!) * width + index + 1] = 4 * strength
  }
  if (reply !== undefined) {
    embeddings[ids.get(reply.after)! * width + markAt] = 1
    output[chain[answer.length]! * width + markAt] = 2 * strength
  }

  const types = tokens.map((token) => (special.has(token) ? 3 : 1))
  await writeGguf(
    path,
    [
      ['general.architecture', string('llama')],
      ['general.name', string('Scripted')],
      ['llama.block_count', number('uint32', 1)],
      ['llama.context_length', number('uint32', contextTokens)],
      ['llama.embedding_length', number('uint32', width)],
      ['llama.feed_forward_length', number('uint32', 64)],
      ['llama.attention.head_count', number('uint32', 1)],
      ['llama.attention.head_count_kv', number('uint32', 1)],
      ['llama.attention.key_length', number('uint32', headWidth)],
      ['llama.attention.value_length', number('uint32', headWidth)],
      ['llama.attention.layer_norm_rms_epsilon', number('float32', 1e-6)],
      ['llama.rope.freq_base', number('float32', 1e12)],
      ['llama.rope.dimension_count', number('uint32', headWidth)],
      ['tokenizer.ggml.model', string('gpt2')],
      ['tokenizer.ggml.pre', string('gpt-2')],
      ['tokenizer.ggml.tokens', strings(tokens)],
      ['tokenizer.ggml.token_type', integers(types)],
      ['tokenizer.ggml.merges', strings(ggml.merges ?? [])],
      ['tokenizer.ggml.bos_token_id', number('uint32', ids.get(begin)!)],
      ['tokenizer.ggml.eos_token_id', number('uint32', ids.get(end)!)],
      ['tokenizer.ggml.add_bos_token', flag(false)],
      ...(template === null ? [] : [['tokenizer.chat_template', string(template)] as const]),
    ],
    [
      matrix('token_embd.weight', [width, tokens.length], embeddings),
      constantVector('output_norm.weight', width, 1),
      matrix('output.weight', [width, tokens.length], output),
      constantVector('blk.0.attn_norm.weight', width, 1),
      constantVector('blk.0.ffn_norm.weight', width, 1),
      // The position does not change a head's last value, because the base of positions is large.
      single('blk.0.attn_q.weight', [width, headWidth], { from: constantAt, to: headWidth - 1, value: 2 }),
      single('blk.0.attn_k.weight', [width, headWidth], { from: markAt, to: headWidth - 1, value: 2 }),
      single('blk.0.attn_v.weight', [width, headWidth], { from: markAt, to: 0, value: 0.1 }),
      single('blk.0.attn_output.weight', [headWidth, width], { from: 0, to: markAt, value: 1 }),
      zeros('blk.0.ffn_gate.weight', width, 64),
      zeros('blk.0.ffn_up.weight', width, 64),
      zeros('blk.0.ffn_down.weight', 64, width),
    ],
  )
}

/** Marks of a template that are tokens of control in its models. */
export function findControl(template: string): string[] {
  const marks = template.match(/<\|?[\w:]{2,32}\|?>|<\/[\w:]{2,32}>|\[\/?[A-Z_]{3,20}\]/g) ?? []
  // llama.cpp knows the messages of gpt-oss by these tokens: without them `<|end|>` ends an answer.
  const harmony = template.includes('<|channel|>commentary') ? ['<|return|>', '<|call|>', '<|end|>'] : []
  return [...new Set([...marks, ...harmony])]
}

/** Cuts a text at the texts of tokens of control; a text with equal pieces is one piece. */
export function cutIntoPieces(text: string, control: readonly string[]): string[] {
  const once = control.filter((mark) => text.split(mark).length === 2)
  if (once.length === 0) return [text]
  const pattern = once.map((mark) => mark.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|')
  const pieces = text.split(new RegExp(`(${pattern})`)).filter((piece) => piece !== '')
  return new Set(pieces).size === pieces.length ? pieces : [text]
}

function matrix(name: string, shape: [columns: number, rows: number], values: Float32Array): GgufTensor {
  return {
    name,
    shape,
    type: 'f32',
    bytes: values.byteLength,
    write: () => Buffer.from(values.buffer),
  }
}

/** A matrix with one value. */
function single(
  name: string,
  [columns, rows]: [number, number],
  { from, to, value }: { from: number; to: number; value: number },
): GgufTensor {
  const values = new Float32Array(columns * rows)
  values[to * columns + from] = value
  return matrix(name, [columns, rows], values)
}

function zeros(name: string, columns: number, rows: number): GgufTensor {
  return matrix(name, [columns, rows], new Float32Array(columns * rows))
}

/** GPT-2's letters for bytes: printable ones stand for themselves, the others follow U+0100. */
const letters = (() => {
  let next = 256
  return Array.from({ length: 256 }, (_, byte) => {
    const isPrintable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174
    return String.fromCodePoint(isPrintable ? byte : next++)
  })
})()

const toLetters = (text: string): string => [...Buffer.from(text)].map((byte) => letters[byte]!).join('')
