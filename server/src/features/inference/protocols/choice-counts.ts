import type { TokenUsage } from '../../metering/token-usage.ts'

interface ChunkWithChoices {
  choices?: readonly { index?: unknown }[]
}

/**
 * Adds up the counts of a stream with several choices. In an event with a choice, engines count the tokens of
 * that choice. An event without choices has the tokens of all of them, or, if `endsEach` is true as in
 * llama-server, of the choice that just ended.
 */
export class ChoiceCounts {
  readonly endsEach: boolean
  readonly outputTokens = new Map<unknown, number>()
  /** Of the last event with a choice */
  index: unknown = 0
  /** null until an event has the tokens of all choices */
  total: number | null = null

  constructor(endsEach: boolean) {
    this.endsEach = endsEach
  }

  /** Takes an event and what it counted. Returns the usage of all choices so far. */
  add(event: unknown, usage: Partial<TokenUsage> | null): Partial<TokenUsage> | null {
    const { choices } = (event ?? {}) as ChunkWithChoices
    const choice = Array.isArray(choices) ? (choices as { index?: unknown }[])[0] : undefined
    if (choice !== undefined) this.index = choice?.index
    if (usage?.outputTokens === undefined) return usage
    if (choice === undefined && !this.endsEach) this.total = usage.outputTokens
    else this.outputTokens.set(this.index, usage.outputTokens)
    const sum = [...this.outputTokens.values()].reduce((total, tokens) => total + tokens, 0)
    return { ...usage, outputTokens: this.total ?? sum }
  }
}
