/** What the file of a model says of its tokens, in the names of GGUF (`tokenizer.ggml.*`). */
export interface TokenizerFacts {
  readonly tokens: readonly string[]
  readonly token_type?: readonly number[] | undefined
  readonly [name: string]: unknown
}

/** llama.cpp's `LLAMA_TOKEN_TYPE_*` */
const unknown = 2
const control = 3
const userDefined = 4

/** The texts of the tokens that a template may name, such as `bos_token`. */
export function nameSpecialTokens(facts: TokenizerFacts): Record<string, string> {
  const names = {
    bos: 'bos',
    eos: 'eos',
    unknown: 'unk',
    padding: 'pad',
    separator: 'sep',
    cls: 'cls',
    mask: 'mask',
  }
  const named: Record<string, string> = {}
  for (const [name, short] of Object.entries(names)) {
    const id = facts[`${name}_token_id`]
    const text = typeof id === 'number' ? facts.tokens[id] : undefined
    if (text !== undefined) named[`${short}_token`] = text
  }
  return named
}

/** The texts of control tokens: the file's, and user-defined ones that look so or that the template uses. */
export function listControlTexts(facts: TokenizerFacts, template: string): string[] {
  return facts.tokens.filter((text, token) => {
    const type = facts.token_type?.[token]
    if (text.length < 2 || text.trim() === '') return false
    if (type === control || type === unknown) return true
    return (
      type === userDefined && (/^<\|.*\|>$/.test(text) || (/^[<[]/.test(text) && template.includes(text)))
    )
  })
}

/** Signs that no text of a caller has: characters that Unicode reserves for the inside of programs */
const signs = ['\ufdd0', '\ufdd1', '\ufdd2', '\ufdd3']

/** Marks the places at which texts of callers would become tokens of control. */
export class TextGuard {
  readonly #pattern: RegExp | null

  /** `texts` are those of the tokens of control. */
  constructor(texts: readonly string[]) {
    const longestFirst = texts.toSorted((one, other) => other.length - one.length)
    const alternatives = longestFirst.map((text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'))
    this.#pattern = alternatives.length === 0 ? null : new RegExp(alternatives.join('|'), 'g')
  }

  /** True if a text has the text of a token of control. */
  finds(text: string): boolean {
    return this.#pattern !== null && text.search(this.#pattern) >= 0
  }

  /** A sign that none of the texts has, or null. */
  chooseSign(texts: string): string | null {
    return signs.find((sign) => !texts.includes(sign)) ?? null
  }

  /** Puts the sign after the first character of each text of a token of control. */
  mark(text: string, sign: string): string {
    if (this.#pattern === null) return text
    return text.replace(this.#pattern, (found) => found[0]! + sign + found.slice(1))
  }
}
