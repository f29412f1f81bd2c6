import { LlamaGrammarEvaluationState } from 'node-llama-cpp'
import type { ReadPiece } from '../calls/answer-reader.ts'
import type { Slot } from '../model/sequences.ts'
import { createTokenReader } from '../model/token-reader.ts'
import type { AnswerEnd, AnswerPiece, UsedTokens } from './answer.ts'
import { createContentWriter } from './content-writer.ts'
import type { PreparedChat } from './prepare-chat.ts'
import { toEvaluation } from './sampling.ts'

/** Receives the pieces and the end of one choice. */
export interface ChoiceReader {
  add: (piece: AnswerPiece) => void
  end: (end: AnswerEnd) => void
}

/** Evaluates the prompt but its last token. Resolves to the cached count. Rejects with an abort's reason. */
export async function prefill(
  slot: Slot,
  { request, prompt }: PreparedChat,
  used: UsedTokens,
  signal: AbortSignal,
): Promise<number> {
  const wanted = prompt.slice(0, -1)
  // Cached state from other batches differs in its last bits, but a seed must repeat the same answer.
  const cached = await slot.align(wanted, { reuse: request.seed == null })
  try {
    await slot.append(wanted.slice(cached), signal)
  } finally {
    used.promptTokens = Math.max(used.promptTokens, slot.sequence.nextTokenIndex)
  }
  return cached
}

/**
 * Generates the choices in sequence in a slot after `prefill`. `open` returns the reader of choice `index`.
 * `used` has the counts so far, also on rejection. Resolves to all. Rejects with an abort's reason.
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
    const end = await writeAnswer(prepared, slot, { index, used, signal, add: reader.add })
    ends.push(end)
    reader.end(end)
  }
  return { ...ends[0]!, ...used }
}

interface Writing {
  index: number
  used: UsedTokens
  signal: AbortSignal
  add: (piece: AnswerPiece) => void
}

async function writeAnswer(
  prepared: PreparedChat,
  slot: Slot,
  { index, used, signal, add }: Writing,
): Promise<AnswerEnd> {
  const { request, grammar, prompt, maxTokens } = prepared
  const { sequence } = slot
  const content = createContentWriter(request, slot, add)
  const answer = prepared.createReader()
  let calls = 0
  const report = (pieces: readonly ReadPiece[]): void => {
    for (const piece of pieces) {
      if (content.stopped !== null) return
      if (piece.type === 'content') content.write(piece.text, piece.end)
      else if (piece.type === 'reasoning') add(piece)
      else {
        add({ type: 'tool_call', index: calls, name: piece.name })
        add({ type: 'tool_arguments', index: calls, text: piece.arguments })
        calls++
      }
    }
  }
  const { options, onToken } = toEvaluation(request, { index, model: sequence.model })
  const grammarEvaluationState =
    grammar === null
      ? {}
      : { grammarEvaluationState: new LlamaGrammarEvaluationState({ model: sequence.model, grammar }) }
  const text = createTokenReader(sequence.model, prompt, { special: true })
  let generated = 0
  try {
    for await (const token of sequence.evaluate([prompt.at(-1)!], {
      ...options,
      ...grammarEvaluationState,
      yieldEogToken: true,
    })) {
      signal.throwIfAborted()
      if (sequence.model.isEogToken(token) && token !== prepared.messageEnd) break
      generated++
      used.completionTokens++
      onToken(token)
      const piece = text.push(token)
      content.follow(token, piece.length)
      report(answer.push(piece))
      if (content.stopped !== null || generated === maxTokens) break
    }
    report(answer.push(text.finish()))
    report(answer.finish())
    content.finish()
  } finally {
    slot.logprobs = null
  }
  if (content.stopped !== null) return { finishReason: 'stop', stopText: content.stopped, ...used }
  if (generated === maxTokens) return { finishReason: 'length', ...used }
  return { finishReason: calls > 0 ? 'tool_calls' : 'stop', ...used }
}
