import type { ServerResponse } from 'node:http'
import { buildVllmArguments } from '../../src/adapters/model-runtime/engines/vllm.ts'
import { toLaunchBody } from '../../src/adapters/model-runtime/xinference/launch.ts'
import type { EngineSpec } from '../../src/ports/model-runtime.ts'

export const thoughts = 'The user asks for a sum.'
export const answer = 'It is 4.'

/** The marks between which a family thinks. */
type Marks = readonly [start: string, end: string]

const think: Marks = ['<think>', '</think>']
const harmony: Marks = [
  '<|channel|>analysis<|message|>',
  '<|end|><|start|>assistant<|channel|>final<|message|>',
]
const mistral: Marks = ['[THINK]', '[/THINK]']
const gemma: Marks = ['<|channel>thought\n', '<channel|>']
const miniMax: Marks = ['<mm:think>', '</mm:think>']
const seed: Marks = ['<seed:think>', '</seed:think>']

/** What a model family generates, by the start of its name. */
const families: [RegExp, Marks][] = [
  [/^gpt-oss/i, harmony],
  [/^seed-oss/i, seed],
  [/^mistral-/i, mistral],
  [/^gemma-4/i, gemma],
  [/^minimax-m3/i, miniMax],
  [/./, think],
]

/** What vLLM's reasoning parsers look for (vllm/reasoning of 0.28). */
const parsers: Record<string, Marks> = {
  deepseek_r1: think,
  deepseek_v3: think,
  qwen3: think,
  glm45: think,
  olmo3: think,
  deepseek_v4: think,
  kimi_k2: think,
  minimax_m2: think,
  nemotron_v3: think,
  seed_oss: seed,
  mistral,
  gemma4: gemma,
  minimax_m3: miniMax,
  openai_gptoss: harmony,
}

/** An answer of an engine: separated, or with the thoughts in its content. */
interface Generated {
  content: string
  separated: Record<string, string>
}

/**
 * What vLLM 0.28 answers when it was started as Berth starts it: `reasoning` if its parser knows the marks.
 */
export function generateLikeVllm(spec: EngineSpec): Generated {
  const args = buildVllmArguments({
    spec,
    model: 'owner/repository',
    host: '0.0.0.0',
    port: 8000,
    gpus: 1,
    computeCapability: 9,
    memoryShare: 0.9,
    mediaDomains: [],
  })
  const parser = parsers[args[args.indexOf('--reasoning-parser') + 1] ?? '']
  const marks = marksOf(spec)
  const isKnown = args.includes('--reasoning-parser') && parser?.join() === marks.join()
  return generate(marks, isKnown ? 'reasoning' : null)
}

/** What Xinference 3.2 answers: `reasoning_content` only if it was launched with that option. */
export function generateLikeXinference(spec: EngineSpec): Generated {
  const body = toLaunchBody(spec, 'vLLM', { workerIp: null, gpuMemoryShare: 0.9, upload: null })
  return generate(marksOf(spec), body['reasoning_content'] === true ? 'reasoning_content' : null)
}

function marksOf({ variant }: EngineSpec): Marks {
  return families.find(([name]) => name.test(variant.modelName))![1]
}

function generate([start, end]: Marks, field: string | null): Generated {
  return field === null
    ? { content: `${start}${thoughts}${end}${answer}`, separated: {} }
    : { content: answer, separated: { [field]: thoughts } }
}

/** Sends a chat completion, as one response or word by word. */
export function sendCompletion(response: ServerResponse, { content, separated }: Generated, stream: boolean) {
  if (!stream) {
    const message = { role: 'assistant', ...separated, content }
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] }))
    return
  }
  const pieces = Object.entries({ ...separated, content }).flatMap(([field, text]) =>
    text.split(/(?<= )/).map((piece) => ({ [field]: piece })),
  )
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const [index, delta] of pieces.entries()) {
    const finish_reason = index === pieces.length - 1 ? 'stop' : null
    response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`)
  }
  response.end('data: [DONE]\n\n')
}
