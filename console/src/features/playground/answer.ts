/** One answer of a model, as far as it has come. */
export interface Answer {
  readonly state: 'waiting' | 'streaming' | 'done' | 'stopped' | 'failed'
  readonly content: string
  /** What the model thought aloud before its answer, where the engine tells it apart. */
  readonly reasoning: string
  readonly toolCalls: readonly ToolCall[]
  /** Why the model stopped: `stop`, `length`, `tool_calls`, `content_filter`. */
  readonly finishReason: string | null
  readonly usage: { readonly promptTokens: number; readonly completionTokens: number } | null
  /** Milliseconds from the request to the first piece of the answer. */
  readonly firstPieceMs: number | null
  /** Milliseconds from the request to the last piece so far. */
  readonly lastPieceMs: number | null
  /** What went wrong, where `state` is `failed`. */
  readonly error: unknown
}

export interface ToolCall {
  readonly name: string
  /** JSON, as the model wrote it. */
  readonly arguments: string
}

/** The part of OpenAI's chat completion chunk that is read; whatever comes may lack any of it. */
export interface ChatChunk {
  choices?:
    | {
        delta?: {
          content?: string | null
          reasoning_content?: string | null
          tool_calls?: { index?: number; function?: { name?: string; arguments?: string } }[] | null
        } | null
        finish_reason?: string | null
      }[]
    | null
  usage?: { prompt_tokens?: number; completion_tokens?: number } | null
}

/** An answer that has been asked for and of which nothing has come. */
export const awaitedAnswer: Answer = {
  state: 'waiting',
  content: '',
  reasoning: '',
  toolCalls: [],
  finishReason: null,
  usage: null,
  firstPieceMs: null,
  lastPieceMs: null,
  error: null,
}

export function isOpen({ state }: Answer): boolean {
  return state === 'waiting' || state === 'streaming'
}

/** The answer with what a chunk brings, which came `afterMs` milliseconds after the request. */
export function addChunk(answer: Answer, chunk: ChatChunk, afterMs: number): Answer {
  const choice = chunk.choices?.[0]
  const { content, reasoning_content: reasoning, tool_calls: calls } = choice?.delta ?? {}
  const finishReason = choice?.finish_reason ?? answer.finishReason
  const usage = chunk.usage
    ? {
        promptTokens: chunk.usage.prompt_tokens ?? 0,
        completionTokens: chunk.usage.completion_tokens ?? 0,
      }
    : answer.usage
  if (!content && !reasoning && !calls?.length) return { ...answer, finishReason, usage }
  return {
    ...answer,
    state: 'streaming',
    content: answer.content + (content ?? ''),
    reasoning: answer.reasoning + (reasoning ?? ''),
    toolCalls: (calls ?? []).reduce(addToolCall, answer.toolCalls),
    finishReason,
    usage,
    firstPieceMs: answer.firstPieceMs ?? afterMs,
    lastPieceMs: afterMs,
  }
}

function addToolCall(
  calls: readonly ToolCall[],
  { index = 0, function: called }: { index?: number; function?: { name?: string; arguments?: string } },
): readonly ToolCall[] {
  // A hostile index must not make an array with holes.
  const at = Math.min(Math.max(Math.trunc(index), 0), calls.length)
  const known = calls[at] ?? { name: '', arguments: '' }
  return [...calls.slice(0, at), join(known, called), ...calls.slice(at + 1)]
}

function join(call: ToolCall, piece: { name?: string; arguments?: string } = {}): ToolCall {
  return { name: call.name + (piece.name ?? ''), arguments: call.arguments + (piece.arguments ?? '') }
}

/**
 * Tokens a second between the first and the last piece: the first token belongs to the time to first token. Null where nothing can
 * be said: no usage yet, or all came at once.
 */
export function tokensPerSecond({ usage, firstPieceMs, lastPieceMs }: Answer): number | null {
  if (!usage || firstPieceMs === null || lastPieceMs === null) return null
  const seconds = (lastPieceMs - firstPieceMs) / 1_000
  return usage.completionTokens < 2 || seconds <= 0 ? null : (usage.completionTokens - 1) / seconds
}
