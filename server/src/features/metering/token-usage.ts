/** The input and output tokens of one request. */
export interface TokenUsage {
  inputTokens: number
  outputTokens: number
  /** The part of the input that came from a prefix cache; absent if the engine does not tell it */
  cachedTokens?: number | undefined
}

/** Whose request it was. */
export interface CallerTime {
  userId: number
  /** What a program called somebody who is no member; null or absent for the user's own requests */
  outsideName?: string | null
  /** The team of the user that has the usage; null or absent for none */
  teamId?: number | null
  /** How long the request was at the engine, in whole milliseconds */
  processingMilliseconds: number
}

/** The token usage of a deployment's caller in one second. */
export interface TokenTotal extends TokenUsage, CallerTime {
  deploymentId: string
  organizationId: number
  modelName: string
  at: Date
  requests: number
}
