/**
 * Requests that may wait for each sequence; further ones get a 429. An API process of Berth has at most 32 in
 * flight for each sequence, and queues the others itself. Several processes share these places.
 */
export const waitingPerSequence = 64
/** An upper bound on the average token length of any tokenizer. */
export const maxCharactersPerToken = 128
