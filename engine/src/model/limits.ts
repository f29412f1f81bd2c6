/**
 * Requests that may wait per sequence; further ones get a 429. Each of several API processes of Berth has at
 * most 32 in flight per sequence, and queues the others.
 */
export const waitingPerSequence = 64
/** An upper bound on the average token length of any tokenizer. */
export const maxCharactersPerToken = 128
