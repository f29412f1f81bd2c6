const range = ({ least, most }: { least: number; most: number }) => `from ${least} to ${most}`

/** The fields of a chat request in the playground. */
export const chatParameters = {
  system: 'System prompt',
  systemPlaceholder: 'You are a helpful assistant.',
  temperature: 'Temperature',
  temperatureHint: '0 is deterministic; the maximum is 2.',
  topP: 'Top P',
  topPHint: 'Samples from the top P of probability.',
  maxTokens: 'Maximum tokens',
  seed: 'Seed',
  seedHint: 'The same seed gives the same answer.',
  stopSequences: 'Stop sequences',
  stopSequencesHint: 'One per line, at most four. \\n means a line break.',
  tools: 'Tools',
  toolsHint: 'The functions that the model may call. You enter what they return.',
  toolsPlaceholder: '[{"type": "function", "function": {"name": "find_ship", "parameters": {}}}]',
  noTools: 'Enter a JSON array of functions, each with a name.',
  extra: 'Additional JSON',
  extraHint: 'A JSON object to merge into the request: response_format, top_k.',
  extraPlaceholder: '{"top_k": 40}',
  engineDefault: 'Default',
  number: (limits: { least: number; most: number }) => `Enter a number ${range(limits)}.`,
  wholeNumber: (least: number) => `Enter a whole number of at least ${least}.`,
  tooManyStops: (most: number) => `Enter at most ${most} sequences.`,
  notJson: 'Enter a JSON object, such as {"top_k": 40}.',
  reservedField: (name: string) => `The playground sets “${name}”.`,
}
