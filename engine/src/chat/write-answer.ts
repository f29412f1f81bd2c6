import { LlamaChat } from 'node-llama-cpp'
import type { Slot } from '../model/sequences.ts'
import type { AnswerEnd, AnswerPiece, UsedTokens } from './answer.ts'
import { createContentWriter } from './content-writer.ts'
import type { PreparedChat } from './prepare-chat.ts'
import { toSampling } from './sampling.ts'
import { createCallReporter } from './tools.ts'

/** Receives the pieces and the end of one choice. */
export interface ChoiceReader {
  add: (piece: AnswerPiece) => void
  end: (end: AnswerEnd) => void
}

/**
 * Evaluates the prompt except its last token, and counts the tokens in `used`. Resolves to the number of
 * cached tokens. Rejects with the signal's reason when the signal aborts.
 */
export async function prefill(
  slot: Slot,
  { request, prompt }: PreparedChat,
  used: UsedTokens,
  signal: AbortSignal,
): Promise<number> {
  const wanted = prompt.slice(0, -1)
  // Cached state was computed in different batches, so its last bits differ. A seed must give the same answer
  // every time.
  const cached = await slot.align(wanted, { reuse: request.seed == null })
  try {
    await slot.append(wanted.slice(cached), signal)
  } finally {
    used.promptTokens = Math.max(used.promptTokens, slot.sequence.nextTokenIndex)
  }
  return cached
}

/**
 * Generates the choices of the answer one after another in a slot that `prefill` has prepared. `open` returns
 * the reader of the choice `index`. `used` has the counts so far, also when it rejects. Resolves to the
 * counts of the whole answer. Rejects with the signal's reason when the signal aborts.
 */
export async function writeChoices(
  prepared: PreparedChat,
  slot: Slot,
  { used, signal, open }: { used: UsedTokens; signal: AbortSignal; open: (index: number) => ChoiceReader },
): Promise<AnswerEnd> {
  const ends: AnswerEnd[] = []
  used.promptTokens = prepared.prompt.length
  for (let index = 0; index < (prepared.request.n ?? 1); index++) {
    const reader = open(index)
    if (index > 0) await prefill(slot, prepared, used, signal)
    const answer = { index, used, signal, onPiece: reader.add }
    const end = await writeAnswer(prepared, slot, answer)
    ends.push(end)
    reader.end(end)
  }
  return { ...ends[0]!, ...used }
}

async function writeAnswer(
  prepared: PreparedChat,
  slot: Slot,
  {
    index,
    used,
    signal,
    onPiece,
  }: { index: number; used: UsedTokens; signal: AbortSignal; onPiece: (piece: AnswerPiece) => void },
): Promise<AnswerEnd> {
  const { request, history, wrapper, maxTokens } = prepared
  const { sequence } = slot
  const stopping = new AbortController()
  const before = sequence.tokenMeter.usedOutputTokens - used.completionTokens
  const count = (): void => {
    used.completionTokens = sequence.tokenMeter.usedOutputTokens - before
  }
  const add = (piece: AnswerPiece): void => {
    count()
    onPiece(piece)
  }
  const content = createContentWriter(request, slot, add)
  const end = (finishReason: AnswerEnd['finishReason']): AnswerEnd => {
    content.finish()
    count()
    return { finishReason, ...used }
  }

  const chat = new LlamaChat({ contextSequence: sequence, chatWrapper: wrapper })
  try {
    const { metadata } = await chat.generateResponse(history, {
      ...toSampling(request, index),
      ...toConstraints(prepared, add),
      maxTokens,
      signal: AbortSignal.any([signal, stopping.signal]),
      contextShift: { size: throwContextFull },
      onResponseChunk: (chunk) => {
        if (chunk.type === 'segment') {
          if (chunk.text !== '') add({ type: 'reasoning', text: chunk.text })
          content.skip(chunk.tokens)
          return
        }
        content.write(chunk)
        if (content.stopped) stopping.abort()
      },
    })
    return end(content.stopped ? 'stop' : toFinishReason(metadata.stopReason))
  } catch (error) {
    if (signal.aborted) throw signal.reason
    if (content.stopped) return end('stop')
    if (error instanceof ContextFull) return end('length')
    throw error
  } finally {
    count()
    slot.logprobs = null
    chat.dispose()
  }
}

/** The grammar or the functions that the answer must follow, for node-llama-cpp. */
function toConstraints({ grammar, tools }: PreparedChat, onPiece: (piece: AnswerPiece) => void) {
  if (tools === null) return grammar === undefined ? {} : { grammar }
  const calls = createCallReporter(onPiece)
  return {
    functions: tools.callable,
    documentFunctionParams: true,
    maxParallelFunctionCalls: tools.maxCalls,
    onFunctionCallParamsChunk: calls.onChunk,
    onFunctionCall: calls.onCall,
  }
}

function toFinishReason(stopReason: string): AnswerEnd['finishReason'] {
  if (stopReason === 'maxTokens') return 'length'
  return stopReason === 'functionCalls' ? 'tool_calls' : 'stop'
}

class ContextFull extends Error {}

function throwContextFull(): never {
  throw new ContextFull()
}
