/** Queue length per kind of request; further requests get a 503. */
export const maxWaiting = 64
/** An upper bound on the average token length of any tokenizer. */
export const maxCharactersPerToken = 128
