import type { CallFormat, ThoughtFormat } from './call-format.ts'

/** How gpt-oss writes a call after the role in the prompt. The token `<|call|>` ends the answer. */
export const harmonyFormat: CallFormat = {
  sectionStart: '',
  sectionEnd: '',
  separator: '',
  start: ['<|channel|>commentary to=functions.'],
  middle: [' <|constrain|>json<|message|>'],
  end: [],
  arguments: { kind: 'json', keys: null },
  allowsSeveral: false,
  marker: '<|channel|>commentary to=functions.',
}

/** What begins an answer of gpt-oss to the caller. */
export const harmonyFinal = '<|channel|>final<|message|>'

export const harmonyThoughts: ThoughtFormat = {
  start: '<|channel|>analysis<|message|>',
  end: '<|end|><|start|>assistant',
}
