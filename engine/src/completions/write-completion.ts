import type { Token } from 'node-llama-cpp'
import type { UsedTokens } from '../chat/answer.ts'
import { toEvaluation } from '../chat/sampling.ts'
import { createStopFilter } from '../chat/stop-filter.ts'
import type { TokenLogprob } from '../model/logprobs.ts'
import type { Slot } from '../model/sequences.ts'
import { createTokenReader } from '../model/token-reader.ts'
import type { PreparedCompletion, PreparedPrompt } from './prepare-completion.ts'

/** A part of a completion: text, and the tokens that it was made from. */
export interface CompletionPiece {
  text: string
  /** null for tokens whose log probability is unknown: the first one of a prompt */
  logprobs: readonly ScoredToken[]
}

export interface ScoredToken {
  token: Token
  scores: TokenLogprob | null
}

export type CompletionEnd = 'stop' | 'length'

/** Receives the pieces and the end of one choice. */
export interface CompletionReader {
  add: (piece: CompletionPiece) => void
  end: (reason: CompletionEnd) => void
}

interface Writing {
  used: UsedTokens
  signal: AbortSignal
  open: (index: number) => CompletionReader
}

/**
 * Generates a prompt's completions in sequence in a slot. `open` returns the reader of the choice `index`.
 * `used` has the counts so far, also on rejection. Rejects with the signal's reason on abort.
 */
export async function writeCompletions(
  { request }: PreparedCompletion,
  prompt: PreparedPrompt,
  slot: Slot,
  { used, signal, open }: Writing,
): Promise<void> {
  const scored = request.echo === true && request.logprobs != null
  const scores = await readPrompt(slot, prompt.tokens, {
    used,
    signal,
    top: scored ? request.logprobs! : null,
    reuse: request.seed == null,
  })
  for (let index = 0; index < (request.n ?? 1); index++) {
    const reader = open(index)
    if (request.echo === true) reader.add(echo(prompt, slot, scores))
    if (prompt.maxTokens === 0) {
      reader.end('length')
      continue
    }
    if (index > 0) await realign(slot, prompt.tokens, signal)
    reader.end(await writeChoice(request, prompt, slot, { index, used, signal, add: reader.add }))
  }
}

/** Evaluates and counts the prompt but its last token. Resolves to all scores but the first, if wanted. */
async function readPrompt(
  slot: Slot,
  prompt: readonly Token[],
  options: { used: UsedTokens; signal: AbortSignal; top: number | null; reuse: boolean },
): Promise<readonly TokenLogprob[]> {
  const { used, signal, top } = options
  const wanted = prompt.slice(0, -1)
  const cached = await slot.align(wanted, { reuse: options.reuse && top === null })
  used.cachedTokens += cached
  try {
    if (top !== null) return await slot.score(prompt, top, signal)
    await slot.append(wanted.slice(cached), signal)
    return []
  } finally {
    // The last token is evaluated with the first generated one.
    used.promptTokens +=
      slot.sequence.nextTokenIndex + (slot.sequence.nextTokenIndex === wanted.length ? 1 : 0)
  }
}

/** Removes what another choice has generated. */
async function realign(slot: Slot, prompt: readonly Token[], signal: AbortSignal): Promise<void> {
  const wanted = prompt.slice(0, -1)
  await slot.append(wanted.slice(await slot.align(wanted, { reuse: true })), signal)
}

function echo(
  { tokens, added }: PreparedPrompt,
  slot: Slot,
  scores: readonly TokenLogprob[],
): CompletionPiece {
  const text = slot.sequence.model.detokenize(tokens.slice(added), true)
  const all = tokens.map((token, index) => ({
    token,
    scores: index === 0 ? null : (scores[index - 1] ?? null),
  }))
  return { text, logprobs: all.slice(added) }
}

async function writeChoice(
  request: PreparedCompletion['request'],
  { tokens, maxTokens }: PreparedPrompt,
  slot: Slot,
  {
    index,
    used,
    signal,
    add,
  }: { index: number; used: UsedTokens; signal: AbortSignal; add: CompletionReader['add'] },
): Promise<CompletionEnd> {
  const { sequence } = slot
  let generated = 0
  const sampled: TokenLogprob[] = []
  let unsent: ScoredToken[] = []
  if (request.logprobs != null)
    slot.logprobs = { top: request.logprobs, onToken: (entry) => sampled.push(entry) }
  const stops = createStopFilter([request.stop ?? []].flat())
  const reader = createTokenReader(sequence.model, tokens)
  const send = (text: string): void => {
    if (text === '' && unsent.length === 0) return
    add({ text, logprobs: unsent })
    unsent = []
  }
  const { options, onToken } = toEvaluation(request, { index, model: sequence.model })
  const generation = sequence.evaluate([tokens.at(-1)!], { ...options, yieldEogToken: true })
  try {
    for await (const token of generation) {
      signal.throwIfAborted()
      if (request.logprobs != null) unsent.push({ token, scores: sampled.shift() ?? null })
      // It has a probability, but no text.
      if (sequence.model.isEogToken(token)) break
      onToken(token)
      generated++
      used.completionTokens++
      const ready = stops.push(reader.push(token))
      if (stops.stopped !== null) {
        // The tokens of the stop string are no text of the completion.
        unsent = []
        send(ready)
        return 'stop'
      }
      if (ready !== '') send(ready)
      if (generated === maxTokens) break
    }
    send(stops.push(reader.finish()) + stops.flush())
    return generated === maxTokens ? 'length' : 'stop'
  } finally {
    slot.logprobs = null
  }
}
