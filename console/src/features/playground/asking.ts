import type { ChatCompletionRequestInput } from '../../contract.ts'
import { ApiError, openStream } from '../../api/client.ts'
import { text } from '../../text/index.ts'
import { pendingAnswer } from './answer.ts'
import type { Answer } from './answer.ts'
import { conversation, hasPendingAnswer } from './conversation.ts'
import type { Conversation, ToolResult, Turn } from './conversation.ts'
import type { ParameterTexts } from './parameter-texts.ts'
import { readParameters } from './parameters.ts'
import { readAnswer } from './read-chunks.ts'

/** A message of a request; an interface would not be assignable to the API's open type. */
export type Message = ChatCompletionRequestInput['messages'][number]

/** Sends a prompt to every deployment, each with its own earlier answers, unless an answer is streaming. */
export function sendPrompt(prompt: string, deploymentIds: readonly string[]) {
  const { images } = conversation.get()
  if (hasPendingAnswer(conversation.get())) return
  const turn: Turn = { id: nextTurnId(), prompt, ...(images.length > 0 && { images }), answers: {} }
  conversation.set((state) => ({ ...state, turns: [...state.turns, turn], draft: '', images: [] }))
  for (const id of deploymentIds) requestAnswer(turn.id, id)
}

/** Answers the tool calls in the last answer of a deployment. */
export function sendToolResults(targetId: string, items: readonly ToolResult[]) {
  if (hasPendingAnswer(conversation.get())) return
  const turn: Turn = { id: nextTurnId(), prompt: '', results: { targetId, items }, answers: {} }
  conversation.set((state) => ({ ...state, turns: [...state.turns, turn] }))
  requestAnswer(turn.id, targetId)
}

/** Replaces the prompt of a turn, removes the later turns, and requests new answers. */
export function editPrompt(turnId: number, prompt: string, deploymentIds: readonly string[]) {
  stopAnswers(({ turn }) => turn >= turnId)
  conversation.set((state) => ({
    ...state,
    turns: state.turns
      .filter(({ id }) => id <= turnId)
      .map((turn) => (turn.id === turnId ? { ...turn, prompt, answers: {} } : turn)),
  }))
  for (const id of deploymentIds) requestAnswer(turnId, id)
}

/** Requests an answer from a deployment, replacing its earlier answer to the turn. */
export function requestAnswer(turnId: number, deploymentId: string) {
  const { turns, parameters } = conversation.get()
  const turn = turns.find(({ id }) => id === turnId)
  if (!turn) return
  stopAnswers((running) => running.turn === turnId && running.deployment === deploymentId)
  const running: RunningAnswer = {
    turn: turnId,
    deployment: deploymentId,
    answer: pendingAnswer,
    abort: new AbortController(),
  }
  runningAnswers.add(running)
  renderNow(running)
  const earlier = turns.filter(({ id }) => id < turnId)
  void streamAnswer(running, toRequest(deploymentId, earlier, turn, parameters))
}

/** The request that the playground would send now, with the draft or, without one, the last prompt. */
export function previewRequest(deploymentId: string, example: string): ChatCompletionRequestInput {
  const { turns, draft, images, parameters } = conversation.get()
  const last = turns.at(-1)
  const next = { id: 0, prompt: draft.trim() || example, images, answers: {} }
  return draft.trim() === '' && last
    ? toRequest(deploymentId, turns.slice(0, -1), last, parameters)
    : toRequest(deploymentId, turns, next, parameters)
}

function toRequest(
  deploymentId: string,
  earlier: readonly Turn[],
  turn: Turn,
  parameters: ParameterTexts,
): ChatCompletionRequestInput {
  return {
    model: deploymentId,
    messages: toMessages(earlier, deploymentId, parameters.system, turn),
    ...readParameters(parameters).values,
    stream: true,
    stream_options: { include_usage: true },
  }
}

/** Stops every streaming answer and keeps the received text. */
export function stopAllAnswers() {
  stopAnswers(() => true)
}

/** Removes all turns and keeps the parameters. */
export function startNewChat() {
  stopAllAnswers()
  conversation.set((state) => ({ ...state, turns: [] }))
}

/**
 * Builds the messages of a request: the deployment's answers, or another's where it has none. Omits turns
 * without an answer, because most chat templates require alternating roles.
 */
export function toMessages(
  earlier: readonly Turn[],
  deploymentId: string,
  system: string,
  turn: Turn,
): Message[] {
  const answered = earlier.flatMap((one) => {
    const answer = [one.answers[deploymentId], ...Object.values(one.answers)].find(
      (each) => each && toText(each),
    )
    return answer ? [{ one, answer }] : []
  })
  return [
    ...(system.trim() === '' ? [] : [{ role: 'system', content: system }]),
    ...answered.flatMap(({ one, answer }, place) => [
      ...toQuestion(one),
      toReply(one, answer, answered[place + 1]?.one ?? turn),
    ]),
    ...toQuestion(turn),
  ]
}

/** The message of the person, with its images, or one for each result of a tool call. */
function toQuestion({ prompt, images = [], results }: Turn): Message[] {
  if (results) return results.items.map(({ id, content }) => ({ role: 'tool', tool_call_id: id, content }))
  if (images.length === 0) return [{ role: 'user', content: prompt }]
  const parts = images.map((url) => ({ type: 'image_url', image_url: { url } }))
  return [{ role: 'user', content: [...(prompt === '' ? [] : [{ type: 'text', text: prompt }]), ...parts] }]
}

/** An answer. Its tool calls become text, unless the next turn has their results. */
function toReply({ answers }: Turn, answer: Answer, { results }: Turn): Message {
  const calling = results && answers[results.targetId]
  if (!calling) return { role: 'assistant', content: toText(answer) }
  return {
    role: 'assistant',
    content: calling.content || null,
    tool_calls: calling.toolCalls.map(({ name, arguments: sent }, place) => ({
      id: results.items[place]?.id ?? '',
      type: 'function',
      function: { name, arguments: sent },
    })),
  }
}

/** An answer as text, with its tool calls if it has nothing else. */
function toText({ content, toolCalls }: Answer): string {
  return content || toolCalls.map((call) => `${call.name}(${call.arguments})`).join('\n')
}

interface RunningAnswer {
  turn: number
  deployment: string
  answer: Answer
  abort: AbortController
}

const nextTurnId = () => Math.max(0, ...conversation.get().turns.map(({ id }) => id)) + 1
const runningAnswers = new Set<RunningAnswer>()
const unrendered = new Set<RunningAnswer>()
let frame: number | null = null

async function streamAnswer(running: RunningAnswer, body: ChatCompletionRequestInput) {
  const { signal } = running.abort
  const startedAt = performance.now()
  try {
    const response = await openStream('/v1/chat/completions', { body, signal })
    if (response.body) {
      for await (const answer of readAnswer(response.body, startedAt)) {
        if (signal.aborted) return
        running.answer = answer
        renderSoon(running)
      }
    }
    finish(running, { state: 'done' })
  } catch (error) {
    // stopAnswers has already ended an aborted answer.
    if (!signal.aborted) finish(running, { state: 'failed', error: toShownError(error) })
  }
}

/** Unlike queries, a message is not retried, so an unreachable server gets its own error message. */
function toShownError(error: unknown): unknown {
  if (!(error instanceof ApiError) || error.code !== 'offline') return error
  return new ApiError({ status: 0, code: 'offline', detail: text.playground.offline })
}

function stopAnswers(matches: (running: RunningAnswer) => boolean) {
  for (const running of [...runningAnswers].filter(matches)) {
    running.abort.abort()
    finish(running, { state: 'stopped' })
  }
}

function finish(running: RunningAnswer, change: Partial<Answer>) {
  running.answer = { ...running.answer, ...change }
  runningAnswers.delete(running)
  unrendered.delete(running)
  renderNow(running)
}

/** Renders the new tokens of all answers once per frame. */
function renderSoon(running: RunningAnswer) {
  unrendered.add(running)
  frame ??= requestAnimationFrame(() => {
    frame = null
    const shown = [...unrendered]
    unrendered.clear()
    conversation.set((state) => shown.reduce(withAnswer, state))
  })
}

function renderNow(running: RunningAnswer) {
  conversation.set((state) => withAnswer(state, running))
}

/** Replaces only the affected turn, so that the others do not re-render. */
function withAnswer(state: Conversation, { turn, deployment, answer }: RunningAnswer): Conversation {
  return {
    ...state,
    turns: state.turns.map((one) =>
      one.id === turn ? { ...one, answers: { ...one.answers, [deployment]: answer } } : one,
    ),
  }
}
