/** The text of each parameter field. An empty field uses the engine's default. */
export interface ParameterTexts {
  readonly system: string
  readonly temperature: string
  readonly top_p: string
  readonly max_tokens: string
  readonly seed: string
  /** One sequence per line. */
  readonly stop: string
  /** The functions that the model may call, as a JSON array. */
  readonly tools: string
  /** Additional fields of the request, as a JSON object. */
  readonly extra: string
}

export const noParameters: ParameterTexts = {
  system: '',
  temperature: '',
  top_p: '',
  max_tokens: '',
  seed: '',
  stop: '',
  tools: '',
  extra: '',
}
