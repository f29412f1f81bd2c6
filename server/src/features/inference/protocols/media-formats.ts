/** Where a format has media addresses, besides members whose names end in `_url`, as in every format. */
export interface MediaFormat {
  /** Texts that a body with addresses has, one of them at least */
  readonly marks: readonly string[]
  /** The member whose members `url` are addresses, besides those that end in `_url`; null for none */
  readonly container: string | null
  /** The member, below the top level, for the caller's tools, where engines ignore media; null for none */
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
