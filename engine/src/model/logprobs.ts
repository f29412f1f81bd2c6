import type { ControlledEvaluateInputItem, LlamaContextSequence, LlamaModel, Token } from 'node-llama-cpp'

/** A token's log probability and those of the most likely tokens, before sampling changes them. */
export interface TokenLogprob {
  token: Token
  logprob: number
  top: readonly (readonly [token: Token, logprob: number])[]
}

/** What a request wants to know about each generated token. */
export interface LogprobListener {
  /** The number of most likely tokens */
  top: number
  onToken: (entry: TokenLogprob) => void
}

/** A result of `sampleToken`: tokens and logits alternate, and the total is relative to the largest logit. */
type SampleResult = [
  token: Token,
  probabilities: unknown,
  confidence: unknown,
  logits: ArrayLike<number>,
  total: number,
]
interface NativeSampler {
  applyConfig: (config: object) => void
}
type MapLogits = (batchIndex: number, tokenIndex: number) => unknown

/** node-llama-cpp's internals. Its public probabilities follow temperature, top_k, top_p and grammars. */
interface Internals {
  _context: { _ctx: { sampleToken: (...args: unknown[]) => Promise<SampleResult> } }
  _decodeTokens: (...args: [...before: unknown[], map: MapLogits, after: unknown]) => Promise<unknown>
}
interface ModelInternals {
  _model: object
  _llama: { _bindings: { AddonSampler: new (model: object) => NativeSampler } }
}

/** Reports each token that the sequence generates while `listener` returns a listener. */
export function observeLogprobs(
  sequence: LlamaContextSequence,
  model: LlamaModel,
  listener: () => LogprobListener | null,
): void {
  const internals = sequence as unknown as Internals
  const { _model, _llama } = model as unknown as ModelInternals
  const decode = internals._decodeTokens.bind(sequence)
  let sampler: NativeSampler | null = null

  const read = async (batchIndex: number, token: Token, top: number): Promise<TokenLogprob> => {
    if (sampler === null) {
      sampler = new _llama._bindings.AddonSampler(_model)
      // Without a temperature the sampler is greedy and changes no logits.
      sampler.applyConfig({})
    }
    const filter = [[token], false, false, false, Math.max(1, top)]
    const { _ctx } = internals._context
    const [, , , logits, total] = await _ctx.sampleToken(batchIndex, sampler, false, false, filter, true)
    const largest = logits[1]!
    const pairs = Array.from({ length: logits.length / 2 }, (_, index) => {
      const logprob = logits[index * 2 + 1]! - largest - Math.log(total)
      return [logits[index * 2] as Token, logprob] as const
    })
    return { token, logprob: pairs.find(([other]) => other === token)![1], top: pairs.slice(0, top) }
  }

  internals._decodeTokens = (...args) => {
    const after = args.pop()
    const map = args.pop() as MapLogits
    const observed: MapLogits = async (batchIndex, tokenIndex) => {
      const token = await map(batchIndex, tokenIndex)
      const current = listener()
      if (current !== null && typeof token === 'number' && token >= 0) {
        current.onToken(await read(batchIndex, token as Token, current.top))
      }
      return token
    }
    return decode(...args, listener() === null ? map : observed, after)
  }
}

/** Evaluates all tokens but the last. Scores each but the first, with the `top` most likely in its place. */
export async function scoreBatch(
  sequence: LlamaContextSequence,
  tokens: readonly Token[],
  top: number,
): Promise<TokenLogprob[]> {
  const input = tokens.slice(0, -1).map((token, index): ControlledEvaluateInputItem => {
    const logits = { filter: { tokens: [tokens[index + 1]!], includeTop: Math.max(1, top) } }
    return [token, { generateNext: { logits, totalLogitWeight: true } }]
  })
  const output = await sequence.controlledEvaluate(input)
  return output.map((item, index) => {
    const { logits, totalLogitWeight } = item!.next
    const values = [...logits!]
    const largest = Math.max(...values.map(([, logit]) => logit))
    const scored = values
      .map(([token, logit]) => [token, logit - largest - Math.log(totalLogitWeight!)] as const)
      .toSorted(([, one], [, other]) => other - one)
    const token = tokens[index + 1]!
    return { token, logprob: scored.find(([each]) => each === token)![1], top: scored.slice(0, top) }
  })
}

/** One entry of `logprobs.content` in OpenAI's format. */
export function toLogprobEntry({ token, logprob, top }: TokenLogprob, model: LlamaModel) {
  const describe = (described: Token, value: number) => {
    const text = model.detokenize([described], true)
    // A token can be a part of a character.
    const bytes = text.includes('\uFFFD') ? null : [...Buffer.from(text)]
    return { token: text, logprob: value, bytes }
  }
  return { ...describe(token, logprob), top_logprobs: top.map(([other, value]) => describe(other, value)) }
}

export type LogprobEntry = ReturnType<typeof toLogprobEntry>
