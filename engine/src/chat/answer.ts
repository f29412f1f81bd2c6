import type { LogprobEntry } from '../model/logprobs.ts'

/** A part of an answer, in the order of generation. */
export type AnswerPiece =
  | { type: 'content'; text: string; logprobs?: readonly LogprobEntry[] }
  | { type: 'reasoning'; text: string }
  | { type: 'tool_call'; index: number; name: string }
  | { type: 'tool_arguments'; index: number; text: string }

/** The token counts of a request. */
export interface UsedTokens {
  promptTokens: number
  completionTokens: number
  /** Prompt tokens reused from an earlier request in the same sequence */
  cachedTokens: number
}

/** The finish reason and the token counts of an answer. */
export interface AnswerEnd extends UsedTokens {
  finishReason: 'stop' | 'length' | 'tool_calls'
  /** The stop string that ended the answer; absent for none */
  stopText?: string
}
