import { TokenBias } from 'node-llama-cpp'
import type { LlamaModel, Token } from 'node-llama-cpp'

/** node-llama-cpp's internals. Its public interface ignores biases of tokens that end an answer. */
interface Internals {
  _biases: Map<Token, number>
}

/** The bias of each loaded model. Finding the tokens takes milliseconds. */
const endless = new WeakMap<LlamaModel, TokenBias>()

/** Returns a bias under which no answer ends while `isForbidden` returns true. Grammars must allow that. */
export function forbidEnd(model: LlamaModel, isForbidden: () => boolean): () => TokenBias {
  const never = endless.get(model) ?? createBias(model)
  endless.set(model, never)
  const none = TokenBias.for(model)
  return () => (isForbidden() ? never : none)
}

function createBias(model: LlamaModel): TokenBias {
  const bias = TokenBias.for(model)
  const { _biases } = bias as unknown as Internals
  for (const token of model.iterateAllTokens()) if (model.isEogToken(token)) _biases.set(token, -Infinity)
  return bias
}
