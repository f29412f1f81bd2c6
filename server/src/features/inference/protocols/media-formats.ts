/**
 * Where a format has addresses of media. Those in members whose names end in `_url` count in every format.
 */
export interface MediaFormat {
  /** Texts that a body with addresses has, one of them at least */
  readonly marks: readonly string[]
  /**
   * Name of the member whose members `url` are addresses, next to those whose names end in `_url`; null for
   * none
   */
  readonly container: string | null
  /**
   * Name of the member, below the top level, with what the caller's tools get, where no engine looks for
   * media; null for none
   */
  readonly ignored: string | null
}

const suffix = '_url'

/** OpenAI's format: a member whose name ends in `_url` has the address, or an object with one. */
export const openAiMedia: MediaFormat = { marks: [suffix], container: null, ignored: null }

/** Anthropic's format: the `source` of an image has it. The input of a tool is an object here. */
export const anthropicMedia: MediaFormat = {
  marks: [suffix, '"url"'],
  container: 'source',
  ignored: 'input',
}
