import type { LlamaModel, Token } from 'node-llama-cpp'

/** Makes text of generated tokens. */
export interface TokenReader {
  /** Takes a token and returns the text that is complete. */
  push: (token: Token) => string
  /** Returns the rest, which may end within a character. */
  finish: () => string
}

/** Tokens that one character has at most; more are not text */
const maxHeld = 8
/** Tokens before the next one that decide about a space between them */
const contextTokens = 4

/** Reads tokens after `before`. Text waits for a character's end. `special` includes control tokens. */
export function createTokenReader(
  model: LlamaModel,
  before: readonly Token[],
  { special = false } = {},
): TokenReader {
  let last = before.slice(-contextTokens)
  let held: Token[] = []
  const read = (): string => {
    const text = model.detokenize(held, special, last)
    last = [...last, ...held].slice(-contextTokens)
    held = []
    return text
  }
  return {
    push(token) {
      held.push(token)
      const isPartial = held.length < maxHeld && model.detokenize(held, special, last).endsWith('\uFFFD')
      return isPartial ? '' : read()
    },
    finish: () => (held.length === 0 ? '' : read()),
  }
}
