import type { ServerResponse } from 'node:http'
import { startRecordingEngine } from '../../support/recording-engine.ts'
import type { RecordingEngine } from '../../support/recording-engine.ts'

/** A message of a chat as the engine gets it. */
interface ChatMessage {
  role: string
  content?: string | null | { text?: string }[]
}

export interface ChatRequest {
  messages: ChatMessage[]
  stream?: boolean
  tools?: { function: { name: string; parameters?: unknown } }[]
}

/** What the model answers. */
export type Answer = { text: string } | { call: string; arguments: object }

/**
 * Starts an engine double with OpenAI's chat completions, whose answers `decide` writes. It counts four
 * characters as a token.
 */
export async function startScriptedModel(decide: (request: ChatRequest) => Answer): Promise<RecordingEngine> {
  const engine = await startRecordingEngine()
  engine.answer((response, { path, body }) => {
    if (path !== '/v1/chat/completions') return void response.writeHead(404).end()
    const request = JSON.parse(body) as ChatRequest
    const answer = decide(request)
    const usage = toUsage(body, answer)
    if (request.stream === true) stream(response, answer, usage)
    else complete(response, answer, usage)
  })
  return engine
}

/** The text of a message. */
export function textOf({ content }: ChatMessage): string {
  if (typeof content === 'string') return content
  return (content ?? []).map(({ text = '' }) => text).join('\n')
}

function toUsage(prompt: string, answer: Answer) {
  const count = (text: string) => Math.ceil(text.length / 4)
  const [prompt_tokens, completion_tokens] = [count(prompt), count(JSON.stringify(answer))]
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens }
}

const head = { id: 'chatcmpl-1', created: 1, model: 'scripted' }

function complete(response: ServerResponse, answer: Answer, usage: object): void {
  const message =
    'text' in answer
      ? { role: 'assistant', content: answer.text }
      : { role: 'assistant', content: null, tool_calls: [toCall(answer, JSON.stringify(answer.arguments))] }
  const choice = { index: 0, message, finish_reason: 'text' in answer ? 'stop' : 'tool_calls' }
  response
    .writeHead(200, { 'content-type': 'application/json' })
    .end(JSON.stringify({ ...head, object: 'chat.completion', choices: [choice], usage }))
}

function toCall({ call: name }: { call: string }, text: string) {
  return { id: 'call_1', type: 'function', function: { name, arguments: text } }
}

function stream(response: ServerResponse, answer: Answer, usage: object): void {
  const send = (delta: object, finish: string | null = null) => {
    const choices = [{ index: 0, delta, finish_reason: finish }]
    response.write(`data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices })}\n\n`)
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  send({ role: 'assistant', content: '' })
  if ('text' in answer) {
    for (const content of answer.text.match(/.{1,8}/gs) ?? []) send({ content })
  } else {
    send({ tool_calls: [{ index: 0, ...toCall(answer, '') }] })
    for (const piece of JSON.stringify(answer.arguments).match(/.{1,8}/gs) ?? [])
      send({ tool_calls: [{ index: 0, function: { arguments: piece } }] })
  }
  send({}, 'text' in answer ? 'stop' : 'tool_calls')
  response.write(
    `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [], usage })}\n\n`,
  )
  response.end('data: [DONE]\n\n')
}
