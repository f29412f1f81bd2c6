import { ApiError, openStream } from '../../api/client.ts'
import { text } from '../../text/index.ts'
import { addChunk, awaitedAnswer, isOpen, type Answer } from './answer.ts'
import { noParameters, readParameters, type ParameterTexts } from './parameters.ts'
import { readChunks } from './read-chunks.ts'
import { createStore } from './store.ts'

/** What the person said, and what each deployment that was asked made of it, by the deployment's id. */
export interface Turn {
  readonly id: number
  readonly prompt: string
  readonly answers: Readonly<Record<string, Answer>>
}

/** The chat as it stands: kept in memory alone, so that it outlives the page and not the session. */
export interface Conversation {
  readonly turns: readonly Turn[]
  /** What is being written. */
  readonly draft: string
  readonly parameters: ParameterTexts
  /** The deployments that were chosen last. */
  readonly deploymentIds: readonly string[]
}

export interface Message {
  role: 'system' | 'user' | 'assistant'
  content: string
}

const untouched: Conversation = { turns: [], draft: '', parameters: noParameters, deploymentIds: [] }

export const conversation = createStore<Conversation>(untouched)

export const hasOpenAnswer = ({ turns }: Conversation) =>
  turns.some(({ answers }) => Object.values(answers).some(isOpen))

/** How the last turn ended, by the answer that most needs a word; null while nothing has ended there. */
export function findEnding({ turns }: Pick<Conversation, 'turns'>) {
  const states = Object.values(turns.at(-1)?.answers ?? {}).map(({ state }) => state)
  return (['failed', 'stopped', 'done'] as const).find((ending) => states.includes(ending)) ?? null
}

/** Asks every deployment the same; what each said before goes along. */
export function ask(prompt: string, deploymentIds: readonly string[]) {
  const turn: Turn = { id: nextTurnId++, prompt, answers: {} }
  conversation.set((state) => ({ ...state, turns: [...state.turns, turn], draft: '' }))
  for (const id of deploymentIds) answerTurn(turn.id, id)
}

/** Asks again with other words: the turn starts anew, and what came after it is gone. */
export function askInstead(turnId: number, prompt: string, deploymentIds: readonly string[]) {
  stopAnswers(({ turn }) => turn >= turnId)
  conversation.set((state) => ({
    ...state,
    turns: state.turns
      .filter(({ id }) => id <= turnId)
      .map((turn) => (turn.id === turnId ? { ...turn, prompt, answers: {} } : turn)),
  }))
  for (const id of deploymentIds) answerTurn(turnId, id)
}

/** Has a deployment answer a turn, anew where it has answered before. */
export function answerTurn(turnId: number, deploymentId: string) {
  const { turns, parameters } = conversation.get()
  const turn = turns.find(({ id }) => id === turnId)
  if (!turn) return
  stopAnswers((running) => running.turn === turnId && running.deployment === deploymentId)
  const running: RunningAnswer = {
    turn: turnId,
    deployment: deploymentId,
    answer: awaitedAnswer,
    abort: new AbortController(),
  }
  runningAnswers.add(running)
  showNow(running)
  const earlier = turns.filter(({ id }) => id < turnId)
  void streamAnswer(running, toRequest(deploymentId, earlier, turn.prompt, parameters))
}

/** The request that a deployment would get now: with what is being written, else with what was said last. */
export function currentRequest(deploymentId: string, example: string): Record<string, unknown> {
  const { turns, draft, parameters } = conversation.get()
  const last = turns.at(-1)
  return draft.trim() === '' && last
    ? toRequest(deploymentId, turns.slice(0, -1), last.prompt, parameters)
    : toRequest(deploymentId, turns, draft.trim() || example, parameters)
}

function toRequest(
  deploymentId: string,
  earlier: readonly Turn[],
  prompt: string,
  parameters: ParameterTexts,
): Record<string, unknown> {
  return {
    model: deploymentId,
    messages: toMessages(earlier, deploymentId, parameters.system, prompt),
    ...readParameters(parameters).values,
    stream: true,
    stream_options: { include_usage: true },
  }
}

/** Ends every answer that is under way; what has come stays. */
export function stop() {
  stopAnswers(() => true)
}

/** Leaves the chat behind; how one asks stays. */
export function startNewChat() {
  stop()
  conversation.set((state) => ({ ...state, turns: [] }))
}

/** Leaves nothing: another person, or another organization. */
export function forgetConversation() {
  stop()
  conversation.set(() => untouched)
}

export function setDraft(draft: string) {
  conversation.set((state) => ({ ...state, draft }))
}

export function setParameter(name: keyof ParameterTexts, value: string) {
  conversation.set((state) => ({ ...state, parameters: { ...state.parameters, [name]: value } }))
}

export function rememberDeployments(deploymentIds: readonly string[]) {
  conversation.set((state) => ({ ...state, deploymentIds }))
}

/**
 * The messages of a request. A deployment hears what it answered itself, else what another did; a turn without any answer is left
 * out with its prompt, because most chat templates want the two sides in turn.
 */
export function toMessages(
  earlier: readonly Turn[],
  deploymentId: string,
  system: string,
  prompt: string,
): Message[] {
  const said = earlier.flatMap(({ prompt, answers }): Message[] => {
    const own = answers[deploymentId]
    const words = [...(own ? [own] : []), ...Object.values(answers)].map(toWords).find((one) => one !== '')
    return words === undefined
      ? []
      : [
          { role: 'user', content: prompt },
          { role: 'assistant', content: words },
        ]
  })
  return [
    ...(system.trim() === '' ? [] : [{ role: 'system' as const, content: system }]),
    ...said,
    { role: 'user', content: prompt },
  ]
}

/** A call that nobody answered goes back as text: the protocol would want the result of it. */
function toWords({ content, toolCalls }: Answer): string {
  return content || toolCalls.map((call) => `${call.name}(${call.arguments})`).join('\n')
}

interface RunningAnswer {
  turn: number
  deployment: string
  answer: Answer
  abort: AbortController
}

let nextTurnId = 1
const runningAnswers = new Set<RunningAnswer>()
const unshown = new Set<RunningAnswer>()
let frame: number | null = null

async function streamAnswer(running: RunningAnswer, body: Record<string, unknown>) {
  const { signal } = running.abort
  const startedAt = performance.now()
  try {
    const response = await openStream('/v1/chat/completions', { body, signal })
    if (response.body) {
      for await (const chunks of readChunks(response.body)) {
        if (signal.aborted) return
        const afterMs = performance.now() - startedAt
        running.answer = chunks.reduce((answer, chunk) => addChunk(answer, chunk, afterMs), running.answer)
        showSoon(running)
      }
    }
    end(running, { state: 'done' })
  } catch (error) {
    // A stopped answer has been ended by whoever stopped it.
    if (!signal.aborted) end(running, { state: 'failed', error: toShownError(error) })
  }
}

/** A page that can't be reached tries again by itself; a message doesn't. */
function toShownError(error: unknown): unknown {
  if (!(error instanceof ApiError) || error.code !== 'offline') return error
  return new ApiError({ status: 0, code: 'offline', detail: text.playground.offline })
}

function stopAnswers(meant: (running: RunningAnswer) => boolean) {
  for (const running of [...runningAnswers].filter(meant)) {
    running.abort.abort()
    end(running, { state: 'stopped' })
  }
}

function end(running: RunningAnswer, change: Partial<Answer>) {
  running.answer = { ...running.answer, ...change }
  runningAnswers.delete(running)
  unshown.delete(running)
  showNow(running)
}

/** However many pieces come, to however many answers: the page is drawn once a frame. */
function showSoon(running: RunningAnswer) {
  unshown.add(running)
  frame ??= requestAnimationFrame(() => {
    frame = null
    const shown = [...unshown]
    unshown.clear()
    conversation.set((state) => shown.reduce(withAnswer, state))
  })
}

function showNow(running: RunningAnswer) {
  conversation.set((state) => withAnswer(state, running))
}

/** Touches one turn, so that the others need not be drawn again. */
function withAnswer(state: Conversation, { turn, deployment, answer }: RunningAnswer): Conversation {
  return {
    ...state,
    turns: state.turns.map((one) =>
      one.id === turn ? { ...one, answers: { ...one.answers, [deployment]: answer } } : one,
    ),
  }
}
